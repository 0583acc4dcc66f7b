"""Resampling: how much a number that is a mean over users depends on which users were asked.

Users are drawn anew, with replacement, 1,000 times; 95 % of what comes out lies between `low` and `high`. The draws
depend on the seed and the number of users alone. Two releases of one log that are judged by the same users have
therefore the same draws, and the interval of their ratio is a paired one: whom chance favours, it favours in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.core import randomness
from coterie.core.scores import Score

Values = NDArray[np.float64]
SAMPLES = 1_000
_ENDS = (0.025, 0.975)


def weights(seed: int, users: int) -> Values:
    """How often each user counts: once in the first line, as often as they are drawn in each of the others."""
    key = int(randomness.keys(seed, "bootstrap", pl.Series(["users"]))[0])
    stream = np.random.Generator(np.random.Philox(key))
    drawn = (np.bincount(stream.integers(0, users, users), minlength=users) for _ in range(SAMPLES))
    return np.stack([np.ones(users), *drawn]) if users else np.zeros((SAMPLES + 1, 0))


def means(seed: int, values: Values) -> Values:
    """The mean of one value per user, and what it is in each sample; no numbers where there is nobody."""
    if not values.size:
        return np.full(SAMPLES + 1, np.nan)
    # Not `@`: the sums of a linear algebra library depend on its threads.
    return np.asarray(np.einsum("su,u->s", weights(seed, values.size), values) / values.size)


def scored(key: str, values: Values, unit: str) -> Iterator[Score]:
    """A number and the ends of its interval, given what it is and what it is in each sample.

    Numbers of the original (`before.`) are the same for all releases, so that there is no ratio of them.
    """
    samples = values[1:]
    low, high = np.quantile(samples[~np.isnan(samples)], _ENDS) if not np.isnan(samples).all() else (np.nan, np.nan)
    kept = () if key.startswith("before.") else tuple(map(float, samples))
    yield Score(key, _or_none(values[0]), unit, samples=kept)
    yield Score(f"{key}.low", _or_none(low), unit)
    yield Score(f"{key}.high", _or_none(high), unit)


def ratio(one: float, of_one: Sequence[float], other: float, of_other: Sequence[float]) -> tuple[float | None, ...]:
    """one / other and the ends of its paired interval; None where `other` may be 0 or less, so that it has no end."""
    above, below = np.asarray(of_one, dtype=np.float64), np.asarray(of_other, dtype=np.float64)
    known = ~np.isnan(above) & ~np.isnan(below)
    if other <= 0 or not known.any():
        return None, None, None
    above, below = above[known], below[known]
    ratios = np.sort(np.where(below > 0, above / np.where(below > 0, below, 1), np.inf))
    low, high = (ratios[round(end * (ratios.size - 1))] for end in _ENDS)
    return one / other, _or_none(low), _or_none(high)


def _or_none(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None
