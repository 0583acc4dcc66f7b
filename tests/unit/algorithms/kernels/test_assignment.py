"""Assignments are the cheapest ones, and what is known before they are made is true."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.algorithms.kernels.assignment import ANY_COST, TOO_LITTLE, TOO_MUCH, assign, workspace
from tests.helpers.document_reference import cheapest
from tests.helpers.examples import examples

small = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 12), min_size=n, max_size=n), min_size=n, max_size=n)
)


def assigned(costs, least=0, most=ANY_COST):
    n = len(costs)
    work = workspace(n + 2)  # a document may have fewer terms than there is room for
    work.cost[:n, :n] = costs
    return assign(n, least, most, work), work.column_of[:n].tolist(), work.row_of[:n].tolist()


def total(costs, columns):
    return sum(row[j] for row, j in zip(costs, columns, strict=True))


@settings(max_examples=examples(200))
@given(small)
def test_no_permutation_is_cheaper(costs):
    cost, columns, rows = assigned(costs)
    assert sorted(columns) == [*range(len(costs))]
    assert [rows[j] for j in columns] == [*range(len(costs))]
    assert cost == total(costs, columns) == min(total(costs, p) for p in permutations(range(len(costs))))


@pytest.mark.parametrize("values", [3, 2**50, 2**11])
@pytest.mark.parametrize("n", [1, 2, 17, 60])
def test_larger_ones_are_those_of_the_textbook(n, values):
    costs = np.random.default_rng(n).integers(0, values, (n, n))
    cost, columns, _ = assigned(costs)
    expected = cheapest(costs.tolist())
    assert cost == total(costs, expected)
    if values > 2**40:  # too fine for two assignments to cost the same
        assert columns == expected


@settings(max_examples=examples(200))
@given(small, st.integers(-2, 2))
def test_limits_are_kept(costs, more):
    best = assigned(costs)[0]
    assert assigned(costs, most=best + max(more, 0))[0] == best
    assert assigned(costs, least=best + min(more, 0))[0] == best
    assert assigned(costs, most=best - 1)[0] in (best, TOO_MUCH)
    assert assigned(costs, least=best + 1)[0] in (best, TOO_LITTLE)


def test_limits_save_assignments():
    few_prices = np.random.default_rng(1).integers(1, 9, (40, 40))
    few_prices[:, :30] += 20  # all want the same ten columns
    assert assigned(few_prices, most=assigned(few_prices)[0] // 2)[0] == TOO_MUCH
    assert assigned(few_prices, least=40 * 30)[0] == TOO_LITTLE


def test_rows_that_differ_by_next_to_nothing():
    """Three rows want two columns: without a limit they would outbid each other a million million times."""
    costs = np.full((40, 40), 2**50)
    costs[:, :12] = np.random.default_rng(2).integers(0, 100, (40, 12))
    assert assigned(costs)[0] == total(costs, cheapest(costs.tolist()))
