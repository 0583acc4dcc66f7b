from fractions import Fraction
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest

from coterie.core import randomness
from coterie.errors import InternalError


def probabilities(table, reach):
    """Of -reach .. reach, from a cumulative table."""
    cumulated = [0, *(int(entry) for entry in table), 2**64]
    return {i - reach: Fraction(b - a, 2**64) for i, (a, b) in enumerate(pairwise(cumulated))}


@pytest.mark.parametrize("variance", [1, 4, 50])
def test_draws_have_the_weights_of_the_discrete_gaussian(variance):
    shares = probabilities(randomness.gaussian_table(variance), randomness.reach_of(variance))
    for i in range(1, 4):
        ratio = float(shares[i] / shares[0])
        assert ratio == pytest.approx(np.exp(-i * i / (2 * variance)), rel=1e-9)
        assert abs(shares[i] - shares[-i]) <= Fraction(2, 2**64)
    assert float(sum(i * i * share for i, share in shares.items())) == pytest.approx(
        variance, rel=0.02 if variance == 1 else 1e-6
    )


def test_a_draw_is_where_its_word_falls():
    table, reach = randomness.gaussian_table(4), randomness.reach_of(4)
    edges = np.array([table[reach - 1] - np.uint64(1), table[reach - 1], 2**64 - 1], dtype=np.uint64)
    assert randomness.gaussian_draws(4, edges).tolist() == [-1, 0, reach]


@pytest.mark.parametrize("scale", [0.4, 3.0])
def test_discrete_laplace_falls_by_one_factor(scale):
    shares = probabilities(*randomness.laplace_table(scale))
    for i in range(3):
        assert float(shares[i + 1] / shares[i]) == pytest.approx(np.exp(-1 / scale), rel=1e-9)


def test_rounded_gaussian():
    table, reach = randomness.rounded_gaussian_table(100)
    exact = NormalDist(0, 100)
    for i in (-700, -250, -1, 0, 3, 120):
        assert int(table[i + reach]) / 2**64 == pytest.approx(exact.cdf(i + 0.5), rel=1e-12)
    with pytest.raises(InternalError):
        randomness.rounded_gaussian_table(5)


def test_words_come_from_the_operating_system_and_are_never_the_same():
    assert not np.array_equal(randomness.words(8), randomness.words(8))
    assert randomness.words(0).size == 0


@pytest.mark.parametrize("table", [
    randomness.gaussian_table(1), randomness.gaussian_table(4), randomness.gaussian_table(250_000),
    randomness.laplace_table(0.3)[0], randomness.laplace_table(40.0)[0], randomness.rounded_gaussian_table(100)[0],
])  # fmt: skip
def test_many_draws_are_looked_up_as_single_ones(table):
    """With a guide to the table, at every entry, beside it, and at both ends."""
    edges = np.concatenate([table, table - np.uint64(1), table + np.uint64(1)])
    ends = np.array([0, 1, 2**48 - 1, 2**48, 2**63, 2**64 - 1], dtype=np.uint64)
    drawn = np.concatenate([edges, ends, randomness.words(randomness._MANY + 1000)])
    expected = np.searchsorted(table, drawn, side="right").astype(np.int64) - 7
    assert (randomness.table_draws(table, 7, drawn) == expected).all()
    assert (randomness.table_draws(table, 7, ends) == expected[edges.size : edges.size + ends.size]).all()
