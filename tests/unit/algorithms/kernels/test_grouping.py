"""Groups of similar vectors: the plain version to the last bit, sizes always, and topics that no group shares."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from coterie.algorithms.groups import in_threads
from coterie.algorithms.kernels import grouping
from coterie.algorithms.kernels.grouping import UNIT
from coterie.methods.interest_microaggregate import kernels as diversity
from tests.helpers import grouping_reference as reference
from tests.helpers.examples import examples

numbers = st.one_of(st.integers(-3, 3), st.integers(-UNIT, UNIT))
vectors = hnp.arrays(np.int16, st.tuples(st.integers(4, 16), st.integers(1, 3)), elements=numbers)


def each(work, parts):
    return [work(part) for part in parts]


def clustered(n, width=16, seed=0):
    """Unit vectors around some directions."""
    draw = np.random.default_rng(seed)
    centres = draw.normal(size=(max(2, n // 30), width))
    points = centres[draw.integers(len(centres), size=n)] + 0.5 * draw.normal(size=(n, width))
    return np.rint(points / np.linalg.norm(points, axis=1, keepdims=True) * UNIT).astype(np.int16)


@given(vectors, st.integers(2, 5))
def test_dense_groups_are_those_of_the_plain_version(found, k):
    k = min(k, len(found))
    assert grouping.dense_groups(k, found).tolist() == reference.dense_groups(k, found)


@given(vectors, st.integers(2, 4))
def test_no_exchange_is_left_that_adds_similarity(found, k):
    group = grouping.similar_groups(k, found, 1, each).tolist()
    alike = reference.table(found)
    assert reference.swap(group, alike) == group


@pytest.fixture
def small(monkeypatch):
    """Trees and neighbours for few vectors."""
    monkeypatch.setattr(grouping, "DENSE", 20)
    monkeypatch.setattr(grouping, "LEAF", 16)


@pytest.mark.parametrize("n", [21, 40, 97, 400])
@pytest.mark.parametrize("k", [2, 3, 5, 10, 11, 20])
def test_groups_have_k_to_2k_minus_1_members(small, n, k):
    group = grouping.similar_groups(k, clustered(n), 1, each)
    sizes = np.bincount(group)
    assert sizes.min() >= k
    assert sizes.max() < 2 * k
    assert group.size == n


@settings(max_examples=examples(30))
@given(st.integers(2, 30), st.integers(30, 80), st.integers(0, 2**62), st.sampled_from([1, 5]))
def test_groups_of_equal_vectors(k, n, seed, different):
    """Nothing tells the vectors apart, so that neighbours are few and the same."""
    found = np.repeat(clustered(different), -(-n // different), axis=0)
    before = grouping.DENSE, grouping.LEAF
    grouping.DENSE, grouping.LEAF = 20, 16
    try:
        sizes = np.bincount(grouping.similar_groups(k, found, seed, each))
    finally:
        grouping.DENSE, grouping.LEAF = before
    assert sizes.min() >= k
    assert sizes.max() < 2 * k


@pytest.mark.parametrize("k", [3, 10])
def test_neighbours_are_nearly_as_good_as_all_pairs(k):
    found = clustered(1_300)
    near = diversity.mean_similarity(grouping.similar_groups(k, found, 3, in_threads), found)
    dense = diversity.mean_similarity(grouping.dense_groups(k, found), found)
    chance = np.minimum(np.arange(len(found)) // k, len(found) // k - 1)
    random = diversity.mean_similarity(chance, found)
    assert (near - random) > 0.9 * (dense - random)


def test_threads_do_not_matter_and_seeds_do():
    found = clustered(3_000)
    expected = grouping.similar_groups(4, found, 3, each)
    assert (grouping.similar_groups(4, found, 3, in_threads) == expected).all()
    assert (grouping.similar_groups(4, found, 4, each) != expected).any()


@given(vectors, st.integers(1, 5), st.integers(0, 2**62))
def test_leaves_of_a_tree(found, least, seed):
    least = min(least, len(found))
    order, start = grouping.tree(found, 2 * least, least, seed)
    sizes = np.diff(start)
    assert sorted(order) == list(range(len(found)))
    assert start[-1] == len(found)
    assert sizes.min() >= least
    assert sizes.max() <= 2 * least


@given(st.lists(st.integers(-4, 4), min_size=2, max_size=12), st.data())
def test_the_smallest_projections_come_first(projected, data):
    cut = data.draw(st.integers(1, len(projected) - 1))
    order = np.arange(len(projected))
    grouping._divide(0, order.size, cut, np.array(projected), order, np.empty_like(order))
    first = sorted(range(len(projected)), key=lambda i: (projected[i], i))[:cut]
    assert order.tolist() == sorted(first) + sorted(set(range(len(projected))) - set(first))


@given(vectors)
def test_neighbours_in_one_leaf_are_the_nearest(found):
    n = len(found)
    near, score = grouping.neighbours(found, [(np.arange(n), np.array([0, n]))] * 2, each)
    alike = reference.table(found)
    for i in range(n):
        expected = sorted((j for j in range(n) if j != i), key=lambda j: (-alike[i][j], j))
        assert near[i, : n - 1].tolist() == expected
        assert score[i, : n - 1].tolist() == [alike[i][j] for j in expected]
        assert (near[i, n - 1 :] == -1).all()


@given(vectors, st.data())
def test_mean_similarity(found, data):
    n = len(found)
    group = np.arange(n) % data.draw(st.integers(1, n // 2))
    alike = reference.table(found)
    others = [[j for j in range(n) if group[j] == group[i] and j != i] for i in range(n)]
    expected = np.mean([np.mean([alike[i][j] for j in some]) for i, some in enumerate(others)]) / UNIT**2
    assert diversity.mean_similarity(group, found) == pytest.approx(expected)


def masks(topics, width):
    found = np.zeros((len(topics), width), dtype=np.uint64)
    for i, some in enumerate(topics):
        for topic in some:
            found[i, topic // 64] |= np.uint64(1) << np.uint64(topic % 64)
    return found


@settings(max_examples=examples(200))
@given(vectors, st.integers(2, 4), st.data())
def test_groups_are_mended(found, k, data):
    n = len(found)
    topics = [set(data.draw(st.lists(st.sampled_from([0, 1, 63, 70]), max_size=3))) for _ in range(n)]
    topics[data.draw(st.integers(0, n - 1))].clear()  # somebody has none, so that all together share none
    k = min(k, n)
    group = grouping.dense_groups(k, found)
    mended = diversity.mend(group, masks(topics, 2), found)
    assert not reference.one_sided(mended.tolist(), topics)
    assert diversity.one_sided(group, masks(topics, 2)).tolist() == reference.one_sided(group.tolist(), topics)
    assert np.bincount(mended).min() >= k
    by_swaps = reference.mend_by_swaps(group.tolist(), topics, found)
    if not reference.one_sided(by_swaps, topics):
        assert mended.tolist() == by_swaps


@settings(max_examples=examples(200))
@given(vectors, st.data())
def test_groups_are_joined_until_none_shares_a_topic(found, data):
    n = len(found)
    topics = [set(data.draw(st.lists(st.sampled_from([0, 1, 63, 70]), max_size=3))) for _ in range(n)]
    group = grouping.dense_groups(min(2, n), found)
    joined = diversity.joined(group, masks(topics, 2), found)
    assert all(len(set(joined[group == number])) == 1 for number in range(group.max() + 1)), "whole groups"
    assert joined.max() == 0 or not reference.one_sided(joined.tolist(), topics)
    if not reference.one_sided(group.tolist(), topics):
        assert joined.tolist() == group.tolist()


def test_a_group_that_an_exchange_mended_is_left_alone():
    """One exchange mends both groups; a second one could only cost more."""
    found, alike = clustered(8), reference.table(clustered(8))
    topics = [{0}] * 4 + [{1}] * 4
    group = [0] * 4 + [1] * 4
    single = [reference.exchanged(group, i, j) for i in range(4) for j in range(4, 8)]
    best = max(single, key=lambda some: reference.value(some, alike))
    assert diversity.mend(np.array(group), masks(topics, 1), found).tolist() == best


def test_the_search_for_an_exchange_widens(monkeypatch):
    """The only vectors without the topic are far from the group by index."""
    monkeypatch.setattr(diversity, "SEARCH", 3)
    found = clustered(24)
    topics = [{0}] * 12 + [set()] * 12
    group = np.arange(24) // 3
    mended = diversity.mend(group, masks(topics, 1), found)
    assert not reference.one_sided(mended.tolist(), topics)
    assert set(np.bincount(mended)) == {3}
