"""Users as sets of concepts: the distance of two users and the common concepts of several (paper 002).

A concept is a node of a tree, A(a) the node and all above it but the root. With s = |A(a)| + |A(b)| and c the number of
nodes in both

    d(a, b) = log2(1 + (|A(a) u A(b)| - c) / |A(a) u A(b)|) = log2(2 - c / (s - c))

A query may mean several concepts; d of two queries is the smallest of their concepts. The distance of users, over
queries with repetitions, is

    D(P, Q) = (sum over p in P of min over q in Q of d(p, q) + the same from Q to P) / (|P| + |Q|)

d grows with s and falls with c. So the nearest query of Q to a concept p is found on the way from p to the root: at
each node the least deep concept of Q below counts, and a node that is not the lowest common one only gives a larger d.
That takes as many steps as p is deep, not as many as Q has queries. Distances are whole parts (`UNIT` is 1), so that
sums are the same in whatever order they are taken.

Nodes are numbered so that all below a node follow it, without gaps. A kind is what a query can mean: kind i below the
number of nodes is node i alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.algorithms.kernels._arrays import Floats, Ints
from coterie.algorithms.kernels._jit import jit, uncounted
from coterie.algorithms.kernels.mdav import partition

UNIT = 2**30


class ConceptSets(NamedTuple):
    """Users as multisets of kinds, and kinds as sets of nodes."""

    path_start: Ints
    path: Ints
    """The nodes from below the root to node i: path[path_start[i]:path_start[i + 1]]; as many as it is deep."""
    place: Ints
    """The place of each node in the order in which ties between nodes are broken."""
    kind_start: Ints
    kind_nodes: Ints
    """The nodes of each kind, the likeliest first."""
    user_start: Ints
    kinds: Ints
    """The kinds of each user, each once."""
    counts: Ints
    """How many queries of the user are of that kind."""
    sizes: Ints
    """The number of queries of each user."""
    above_start: Ints
    above: Ints
    """The nodes of each user and all above them, each once."""
    lowest: Ints
    """For each of these the depth of the least deep node of the user that is there or below."""
    gaps: Ints
    """d of two nodes, by the sum of their depths and their number of common nodes."""


def gaps_of(height: int) -> Ints:
    """d by s and c, in parts of UNIT, for trees of that height."""
    total, common = np.arange(2 * height + 1)[:, None], np.arange(height + 1)[None, :]
    possible = (2 * common <= total) & (total > 0)
    share = np.where(possible, common / np.maximum(total - common, 1), 0.0)
    parts: Ints = np.rint(np.log2(2.0 - share) * UNIT).astype(np.int64)
    return parts


@jit
def ancestors(
    path_start: Ints, path: Ints, kind_start: Ints, kind_nodes: Ints, user_start: Ints, kinds: Ints
) -> tuple[Ints, Ints, Ints]:
    """`above_start`, `above` and `lowest` of users."""
    n = user_start.size - 1
    low = np.zeros(path_start.size - 1, dtype=np.int64)
    start = np.zeros(n + 1, dtype=np.int64)
    above = np.empty(1024, dtype=np.int64)
    lowest = np.empty(1024, dtype=np.int64)
    filled = 0
    for u in range(n):
        for i in range(user_start[u], user_start[u + 1]):
            for j in range(kind_start[kinds[i]], kind_start[kinds[i] + 1]):
                node = kind_nodes[j]
                depth = path_start[node + 1] - path_start[node]
                if filled + depth > above.size:
                    room = np.empty(above.size + depth, dtype=np.int64)
                    above = np.concatenate((above, room))
                    lowest = np.concatenate((lowest, room))
                for p in range(path_start[node], path_start[node + 1]):
                    if low[path[p]] == 0:
                        above[filled] = path[p]
                        filled += 1
                        low[path[p]] = depth
                    elif depth < low[path[p]]:
                        low[path[p]] = depth
        start[u + 1] = filled
        for i in range(start[u], filled):
            lowest[i] = low[above[i]]
            low[above[i]] = 0
    return start, above[:filled].copy(), lowest[:filled].copy()


@uncounted
def _gap(kind: int, low: Ints, sets: ConceptSets) -> int:
    """d of a kind to the nearest of the nodes that are marked in `low` (as `lowest`, 0 where none is below)."""
    best = UNIT
    for j in range(sets.kind_start[kind], sets.kind_start[kind + 1]):
        node = sets.kind_nodes[j]
        first = sets.path_start[node]
        depth = sets.path_start[node + 1] - first
        for level in range(depth):
            marked = low[sets.path[first + level]]
            if marked == 0:
                break
            best = min(best, sets.gaps[depth + marked, level + 1])
    return best


@jit
def distances(kinds: Ints, counts: Ints, users: Ints, sets: ConceptSets) -> Floats:
    """D of one multiset of kinds to each of some users."""
    n_nodes = sets.path_start.size - 1
    low = np.zeros(n_nodes, dtype=np.int64)
    for i in range(kinds.size):
        for j in range(sets.kind_start[kinds[i]], sets.kind_start[kinds[i] + 1]):
            node = sets.kind_nodes[j]
            depth = sets.path_start[node + 1] - sets.path_start[node]
            for p in range(sets.path_start[node], sets.path_start[node + 1]):
                if low[sets.path[p]] == 0 or depth < low[sets.path[p]]:
                    low[sets.path[p]] = depth
    gap_of_kind = np.full(sets.kind_start.size - 1, -1, dtype=np.int64)  # users share kinds
    theirs = np.zeros(n_nodes, dtype=np.int64)
    size = counts.sum()
    result = np.empty(users.size, dtype=np.float64)
    for at in range(users.size):
        u = users[at]
        total = 0
        for i in range(sets.user_start[u], sets.user_start[u + 1]):
            kind = sets.kinds[i]
            if gap_of_kind[kind] < 0:
                gap_of_kind[kind] = _gap(kind, low, sets)
            total += sets.counts[i] * gap_of_kind[kind]
        for i in range(sets.above_start[u], sets.above_start[u + 1]):
            theirs[sets.above[i]] = sets.lowest[i]
        for i in range(kinds.size):
            total += counts[i] * _gap(kinds[i], theirs, sets)
        for i in range(sets.above_start[u], sets.above_start[u + 1]):
            theirs[sets.above[i]] = 0
        result[at] = total / (size + sets.sizes[u]) / UNIT
    return result


@uncounted
def _middle(low: int, high: int, level: int, nodes: Ints, counts: Ints, sets: ConceptSets) -> int:
    """Of nodes[low:high], which have their nodes down to depth `level` in common, the one with the least sum of d."""
    best, middle = -1, -1
    for i in range(low, high):
        first = sets.path_start[nodes[i]]
        depth = sets.path_start[nodes[i] + 1] - first
        total = 0
        for j in range(low, high):
            other = sets.path_start[nodes[j]]
            deep = sets.path_start[nodes[j] + 1] - other
            common = level
            while common < min(depth, deep) and sets.path[first + common] == sets.path[other + common]:
                common += 1
            total += counts[j] * sets.gaps[depth + deep, common]
            if best >= 0 and total > best:
                break
        if best < 0 or total < best or (total == best and sets.place[nodes[i]] < sets.place[nodes[middle]]):
            best, middle = total, i
    return middle


@jit
def centroid(users: Ints, sets: ConceptSets) -> Ints:
    """The common nodes of some users: as many as they have queries on average (half up).

    Of each query the likeliest node counts. Slots go to the nodes below the root, and inside each to those below it, in
    proportion to the queries there (largest remainders). A slot on its own has the node with the least sum of d to the
    queries it stands for; where all queries have one node, all slots have it.
    """
    count = np.zeros(sets.path_start.size - 1, dtype=np.int64)
    events = 0
    for u in users:
        events += sets.sizes[u]
        for i in range(sets.user_start[u], sets.user_start[u + 1]):
            count[sets.kind_nodes[sets.kind_start[sets.kinds[i]]]] += sets.counts[i]
    nodes = np.flatnonzero(count)
    counts = count[nodes]
    slots = (2 * events + users.size) // (2 * users.size)
    chosen = np.empty(slots, dtype=np.int64)
    filled = 0
    # Stretches of nodes that are still to be given slots: from, to, depth of what they have in common, slots.
    todo = [(0, nodes.size, 0, slots)]
    while todo:
        low, high, level, wanted = todo.pop()
        if high - low == 1 or wanted == 1:
            at = low if high - low == 1 else _middle(low, high, level, nodes, counts, sets)
            chosen[filled : filled + wanted] = nodes[at]
            filled += wanted
            continue
        # Where the parts begin: nodes that differ at the next depth; a node that ends here is a part of its own.
        begin = np.empty(high - low + 1, dtype=np.int64)
        names = np.empty(high - low, dtype=np.int64)
        parts = 0
        for i in range(low, high):
            first = sets.path_start[nodes[i]]
            name = sets.path[first + level] if sets.path_start[nodes[i] + 1] - first > level else nodes[i]
            if parts == 0 or name != names[parts - 1]:
                begin[parts], names[parts] = i, name
                parts += 1
        begin[parts] = high
        all_queries = counts[low:high].sum()
        given = np.empty(parts, dtype=np.int64)
        rest = np.empty(parts, dtype=np.int64)
        for i in range(parts):
            share = wanted * counts[begin[i] : begin[i + 1]].sum()
            given[i], rest[i] = share // all_queries, share % all_queries
        for i in _first(rest, sets.place[names[:parts]], wanted - given.sum()):
            given[i] += 1
        for i in range(parts):
            if given[i] > 0:
                todo.append((begin[i], begin[i + 1], level + 1, given[i]))
    return chosen


@jit
def _first(rest: Ints, place: Ints, wanted: int) -> Ints:
    """The numbers of the largest remainders, ties by place."""
    by_place = np.argsort(place)
    return by_place[np.argsort(-rest[by_place], kind="mergesort")][:wanted]


def mdav(k: int, sets: ConceptSets) -> tuple[Ints, Ints]:
    """Members of all groups and where each group starts; each group is led by the user it was built around."""
    gap = np.empty(sets.user_start.size - 1, dtype=np.float64)

    def average(left: Ints) -> int:
        nodes = centroid(left, sets)
        gap[left] = distances(nodes, np.ones_like(nodes), left, sets)
        return -1

    def farthest(_: int, left: Ints) -> int:
        """The user farthest from the previous one, to which all distances are known."""
        source = int(left[np.argmax(gap[left])])
        own = slice(sets.user_start[source], sets.user_start[source + 1])
        gap[left] = distances(sets.kinds[own], sets.counts[own], left, sets)
        return source

    def nearest(source: int, left: Ints, count: int) -> Ints:
        others: Ints = left[left != source]
        chosen: Ints = others[np.argsort(gap[others], kind="stable")[:count]]
        return chosen

    return partition(sets.user_start.size - 1, k, average, farthest, nearest)
