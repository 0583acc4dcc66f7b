"""Private selection: which items may be named, so that no user's presence shows; and how many users have them.

The steps [1] to [6] are those of docs/proofs/private_counts.md. All sums are whole numbers; noise and coins are words
of the operating system (`run.words`), each used once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from coterie.core.arrays import Flags, Ints, offsets
from coterie.core.randomness import Words, gaussian_draws
from coterie.core.run import Run
from coterie.core.threads import in_threads
from coterie.kernels import spread as kernel
from coterie.models.private_tables import UNIT, Tables

ONE = 1 << 20
"""A prior, or what the sketch says of an item, of 1."""
_LENGTH = 16  # characters over which the prior falls by a factor e
_LONGEST = 1000  # characters; beyond, the prior is at its smallest anyway
_CELLS = 8  # of the sketch for each unit
_HIGHEST = 1024  # units; an item beyond is as certain as one there
_PARTS = 64  # for the threads; without effect on the result


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Pairs:
    """Distinct (user, item) pairs by user; users and items are numbered in byte order."""

    items: pl.Series
    start: Ints
    """The pairs of user u: start[u] .. start[u + 1]."""
    keys: kernel.Keys
    """The item of each pair."""

    @property
    def users(self) -> int:
        """How many users there are."""
        return self.start.size - 1

    def only(self, kept: Flags) -> Pairs:
        """The pairs of some items, numbered anew."""
        numbers = np.cumsum(kept, dtype=np.int64) - 1
        held = kept[self.keys]
        before = offsets(held)
        return Pairs(
            items=self.items.filter(pl.Series(kept)),
            start=before[self.start],
            keys=numbers[self.keys[held]].astype(np.uint32),
        )


def pairs_of(rows: pl.LazyFrame, run: Run) -> Pairs:
    """[1] The distinct pairs of the columns `subject` and `item`; rows without one of them are left out."""

    def distinct(frame: pl.LazyFrame) -> pl.LazyFrame:
        return frame.select("subject", "item").drop_nulls().unique()

    named = run.each(rows, lambda frame: frame.select("subject", "item"))
    pairs = run.engine.fetch(run.blocks(named, distinct, by=["subject", "item"]))
    users = _numbered(pairs, "subject")
    items = _numbered(pairs, "item")
    numbers = (
        pairs.join(users.lazy(), on="subject").join(items.lazy(), on="item").select("subject_number", "item_number")
    ).sort("subject_number", "item_number").collect(engine="streaming")  # fmt: skip
    sizes = np.bincount(numbers["subject_number"].to_numpy(), minlength=users.height)
    return Pairs(items=items["item"], start=offsets(sizes), keys=numbers["item_number"].to_numpy())


def _numbered(pairs: pl.LazyFrame, name: str) -> pl.DataFrame:
    values = pairs.select(pl.col(name).unique()).collect(engine="streaming").sort(name)
    return values.with_row_index(f"{name}_number")


def length_prior(items: pl.Series) -> Ints:
    """What an item is worth before anything is known of it: short ones are more often common. Public, and fixed."""
    falling = [max(1, round(ONE * math.exp(-n / _LENGTH))) for n in range(_LONGEST + 1)]
    lengths = items.str.len_chars().clip(0, _LONGEST).to_numpy()
    prior: Ints = np.array(falling, dtype=np.int64)[lengths]
    return prior


def no_prior(items: pl.Series) -> Ints:
    """The same for every item."""
    return np.full(items.len(), ONE, dtype=np.int64)


def sketch(pairs: Pairs, prior: Ints, tables: Tables, run: Run) -> Ints:
    """[2] [L4] About how much weight an item would get, in units of 1 / S1, with noise. It is never published."""
    sums = np.zeros(pairs.items.len(), dtype=np.int64)
    kernel.sketch_sums(pairs.start, pairs.keys, prior, tables.sketch_unit, sums)
    return sums + gaussian_draws(tables.sketch_variance, run.words(sums.size))


def wanted(noisy: Ints, prior: Ints, tables: Tables) -> Ints:
    """[3] g: how much of a user's weight an item should get: little where it is hopeless, or certain anyway."""
    width = tables.sketch_unit // _CELLS
    lowest = -(noisy.min(initial=0) // -width) - 1
    cells = np.arange(lowest, _HIGHEST * _CELLS + 1)
    z = cells / _CELLS
    deviation = math.sqrt(tables.sketch_variance) / tables.sketch_unit
    enough = 1.2 * tables.weight_for(0.99) / UNIT
    rise = 1 / (1 + np.exp(-np.clip((z / deviation - 0.5) / 0.3, -40, 40)))
    fall = np.minimum(1, enough / np.maximum(z - deviation, enough))
    table = np.rint(ONE * rise * fall).astype(np.int64)
    places = np.clip(noisy // width, lowest, _HIGHEST * _CELLS) - lowest
    chosen: Ints = (table[places] * prior) >> 20
    return chosen


def weights(pairs: Pairs, wanted: Ints, tables: Tables, run: Run) -> kernel.Weights:
    """[3] [L3] The whole weight of each pair, within the two budgets of its user."""
    given, coins = np.zeros(pairs.keys.size, dtype=np.uint8), run.words(pairs.keys.size)
    budgets = np.array([tables.cost_budget, tables.mass_budget])

    def work(part: tuple[int, int]) -> None:
        kernel.spread(pairs.start, pairs.keys, wanted, coins, tables.costs, tables.masses, budgets, given, *part)

    in_threads(work, _parts(pairs.users))
    return given


def sums_above(pairs: Pairs, given: kernel.Weights, largest: int, k: int) -> Ints:
    """[4] [L2] The weight of each item without the k - 1 largest contributions: 0 where fewer than k users have it."""
    start, order = kernel.by_key(pairs.keys, pairs.items.len())
    sums = np.zeros(pairs.items.len(), dtype=np.int64)

    def work(part: tuple[int, int]) -> None:
        kernel.weights_above(start, order, given, largest, k - 1, sums, *part)

    in_threads(work, _parts(sums.size))
    return sums


def released(sums: Ints, table: Words, run: Run) -> Flags:
    """[5] Which items are named: each where its word is below the table's entry for its weight."""
    flags: Flags = run.words(sums.size) < table[np.minimum(sums, table.size - 1)]
    return flags


def picked(pairs: Pairs, limit: int, run: Run) -> Ints:
    """[6] How many users count for each item; each user counts for at most `limit` of theirs, by their own coins."""
    picks = np.zeros(pairs.items.len(), dtype=np.int64)
    kernel.picks(pairs.start, pairs.keys, run.words(pairs.keys.size), limit, picks)
    return picks


def counted(pairs: Pairs, limit: int, variance: int, run: Run) -> Ints:
    """[6] How many users count for each item, with noise."""
    return picked(pairs, limit, run) + gaussian_draws(variance, run.words(pairs.items.len()))


def select(pairs: Pairs, prior: Ints, tables: Tables, k: int, run: Run) -> Flags:
    """[2] to [5]: which items are named."""
    shares = wanted(sketch(pairs, prior, tables, run), prior, tables) if tables.budget.sketch else prior
    given = weights(pairs, shares, tables, run)
    return released(sums_above(pairs, given, tables.costs.size - 1, k), tables.released, run)


def _parts(total: int) -> Sequence[tuple[int, int]]:
    cuts = sorted({total * part // _PARTS for part in range(_PARTS + 1)})
    return list(itertools.pairwise(cuts))
