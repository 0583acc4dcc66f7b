"""Generalized cores of a graph whose vertices have users (paper 001), and who covers whom inside a core.

    deg_S(v) = |U(v) ∪ ⋃ U(w), w ∈ N(v) ∩ S| - 1,   core(v) = max k such that v is in the largest S with deg_S >= k

Vertices are removed level by level. There are no counters of users, only a lower bound on the degree of each vertex; it
falls by |U(v)| when a neighbour v goes, and what it cannot decide is counted again. Two facts keep that cheap:
    1. w with all its neighbours is a core of order |U(w)| - 1, so a neighbour of w stays at every level up to that. A
       vertex with more users than levels, and all its neighbours, are never looked at.
    2. Hence a vertex that is counted at level k has only neighbours of at most k users.
"""

from __future__ import annotations

import numpy as np

from coterie.algorithms.kernels._arrays import Flags, Ints, Lists, Short
from coterie.algorithms.kernels._jit import inlined, jit


@jit
def cores(neighbours: Lists, users: Lists, n_users: int, ceiling: Short, levels: int) -> Short:
    """The core number of each vertex, at most `levels`; no vertex v stays beyond level ceiling[v].

    A ceiling must be at least |U(v)| - 1, or `levels`.
    """
    n = neighbours.start.size - 1
    safe = np.empty(n, dtype=np.int32)  # level up to which the star of a neighbour holds v
    for v in range(n):
        best = users.start[v + 1] - users.start[v]
        for i in range(neighbours.start[v], neighbours.start[v + 1]):
            w = neighbours.items[i]
            best = max(best, users.start[w + 1] - users.start[w])
        safe[v] = min(best - 1, levels)
    bound = np.minimum(safe, ceiling)
    # Vertices by bound, as doubly linked lists.
    head = np.full(levels + 1, -1, dtype=np.int32)
    after = np.full(n, -1, dtype=np.int32)
    before = np.full(n, -1, dtype=np.int32)
    for v in range(n - 1, -1, -1):
        _insert(head, after, before, v, bound[v])
    core = np.full(n, levels, dtype=np.int32)
    alive = np.ones(n, dtype=np.bool_)
    stamp = np.full(n_users, -1, dtype=np.int64)
    turn = 0
    for k in range(1, levels + 1):
        while head[k - 1] >= 0:
            v = head[k - 1]
            _remove(head, after, before, v, k - 1)
            if ceiling[v] >= k:
                turn += 1
                degree = _degree(neighbours, users, alive, stamp, turn, v, levels)
                if degree >= k:
                    bound[v] = min(degree, ceiling[v])
                    _insert(head, after, before, v, bound[v])
                    continue
            alive[v] = False
            core[v] = k - 1
            size = users.start[v + 1] - users.start[v]
            for i in range(neighbours.start[v], neighbours.start[v + 1]):
                w = neighbours.items[i]
                if not alive[w]:
                    continue
                old = max(bound[w], k - 1)
                lower = bound[w] - size
                if k <= safe[w]:
                    lower = max(lower, min(safe[w], ceiling[w]))
                bound[w] = lower
                if max(lower, k - 1) != old:
                    _remove(head, after, before, w, old)
                    _insert(head, after, before, w, max(lower, k - 1))
    return core


@inlined
def _degree(neighbours: Lists, users: Lists, alive: Flags, stamp: Ints, turn: int, v: int, levels: int) -> int:
    """Distinct users of v and its remaining neighbours, minus one; counted up to `levels`."""
    count = -1
    for i in range(neighbours.start[v] - 1, neighbours.start[v + 1]):
        w = v if i < neighbours.start[v] else neighbours.items[i]
        if not alive[w]:
            continue
        for j in range(users.start[w], users.start[w + 1]):
            if stamp[users.items[j]] != turn:
                stamp[users.items[j]] = turn
                count += 1
        if count >= levels:
            return levels
    return count


@inlined
def _insert(head: Short, after: Short, before: Short, v: int, place: int) -> None:
    after[v] = head[place]
    before[v] = -1
    if head[place] >= 0:
        before[head[place]] = v
    head[place] = v


@inlined
def _remove(head: Short, after: Short, before: Short, v: int, place: int) -> None:
    if before[v] >= 0:
        after[before[v]] = after[v]
    else:
        head[place] = after[v]
    if after[v] >= 0:
        before[after[v]] = before[v]


@jit
def components(neighbours: Lists) -> Short:
    """The first vertex of the connected part each vertex is in."""
    n = neighbours.start.size - 1
    part = np.full(n, -1, dtype=np.int32)
    queue = np.empty(n, dtype=np.int32)
    for first in range(n):
        if part[first] >= 0:
            continue
        queue[0], part[first], count, at = first, first, 1, 0
        while at < count:
            v = queue[at]
            at += 1
            for i in range(neighbours.start[v], neighbours.start[v + 1]):
                w = neighbours.items[i]
                if part[w] < 0:
                    part[w] = first
                    queue[count] = w
                    count += 1
    return part


@jit
def local_cores(neighbours: Lists, users: Lists, n_users: int, core: Short, levels: int, v_max: int) -> Short:
    """The core number of each vertex within the first v_max vertices that breadth-first growth from it reaches.

    `core` has the core numbers in the whole graph: where growth ends by itself they are the same.
    """
    n = neighbours.start.size - 1
    result = core.copy()
    component = components(neighbours)
    size = np.bincount(component, minlength=n)
    local = np.full(n, -1, dtype=np.int32)  # number of a vertex within the part
    part = np.empty(v_max, dtype=np.int32)
    person = np.full(n_users, -1, dtype=np.int32)  # number of a user within the part
    for first in range(n):
        if size[component[first]] <= v_max:
            continue
        count = _grow(neighbours, first, local, part)
        sub_start = np.zeros(count + 1, dtype=np.int64)
        sub_user_start = np.zeros(count + 1, dtype=np.int64)
        for a in range(count):
            v = part[a]
            sub_user_start[a + 1] = sub_user_start[a] + users.start[v + 1] - users.start[v]
            sub_start[a + 1] = sub_start[a]
            for i in range(neighbours.start[v], neighbours.start[v + 1]):
                sub_start[a + 1] += local[neighbours.items[i]] >= 0
        sub = np.empty(sub_start[count], dtype=np.int32)
        sub_users = np.empty(sub_user_start[count], dtype=np.int32)
        people, at, user_at = 0, 0, 0
        for a in range(count):
            v = part[a]
            for i in range(neighbours.start[v], neighbours.start[v + 1]):
                if local[neighbours.items[i]] >= 0:
                    sub[at] = local[neighbours.items[i]]
                    at += 1
            for j in range(users.start[v], users.start[v + 1]):
                u = users.items[j]
                if person[u] < 0:
                    person[u] = people
                    people += 1
                sub_users[user_at] = person[u]
                user_at += 1
        ceiling = np.full(count, levels, dtype=np.int32)
        result[first] = cores(Lists(sub_start, sub), Lists(sub_user_start, sub_users), people, ceiling, levels)[0]
        for a in range(count):
            v = part[a]
            local[v] = -1
            for j in range(users.start[v], users.start[v + 1]):
                person[users.items[j]] = -1
    return result


@jit
def _grow(neighbours: Lists, first: int, local: Short, part: Short) -> int:
    """Number the vertices that growth from `first` reaches, as many as `part` has room for; how many they are."""
    part[0], local[first], count, at = first, 0, 1, 0
    while at < count:
        v = part[at]
        at += 1
        for i in range(neighbours.start[v], neighbours.start[v + 1]):
            w = neighbours.items[i]
            if count == part.size:
                return count
            if local[w] < 0:
                local[w] = count
                part[count] = w
                count += 1
    return count


@jit
def covers(
    wanted: Short, k: int, vertex: Short, members: Lists, neighbours: Lists, released: Flags, users: Lists, n_users: int
) -> tuple[Short, Short, Short]:
    """For each wanted query, triples (query, affine query, user) that bring its users to k; all inside the release.

    Where one affine query has k users by itself, that one with the user -1. Fewer triples than needed where there are
    no more.
    """
    item = np.empty(1024, dtype=np.int32)
    by = np.empty(1024, dtype=np.int32)
    who = np.empty(1024, dtype=np.int32)
    stamp = np.full(n_users, -1, dtype=np.int64)
    count = 0
    for turn in range(wanted.size):
        q = wanted[turn]
        v = vertex[q]
        missing = k - (users.start[q + 1] - users.start[q])
        for j in range(users.start[q], users.start[q + 1]):
            stamp[users.items[j]] = turn
        hub = _hub(v, k, members, neighbours, released, users)
        if item.size < count + missing:
            room = np.empty(item.size + missing, dtype=np.int32)
            item, by, who = np.append(item, room), np.append(by, room), np.append(who, room)
        if hub >= 0:
            item[count], by[count], who[count] = q, hub, -1
            count += 1
            continue
        for i in range(neighbours.start[v] - 1, neighbours.start[v + 1]):
            w = v if i < neighbours.start[v] else neighbours.items[i]
            for m in range(members.start[w], members.start[w + 1]):
                r = members.items[m]
                if not released[r]:
                    continue
                for j in range(users.start[r], users.start[r + 1]):
                    u = users.items[j]
                    if missing > 0 and stamp[u] != turn:
                        stamp[u] = turn
                        item[count], by[count], who[count] = q, r, u
                        count += 1
                        missing -= 1
            if missing == 0:
                break
    return item[:count].copy(), by[:count].copy(), who[:count].copy()


@inlined
def _hub(v: int, k: int, members: Lists, neighbours: Lists, released: Flags, users: Lists) -> int:
    """A released query with k users among those of v and its neighbours, or -1."""
    for i in range(neighbours.start[v] - 1, neighbours.start[v + 1]):
        w = v if i < neighbours.start[v] else neighbours.items[i]
        for m in range(members.start[w], members.start[w + 1]):
            r = members.items[m]
            if released[r] and users.start[r + 1] - users.start[r] >= k:
                return int(r)
    return -1
