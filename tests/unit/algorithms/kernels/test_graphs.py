"""Networks as arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.lab.simulate.graphs import by_rows
from coterie.lab.simulate.kernels import breadth_first, pairs_of, preferential, reverse


@pytest.mark.parametrize(("n", "m"), [(2, 1), (50, 1), (50, 3)])
def test_newcomers_befriend_m_different_people(n, m):
    ends = preferential(n, m, np.uint64(3)).reshape(-1, 2)
    for v in range(m, n):
        friends = ends[ends[:, 1] == v][:, 0]
        assert len(set(friends.tolist())) == m
        assert (friends < v).all()


def test_who_has_many_friends_gets_more():
    degrees = np.bincount(preferential(5000, 2, np.uint64(3)))
    assert degrees.max() > 20 * degrees.mean()


@given(st.lists(st.integers(0, 7), max_size=60).filter(lambda ends: len(ends) % 2 == 0))
def test_a_friendship_has_two_places(ends):
    graph = by_rows(np.array(ends, dtype=np.int32), 8)
    person = np.repeat(np.arange(8), np.diff(graph.start))
    assert np.array_equal(graph.back, reverse(graph.start, graph.friend))
    assert np.array_equal(person[graph.back], graph.friend)
    assert np.array_equal(graph.friend[graph.back], person)
    pairs = {tuple(sorted(pair)) for pair in zip(ends[::2], ends[1::2], strict=True) if pair[0] != pair[1]}
    assert {tuple(sorted(pair)) for pair in zip(person.tolist(), graph.friend.tolist(), strict=True)} == pairs
    assert graph.friend.size == 2 * len(pairs)


def test_numbers_of_pairs():
    pairs = [(u, v) for v in range(60) for u in range(v)]
    found = pairs_of(np.arange(len(pairs), dtype=np.uint64)).reshape(-1, 2)
    assert list(map(tuple, found.tolist())) == pairs
    last = 3_000_000 * 2_999_999 // 2 - 1
    assert pairs_of(np.array([last], dtype=np.uint64)).tolist() == [2_999_998, 2_999_999]


def test_friends_of_friends_come_first():
    graph = by_rows(np.array([0, 1, 1, 2, 3, 4], dtype=np.int32), 6)
    order = np.array([2, 5, 4, 0, 1, 3])
    assert breadth_first(graph.start, graph.friend, order, 6).tolist() == [2, 1, 0, 5, 4, 3]
    assert breadth_first(graph.start, graph.friend, order, 2).tolist() == [2, 1]
