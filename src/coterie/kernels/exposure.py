"""Exposure of profiles (measures/privacy/exposure.py) from sorted counts, for simulations of many events.

With p(q) the share of q in a person's queries, H their entropy and r(q) = min(1, seen(q) / asked(q)):

    exposed = 100 Σ p r log2(1/p) / H
    channel = exposed + 100 Σ p (1-r) log2((1-r)/P⊥) / H,   P⊥ = Σ p (1-r)

Somebody with one distinct query has H = 0 and exposure 100 r.
"""

from __future__ import annotations

import numpy as np

from coterie.algorithms.kernels._arrays import Flags, Floats, Ints


def _found(keys: Ints, among: Ints) -> tuple[Flags, Ints]:
    """Which of some numbers are among ascending ones, and the places of those."""
    at = np.searchsorted(among, keys)
    found: Flags = np.append(among, -1)[at] == keys
    return found, at[found]


def _sums(of: Ints, values: Floats | Ints, n: int) -> Floats:
    """The sum of the values of each of n, in the order of the values."""
    return np.bincount(of, values, n).astype(np.float64, copy=False)


def _profiles(asked: Ints, n_asked: Ints, n_queries: int, people: int) -> tuple[Ints, Floats, Floats, Ints]:
    """Whose each query is, p of each, H of each person, and how many distinct queries they have."""
    person = asked // n_queries
    p = n_asked / _sums(person, n_asked, people)[person]
    distinct = np.bincount(person, minlength=people).astype(np.int64)
    return person, p, -_sums(person, p * np.log2(p), people), distinct


def exposure(
    asked: Ints, n_asked: Ints, seen: Ints, n_seen: Ints, n_queries: int, people: int
) -> tuple[Floats, Floats]:
    """exposed and channel of each person, NaN for those without queries.

    `asked` and `seen` are person * n_queries + query, ascending and distinct.
    """
    person, p, entropy, distinct = _profiles(asked, n_asked, n_queries, people)
    found, at = _found(asked, seen)
    r = np.zeros(asked.size)
    r[found] = np.minimum(1.0, n_seen[at] / n_asked[found])
    shown = -_sums(person, p * r * np.log2(p), people)
    erased = _sums(person, p * (1.0 - r), people)[person]
    with np.errstate(invalid="ignore", divide="ignore"):  # nothing is erased of some, and some have no queries
        told = np.where(r < 1.0, np.log2((1.0 - r) / erased), 0.0)
        absent = _sums(person, p * (1.0 - r) * told, people)
        exposed, channel = 100.0 * shown / entropy, 100.0 * (shown + absent) / entropy
    one = distinct == 1
    exposed[one] = channel[one] = 100.0 * _sums(person, r, people)[one]
    return exposed, channel


def exposure_to(asked: Ints, n_asked: Ints, seen: Ints, n_seen: Ints, owner: Ints, n_queries: int) -> Floats:
    """How much of the profile of owner[g] the group g of `seen` (g * n_queries + query) shows: exposed, 0 for none."""
    person, p, entropy, distinct = _profiles(asked, n_asked, n_queries, int(owner.max(initial=-1)) + 1)
    group = seen // n_queries
    found, at = _found(owner[group] * n_queries + seen % n_queries, asked)
    r = np.minimum(1.0, n_seen[found] / n_asked[at])
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = -100.0 * p[at] * r * np.log2(p[at]) / entropy[person[at]]
    parts = np.where(distinct[person[at]] == 1, 100.0 * r, parts)
    return _sums(group[found], parts, owner.size)
