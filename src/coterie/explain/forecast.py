"""Forecast: how many users an item needs to be released with differential privacy. It looks at no log.

Where each user has m items and gives all of them the same weight, an item needs as many users as make its weight enough
for a chance of one half, or of 99 %, besides the k - 1 whose weight is not counted.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from coterie import api
from coterie.core.log import Log
from coterie.errors import ParameterError
from coterie.methods.private_counts import PrivateCounts
from coterie.methods.private_counts.kernels import spread
from coterie.methods.private_counts.model import optimal_table
from coterie.methods.private_counts.tables import Tables, tables_of

_Row = tuple[int, int | None, int | None]
ITEMS = (1, 4, 16, 64, 256)
_HALF_COIN = np.uint64(1 << 63)


def users_needed(method: PrivateCounts) -> pl.DataFrame:
    """Items of a user, and how many users an item then needs for a chance of one half and of 99 %."""
    if method.mechanism != "table":
        raise ParameterError("The forecast is for mechanism = table. Leave out mechanism.")
    if method.queries_per_user == 1:
        table = optimal_table(method.epsilon, method.stated_delta)
        half, most = (int(np.searchsorted(table, np.uint64(int(chance * 2.0**64)))) for chance in (0.5, 0.99))
        return _table([(1, half + method.k - 1, most + method.k - 1)])
    tables = tables_of(method.budget(method.stages[0]))
    rows: list[_Row] = []
    for items in ITEMS:
        weight = _weight(tables, items)
        half_of_it, most_of_it = (_users(tables.weight_for(chance), weight, method.k) for chance in (0.5, 0.99))
        rows.append((items, half_of_it, most_of_it))
    return _table(rows)


def _users(needed: int, weight: float, k: int) -> int | None:
    """How many users give an item that much weight; None where each gives nothing."""
    return math.ceil(needed / weight) + k - 1 if weight else None


def _table(rows: list[_Row]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"items": pl.Int64, "half": pl.Int64, "nearly_all": pl.Int64}, orient="row")


def _weight(tables: Tables, items: int) -> float:
    """The mean weight that each of so many equal items gets."""
    weights = np.zeros(items, dtype=np.uint8)
    coins = (np.arange(items, dtype=np.float64) / items * 2.0**64).astype(np.uint64)
    if items == 1:
        coins = np.array([_HALF_COIN])
    start, keys, shares = np.array([0, items]), np.arange(items, dtype=np.uint32), np.full(items, 1 << 20)
    budgets = np.array([tables.cost_budget, tables.mass_budget])
    spread(start, keys, shares, coins, tables.costs, tables.masses, budgets, weights, 0, 1)
    return float(weights.mean())


def synthetic_yield(method: PrivateCounts, users: int, seed: int = 7) -> tuple[int, int, int]:
    """Queries released of a synthetic log of so many users, the distinct ones in it, and its rows."""
    log: Log = api.prepare(api.read(f"synth:users={users},seed={seed}"))
    release = api.anonymize_prepared(log, method)
    item = pl.col(log.shape.item)
    distinct, rows = log.frame.select(item.n_unique().alias("distinct"), pl.len()).collect(engine="streaming").row(0)
    return release.to_polars().height, int(distinct), int(rows)
