"""All pairs of vectors with cosine >= θ, exactly, where a feature has the same weight in every vector.

A vector is a set of features, each with a mass (its squared weight); W(x) is the mass of x and |x| = √W(x). Then
cos(x, y) = W(x ∩ y) / (|x| |y|), and W(x ∩ y) is at most the mass of either vector up to the rarest common feature.

Features are numbered from frequent to rare, vectors hold them ascending, and P_f(x) is the mass of x up to f.
    cos(x, y) >= θ  =>  |y| >= θ|x|  =>  P_f(x) >= θ²W(x) for f, the rarest common feature, and likewise for y.
So x enters the list of f only if P_f(x) >= θ²W(x), and each pair is found in the list of its rarest common feature and
in no other. A list is sorted by |x|: for x the scan over y ends where P_f(x) < θ|x||y|. Lists of many vectors are split
once more, by the second rarest common feature.

Masses are whole numbers, so sums do not depend on the order of features, and no bound cuts off what the sum would
admit: each compares a number that is at least the sum with the very same product θ|x||y|.

Queries as sets of weighted n-grams (paper 001): equal sets become one vertex with the users of all its queries.

Generalized cores of a graph whose vertices have users (paper 001), and who covers whom inside a core.

    deg_S(v) = |U(v) ∪ ⋃ U(w), w ∈ N(v) ∩ S| - 1,   core(v) = max k such that v is in the largest S with deg_S >= k

Vertices are removed level by level. There are no counters of users, only a lower bound on the degree of each vertex; it
falls by |U(v)| when a neighbour v goes, and what it cannot decide is counted again. Two facts keep that cheap:
    1. w with all its neighbours is a core of order |U(w)| - 1, so a neighbour of w stays at every level up to that. A
       vertex with more users than levels, and all its neighbours, are never looked at.
    2. Hence a vertex that is counted at level k has only neighbours of at most k users.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.algorithms.kernels._arrays import Flags, Floats, Ints, Lists, Masks, Short, next_slot, starts
from coterie.algorithms.kernels._jit import inlined, jit

SPLIT = 64
"""Lists of at least this many vectors are split by the second rarest common feature."""
_SLACK = 1 - 1e-9  # for the bound that no product is compared with


class Vectors(NamedTuple):
    """Vectors as sets of features: those of v are features[start[v]:start[v + 1]], ascending."""

    start: Ints
    features: Short
    mass: Ints
    """Of each feature."""
    prefix: Ints
    """The mass of each vector up to and including each of its features."""
    norm: Floats
    """Of each vector."""


class Entries(NamedTuple):
    """The list of each feature."""

    begin: Ints
    vector: Short
    place: Ints
    """Where the feature stands in the vector."""


@jit
def vectors_of(start: Ints, features: Short, mass: Ints) -> Vectors:
    """Vectors with their prefixes and norms."""
    prefix = np.empty(features.size, dtype=np.int64)
    norm = np.empty(start.size - 1, dtype=np.float64)
    for v in range(start.size - 1):
        total = np.int64(0)
        for i in range(start[v], start[v + 1]):
            total += mass[features[i]]
            prefix[i] = total
        norm[v] = np.sqrt(np.float64(total))
    return Vectors(start, features, mass, prefix, norm)


@jit
def lists(vectors: Vectors, order: Ints, theta: float) -> Entries:
    """The list of each feature, of vectors in the given `order` (of their norms)."""
    start, features, mass, prefix, _ = vectors
    begin = np.zeros(mass.size + 1, dtype=np.int64)
    for v in range(start.size - 1):
        least = theta * theta * _SLACK * prefix[start[v + 1] - 1]
        for i in range(start[v], start[v + 1]):
            if prefix[i] >= least:
                begin[features[i] + 1] += 1
    for f in range(mass.size):
        begin[f + 1] += begin[f]
    vector = np.empty(begin[mass.size], dtype=np.int32)
    place = np.empty(begin[mass.size], dtype=np.int64)
    at = begin[:-1].copy()
    for v in order:
        least = theta * theta * _SLACK * prefix[start[v + 1] - 1]
        for i in range(start[v], start[v + 1]):
            if prefix[i] >= least:
                f = features[i]
                vector[at[f]] = v
                place[at[f]] = i
                at[f] += 1
    return Entries(begin, vector, place)


@jit
def join(
    lowest: int, highest: int, entries: Entries, vectors: Vectors, theta: float, split: int
) -> tuple[Short, Short]:  # fmt: skip
    """The pairs of vectors whose rarest common feature is in lowest..highest - 1 and whose cosine is at least θ."""
    begin, vector, place = entries
    start, features, mass, prefix, norm = vectors
    left = np.empty(1024, dtype=np.int32)
    right = np.empty(1024, dtype=np.int32)
    count = 0
    for f in range(lowest, highest):
        first, last = begin[f], begin[f + 1]
        own = mass[f]
        long = last - first >= split
        # Pairs for which f alone is enough (long lists), or all pairs.
        for i in range(first, last - 1):
            x, px = vector[i], place[i]
            scale = theta * norm[x]
            reach = own if long else prefix[px]
            for j in range(i + 1, last):
                y, py = vector[j], place[j]
                need = scale * norm[y]
                if reach < need:
                    break
                if prefix[py] < need or _common(features, px + 1, start[x + 1], py + 1, start[y + 1]):
                    continue
                if not long and own + _shared(features, mass, start[x], px, start[y], py) < need:
                    continue
                if count == left.size:
                    left = np.append(left, np.empty(count, dtype=np.int32))
                    right = np.append(right, np.empty(count, dtype=np.int32))
                left[count], right[count] = x, y
                count += 1
        if not long:
            continue
        # The others have a second rarest common feature g: the same in the list of each g.
        size = 0
        for i in range(first, last):
            x = vector[i]
            size += place[i] - _enter(start[x], place[i], prefix, own, theta, prefix[start[x + 1] - 1])
        second = np.empty(size, dtype=np.int32)
        entry = np.empty(size, dtype=np.int64)
        where = np.empty(size, dtype=np.int64)
        size = 0
        for i in range(first, last):
            x = vector[i]
            for p in range(_enter(start[x], place[i], prefix, own, theta, prefix[start[x + 1] - 1]), place[i]):
                second[size], entry[size], where[size] = features[p], i, p
                size += 1
        by_second = np.argsort(second, kind="mergesort")
        for a in range(size - 1):
            e, gx = entry[by_second[a]], where[by_second[a]]
            x, px = vector[e], place[e]
            scale = theta * norm[x]
            g = second[by_second[a]]
            for b in range(a + 1, size):
                if second[by_second[b]] != g:
                    break
                other, gy = entry[by_second[b]], where[by_second[b]]
                y, py = vector[other], place[other]
                need = scale * norm[y]
                if own + prefix[gx] < need:
                    break
                if own >= need or own + prefix[gy] < need:
                    continue
                if _common(features, gx + 1, px, gy + 1, py):
                    continue
                if _common(features, px + 1, start[x + 1], py + 1, start[y + 1]):
                    continue
                if own + mass[g] + _shared(features, mass, start[x], gx, start[y], gy) < need:
                    continue
                if count == left.size:
                    left = np.append(left, np.empty(count, dtype=np.int32))
                    right = np.append(right, np.empty(count, dtype=np.int32))
                left[count], right[count] = x, y
                count += 1
    return left[:count].copy(), right[:count].copy()


@inlined
def _enter(first: int, last: int, prefix: Ints, own: int, theta: float, total: int) -> int:
    """The first feature of a vector in whose second list it stands; all after it follow, as masses only grow."""
    least = theta * theta * _SLACK * total
    p = last
    while p > first and own + prefix[p - 1] >= least:
        p -= 1
    return p


@inlined
def _common(features: Short, a: int, a_end: int, b: int, b_end: int) -> bool:
    """Whether two stretches of ascending features share one."""
    while a < a_end and b < b_end:
        if features[a] == features[b]:
            return True
        if features[a] < features[b]:
            a += 1
        else:
            b += 1
    return False


@inlined
def _shared(features: Short, mass: Ints, a: int, a_end: int, b: int, b_end: int) -> np.int64:
    """The mass that two stretches of ascending features share."""
    total = np.int64(0)
    while a < a_end and b < b_end:
        if features[a] == features[b]:
            total += mass[features[a]]
            a += 1
            b += 1
        elif features[a] < features[b]:
            a += 1
        else:
            b += 1
    return total


@jit
def adjacency(left: Short, right: Short, n: int) -> Lists:
    """The neighbours of each vertex, ascending."""
    start = starts(left, n) + starts(right, n)
    neighbours = np.empty(start[n], dtype=np.int32)
    at = start[:-1].copy()
    for e in range(left.size):
        a, b = left[e], right[e]
        neighbours[at[a]] = b
        neighbours[at[b]] = a
        at[a] += 1
        at[b] += 1
    for v in range(n):
        if start[v + 1] - start[v] > 1:
            neighbours[start[v] : start[v + 1]].sort()
    return Lists(start, neighbours)


_FEW = 24  # up to this many numbers are sorted by insertion


@jit
def collapse(token_start: Ints, first: Short, second: Short, third: Short, allowed: Flags) -> tuple[Short, Ints, Short]:
    """The vertex of each query (-1: none), and the features of each vertex, ascending: features[start[v]:start[v + 1]].

    `first`, `second`, `third` are the features of the one to three words that begin at a position, or -1. Queries that
    are not `allowed`, or have no feature, have no vertex. Vertices are numbered in order of first appearance.
    """
    n = token_start.size - 1
    longest = 0
    for q in range(n):
        longest = max(longest, token_start[q + 1] - token_start[q])
    own = np.empty(3 * longest + 1, dtype=np.int32)
    vertex = np.full(n, -1, dtype=np.int32)
    capacity = 1 << 12
    slots = np.full(capacity, -1, dtype=np.int32)
    hashes = np.empty(capacity // 2, dtype=np.uint64)
    start = np.zeros(capacity // 2 + 1, dtype=np.int64)
    features = np.empty(capacity, dtype=np.int32)
    n_vertices = 0
    for q in range(n):
        if not allowed[q]:
            continue
        size = 0
        for i in range(token_start[q], token_start[q + 1]):
            for feature in (first[i], second[i], third[i]):
                if feature >= 0:
                    own[size] = feature
                    size += 1
        if size == 0:
            continue
        size = _distinct(own, size)
        h = np.uint64(size)
        for i in range(size):
            h = (h ^ np.uint64(own[i])) * np.uint64(0x9E3779B97F4A7C15)
            h ^= h >> np.uint64(29)
        place = np.int64(h & np.uint64(slots.size - 1))
        while slots[place] >= 0 and not _equal(own, size, features, start, slots[place], hashes, h):
            place = next_slot(slots, place)
        if slots[place] < 0:
            slots[place] = n_vertices
            hashes[n_vertices] = h
            end = start[n_vertices] + size
            while end > features.size:
                features = np.append(features, np.empty(features.size, dtype=np.int32))
            features[start[n_vertices] : end] = own[:size]
            start[n_vertices + 1] = end
            vertex[q] = n_vertices
            n_vertices += 1
            if n_vertices == hashes.size:  # half full: a table twice as large
                hashes = np.append(hashes, np.empty(hashes.size, dtype=np.uint64))
                start = np.append(start, np.empty(start.size - 1, dtype=np.int64))
                slots = np.full(2 * slots.size, -1, dtype=np.int32)
                for v in range(n_vertices):
                    place = np.int64(hashes[v] & np.uint64(slots.size - 1))
                    while slots[place] >= 0:
                        place = next_slot(slots, place)
                    slots[place] = v
        else:
            vertex[q] = slots[place]
    return vertex, start[: n_vertices + 1].copy(), features[: start[n_vertices]].copy()


@jit
def _distinct(numbers: Short, size: int) -> int:
    """Sort the first numbers of an array and leave out repetitions; how many are left."""
    if size > _FEW:
        numbers[:size].sort()
    else:
        for i in range(1, size):
            value, j = numbers[i], i
            while j > 0 and numbers[j - 1] > value:
                numbers[j] = numbers[j - 1]
                j -= 1
            numbers[j] = value
    kept = 1
    for i in range(1, size):
        if numbers[i] != numbers[kept - 1]:
            numbers[kept] = numbers[i]
            kept += 1
    return kept


@jit
def _equal(own: Short, size: int, features: Short, start: Ints, v: int, hashes: Masks, h: np.uint64) -> bool:
    if hashes[v] != h or start[v + 1] - start[v] != size:
        return False
    i = 0
    while i < size and features[start[v] + i] == own[i]:
        i += 1
    return i == size


@jit
def union(members: Lists, users: Lists, n_users: int) -> Lists:
    """The distinct users of all queries of each vertex."""
    n = members.start.size - 1
    most = np.int64(0)
    for q in members.items:
        most += users.start[q + 1] - users.start[q]
    owners = np.empty(most, dtype=np.int32)
    begin = np.zeros(n + 1, dtype=np.int64)
    stamp = np.full(n_users, -1, dtype=np.int32)
    at = 0
    for v in range(n):
        for q in members.items[members.start[v] : members.start[v + 1]]:
            for u in users.items[users.start[q] : users.start[q + 1]]:
                if stamp[u] != v:
                    stamp[u] = v
                    owners[at] = u
                    at += 1
        begin[v + 1] = at
    return Lists(begin, owners[:at].copy())


# --- crowds ---------------------------------------------------------------------------------------


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
