"""The queries of a common profile, chosen by quotas (paper 003).

Of a group of s users the profile has round(mean |Q|) queries (half up). User i gives |Q_i| / s of them (rounded by
largest remainders, ties to the first by `user_place`), at most a share that may be set. Their distinct queries come by
decreasing repetitions r, ties to the first string. Of each

    a = r·|Q_i| / Σ|Q_j|:  ⌊a⌋ copies, and one more with probability a - ⌊a⌋

are taken, at most the unused ones and what is left of the user's quota. After PASSES passes the rest is drawn at random
from the unused ones. Random numbers belong to user and query string, not to a place in an order.
"""

from __future__ import annotations

import numpy as np

from coterie.kernels._arrays import Ints, Masks
from coterie.kernels._hashing import splitmix64
from coterie.kernels._jit import jit
from coterie.kernels.mdav import QueryStrings, capped, sorting

PASSES = 3
_STEP = np.uint64(0x9E3779B97F4A7C15)


@jit
def choose_by_quota(members: Ints, user_start: Ints, strings: QueryStrings, max_share: float) -> Ints:
    """The chosen events, sorted."""
    ranked = members[sorting(strings.user_place[members])]
    sizes = user_start[ranked + 1] - user_start[ranked]
    total = sizes.sum()
    size = (2 * total + members.size) // (2 * members.size)
    quotas = sizes // members.size
    order = sorting(-(sizes % members.size))
    for i in range(size - quotas.sum()):
        quotas[order[i]] += 1
    quotas = capped(quotas, sizes, max_share)
    chosen = np.empty(quotas.sum(), dtype=np.int64)
    n = 0
    for i in range(ranked.size):
        first, last = strings.string_start[ranked[i]], strings.string_start[ranked[i] + 1]
        repetitions = strings.event_start[first + 1 : last + 1] - strings.event_start[first:last]
        copies = copies_of(quotas[i], sizes[i], total, repetitions, strings.priority[first:last])
        for s in range(copies.size):
            for e in range(strings.event_start[first + s], strings.event_start[first + s] + copies[s]):
                chosen[n] = strings.events[e]
                n += 1
    return chosen[sorting(chosen)]


@jit
def copies_of(quota: int, size: int, total: int, repetitions: Ints, priority: Masks) -> Ints:
    """How many copies of each query of a user are taken: `quota` together."""
    copies = np.zeros(repetitions.size, dtype=np.int64)
    order = sorting(-repetitions)
    for number in range(PASSES):
        for s in order:
            share = repetitions[s] * size
            wanted = share // total
            if _draw(priority[s], number) < (share % total) / total:
                wanted += 1
            taken = min(wanted, quota, repetitions[s] - copies[s])
            copies[s] += taken
            quota -= taken
    if quota > 0:
        unused = np.repeat(np.arange(repetitions.size), repetitions - copies)
        draws = np.empty(unused.size, dtype=np.float64)
        for u in range(unused.size):
            draws[u] = _draw(priority[unused[u]], PASSES + u)
        for u in sorting(draws)[:quota]:
            copies[unused[u]] += 1
    return copies


@jit
def _draw(priority: np.uint64, number: int) -> float:
    """The random number with this index, at least 0 and below 1, that belongs to a query of a user (splitmix64)."""
    value = splitmix64(priority + np.uint64(number + 1) * _STEP)
    return float(value >> np.uint64(11)) * 2.0**-53
