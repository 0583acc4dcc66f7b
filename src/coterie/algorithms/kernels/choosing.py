"""The queries of a common profile: chosen by quotas, or by herding.

The queries of a common profile, chosen by quotas (paper 003).

Of a group of s users the profile has round(mean |Q|) queries (half up). User i gives |Q_i| / s of them (rounded by
largest remainders, ties to the first by `user_place`), at most a share that may be set. Their distinct queries come by
decreasing repetitions r, ties to the first string. Of each

    a = r·|Q_i| / Σ|Q_j|:  ⌊a⌋ copies, and one more with probability a - ⌊a⌋

are taken, at most the unused ones and what is left of the user's quota. After PASSES passes the rest is drawn at random
from the unused ones. Random numbers belong to user and query string, not to a place in an order.

The queries of a common profile, chosen by herding: those whose mean stays closest to the mean of all.

    row t (0, 1, 2 ...) = argmax of (t + 1) x·m - Σ x·y - x·x / 2,   m = mean of all rows, y = the rows chosen before

among rows whose owner has quota left, each row once. That is the row after which the mean of the chosen ones is nearest
to m. Everything is computed in whole numbers, n m in the place of m; ties go to the first by `priority`, decreasing,
then by owner and event.

Y. Chen, M. Welling and A. Smola, "Super-samples from kernel herding", UAI 2010.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.algorithms.kernels._arrays import STEP, Ints, Masks, share_of, splitmix64
from coterie.algorithms.kernels._jit import inlined, jit
from coterie.algorithms.kernels.mdav import QueryStrings, capped, sorting

PASSES = 3


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


@inlined
def _draw(priority: np.uint64, number: int) -> float:
    """The random number with this index that belongs to a query of a user."""
    return share_of(splitmix64(priority + np.uint64(number + 1) * STEP))


# --- herding ----------------------------------------------------------------------------------------


UNIT = 1 << 10
"""The length of a row's vector: products of rows times numbers of rows stay far below 2^63."""
PAIRS = 2**24
"""Events times chosen events up to which rows are herded."""
_BITS = np.uint64(11)  # of a priority that are one too many to be sorted by


class RowVectors(NamedTuple):
    """What each event is about, as a sparse vector of whole numbers."""

    kind: Ints
    """Which vector an event has."""
    start: Ints
    """Entries of a vector."""
    column: Ints
    value: Ints
    width: int


@jit
def herd(members: Ints, quotas: Ints, user_start: Ints, strings: QueryStrings, vectors: RowVectors) -> Ints:
    """The chosen events, sorted: as many of each member as their quota."""
    event, owner = _in_order_of_ties(members, user_start, strings)
    n, size, left = event.size, quotas.sum(), quotas.copy()
    everything, sums = np.zeros(vectors.width, dtype=np.int64), np.zeros(vectors.width, dtype=np.int64)
    for e in event:
        _add(vectors, vectors.kind[e], everything)
    towards, square = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for i in range(n):
        kind = vectors.kind[event[i]]
        towards[i] = _times(vectors, kind, everything)
        square[i] = 0
        for at in range(vectors.start[kind], vectors.start[kind + 1]):
            square[i] += vectors.value[at] * vectors.value[at]
    free = np.ones(n, dtype=np.bool_)
    chosen = np.empty(size, dtype=np.int64)
    for t in range(size):
        best, best_score = -1, 0
        for i in range(n):
            if free[i] and left[owner[i]] > 0:
                near = _times(vectors, vectors.kind[event[i]], sums)
                score = 2 * (t + 1) * towards[i] - 2 * n * near - n * square[i]
                if best < 0 or score > best_score:
                    best, best_score = i, score
        free[best] = False
        left[owner[best]] -= 1
        chosen[t] = event[best]
        _add(vectors, vectors.kind[event[best]], sums)
    return chosen[sorting(chosen)]


@jit
def _in_order_of_ties(members: Ints, user_start: Ints, strings: QueryStrings) -> tuple[Ints, Ints]:
    """All events of the members by priority, and the place of the owner of each among the members."""
    sizes = user_start[members + 1] - user_start[members]
    event, owner = np.empty(sizes.sum(), dtype=np.int64), np.empty(sizes.sum(), dtype=np.int64)
    priority = np.empty(event.size, dtype=np.int64)
    n = 0
    for i in range(members.size):
        for s in range(strings.string_start[members[i]], strings.string_start[members[i] + 1]):
            for e in strings.events[strings.event_start[s] : strings.event_start[s + 1]]:
                event[n], owner[n], priority[n] = e, i, np.int64(strings.priority[s] >> _BITS)
                n += 1
    order = sorting(-priority)
    return event[order], owner[order]


@inlined
def _times(vectors: RowVectors, kind: int, dense: Ints) -> int:
    total = 0
    for at in range(vectors.start[kind], vectors.start[kind + 1]):
        total += vectors.value[at] * dense[vectors.column[at]]
    return total


@inlined
def _add(vectors: RowVectors, kind: int, dense: Ints) -> None:
    for at in range(vectors.start[kind], vectors.start[kind + 1]):
        dense[vectors.column[at]] += vectors.value[at]
