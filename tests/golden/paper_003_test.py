"""Worked examples of paper 003: copies of a query, quotas, and a partition by hand.

Covers: algorithms/kernels/choosing.py
"""

import numpy as np
import pytest

from coterie.algorithms.kernels.choosing import _draw, copies_of
from coterie.methods.semantic_microaggregate.kernels import most_similar_groups, sum_linkage
from tests.helpers import semantic_reference as reference


def test_one_copy_more_with_the_probability_of_the_fraction():
    """Section 3.3: three repetitions and a contribution of 0.4 make 1.2, that is one copy, and a second one in five.

    4 of the 10 queries of the group are hers: three times one and once another, and her quota is 2. The second copy of
    the first comes at once with probability 0.2; else the other query comes with probability 4 / 10; else the second
    pass brings the copy. Together that is 0.2 + 0.8 · 0.6 = 0.68.
    """
    priorities = np.random.default_rng(1).integers(0, 2**64, (5000, 2), dtype=np.uint64)
    copies = np.array([copies_of(2, 4, 10, np.array([3, 1]), both) for both in priorities])
    assert set(map(tuple, copies.tolist())) == {(1, 1), (2, 0)}
    assert copies[:, 0].mean() == pytest.approx(1.68, abs=0.02)


def test_draws_are_numbers_of_splitmix64():
    priorities = np.random.default_rng(1).integers(0, 2**64, 1000, dtype=np.uint64)
    draws = [_draw(priority, number) for priority in priorities for number in range(2)]
    assert draws == [reference.draw(int(priority), number) for priority in priorities for number in range(2)]
    assert all(0 <= draw < 1 for draw in draws)
    assert np.mean(draws) == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("quota", range(5))
def test_quotas_are_reached_and_nothing_is_taken_twice(quota):
    """One pass expects 4 x 4 / 40 = 0.4 picks of this small user; her quota is reached all the same."""
    repetitions, priority = np.array([1, 2, 1]), np.array([9, 5, 2], dtype=np.uint64)
    copies = copies_of(quota, 4, 40, repetitions, priority)
    assert copies.sum() == quota
    assert (copies <= repetitions).all()


def test_a_partition_by_hand():
    """k = 3, seven users: 0 and 1 are the pair; 2 is nearer to both together than 3, who is nearer to 0 alone."""
    pairs = {(0, 1): 9, (0, 2): 3, (1, 2): 4, (0, 3): 5, (1, 3): 1, (4, 5): 8, (4, 6): 7, (0, 4): 2, (1, 6): 6}
    similar = np.zeros((7, 7))
    for (i, j), value in pairs.items():
        similar[i, j] = similar[j, i] = value
    group, number = sum_linkage(similar, 3, 3)
    assert number == 2
    assert group.tolist() == [0, 0, 0, -1, 1, 1, 1]
    assert most_similar_groups(similar, group, number).tolist() == [0, 0, 0, 0, 1, 1, 1]
    merged, number = sum_linkage(similar, 3, 6)  # four users are left, and are the last group
    assert (merged.tolist(), number) == ([0, 0, 0, -1, -1, -1, -1], 1)


def test_similarity_is_the_smaller_count():
    """Common categories, counted as often as both have them, at all levels."""

    def paths(query):
        return {"dog": [["animal", "dog"]], "cat": [["animal", "cat"]], "car": [["thing"]]}[query]

    a = reference.category_counts(["dog", "dog", "cat"], paths, 2)
    b = reference.category_counts(["dog", "car"], paths, 2)
    assert reference.similarity(a, b) == 1 + 1
    assert reference.similarity(a, a) == 3 + 3
    assert reference.similarity(b, b) == 2 + 1
