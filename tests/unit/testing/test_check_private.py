"""The tester passes what keeps its word and catches what does not.

Here the pairs of logs that show a fault are given; `make falsify` lets the tester find them, for every variant and with
all scenes.
"""

import os

import numpy as np
import pytest
from scipy.stats import beta

from coterie.methods.private_counts import PrivateCounts
from coterie.testing import check_private
from coterie.testing.check_private import SCENES, Scene, _lower, violations
from tests.helpers.broken_private import BROKEN

LONG = bool(os.environ.get("COTERIE_FALSIFY"))
BUDGET = {"epsilon": 1.0, "delta": 0.02}
METHOD = {**BUDGET, "k": 1, "counts": 0.0}
DAYS = {"counts": 0.2, "days": "2006-03-01..2006-06-08", "count_items": 100}
HONEST = {
    "table": {},
    "table, k = 3": {"k": 3},
    "numbers": {"counts": 0.5, "count_items": 1},
    "days": DAYS,
    "one item each": {"queries_per_user": 1},
    "korolova": {"mechanism": "korolova", "queries_per_user": 4},
    "wgm": {"mechanism": "wgm"},
    "sips": {"mechanism": "sips"},
}
ONE, FEW, MANY = Scene(items=1, others=4), Scene(items=7, others=7), Scene(items=256, apart=True, others=13)
SKETCH = Scene(items=1, company=6, longer=24, others=26)
NUMBERS, BY_DAY = Scene(items=64, apart=True, others=50), Scene(items=1, days=100, others=80)
SHORT = {
    "three times epsilon": (FEW, 500_000),
    "no bound per user": (MANY, 1_200_000),
    "delta forgotten": (Scene(items=1), 10_000),
    "rows counted for users": (ONE, 20_000),
    "sketch without noise": (SKETCH, 400_000),
    "wrong scale": (Scene(items=4, others=4), 50_000),
    "numbers without bound": (NUMBERS, 1_000_000),
    "days for one": (BY_DAY, 100_000),
}
"""Where each variant shows itself, and how many rows that takes."""
TRIES = 6
"""Noise comes from the operating system, so one verdict is a matter of chance: it may miss a broken method, and an
honest one may fail once in a thousand times. Several tries leave nothing of that."""


def examined(name):
    """The scenes and rows for a variant, in the short version and in the long one."""
    if LONG:
        return {"scenes": SCENES}
    scene, rows = SHORT[name]
    return {"scenes": (scene,), "rows": rows, "search": False}


@pytest.mark.parametrize("name", HONEST)
def test_what_keeps_its_word_passes(name):
    short = {"scenes": (ONE, FEW, SKETCH, BY_DAY), "rows": 60_000, "search": False}
    method = PrivateCounts(**{**METHOD, **HONEST[name]})
    assert not all(violations(method, **BUDGET, **({} if LONG else short)) for _ in range(2))


@pytest.mark.parametrize("name", BROKEN)
def test_what_breaks_its_word_is_caught(name):
    cls, params = BROKEN[name]
    method = cls(**{**METHOD, **params})
    assert any(violations(method, **BUDGET, **examined(name)) for _ in range(TRIES))


def test_the_steep_part_is_found():
    cls, params = BROKEN["rows counted for users"]
    found = violations(cls(**METHOD, **params), **BUDGET, scenes=(Scene(items=1),), rows=40_000)
    assert found
    assert all(each.excess > 0 for each in found)


def test_the_message_says_which_logs_show_it():
    cls, params = BROKEN["delta forgotten"]
    with pytest.raises(AssertionError, match=r"not \(1, 0.02\)-private: .* 1 items of one user that 0 others have"):
        check_private(cls(**METHOD, **params), **BUDGET, scenes=(Scene(items=1),), rows=5_000, search=False)


@pytest.mark.parametrize("scene", [*SCENES, SKETCH, MANY])
def test_two_logs_differ_in_one_user(scene):
    without, with_one = (scene.log(3, one=one) for one in (False, True))
    assert with_one.filter(~with_one["user"].is_in(without["user"].implode())).n_unique("user") == 3
    assert with_one.head(without.height).equals(without)
    assert with_one.height == 3 * scene.rows
    assert with_one.filter(with_one["query"].str.contains("-x")).height == 3 * scene.company * scene.others


@pytest.mark.parametrize(("hits", "runs"), [(0, 10), (1, 10), (7, 10), (10, 10), (300, 5000)])
def test_the_bound_is_that_of_clopper_and_pearson(hits, runs):
    expected = beta.ppf(1e-4, hits, runs - hits + 1) if hits else 0.0
    assert np.isclose(_lower(hits, runs, 1e-4), expected, rtol=1e-6)
