"""Tables, prices and draws of private selection against numbers that were computed elsewhere, with more precision."""

import math

import numpy as np
import pytest

from coterie.core.randomness import gaussian_table, reach_of
from coterie.methods.private_counts.kernels import release_table, spread
from coterie.methods.private_counts.model import gaussian, laplace
from coterie.methods.private_counts.tables import Budget, divergence_budget, tables_for

E10 = math.exp(-10)


@pytest.mark.parametrize(("epsilon", "delta", "alpha", "c", "entries", "half", "nearly_all"), [
    (1, 1e-5, 16, 0.45807107536,
     [1.875e-7, 6.623231354e-7, 1.7375537e-6, 8.585204325e-6, 1.838991459e-4, 8.302333975e-3], 50, 79),
    (3, E10, 5, 1.03633429344,
     [8.51248683e-7, 1.177174697e-5, 9.017608711e-5, 1.674947489e-3, 0.06481863501, 0.7083796703], 18, 28),
])  # fmt: skip
def test_release_table_with_unit_steps(epsilon, delta, alpha, c, entries, half, nearly_all):
    share = 0.3
    budget = divergence_budget(epsilon, (1 - share) * delta, alpha)
    assert budget == pytest.approx(c, rel=1e-10)
    table, rests = release_table(float(alpha), budget, share * delta, 4, 1, 1.0, 1.0)
    assert table[[1, 2, 3, 5, 10, 20]] == pytest.approx(entries, rel=1e-8)
    assert np.argmax(table >= 0.5) == half
    assert np.argmax(table >= 0.99) == nearly_all
    assert table + rests == pytest.approx(1)


@pytest.mark.parametrize((
    "epsilon", "delta", "alpha", "share", "unit", "variance", "c", "entries", "half", "nearly_all",
), [
    (1, 1e-6, 16, 0.2, 256, 5593881, 0.3124176049,
     {1: 3546151773, 2: 13572879935, 12: 363990373793, 100: 358291012752967, 300: 329626314733260928}, 613, 953),
    (1, 1e-5, 14, 0.3, 256, 4214285, 0.3628547847,
     {1: 53192276607, 12: 5389588155661, 300: 1159850392632750848}, 505, 800),
    (3, E10, 5.5, 0.3, 256, 471352, 1.2745206491,
     {1: 241492562189, 12: 34774928955346, 300: 18422351651850217472}, 178, 278),
])  # fmt: skip
def test_tables_in_whole_numbers(epsilon, delta, alpha, share, unit, variance, c, entries, half, nearly_all):
    tables = tables_for(Budget(epsilon=epsilon, delta=delta, sketch=0.3), alpha, share)
    assert (tables.sketch_unit, tables.sketch_variance) == (unit, variance)
    assert tables.c == pytest.approx(c, rel=1e-9)
    assert {w: int(tables.released[w]) for w in entries} == pytest.approx(entries, rel=1e-9)
    assert (tables.weight_for(0.5), tables.weight_for(0.99)) == (half, nearly_all)


def test_a_small_delta_needs_a_coarser_sketch():
    assert tables_for(Budget(epsilon=1, delta=1e-8, sketch=0.3), 20, 0.2).sketch_unit == 128


def test_prices():
    tables = tables_for(Budget(epsilon=1, delta=1e-6, sketch=0.3), 16, 0.2)
    assert tables.costs[[1, 2]].tolist() == pytest.approx([234790431, 939161721], rel=1e-7)
    assert tables.costs[12] == pytest.approx(33809829051, rel=1e-6)
    assert tables.masses[[1, 12, 13]].tolist() == pytest.approx([221634486, 31915365965, 37456228112], rel=1e-7)
    assert (tables.cost_budget, tables.mass_budget) == (240454752493, 226981421219)
    assert tables.costs[-1] <= tables.cost_budget


def test_noise_tables():
    assert reach_of(4) == 20
    assert gaussian_table(4)[18:23].tolist() == [
        4136346010143971104, 7383575500167950194, 11063168573541601421, 14310398063565580511, 16542184077832937552,
    ]  # fmt: skip
    large = gaussian_table(5593881)
    assert reach_of(5593881) == 23652
    assert large[[23651, 23652]].tolist() == [9221816274777704201, 9224927798931847414]


@pytest.mark.parametrize(("items", "each"), [(1, 13), (2, 12), (7, 12), (8, 11), (100, 3), (2000, 0)])
def test_a_user_spreads_weight_evenly_over_equal_items(items, each):
    tables = tables_for(Budget(epsilon=1, delta=1e-6, sketch=0.3), 16, 0.2)
    weights = np.zeros(items, dtype=np.uint8)
    spread(
        np.array([0, items]), np.arange(items, dtype=np.uint32), np.full(items, 2**20),
        np.full(items, 2**63, dtype=np.uint64),
        tables.costs, tables.masses, np.array([tables.cost_budget, tables.mass_budget]), weights, 0, 1,
    )  # fmt: skip
    assert set(weights.tolist()) == {each}


@pytest.mark.parametrize(
    ("epsilon", "delta", "d", "threshold"), [(math.log(10), 1e-5, 1, 5.70), (math.log(10), 1e-5, 10, 57.99)]
)
def test_threshold_of_korolova_is_that_of_distinct_queries_or_less(epsilon, delta, d, threshold):
    ours = laplace(epsilon, delta, d)
    assert ours.scale == pytest.approx(d / epsilon)
    assert ours.threshold <= math.ceil(threshold) + 1


@pytest.mark.parametrize(("epsilon", "delta", "most", "sigma", "threshold"), [
    (1, 1e-5, 100, 3.8841, 20.790),
])  # fmt: skip
def test_gaussian_noise_and_threshold(epsilon, delta, most, sigma, threshold):
    # Ours is for 63/64 of delta, so a little more than what was computed for all of it.
    ours = gaussian(epsilon, delta, most)
    assert sigma <= ours.sigma * 1.0001 <= 1.01 * sigma
    assert threshold <= ours.threshold <= 1.01 * threshold
