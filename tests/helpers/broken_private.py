"""Private counts with the mistakes that people make. Each claims (epsilon, delta) and does not keep it."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import polars as pl

from coterie.core.arrays import offsets
from coterie.methods.private_counts import PrivateCounts
from coterie.methods.private_counts import method as private_counts
from coterie.methods.private_counts import model as private_selection
from coterie.methods.private_counts.model import Pairs


class ThreeTimes(PrivateCounts):
    """Spends three times epsilon."""

    def plan(self, learnt, log, run):
        return replace_with(PrivateCounts, self, epsilon=3 * self.epsilon).plan(learnt, log, run)


class NoBoundPerUser(PrivateCounts):
    """Every item of a user gets the weight that one item may have."""

    def plan(self, learnt, log, run):
        def weights(pairs, wanted, tables, run):
            return np.full(pairs.keys.size, tables.costs.size - 1, dtype=np.uint8)

        with patch.object(private_selection, "weights", weights):
            return PrivateCounts.plan(self, learnt, log, run)


class DeltaForgotten(PrivateCounts):
    """The table begins where it should have grown to: an item of one user can be released."""

    def plan(self, learnt, log, run):
        def released(sums, table, run):
            half = int(np.searchsorted(table, np.uint64(2**63)))
            return private_selection_released(sums * half, table, run)

        with patch.object(private_selection, "released", released):
            return PrivateCounts.plan(self, learnt, log, run)


class RowsForUsers(PrivateCounts):
    """Rows are counted in place of users."""

    def learn(self, log, run):
        honest = PrivateCounts.learn(self, log, run)
        rows = log.frame.group_by("user", "query").len().sort("user", "query").collect()
        users = rows["user"].unique().sort().to_frame().with_row_index("number")
        repeated = np.repeat(honest.keys, rows["len"].to_numpy()).astype(np.uint32)
        sizes = rows.group_by("user").agg(pl.col("len").sum()).join(users, on="user").sort("number")["len"].to_numpy()
        everybody = np.arange(int(sizes.sum()) + 1, dtype=np.int64)  # each row as a user of its own
        return Pairs(items=honest.items, start=everybody, keys=repeated) if offsets(sizes).size else honest


class SketchWithoutNoise(PrivateCounts):
    """The first pass is exact."""

    def plan(self, learnt, log, run):
        def draws(variance, words):
            return np.zeros(words.size, dtype=np.int64)

        with patch.object(private_selection, "gaussian_draws", draws):
            return PrivateCounts.plan(self, learnt, log, run)


class WrongScale(PrivateCounts):
    """Korolova's mechanism with the noise for one query, where a user has several."""

    def plan(self, learnt, log, run):
        from coterie.methods.private_counts import model as private_selection

        honest = private_selection.laplace

        def laplace(epsilon, delta, d):
            return replace(honest(epsilon, delta, d), scale=1 / epsilon, threshold=honest(epsilon, delta, 1).threshold)

        with patch.object(private_selection, "laplace", laplace):
            return PrivateCounts.plan(self, learnt, log, run)


class NumbersWithoutBound(PrivateCounts):
    """A user counts for every released item that they have."""

    def plan(self, learnt, log, run):
        def counted(pairs, limit, variance, run):
            return private_selection.counted(pairs, pairs.items.len(), variance, run)

        with patch.object(private_counts, "counted", counted):
            return PrivateCounts.plan(self, learnt, log, run)


class DaysForOne(PrivateCounts):
    """Numbers by day with the noise for one day, where a user has several."""

    def plan(self, learnt, log, run):
        def cells_of(stage, counted):
            return honest(stage, 1)

        honest = private_counts.cells_of
        with patch.object(private_counts, "cells_of", cells_of):
            return PrivateCounts.plan(self, learnt, log, run)


private_selection_released = private_selection.released


def replace_with(cls, method, **changed):
    """The same parameters, some changed, in another class."""
    from dataclasses import asdict

    return cls(**{**asdict(method), **changed})


BROKEN = {
    "three times epsilon": (ThreeTimes, {}),
    "no bound per user": (NoBoundPerUser, {}),
    "delta forgotten": (DeltaForgotten, {}),
    "rows counted for users": (RowsForUsers, {}),
    "sketch without noise": (SketchWithoutNoise, {}),
    "wrong scale": (WrongScale, {"mechanism": "korolova", "queries_per_user": 4}),
    "numbers without bound": (NumbersWithoutBound, {"counts": 0.5, "count_items": 1}),
    "days for one": (DaysForOne, {"counts": 0.2, "days": "2006-03-01..2006-06-08", "count_items": 100}),
}
