"""Networks of friends as arrays: growth by preference, and friendships by rows.

Barabási and Albert: person v = m, m + 1, ... befriends m different earlier people, each drawn in proportion to the
friends they have: an end of a friendship that is there already, drawn uniformly. The first m know person m.
"""

from __future__ import annotations

import numpy as np

from coterie.kernels._arrays import Flags, Ints, Masks, Short
from coterie.kernels._hashing import splitmix64
from coterie.kernels._jit import jit

_STEP = np.uint64(0x9E3779B97F4A7C15)


@jit
def preferential(n: int, m: int, seed: np.uint64) -> Short:
    """The ends of all friendships, two and two."""
    ends = np.empty(2 * m * (n - m), dtype=np.int32)
    state, size = seed, 0
    for v in range(m, n):
        begin = size
        for j in range(m):
            if v == m:
                w = j
            else:
                while True:
                    state += _STEP
                    w = ends[np.int64(splitmix64(state) % np.uint64(begin))]
                    fresh = True
                    for i in range(begin, size, 2):
                        fresh = fresh and ends[i] != w
                    if fresh:
                        break
            ends[size], ends[size + 1] = w, v
            size += 2
    return ends


@jit
def reverse(start: Ints, friend: Short) -> Short:
    """For each friendship in the row of u the place of the same one in the row of the friend; rows are ascending."""
    at = start[:-1].copy()
    back = np.empty(friend.size, dtype=np.int32)
    # People come in ascending order, so each row is met in the order in which it stands.
    for u in range(start.size - 1):
        for e in range(start[u], start[u + 1]):
            back[e] = at[friend[e]]
            at[friend[e]] += 1
    return back


@jit
def breadth_first(start: Ints, friend: Short, order: Ints, wanted: int) -> Ints:
    """The first `wanted` people who are met when asking for friends of friends, beginning with the first of `order`;
    where nobody new is met, with the next one of `order`."""
    met: Flags = np.zeros(start.size - 1, dtype=np.bool_)
    queue = np.empty(start.size - 1, dtype=np.int64)
    size, head, begin = 0, 0, 0
    while size < wanted:
        if head == size:
            while met[order[begin]]:
                begin += 1
            met[order[begin]] = True
            queue[size] = order[begin]
            size += 1
        u = queue[head]
        head += 1
        for e in range(start[u], start[u + 1]):
            w = friend[e]
            if not met[w]:
                met[w] = True
                queue[size] = w
                size += 1
    return queue[:wanted].copy()


@jit
def pairs_of(codes: Masks) -> Short:
    """The pairs u < v, two and two, that the numbers v (v - 1) / 2 + u stand for."""
    ends = np.empty(2 * codes.size, dtype=np.int32)
    for i in range(codes.size):
        code = np.int64(codes[i])
        v = np.int64((1.0 + np.sqrt(1.0 + 8.0 * np.float64(code))) / 2.0)
        while v * (v - 1) // 2 > code:
            v -= 1
        while (v + 1) * v // 2 <= code:
            v += 1
        ends[2 * i], ends[2 * i + 1] = code - v * (v - 1) // 2, v
    return ends
