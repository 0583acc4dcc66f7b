"""Other mechanisms of private selection, to compare with: thresholds on noisy counts or weights.

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

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from statistics import NormalDist

import numpy as np

from coterie.core.arrays import Flags, Ints
from coterie.core.randomness import (
    Words,
    laplace_error,
    laplace_table,
    rounded_gaussian_table,
    table_draws,
    table_error,
)
from coterie.core.run import Run
from coterie.errors import ParameterError
from coterie.kernels import spread as kernel
from coterie.models.private_selection import Pairs

UNIT = 1024
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
    sigma = math.ceil(sigma * UNIT) / UNIT
    tails = (-math.expm1(math.log1p(-delta) / t) for t in range(1, most + 1))
    threshold = max(1 / math.sqrt(t) - sigma * _NORMAL.inv_cdf(tail) for t, tail in enumerate(tails, 1))
    return Gaussian(sigma=sigma, threshold=math.ceil(threshold * (1 + 1e-9) * UNIT) / UNIT)


def _deviation(noise: Gaussian) -> int:
    """Of the noise, in parts of a unit."""
    return round(noise.sigma * UNIT)


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
    flags: Flags = (noisy > noise.threshold * UNIT) & (sums > 0)
    return flags


def _spread_evenly(pairs: Pairs, k: int, run: Run) -> Ints:
    """Each user gives 1/√t of a unit to each of t items, at most Δ0 that are drawn at random."""
    given = np.zeros(pairs.keys.size, dtype=np.uint16)
    kernel.even_weights(pairs.start, run.words(pairs.keys.size), MOST_ITEMS, UNIT, given)
    start, order = kernel.by_key(pairs.keys, pairs.items.len())
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
