"""Draws of fake queries."""

from collections import Counter

import numpy as np

from coterie.lab.simulate.kernels import Sets, by_frequency, drawn_of_others, walks

KEY = np.uint64(7)


def test_queries_of_others_are_not_ones_own():
    author = np.repeat(np.arange(3, dtype=np.int32), 500)
    pool = np.array([0, 0, 1, 2], dtype=np.int32)
    chosen = drawn_of_others(author, pool, KEY)
    assert not (pool[chosen] == author).any()
    assert set(chosen[author == 1].tolist()) == {0, 1, 3}
    alone = drawn_of_others(author[:5], np.zeros(2, dtype=np.int32), KEY)
    assert alone.size == 5, "who is alone gets their own"


def test_words_are_about_as_frequent():
    order = np.array([5, 4, 3, 2, 1, 0], dtype=np.int32)
    real = Sets(np.array([0, 4000], dtype=np.int64), np.full(4000, 4, dtype=np.int32))
    counts = Counter(by_frequency(real, order, KEY, 1).tolist())
    assert set(counts) == {5, 4, 3}
    assert min(counts.values()) > 1200


def test_walks_stay_where_words_stand_together():
    """Words 0 and 1 stand in one query, 2 and 3 in another."""
    past = Sets(np.array([0, 2, 4], dtype=np.int64), np.array([0, 1, 2, 3], dtype=np.int32))
    start, place = np.array([0, 1, 2, 3, 4], dtype=np.int64), np.array([0, 0, 1, 1], dtype=np.int32)
    words = walks(np.full(200, 3, dtype=np.int64), past, start, place, KEY).reshape(200, 3)
    assert ((words // 2) == (words[:, :1] // 2)).all()
    assert set(words[:, 0].tolist()) == {0, 1, 2, 3}
