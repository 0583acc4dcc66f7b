"""What `explain` says is what the plain version of k_θ-affinity says, by definition."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.explain import explain_affinity, network, overview
from coterie.methods.affinity import Affinity
from tests.helpers import affinity_reference as plain
from tests.helpers.affine_rows import ROWS, THETAS, log_of


def _component(query, near):
    found = [query]
    for each in found:
        found += sorted(near[each] - set(found))
    return set(found)


def _expected(query, rows, method):
    """state, users, degree, affine queries, covering queries and users, order and size of the core."""
    users = plain.users_of(rows)
    if query not in users:
        return ("not in log", *[None] * 7)
    expanded, rare = plain.vectors(rows, method.min_users, method.min_term_users)
    degree = plain.degrees(rows, method.theta, method.min_users, method.min_term_users, method.strict)[query]
    own = users[query]
    if query not in expanded:
        return ("rare word" if query in rare else "no concept", len(own), degree, *[None] * 5)
    near = plain.graph(expanded, method.theta)
    core = plain.cores(near, users)
    inside = {q for q in expanded if core[q] >= core[query]}
    covering = near[query] & inside
    people = set().union(*(users[q] for q in covering)) - own
    size = len(_component(query, {q: near[q] & inside for q in inside}))
    return ("in graph", len(own), degree, len(near[query]), len(covering), len(people), core[query], size)


NAMED = ROWS.filter(lambda rows: any(user is not None for user, *_ in rows))
METHODS = st.builds(
    Affinity, theta=THETAS, min_users=st.integers(0, 3), min_term_users=st.integers(1, 3), strict=st.booleans()
)


@given(NAMED, METHODS)
def test_the_table(rows, method):
    asked = [*dict.fromkeys(query for _, _, query, *_ in rows), "nobody asked this"]
    found = explain_affinity(log_of(rows), method, list(enumerate(asked, 1)))
    assert found.table["query"].to_list() == asked
    for line, *told, query in found.table.iter_rows():
        assert asked[line - 1] == query
        assert tuple(told) == _expected(query, rows, method)


@given(NAMED, METHODS)
def test_the_picture_is_the_component(rows, method):
    found = explain_affinity(log_of(rows), method, [(1, "x")])
    names = found.graph.queries.names.to_list()
    expanded, _ = plain.vectors(rows, method.min_users, method.min_term_users)
    near = plain.graph(expanded, method.theta)
    core = plain.cores(near, plain.users_of(rows))
    for query in expanded:
        drawn = network(found.graph, names.index(query))
        points = [names[point] for point in drawn.points]
        assert points[0] == query
        assert set(points) == _component(query, near)
        assert drawn.groups == tuple(core[point] for point in points)
        lines = {frozenset((points[a], points[b])) for a, b in drawn.lines}
        assert lines == {frozenset((a, b)) for a in points for b in near[a]}
        assert drawn.more == 0


def _mean(numbers):
    return sum(numbers) / len(numbers) if numbers else None


def _overview(rows, method):
    users, events = plain.users_of(rows), plain.events_of(rows)
    concepts, _ = plain.weights(rows, method.min_users)
    expanded, rare = plain.vectors(rows, method.min_users, method.min_term_users)
    degree = plain.degrees(rows, method.theta, method.min_users, method.min_term_users, method.strict)
    near = plain.graph(expanded, method.theta)
    component = [len(_component(query, near)) for query in expanded]
    vectors = {frozenset(vector): vector for vector in expanded.values()}
    numbers = {
        "users": len(set().union(*users.values())),
        "searches": events.total(),
        "queries": len(users),
        "queries.one_user": 100 * _mean([len(people) == 1 for people in users.values()]),
        "concepts": len(concepts),
        "queries.rare_word": len(rare),
        "queries.no_concept": len(users) - len(rare) - len(expanded),
        "queries.in_graph": len(expanded),
        "searches.in_graph": sum(events[query] for query in expanded),
        "vectors": len(vectors),
        "pairs": sum(plain.affine(v, w, method.theta) for a, v in vectors.items() for b, w in vectors.items() if a != b)
        / 2,
        "component.mean": _mean(component),
        "component.largest": max(component, default=None),
    }
    lengths = {query: len([word for word in query.split(" ") if word]) for query in users}
    for key, those in {**{str(n): range(n, n + 1) for n in range(1, 5)}, "5_and_more": range(5, 1000)}.items():
        chosen = [query for query in users if lengths[query] in those]
        numbers[f"queries.words.{key}"] = 100 * len(chosen) / len(users)
        part = sum(events[query] for query in chosen)
        numbers[f"searches.words.{key}"] = 100 * part / events.total()
    for n in (1, 2, 3):
        weights = [weight for gram, weight in concepts.items() if len(gram) == n]
        numbers[f"concepts.words.{n}"] = len(weights)
        numbers[f"concepts.words.{n}.largest_weight"] = max(weights, default=None)
    for key, those in {"1": range(1, 2), "2_to_4": range(2, 5), "5_to_9": range(5, 10)}.items():
        chosen = [query for query, people in users.items() if len(people) in those]
        higher = _mean([degree[query] > len(users[query]) for query in chosen])
        numbers[f"degree.{key}.queries"] = len(chosen)
        numbers[f"degree.{key}.higher"] = None if higher is None else 100 * higher
        numbers[f"degree.{key}.mean"] = _mean([degree[query] for query in chosen])
    return numbers


@given(NAMED, METHODS)
def test_the_log_in_numbers(rows, method):
    table = overview(explain_affinity(log_of(rows), method).graph)
    found = dict(zip(table["key"], table["value"], strict=True))
    expected = _overview(rows, method)
    assert {key: found[key] for key in expected} == {
        key: None if number is None else pytest.approx(number) for key, number in expected.items()
    }
    assert all(
        value in (0, None) for key, value in found.items() if key.startswith(("degree.10", "degree.20", "degree.50"))
    )
    others = {key for key in found.keys() - expected.keys() if not key.startswith("degree.")}
    assert others == {"min_users"}
