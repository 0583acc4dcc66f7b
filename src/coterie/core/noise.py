"""Noise that carries a promise: words from the operating system, and tables in whole numbers that turn them into draws.

Nothing here is seeded: whoever could repeat a draw could take it off again. No floating-point number touches a draw, so
its lowest bits tell nothing about what it was added to.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from coterie.core.arrays import Ints
from coterie.errors import InternalError

Words = NDArray[np.uint64]

_BITS = 256
_ONE = 1 << _BITS
_REACH = 10  # standard deviations; what lies beyond has a probability below 2^-75
_SLICE = 1 << 22  # words at once
_MANY = 1 << 17  # words, from which on a guide to the table is worth making
_GUIDE_BITS = 16
_REST_BITS = np.uint64(64 - _GUIDE_BITS)


def words(count: int) -> Words:
    """Random words of 64 bits from the operating system."""
    drawn = np.empty(count, dtype=np.uint64)
    for start in range(0, count, _SLICE):
        size = min(_SLICE, count - start)
        drawn[start : start + size] = np.frombuffer(os.urandom(8 * size), dtype=np.uint64)
    return drawn


def reach_of(variance: int) -> int:
    """The largest absolute value of a draw."""
    return _ceil_root(_REACH * _REACH * variance)


@cache
def gaussian_table(variance: int) -> Words:
    """T[j] = ⌊2^64 · Pr[X ≤ j - B]⌋ for the discrete Gaussian of this variance on -B..B; computed in 256-bit integers.

    Pr[X = i] is proportional to exp(-i²/2V) = q^(i²) with q = exp(-1/2V), so each weight follows from the last one by
    a multiplication with an odd power of q.
    """
    bound = reach_of(variance)
    q = _exp_of_minus(1, 2 * variance)
    weight, power, square = _ONE, q, q * q >> _BITS
    weights = [_ONE]
    for _ in range(bound):
        weight = weight * power >> _BITS
        power = power * square >> _BITS
        weights.append(weight)
    return _cumulated(weights)


def _cumulated(weights: Sequence[int]) -> Words:
    """T[j] = ⌊2^64 · Pr[X ≤ j - B]⌋ for a symmetric distribution with these weights at 0, 1, ... B."""
    whole, bound = 2 * sum(weights) - weights[0], len(weights) - 1
    below, entries = 0, []
    for i in range(-bound, bound):
        below += weights[abs(i)]
        entries.append((below << 64) // whole)
    return np.array(entries, dtype=np.uint64)


def gaussian_draws(variance: int, drawn: Words) -> Ints:
    """One draw for each word."""
    return table_draws(gaussian_table(variance), reach_of(variance), drawn)


def table_error(variance: int) -> float:
    """A bound on the total variation between a draw from the table and the untruncated discrete Gaussian."""
    return (20 * math.sqrt(variance) + 3) * 2.0**-65 + 2.0**-75


def _exp_of_minus(numerator: int, denominator: int) -> int:
    """exp(-numerator/denominator) in units of 2^-256, by its series."""
    total, term, n = 0, _ONE, 0
    while term:
        total += term if n % 2 == 0 else -term
        n += 1
        term = term * numerator // (denominator * n)
    return total


def _ceil_root(value: int) -> int:
    root = math.isqrt(value)
    return root if root * root == value else root + 1


def table_draws(table: Words, reach: int, drawn: Words) -> Ints:
    """One draw of a table on -reach..reach for each word: how many entries are at most as large as the word.

    For many words this is looked up by their first 16 bits. Nearly all lie where at most one entry begins with the same
    bits, so that one comparison is left; the others are searched for.
    """
    if drawn.size < _MANY:
        return np.searchsorted(table, drawn, side="right").astype(np.int64) - reach
    firsts = np.arange(1 << _GUIDE_BITS, dtype=np.uint64) << _REST_BITS
    low = np.searchsorted(table, firsts, side="right")
    high = np.searchsorted(table, firsts | np.uint64((1 << 64 - _GUIDE_BITS) - 1), side="right")
    plain = (high - low <= 1) & (low < table.size)
    low, compared = low.astype(np.int64), table[np.minimum(low, table.size - 1)]
    found = np.empty(drawn.size, dtype=np.int64)
    for start in range(0, drawn.size, _MANY):  # a slice stays in the cache
        words_here = drawn[start : start + _MANY]
        place = (words_here >> _REST_BITS).astype(np.uint32)
        here = low[place] + (compared[place] <= words_here)
        searched = np.flatnonzero(~plain[place])
        here[searched] = np.searchsorted(table, words_here[searched], side="right")
        found[start : start + _MANY] = here - reach
    return found


@cache
def laplace_table(scale: float) -> tuple[Words, int]:
    """The discrete Laplace distribution: Pr[X = i] is proportional to q^|i| with q = exp(-1/scale), down to 2^-80."""
    ratio = Fraction(scale).limit_denominator(1 << 40)
    q = _exp_of_minus(ratio.denominator, ratio.numerator)
    weights = [_ONE]
    while weights[-1] >> (_BITS - 80):
        weights.append(weights[-1] * q >> _BITS)
    return _cumulated(weights), len(weights) - 1


def laplace_error(scale: float) -> float:
    """A bound on the total variation between a draw from that table and the untruncated distribution."""
    reach = 80 * math.log(2) * scale + 2
    return (2 * reach + 3) * 2.0**-65 + 2.0**-78


@cache
def rounded_gaussian_table(deviation: int) -> tuple[Words, int]:
    """The continuous Gaussian, rounded to whole numbers; its standard deviation is whole, and at least 100.

    The mass of a cell around i is the density there, times 1 + He2(x)·h²/24 + He4(x)·h⁴/1920 + He6(x)·h⁶/322560 with
    x = i/deviation, h = 1/deviation and Hermite's polynomials; what is left out is below 2^-90 of it.
    """
    if deviation < 100:
        raise InternalError("The series for rounded noise is too coarse for so small a deviation.")
    square, bound = deviation * deviation, _REACH * deviation
    density, power = _ONE, _exp_of_minus(1, 2 * square)
    step = power * power >> _BITS
    weights = []
    for i in range(bound + 1):
        x2 = (i * i << _BITS) // square
        x4 = x2 * x2 >> _BITS
        x6 = x4 * x2 >> _BITS
        corrected = _ONE + (x2 - _ONE) // (24 * square) + (x4 - 6 * x2 + 3 * _ONE) // (1920 * square**2)
        corrected += (x6 - 15 * x4 + 45 * x2 - 15 * _ONE) // (322560 * square**3)
        weights.append(density * corrected >> _BITS)
        density = density * power >> _BITS
        power = power * step >> _BITS
    return _cumulated(weights), bound
