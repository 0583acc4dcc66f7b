"""Generalization in a tree of concepts: the walk of single queries and the splits of sets of users (paper 001).

Concepts are numbered by depth, parents before children, siblings in the order in which ties are broken.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.algorithms.kernels._arrays import Flags, Ints, Lists, Short
from coterie.algorithms.kernels._jit import jit


@jit
def walk(start: Ints, concepts: Short, above: Short, depth: Short) -> Short:
    """Where each query ends if all go down the tree together; -1 for queries without a concept.

    The concepts of query q are concepts[start[q]:start[q + 1]]; above[l, c] is the ancestor of c, or c, at depth l.
    From a concept a query goes to a child that has one of its own concepts at or below: to the one of these where most
    of the queries that are there could go; ties to the smaller number.
    """
    n_queries, n_concepts = start.size - 1, depth.size
    at = np.full(n_queries, -1, dtype=np.int32)
    left, open_ = np.zeros(n_queries, dtype=np.int64), concepts.copy()
    for q in range(n_queries):
        if start[q] < start[q + 1]:
            at[q] = 0
        left[q] = _deeper(open_, start[q], start[q + 1], depth, 0)
    seen = np.empty(n_concepts, dtype=np.int64)
    support = np.empty(n_concepts, dtype=np.int64)
    for level in range(1, above.shape[0]):
        seen[:], support[:] = -1, 0
        for q in range(n_queries):
            for t in range(start[q], start[q] + left[q]):
                child = above[level, open_[t]]
                if seen[child] != q:
                    seen[child] = q
                    support[child] += 1
        for q in range(n_queries):
            if left[q] == 0:
                continue
            best = above[level, open_[start[q]]]
            for t in range(start[q] + 1, start[q] + left[q]):
                child = above[level, open_[t]]
                if support[child] > support[best] or (support[child] == support[best] and child < best):
                    best = child
            at[q] = best
            kept = start[q]
            for t in range(start[q], start[q] + left[q]):
                if above[level, open_[t]] == best:
                    open_[kept] = open_[t]
                    kept += 1
            left[q] = _deeper(open_, start[q], kept, depth, level)
    return at


@jit
def _deeper(concepts: Short, start: int, end: int, depth: Short, level: int) -> int:
    """Moves the concepts below a level to the front of a stretch; how many there are."""
    kept = start
    for t in range(start, end):
        if depth[concepts[t]] > level:
            concepts[kept] = concepts[t]
            kept += 1
    return kept - start


@jit
def preorder(parent: Short) -> tuple[Ints, Ints]:
    """(place, size): c and what is below it are at place[c] .. place[c] + size[c] - 1; siblings in their order."""
    n = parent.size
    size = np.ones(n, dtype=np.int64)
    for c in range(n - 1, 0, -1):
        size[parent[c]] += size[c]
    place, free = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    free[0] = 1
    for c in range(1, n):
        place[c] = free[parent[c]]
        free[parent[c]] += size[c]
        free[c] = place[c] + 1
    return place, size


class Nodes(NamedTuple):
    """All concepts of a tree."""

    place: Ints
    size: Ints
    """Of each concept, as `preorder` gives them."""
    leaves: Ints
    """How many leaves are below each."""
    children: Lists


@jit
def split(
    records: Ints, cut: Ints, closed: Flags, k: int, has: Lists, nodes: Nodes
) -> tuple[int, Ints, Ints, Flags]:  # fmt: skip
    """One partition of records, refined until it falls into groups (He and Naughton 2009): (node, group, cut, closed).

    Each record `has` places of concepts in ascending order. All `records` are covered by the
    same nodes, the `cut`: concepts, and n + c for concept c without what is below it, n = the number of concepts. The
    node of largest gain that is not `closed`, leaves x items below it, is replaced by those of its children that a
    record touches. While all records touch the same ones, this goes on; else they fall into groups of at least k that
    touch the same ones, and a left-over (group -1) that keeps the node. Node -1: nothing can be expanded any more.
    """
    n, size = nodes.place.size, nodes.size
    gains = np.array([_gain(records, node, has, nodes) for node in cut])
    while True:
        best = -1
        for i in range(cut.size):
            if cut[i] >= n or size[cut[i]] == 1 or closed[i]:
                continue
            if best < 0 or gains[i] > gains[best] or (gains[i] == gains[best] and cut[i] < cut[best]):
                best = i
        if best < 0:
            return -1, np.zeros(records.size, dtype=np.int64), cut, closed
        node = cut[best]
        group, counts, n_groups = _touched(records, node, has, nodes)
        if n_groups > 1:
            group = _balance(group, counts, n_groups, k)
            if (group >= 0).any():
                return node, group, cut, closed
            closed[best] = True
            continue
        new = children_touched(records[0], node, has, nodes)
        others = np.arange(cut.size) != best
        more = np.array([_gain(records, each, has, nodes) for each in new])
        cut, gains = np.concatenate((cut[others], new)), np.concatenate((gains[others], more))
        closed = np.concatenate((closed[others], np.zeros(new.size, dtype=np.bool_)))


@jit
def children_touched(record: int, node: int, has: Lists, nodes: Nodes) -> Ints:
    """The children of a node that a record has items at or below, in order; n + node first if it has the node."""
    place, size = nodes.place, nodes.size
    n, end = place.size, place[node] + size[node]
    of_record = has.items[has.start[record] : has.start[record + 1]]
    t = np.searchsorted(of_record, place[node])
    touched = np.empty(of_record.size, dtype=np.int64)
    n_touched = 0
    among = nodes.children.items[nodes.children.start[node] : nodes.children.start[node + 1]]
    while t < of_record.size and of_record[t] < end:
        if of_record[t] == place[node]:
            touched[n_touched] = n + node
            t += 1
        else:
            low, high = 0, among.size - 1  # the last child whose place is not after the item
            while low < high:
                middle = (low + high + 1) // 2
                if place[among[middle]] <= of_record[t]:
                    low = middle
                else:
                    high = middle - 1
            touched[n_touched] = among[low]
            beyond = place[among[low]] + size[among[low]]
            while t < of_record.size and of_record[t] < beyond:
                t += 1
        n_touched += 1
    return touched[:n_touched]


@jit
def _covered(record: int, node: int, has: Lists, nodes: Nodes) -> int:
    """How many items of a record are at or below a node; of n + c, at c."""
    place, size = nodes.place, nodes.size
    n = place.size
    low, high = (place[node - n], place[node - n] + 1) if node >= n else (place[node], place[node] + size[node])
    of_record = has.items[has.start[record] : has.start[record + 1]]
    covered: int = np.searchsorted(of_record, high) - np.searchsorted(of_record, low)
    return covered


@jit
def _gain(records: Ints, node: int, has: Lists, nodes: Nodes) -> int:
    """Leaves x items below the node, over all records; 0 for what cannot be expanded."""
    n, total = nodes.place.size, 0
    if node >= n:
        return 0
    for record in records:
        total += _covered(record, node, has, nodes)
    gain: int = nodes.leaves[node] * total
    return gain


@jit
def _touched(records: Ints, node: int, has: Lists, nodes: Nodes) -> tuple[Ints, Ints, int]:
    """(group, items below the node) of each record, and the number of groups: equal sets of children, equal group."""
    n = nodes.place.size
    # A set is a path in a trie: from the state of its beginning, one step for each child.
    steps = {np.int64(0): np.int64(0)}
    n_states = 1
    state = np.zeros(records.size, dtype=np.int64)
    counts = np.zeros(records.size, dtype=np.int64)
    for i in range(records.size):
        for each in children_touched(records[i], node, has, nodes):
            key = (state[i] + 1) * (2 * n) + each
            if key not in steps:
                steps[key] = np.int64(n_states)
                n_states += 1
            state[i] = steps[key]
        counts[i] = _covered(records[i], node, has, nodes)
    number = np.full(n_states, -1, dtype=np.int64)
    n_groups = 0
    group = np.empty(records.size, dtype=np.int64)
    for i in range(records.size):
        if number[state[i]] < 0:
            number[state[i]] = n_groups
            n_groups += 1
        group[i] = number[state[i]]
    return group, counts, n_groups


@jit
def _balance(group: Ints, counts: Ints, n_groups: int, k: int) -> Ints:
    """Groups of at least k; the others are the left-over, -1, and if these are fewer than k, some more.

    Records with the fewest items leave groups of more than k; where that is not enough, the group with the fewest
    items goes as a whole. Ties: the record, or the group, that comes first.
    """
    group = group.copy()
    members, weight = np.zeros(n_groups, dtype=np.int64), np.zeros(n_groups, dtype=np.int64)
    for i in range(group.size):
        members[group[i]] += 1
        weight[group[i]] += counts[i]
    rest, spare, least = 0, 0, -1
    for g in range(n_groups):
        if members[g] < k:
            rest += members[g]
            continue
        spare += members[g] - k
        if least < 0 or weight[g] < weight[least]:
            least = g
    for i in range(group.size):
        if members[group[i]] < k:
            group[i] = -1
    if rest == 0 or rest >= k or least < 0:
        return group
    if rest + spare < k:
        return np.where(group == least, -1, group)
    for i in np.argsort(counts, kind="mergesort"):
        if rest == k:
            break
        g = group[i]
        if g >= 0 and members[g] > k:
            group[i] = -1
            members[g] -= 1
            rest += 1
    return group
