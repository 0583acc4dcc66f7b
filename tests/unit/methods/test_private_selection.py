"""Private selection against plain Python.

Covers: methods/private_counts/tables.py
"""

import itertools
import math
from functools import cache

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie.core.run import Run
from coterie.engines.local import Local
from coterie.errors import ParameterError
from coterie.methods.private_counts import kernels as kernel
from coterie.methods.private_counts import model as private_selection
from coterie.methods.private_counts.model import Pairs, pairs_of, picked, sums_above
from coterie.methods.private_counts.tables import Budget, Stage, cells_of, tables_for, tables_of
from tests.helpers.examples import examples


@cache
def tables():
    return tables_for(Budget(epsilon=1, delta=1e-6, sketch=0.3), 16, 0.2)


users_and_items = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 5), st.integers(0, 13)),
    unique_by=lambda row: row[:2],
    min_size=1,
    max_size=30,
)


def pairs_from(rows):
    """Pairs and a weight for each, from (user, item, weight)."""
    ordered = sorted(rows)
    frame = pl.DataFrame({"subject": [f"u{u}" for u, _, _ in ordered], "item": [f"i{i}" for _, i, _ in ordered]}).lazy()
    return pairs_of(frame, Run(engine=Local())), np.array([w for _, _, w in ordered], dtype=np.uint8)


def rows_of(pairs):
    users = np.repeat(np.arange(pairs.users), np.diff(pairs.start))
    return list(zip(users.tolist(), pairs.items[pairs.keys.tolist()].to_list(), strict=True))


@settings(max_examples=examples(25))
@given(rows=users_and_items, k=st.integers(1, 4))
def test_the_largest_contributions_are_left_out(rows, k):
    pairs, weights = pairs_from(rows)
    sums = sums_above(pairs, weights, 13, k)
    for number, item in enumerate(pairs.items):
        given_to_it = sorted(w for _, i, w in rows if f"i{i}" == item)
        assert sums[number] == sum(given_to_it[: max(0, len(given_to_it) - (k - 1))])


@settings(max_examples=examples(25))
@given(rows=users_and_items, kept=st.sets(st.integers(0, 5)))
def test_pairs_of_some_items(rows, kept):
    pairs, _ = pairs_from(rows)
    names = {f"i{i}" for i in kept}
    flags = np.array([item in names for item in pairs.items])
    assert rows_of(pairs.only(flags)) == [(u, item) for u, item in rows_of(pairs) if item in names]


def test_pairs_are_distinct_and_have_a_user():
    frame = pl.LazyFrame({"subject": ["b", "a", "a", None], "item": ["x", "x", "x", "y"]})
    pairs = pairs_of(frame, Run(engine=Local(3)))
    assert pairs.items.to_list() == ["x"]
    assert pairs.start.tolist() == [0, 1, 2]


@settings(max_examples=examples(20))
@given(
    wanted=st.lists(st.integers(0, 1 << 20), min_size=1, max_size=40),
    coins=st.lists(st.integers(0, 2**64 - 1), min_size=40, max_size=40),
)
def test_weights_are_the_largest_that_both_budgets_allow(wanted, coins):
    """The plain version: try every multiple until one budget is spent."""
    n, most = len(wanted), max(wanted)
    shares = [0 if 50 * g <= most else g for g in wanted]
    costs, masses = tables().costs.tolist(), tables().masses.tolist()

    def weights(scale):
        return [
            min(len(costs) - 1, (scale * g + (c >> 28)) >> 36) if g else 0 for g, c in zip(shares, coins, strict=False)
        ]

    def fits(scale):
        given = weights(scale)
        return (
            sum(costs[s] for s in given) <= tables().cost_budget
            and sum(masses[s] for s in given) <= tables().mass_budget
        )

    found = np.zeros(n, dtype=np.uint8)
    kernel.spread(
        np.array([0, n]), np.arange(n, dtype=np.uint32), np.array(wanted), np.array(coins[:n], dtype=np.uint64),
        tables().costs, tables().masses, np.array([tables().cost_budget, tables().mass_budget]), found, 0, 1,
    )  # fmt: skip
    low, high = 0, 1 << 62
    while high - low > 1:  # the sums never fall with the scale
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    assert found.tolist() == weights(low)
    assert fits(low)


@settings(max_examples=examples(20))
@given(priors=st.lists(st.integers(1, 1 << 20), min_size=1, max_size=60))
def test_a_sketch_of_a_user_is_never_longer_than_its_unit(priors):
    sums = np.zeros(len(priors), dtype=np.int64)
    kernel.sketch_sums(np.array([0, len(priors)]), np.arange(len(priors), dtype=np.uint32), np.array(priors), 256, sums)
    root = math.isqrt(sum(p * p for p in priors))
    assert sums.tolist() == [256 * p // (root + 1) for p in priors]
    assert (sums**2).sum() <= 256**2


def test_a_user_with_millions_of_items_does_not_overflow_the_sketch():
    many = 8_500_000  # whose squared priors sum to more than 2^63
    sums = np.zeros(1, dtype=np.int64)
    kernel.sketch_sums(np.array([0, many]), np.zeros(many, dtype=np.uint32), np.array([1 << 20]), 256, sums)
    assert sums[0] == 0


def test_a_user_counts_for_few_items_and_all_users_count():
    pairs, _ = pairs_from([(u, i, 1) for u in range(7) for i in range(6)])
    picks = picked(pairs, 2, Run(engine=Local()))
    assert picks.sum() == 14
    assert picked(pairs, 6, Run(engine=Local())).tolist() == [7] * 6


def test_the_judge_would_refuse_a_table_made_for_a_smaller_order():
    """Prices come from the finished table, whatever it was made for."""
    honest = tables()
    assert all(a < b for a, b in zip(honest.costs.tolist(), honest.costs.tolist()[1:], strict=False))
    assert honest.costs[12] <= 12**2 / 32**2 * honest.cost_budget


def test_more_epsilon_needs_less_weight():
    needed = [tables_of(Budget(epsilon=e, delta=1e-6, sketch=0.3)).weight_for(0.5) for e in (0.5, 1.0, 3.0)]
    assert needed == sorted(needed, reverse=True)


def test_what_cannot_be_paid_for_is_refused():
    with pytest.raises(ParameterError, match="epsilon is too small"):
        tables_of(Budget(epsilon=1e-4, delta=1e-12, sketch=0.3))
    with pytest.raises(ParameterError, match="order is too small"):
        tables_for(Budget(epsilon=0.1, delta=1e-6, sketch=0.3), 2, 0.3)


def test_numbers_by_day_have_the_noise_of_the_best_order():
    one, ten = (cells_of(Stage(name="days", epsilon=1.0, delta=1e-6), counted) for counted in (1, 10))
    assert ten.variance == pytest.approx(10 * one.variance, rel=0.05)


def test_one_item_each_is_the_definition_itself():
    table = [int(entry) for entry in private_selection.optimal_table(1.0, 1e-3)]
    for before, after in itertools.pairwise(table):
        assert after <= math.e * before + 1e-3 * 2**64
        assert 2**64 - before <= (math.e * (2**64 - after) + 1e-3 * 2**64) * (1 + 1e-12)
    assert table[0] == 0


def test_rounds_spend_what_one_would():
    noises = private_selection.rounds(1.0, 1e-5)
    one = private_selection.gaussian(1.0, 1e-5)
    assert sum(each.sigma**-2 for each in noises) == pytest.approx(one.sigma**-2, rel=1e-3)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (6.0, 1e-4), (8.0, 1e-3)])
def test_noise_as_drawn_and_items_of_one_user_alone_cost_what_they_may(epsilon, delta):
    unit, half = private_selection.WHOLE, delta * 63 / 128
    for noises in ([private_selection.gaussian(epsilon, delta)], private_selection.rounds(epsilon, delta)):
        tails = 0.0
        for noise in noises:
            deviation, threshold = noise.sigma * unit, noise.threshold * unit
            assert deviation == int(deviation)
            worst = 0.0
            for t in range(1, private_selection.MOST_ITEMS + 1):
                least = math.floor(threshold) - math.isqrt(unit * unit // t) + 1  # whole noise that is enough
                tail = math.erfc((least - 0.5) / deviation / math.sqrt(2)) / 2
                worst = max(worst, -math.expm1(t * math.log1p(-tail)))
            tails += worst
        assert tails <= half


def test_a_noise_table_that_delta_cannot_pay_for_is_refused():
    with pytest.raises(ParameterError, match="noise table"):
        private_selection.laplace(0.01, 1e-9, 1_000_000)


def test_items_of_a_log():
    log = coterie.log(pl.DataFrame({"user": ["a", "b"], "query": ["cheap  flights rome", "rome"], "url": ["x", None]}))
    assert set(private_selection.words(log).collect()["item"]) == {"cheap", "flights", "rome"}
    known = pl.Series(["cheap", "flights"])
    assert private_selection.phrases(log, known).collect()["item"].to_list() == ["cheap flights"]
    clicked = private_selection.clicks(log, pl.Series(["rome", "cheap  flights rome"])).collect()
    assert clicked.drop_nulls()["item"].to_list() == ["cheap  flights rome\x1fx"]


def test_a_text_with_the_separator_is_nobodys():
    rows = {"user": ["a", "b"], "query": ["maps\x1f2006-03-01", "maps"], "url": ["x", "x\x1fy"]}
    log = coterie.log(pl.DataFrame(rows))
    assert private_selection.queries(log).collect()["item"].to_list() == ["maps"]
    assert private_selection.clicks(log, pl.Series(rows["query"])).collect().is_empty()


def test_phrases_do_not_cross_queries():
    log = coterie.log(pl.DataFrame({"user": ["a", "a"], "query": ["one two", "three"]}))
    known = pl.Series(["one", "two", "three"])
    assert private_selection.phrases(log, known).collect()["item"].to_list() == ["one two"]


def test_a_pair_of_other_people_does_not_change_ones_weights():
    pairs = Pairs(items=pl.Series(["a", "b"]), start=np.array([0, 2, 3]), keys=np.array([0, 1, 1], dtype=np.uint32))
    alone = Pairs(items=pl.Series(["a", "b"]), start=np.array([0, 2]), keys=np.array([0, 1], dtype=np.uint32))
    coins, wanted = np.full(3, 2**63, dtype=np.uint64), np.array([1 << 20, 1 << 19])
    budgets = np.array([tables().cost_budget, tables().mass_budget])
    found = []
    for each in (pairs, alone):
        weights = np.zeros(each.keys.size, dtype=np.uint8)
        kernel.spread(
            each.start,
            each.keys,
            wanted,
            coins[: each.keys.size],
            tables().costs,
            tables().masses,
            budgets,
            weights,
            0,
            each.users,
        )
        found.append(weights[:2].tolist())
    assert found[0] == found[1]
