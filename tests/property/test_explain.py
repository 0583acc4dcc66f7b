"""What `explain` says is what the plain version of k_θ-affinity says, by definition."""

from hypothesis import given
from hypothesis import strategies as st

from coterie.explain import explain_affinity, network
from coterie.methods.affinity import Affinity
from tests.kernels import affinity_reference as plain
from tests.kernels.test_affinity import ROWS, THETAS, log_of


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


METHODS = st.builds(
    Affinity, theta=THETAS, min_users=st.integers(0, 3), min_term_users=st.integers(1, 3), strict=st.booleans()
)


@given(ROWS, METHODS)
def test_the_table(rows, method):
    asked = [*dict.fromkeys(query for _, _, query, *_ in rows), "nobody asked this"]
    found = explain_affinity(log_of(rows), method, list(enumerate(asked, 1)))
    assert found.table["query"].to_list() == asked
    for line, *told, query in found.table.iter_rows():
        assert asked[line - 1] == query
        assert tuple(told) == _expected(query, rows, method)


@given(ROWS, METHODS)
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
