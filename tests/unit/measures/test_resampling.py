"""Intervals over users, and the paired interval of a ratio."""

import math

import numpy as np
import pytest

from coterie.measures.rates import SAMPLES, means, ratio, scored, weights


def test_each_sample_draws_as_many_users_as_there_are():
    drawn = weights(3, 7)
    assert drawn.shape == (SAMPLES + 1, 7)
    assert (drawn[0] == 1).all()
    assert (drawn.sum(axis=1) == 7).all()
    assert len({tuple(line) for line in drawn.tolist()}) > SAMPLES / 2
    assert (weights(3, 7) == drawn).all()
    assert (weights(4, 7) != drawn).any()
    assert weights(3, 0).shape == (SAMPLES + 1, 0)


def test_means_and_their_interval():
    values = np.random.default_rng(1).normal(50, 10, 400)
    found = means(5, values)
    assert found[0] == pytest.approx(values.mean())
    number, low, high = scored("kept", found, "%")
    assert [each.key for each in (number, low, high)] == ["kept", "kept.low", "kept.high"]
    assert number.samples == tuple(found[1:])
    assert not low.samples
    assert low.value == pytest.approx(values.mean() - 1.96 * 10 / 20, abs=0.2)
    assert high.value == pytest.approx(values.mean() + 1.96 * 10 / 20, abs=0.2)


def test_nobody_has_no_mean():
    assert [each.value for each in scored("kept", means(5, np.array([])), "%")] == [None, None, None]


def test_the_ratio_is_paired():
    """Twice as much for every user is twice as much, however unlike users are."""
    values = np.random.default_rng(1).exponential(10, 50)
    one, other = means(5, 2 * values), means(5, values)
    assert ratio(one[0], one[1:], other[0], other[1:]) == pytest.approx((2, 2, 2))
    unlike = means(5, values[::-1].copy())
    middle, low, high = ratio(one[0], one[1:], unlike[0], unlike[1:])
    assert middle == pytest.approx(2)
    assert low < 1.9
    assert high > 2.1


def test_a_ratio_to_nothing_has_no_value():
    assert ratio(5, (5, 5), 0, (1, 1)) == (None, None, None)
    assert ratio(5, (5, 5), -1, (1, 1)) == (None, None, None)
    assert ratio(5, (math.nan, 5), 1, (1, math.nan)) == (None, None, None)
    assert ratio(6, (6,) * 100, 2, (*(2,) * 90, *(0,) * 10)) == (3, 3, None)  # no upper end
    assert ratio(6, (6,) * 100, 2, (*(2,) * 99, -1)) == (3, 3, 3)
