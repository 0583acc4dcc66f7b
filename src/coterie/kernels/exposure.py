"""Exposure of profiles (measures/privacy/exposure.py) from sorted counts, for simulations of many events.

With p(q) the share of q in a person's queries, H their entropy and r(q) = min(1, seen(q) / asked(q)):

    exposed = 100 Σ p r log2(1/p) / H
    channel = exposed + 100 Σ p (1-r) log2((1-r)/P⊥) / H,   P⊥ = Σ p (1-r)

Somebody with one distinct query has H = 0 and exposure 100 r.
"""

from __future__ import annotations

import numpy as np

from coterie.kernels._arrays import Floats, Ints
from coterie.kernels._jit import inlined, jit


@inlined
def _shown(a: int, j: int, asked: Ints, n_asked: Ints, seen: Ints, n_seen: Ints) -> tuple[int, float]:
    """r of the query asked[a], looked for from seen[j] on, and where it is or would be."""
    while j < seen.size and seen[j] < asked[a]:
        j += 1
    if j < seen.size and seen[j] == asked[a]:
        return j, min(1.0, n_seen[j] / n_asked[a])
    return j, 0.0


@jit
def exposure(
    asked: Ints, n_asked: Ints, seen: Ints, n_seen: Ints, n_queries: int, people: int
) -> tuple[Floats, Floats]:
    """exposed and channel of each person, NaN for those without queries.

    `asked` and `seen` are person * n_queries + query, ascending and distinct.
    """
    exposed = np.full(people, np.nan)
    channel = np.full(people, np.nan)
    i, j = 0, 0
    while i < asked.size:
        person = asked[i] // n_queries
        end, total = i, 0
        while end < asked.size and asked[end] // n_queries == person:
            total += n_asked[end]
            end += 1
        entropy, shown, erased, kept_of_one, begin = 0.0, 0.0, 0.0, 0.0, j
        for a in range(i, end):
            p = n_asked[a] / total
            j, r = _shown(a, j, asked, n_asked, seen, n_seen)
            entropy -= p * np.log2(p)
            shown -= p * r * np.log2(p)
            erased += p * (1.0 - r)
            kept_of_one = r
        absent = 0.0
        if erased > 0.0:
            j = begin
            for a in range(i, end):
                p = n_asked[a] / total
                j, r = _shown(a, j, asked, n_asked, seen, n_seen)
                if r < 1.0:
                    absent += p * (1.0 - r) * np.log2((1.0 - r) / erased)
        if end == i + 1:
            exposed[person] = channel[person] = 100.0 * kept_of_one
        else:
            exposed[person] = 100.0 * shown / entropy
            channel[person] = 100.0 * (shown + absent) / entropy
        i = end
    return exposed, channel


@jit
def exposure_to(asked: Ints, n_asked: Ints, seen: Ints, n_seen: Ints, owner: Ints, n_queries: int) -> Floats:
    """How much of the profile of owner[g] the group g of `seen` (g * n_queries + query) shows: exposed, 0 for none."""
    people = np.int64(asked[asked.size - 1] // n_queries + 1) if asked.size else 0
    total = np.zeros(people, dtype=np.int64)
    distinct = np.zeros(people, dtype=np.int64)
    entropy = np.zeros(people)
    for a in range(asked.size):
        total[asked[a] // n_queries] += n_asked[a]
        distinct[asked[a] // n_queries] += 1
    for a in range(asked.size):
        p = n_asked[a] / total[asked[a] // n_queries]
        entropy[asked[a] // n_queries] -= p * np.log2(p)
    shown = np.zeros(owner.size)
    for j in range(seen.size):
        person = owner[seen[j] // n_queries]
        a = np.searchsorted(asked, person * n_queries + seen[j] % n_queries)
        if a < asked.size and asked[a] == person * n_queries + seen[j] % n_queries:
            r = min(1.0, n_seen[j] / n_asked[a])
            p = n_asked[a] / total[person]
            if distinct[person] == 1:
                shown[seen[j] // n_queries] = 100.0 * r
            else:
                shown[seen[j] // n_queries] -= 100.0 * p * r * np.log2(p) / entropy[person]
    return shown
