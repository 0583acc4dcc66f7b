"""Private selection: which items may be named, so that no user's presence shows; and how many users have them.

The steps [1] to [6] are those of docs/proofs/private_counts.md. All sums are whole numbers; noise and coins are words
of the operating system (`run.words`), each used once.

What users have, as rows of subject and item: queries, words, phrases, clicked pages, days.

Each row depends on one row of the log alone. An item of two parts (a query and its page) is one text with a separator;
rows whose own text has it are left out.

Other mechanisms of private selection, to compare with: thresholds on noisy counts or weights.

    korolova   a user supports d items; a count with discrete Laplace noise must reach a threshold (Korolova,
               Kenthapadi, Mishra and Ntoulas 2009, for users whose items are distinct)
    wgm        a user spreads a vector of length 1 over all items; Gaussian noise and a threshold (Gopi et al. 2020)
    sips       three rounds of wgm with geometric shares of the budget, items found leave (Swanberg et al. 2023)

Weights are whole numbers, and Gaussian noise is that of the continuous Gaussian rounded to whole numbers: what comes
out is a function of whole weight plus continuous noise, so the published proofs hold as they are. For that, deviations
and thresholds are whole as well, and rounded up: the noise that a threshold is made for is the noise that is drawn. A
64th of delta is for rounding in the tables of all three.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from statistics import NormalDist

import numpy as np
import polars as pl

from coterie.algorithms.kernels._arrays import places_by
from coterie.core.arrays import Flags, Ints, offsets
from coterie.core.log import Log
from coterie.core.randomness import (
    Words,
    gaussian_draws,
    laplace_error,
    laplace_table,
    rounded_gaussian_table,
    table_draws,
    table_error,
)
from coterie.core.run import Run
from coterie.core.threads import in_threads
from coterie.errors import ParameterError
from coterie.methods.private_counts import kernels as kernel
from coterie.methods.private_counts.tables import UNIT, Tables

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
    start, order = places_by(pairs.keys, pairs.items.len())
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


# --- what users have ------------------------------------------------------------------------------


SEPARATOR = "\x1f"
_PHRASE_WORDS = (2, 3)


def queries(log: Log) -> pl.LazyFrame:
    """Whole items: queries, or the pages of an access log."""
    return _rows(log).select("subject", "item")


def words(log: Log) -> pl.LazyFrame:
    """The words of queries, as white space cuts them."""
    return _rows(log).select("subject", _words()).explode("item", empty_as_null=True, keep_nulls=True)


def phrases(log: Log, known: pl.Series) -> pl.LazyFrame:
    """Two or three consecutive words that are all known."""
    cut = _rows(log).select("subject", _words().alias("words")).with_row_index("number")
    each = cut.explode("words", empty_as_null=True, keep_nulls=True)
    each = each.with_columns(pl.col("words").is_in(known.implode()).alias("known"))
    made = []
    for size in _PHRASE_WORDS:
        phrase = pl.concat_str((pl.col("words").shift(-n) for n in range(size)), separator=" ").alias("item")
        same_query = pl.col("number").shift(1 - size) == pl.col("number")
        kept = pl.all_horizontal(same_query, *(pl.col("known").shift(-n) for n in range(size))).fill_null(False)
        made.append(each.select("subject", phrase, kept.alias("kept")).filter("kept").drop("kept"))
    return pl.concat(made)


def clicks(log: Log, known: pl.Series) -> pl.LazyFrame:
    """Known queries with the page that was clicked."""
    page = pl.col(log.shape.page)
    rows = _rows(log).filter(pl.col("item").is_in(known.implode()), ~page.str.contains(SEPARATOR, literal=True))
    pair = pl.concat_str(pl.col("item"), page, separator=SEPARATOR)
    return rows.select("subject", pair.alias("item"))


def days(log: Log, known: pl.Series, first: str, last: str, *, of_words: bool = False) -> pl.LazyFrame:
    """Known queries, or words, with the day, within the days that were given."""
    day = pl.col(log.shape.time).dt.strftime("%Y-%m-%d").alias("day")
    rows = _rows(log).select("subject", _words() if of_words else "item", day)
    rows = rows.filter(pl.col("day").is_between(pl.lit(first), pl.lit(last)))
    if of_words:
        rows = rows.explode("item", empty_as_null=True, keep_nulls=True)
    rows = rows.filter(pl.col("item").is_in(known.implode()))
    return rows.select("subject", pl.concat_str("item", "day", separator=SEPARATOR).alias("item"))


def _rows(log: Log) -> pl.LazyFrame:
    item = pl.col(log.shape.item)
    rows = log.frame.filter(~item.str.contains(SEPARATOR, literal=True))
    return rows.with_columns(pl.col(log.shape.subject).alias("subject"), item.alias("item"))


def _words() -> pl.Expr:
    return pl.col("item").str.replace_all(r"\s+", " ").str.split(" ").list.eval(pl.element().filter(pl.element() != ""))


# --- other mechanisms -----------------------------------------------------------------------------


WHOLE = 1024
"""A weight of 1 in whole numbers."""
MOST_ITEMS = 256
"""Δ0: a user supports at most that many."""
ROUNDS = 3
_ROUND_FACTOR = 0.3
_NORMAL = NormalDist()


@dataclass(frozen=True, kw_only=True)
class Gaussian:
    """Noise and threshold of one round, in units of a weight of 1."""

    sigma: float
    threshold: float


@cache
def gaussian(epsilon: float, delta: float, most: int = MOST_ITEMS) -> Gaussian:
    """Half of delta for the noise, half for items that one user alone has, but for a 64th: for rounding in tables."""
    half = delta * 63 / 128
    return _affordable([_with_threshold(_sigma(epsilon, half), half, most)], epsilon, delta)[0]


def _with_threshold(sigma: float, delta: float, most: int) -> Gaussian:
    """ρ = max over t of 1/√t + σ Φ⁻¹((1 - δ)^(1/t)), for the σ that is drawn; both in whole parts of a unit."""
    sigma = math.ceil(sigma * WHOLE) / WHOLE
    tails = (-math.expm1(math.log1p(-delta) / t) for t in range(1, most + 1))
    threshold = max(1 / math.sqrt(t) - sigma * _NORMAL.inv_cdf(tail) for t, tail in enumerate(tails, 1))
    return Gaussian(sigma=sigma, threshold=math.ceil(threshold * (1 + 1e-9) * WHOLE) / WHOLE)


def _deviation(noise: Gaussian) -> int:
    """Of the noise, in parts of a unit."""
    return round(noise.sigma * WHOLE)


def _affordable(noises: list[Gaussian], epsilon: float, delta: float) -> list[Gaussian]:
    """The same, where rounding in their tables costs at most a 64th of delta."""
    error = sum(table_error(_deviation(noise) ** 2) for noise in noises)
    if (1 + math.exp(epsilon)) * MOST_ITEMS * error > delta / 64:
        raise ParameterError("delta is too small for the noise table of this mechanism. Use mechanism = table.")
    return noises


def _sigma(epsilon: float, delta: float) -> float:
    """The smallest noise with Φ(1/2σ - εσ) - e^ε Φ(-1/2σ - εσ) ≤ δ (Balle and Wang 2018), rounded up."""

    def excess(sigma: float) -> float:
        a, b = 1 / (2 * sigma), epsilon * sigma
        return _NORMAL.cdf(a - b) - math.exp(epsilon) * _NORMAL.cdf(-a - b)

    low, high = 1e-3, 1e-3
    while excess(high) > delta:
        low, high = high, 2 * high
        if high > 1e6:
            raise ParameterError("epsilon and delta are too small for this mechanism.")
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if excess(middle) <= delta else (middle, high)
    return high * (1 + 1e-9)


def weighted_gaussian(pairs: Pairs, k: int, noise: Gaussian, run: Run) -> Flags:
    """Which items have enough noisy weight, without the k - 1 largest contributions to each."""
    table, reach = rounded_gaussian_table(_deviation(noise))
    sums = _spread_evenly(pairs, k, run)
    noisy = sums + table_draws(table, reach, run.words(sums.size))
    flags: Flags = (noisy > noise.threshold * WHOLE) & (sums > 0)
    return flags


def _spread_evenly(pairs: Pairs, k: int, run: Run) -> Ints:
    """Each user gives 1/√t of a unit to each of t items, at most Δ0 that are drawn at random."""
    given = np.zeros(pairs.keys.size, dtype=np.uint16)
    kernel.even_weights(pairs.start, run.words(pairs.keys.size), MOST_ITEMS, WHOLE, given)
    start, order = places_by(pairs.keys, pairs.items.len())
    sums = np.zeros(pairs.items.len(), dtype=np.int64)
    kernel.sums_without_largest(start, order, given, k - 1, sums)
    return sums


def rounds(epsilon: float, delta: float) -> list[Gaussian]:
    """The rounds of DP-SIPS: shares of μ² and of delta grow by 1/0.3."""
    shares = [_ROUND_FACTOR ** (ROUNDS - 1 - number) for number in range(ROUNDS)]
    shares = [share / sum(shares) for share in shares]
    half = delta * 63 / 128
    mu = 1 / _sigma(epsilon, half)
    noises = [_with_threshold(1 / (mu * math.sqrt(share)), share * half, MOST_ITEMS) for share in shares]
    return _affordable(noises, epsilon, delta)


def in_rounds(pairs: Pairs, k: int, noises: Sequence[Gaussian], run: Run) -> Flags:
    """One round of `weighted_gaussian` for each noise; items that were found no longer take weight from others."""
    found = np.zeros(pairs.items.len(), dtype=np.bool_)
    for noise in noises:
        left = ~found
        found[np.flatnonzero(left)] = weighted_gaussian(pairs.only(left), k, noise, run)
    return found


@dataclass(frozen=True, kw_only=True)
class Laplace:
    """Noise and threshold of counts of which a user changes d."""

    scale: float
    threshold: int


def laplace(epsilon: float, delta: float, d: int) -> Laplace:
    """b = d/ε; an item of one user is released with at most δ/d: (1 / (1 + q)) q^(T-1) ≤ δ/d with q = e^(-1/b).

    This is for 63/64 of δ; the rest is for rounding in the table.
    """
    scale = d / epsilon * (1 + 1e-12)
    if (1 + math.exp(epsilon)) * d * laplace_error(scale) > delta / 64:
        raise ParameterError(
            "delta is too small for the noise table of this mechanism, or queries_per_user too large. Use mechanism = "
            "table."
        )
    q = math.exp(-1 / scale)
    steps = math.ceil((math.log(d / (delta * 63 / 64)) - math.log1p(q)) * scale * (1 + 1e-12))
    return Laplace(scale=scale, threshold=1 + max(steps, 1))


def korolova(pairs: Pairs, k: int, noise: Laplace, d: int, run: Run) -> Flags:
    """Which items have a noisy count of at least the threshold; k - 1 of their users are not counted."""
    counts = np.zeros(pairs.items.len(), dtype=np.int64)
    kernel.picks(pairs.start, pairs.keys, run.words(pairs.keys.size), d, counts)
    counts = np.maximum(counts - (k - 1), 0)
    table, reach = laplace_table(noise.scale)
    flags: Flags = (counts + table_draws(table, reach, run.words(counts.size)) >= noise.threshold) & (counts > 0)
    return flags


@cache
def optimal_table(epsilon: float, delta: float) -> Words:
    """π(n) of Desfontaines, Voss, Gipson and Mandayam 2020 for users with one item each, as whole parts of 2^64.

    Rounded down at every step, and never above what the step before allows with a margin of 2^-40.
    """
    one, grow = 2**64, Fraction(math.exp(epsilon) * (1 - 1e-12))
    shrink, extra = Fraction(math.exp(-epsilon) * (1 + 1e-12)), Fraction(delta)
    entries = [0]
    while entries[-1] < one - 1:
        before = Fraction(entries[-1], one)
        above = min(grow * before + extra, 1 - shrink * (1 - before - extra), Fraction(one - 1, one))
        entry = math.floor(above * one)
        if entry <= entries[-1]:
            break
        entries.append(entry)
    return np.array(entries, dtype=np.uint64)


def one_item_each(pairs: Pairs, prior: Ints, k: int, table: Words, run: Run) -> Flags:
    """Each user supports the one of their items with the largest prior, ties by their own coins."""
    counts = np.zeros(pairs.items.len(), dtype=np.int64)
    kernel.best_items(pairs.start, pairs.keys, prior, run.words(pairs.keys.size), counts)
    counts = np.maximum(counts - (k - 1), 0)
    flags: Flags = run.words(counts.size) < table[np.minimum(counts, table.size - 1)]
    return flags
