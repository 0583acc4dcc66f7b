"""The fast exact k_θ-affinity is its plain version: vectors, edges, cores and degrees.

Covers: algorithms/kernels/grams.py
"""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.algorithms.kernels import grams
from coterie.algorithms.kernels._arrays import Lists
from coterie.core.arrays import bytes_of
from coterie.methods.affinity import kernels
from coterie.methods.affinity import kernels as cosine_join
from coterie.methods.affinity import model as affine_queries
from tests.helpers import affinity_reference as plain
from tests.helpers.affine_rows import FUNCTION_WORDS, ROWS, THETAS, crowded_rows, log_of
from tests.helpers.examples import examples
from tests.helpers.runs import a_run


def fast(rows, **options):
    return affine_queries.affinity(log_of(rows), a_run(1), affine_queries.AffinitySettings(**options))


def degrees(found):
    return dict(zip(found.queries.names.to_list(), found.degree.tolist(), strict=True))


def edges(found):
    """Pairs of affine queries, twins among them."""
    names, vertices = found.queries.names, found.vertices
    near = {v: {v, *found.neighbours.of(v).tolist()} for v in range(vertices.start.size - 1)}
    groups = [[names[q] for q in vertices.members.of(v).tolist()] for v in range(vertices.start.size - 1)]
    return {q: {r for w in near[v] for r in groups[w]} - {q} for v, group in enumerate(groups) for q in group}


@given(ROWS)
def test_queries_have_their_users_and_events(rows):
    found = affine_queries.gather(log_of(rows), a_run(1))
    users, events = plain.users_of(rows), plain.events_of(rows)
    assert found.names.to_list() == sorted(users)
    assert found.events.tolist() == [events[query] for query in sorted(users)]
    people = found.people.to_list()
    for at, query in enumerate(sorted(users)):
        assert [people[u] for u in found.users.of(at)] == sorted(users[query])


@given(ROWS, THETAS, st.integers(1, 4), st.integers(1, 4))
def test_edges_are_all_pairs_with_enough_affinity(rows, theta, min_users, min_term_users):
    expanded, _ = plain.vectors(rows, min_users, min_term_users)
    found = fast(rows, theta=theta, min_users=min_users, min_term_users=min_term_users)
    assert edges(found) == plain.graph(expanded, theta)


OPTIONS = st.fixed_dictionaries({
    "theta": THETAS,
    "min_users": st.integers(0, 3),
    "min_term_users": st.integers(1, 4),
    "strict": st.booleans(),
    "max_degree": st.sampled_from([2, 3, 1000]),
    "function_words": FUNCTION_WORDS,
})  # fmt: skip


@given(ROWS, OPTIONS)
def test_degrees_are_those_of_the_definition(rows, options):
    assert degrees(fast(rows, **options)) == plain.degrees(rows, **options)


@given(ROWS, THETAS, st.integers(1, 3))
def test_no_degree_is_below_plain_k_anonymity(rows, theta, min_users):
    users = plain.users_of(rows)
    assert all(degree >= len(users[q]) for q, degree in degrees(fast(rows, theta=theta, min_users=min_users)).items())


@given(ROWS, THETAS, st.integers(1, 5))
def test_the_approximate_procedure_is_its_definition_and_a_lower_bound(rows, theta, v_max):
    exact = degrees(fast(rows, theta=theta))
    found = degrees(fast(rows, theta=theta, v_max=v_max))
    assert found == plain.approximate_degrees(rows, v_max, theta=theta)
    assert all(found[query] <= exact[query] for query in exact)
    assert degrees(fast(rows, theta=theta, v_max=1000)) == exact


def test_the_logs_of_these_tests_have_what_they_are_about():
    """Edges, covered queries, and degrees that the approximate procedure misses."""
    logs = [crowded_rows(seed) for seed in range(40)]
    exact = [fast(rows, theta=0.5) for rows in logs]
    near = [fast(rows, theta=0.5, v_max=2) for rows in logs]
    assert sum(found.neighbours.items.size > 0 for found in exact) > 20
    assert sum((found.degree > found.queries.crowd).any() for found in exact) > 20
    assert sum((some.degree < whole.degree).any() for some, whole in zip(near, exact, strict=True)) > 10


@given(ROWS, st.randoms())
def test_the_order_of_rows_does_not_matter(rows, shuffler):
    for v_max in (None, 2):
        one = fast(rows, theta=0.5, v_max=v_max)
        other = fast(shuffler.sample(rows, len(rows)), theta=0.5, v_max=v_max)
        assert degrees(one) == degrees(other)
        assert one.neighbours.items.tolist() == other.neighbours.items.tolist()


def _random_vectors(rng, n, n_features, longest):
    drawn = (rng.zipf(1.3, size=rng.integers(1, longest)) for _ in range(n))
    sets = {tuple(sorted({int(f) for f in some if f <= n_features})) for some in drawn}
    sets |= {s[:at] + s[at + 1 :] for s in sorted(sets) for at in rng.integers(0, len(s) + 1, 2)}  # close to another
    sets = sorted(s for s in sets if s)
    start = np.cumsum([0, *map(len, sets)])
    features = np.array([f - 1 for s in sets for f in s], dtype=np.int32)
    mass = (rng.uniform(1, 25, n_features) ** 2 * 2**32).astype(np.int64)
    return start, features, mass


def _joined(start, features, mass, theta, split):
    least = theta - 1e-9
    vectors = cosine_join.vectors_of(start, features, mass)
    entries = cosine_join.lists(vectors, np.argsort(vectors.norm, kind="stable"), least)
    left, right = cosine_join.join(0, mass.size, entries, vectors, least, split)
    return sorted(zip(np.minimum(left, right).tolist(), np.maximum(left, right).tolist(), strict=True))


@pytest.mark.parametrize("theta", [0.5, 0.8, 0.9, 1.0])
@pytest.mark.parametrize(("n", "longest"), [(1500, 8), (300, 700)])
def test_edges_are_those_of_a_matrix_product(theta, n, longest):
    sparse = pytest.importorskip("scipy.sparse")
    start, features, mass = _random_vectors(np.random.default_rng(5), n, 900, longest)
    rows = np.repeat(np.arange(start.size - 1), np.diff(start))
    matrix = sparse.csr_array((np.sqrt(mass[features] / 2**32), (rows, features)), shape=(start.size - 1, mass.size))
    norms = np.sqrt(matrix.multiply(matrix).sum(axis=1))
    scaled = sparse.diags_array(1 / norms) @ matrix
    product = sparse.triu(scaled @ scaled.T, k=1).tocoo()
    close = product.data >= theta - 1e-9
    expected = sorted(zip(product.row[close].tolist(), product.col[close].tolist(), strict=True))
    assert expected or theta == 1
    for split in (2, 64, 10**9):  # each pair once, however lists are split
        assert _joined(start, features, mass, theta, split) == expected


@st.composite
def _graphs(draw):
    n = draw(st.integers(1, 9))
    near = {v: set() for v in range(n)}
    for a, b in draw(st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=25)):
        if a != b:
            near[a].add(b)
            near[b].add(a)
    users = {
        v: draw(st.sets(st.integers(0, 7), min_size=1, max_size=draw(st.sampled_from([1, 2, 6])))) for v in range(n)
    }
    return near, users


@settings(max_examples=examples(300))
@given(_graphs(), st.sampled_from([1, 2, 4, 50]), st.data())
def test_cores_are_those_of_the_definition(graph, levels, data):
    near, users = graph
    arrays = [np.array([x for v in near for x in sorted(of[v])], dtype=np.int32) for of in (near, users)]
    starts = [np.cumsum([0, *(len(of[v]) for v in near)]) for of in (near, users)]
    shape = (Lists(starts[0], arrays[0]), Lists(starts[1], arrays[1]), 8)
    no_ceiling = np.full(len(near), levels, dtype=np.int32)
    expected = {v: min(core, levels) for v, core in plain.cores(near, users).items()}
    assert dict(enumerate(kernels.cores(*shape, no_ceiling, levels).tolist())) == expected
    ceiling = {v: max(len(users[v]) - 1, data.draw(st.integers(0, 7))) for v in near}
    capped = np.array([min(ceiling[v], levels) for v in near], dtype=np.int32)
    expected = {v: min(core, levels) for v, core in plain.cores(near, users, allowed=ceiling).items()}
    assert dict(enumerate(kernels.cores(*shape, capped, levels).tolist())) == expected


def test_a_crowd_costs_nothing():
    """A query of 2,000,000 users beside 200,000 others: paying for it at each edge would take hours."""
    n, many = 200_000, 2_000_000
    start = np.concatenate([[0, n], n + np.arange(1, n + 1)])
    neighbours = np.concatenate([np.arange(1, n + 1), np.zeros(n)]).astype(np.int32)
    users = np.arange(many + n, dtype=np.int32)
    user_start = np.concatenate([[0], many + np.arange(n + 1)])
    ceiling = np.full(n + 1, 999, dtype=np.int32)
    assert (kernels.cores(Lists(start, neighbours), Lists(user_start, users), many + n, ceiling, 999) == 999).all()


def test_words_that_share_a_hash_slot_stay_apart():
    """Many words, so that tables grow and slots collide."""
    texts = [f"w{i} w{i * 7 % 50_000} {'é' * (i % 5)}" for i in range(60_000)]
    text, start = bytes_of(pl.Series(texts))
    token_start, tokens, n_words = grams.words(text, start)
    split = [[word for word in one.split(" ") if word] for one in texts]
    assert np.diff(token_start).tolist() == [len(one) for one in split]
    numbers = {}
    expected = [numbers.setdefault(word, len(numbers)) for one in split for word in one]
    assert tokens.tolist() == expected
    assert n_words == len(numbers)
