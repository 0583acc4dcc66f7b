"""Groups that share no topic: where all members have one, a group is mended by an exchange, or joined with another.

A group is one-sided if some bit is set for all of its members. In the order of their numbers, each one-sided group
exchanges a member i for a vector j of another group such that neither group is one-sided afterwards, the exchange
that costs least similarity (`grouping.py` has the formula); ties go to the smallest j, then i. Among more than `SEARCH`
vectors j is looked for first among the `SEARCH` that follow the first member by index, then among all.

A group that no exchange mends is joined with another one, the most similar of those with which it shares the fewest
topics, until nothing is shared. Groups that were joined have more than 2k - 1 members.
"""

from __future__ import annotations

import numpy as np

from coterie.algorithms.kernels._arrays import Ints, Masks, starts
from coterie.algorithms.kernels._jit import jit
from coterie.algorithms.kernels.grouping import UNIT, Vectors, similarity

SEARCH = 20_000


def one_sided(group: Ints, topics: Masks) -> Ints:
    """The numbers of the groups that share a topic."""
    order = np.argsort(group, kind="stable")
    shared = np.bitwise_and.reduceat(topics[order], starts(group, group.max() + 1)[:-1], axis=0)
    return np.flatnonzero(shared.any(axis=1))


def mean_similarity(group: Ints, vectors: Vectors) -> float:
    """How similar a vector is to another of its group, on average over vectors; 1 for equal vectors of length 1."""
    order = np.argsort(group, kind="stable")
    begin = starts(group, group.max() + 1)
    size = np.diff(begin)
    within = np.zeros(size.size, dtype=np.int64)
    for c in range(vectors.shape[1]):
        column = vectors[order, c].astype(np.int64)
        within += np.add.reduceat(column, begin[:-1]) ** 2 - np.add.reduceat(column**2, begin[:-1])
    return float((within / np.maximum(size - 1, 1)).sum() / group.size / UNIT**2)


def mend(group: Ints, topics: Masks, vectors: Vectors) -> Ints:
    """Groups of which none shares a topic; there must be no topic that every vector has."""
    group = group.copy()
    member = np.argsort(group, kind="stable")
    start = starts(group, group.max() + 1)
    for number in one_sided(group, topics):
        if not np.bitwise_and.reduce(topics[member[start[number] : start[number + 1]]], axis=0).any():
            continue  # an exchange that mended another group mended this one too
        if not _exchange(number, SEARCH, group, member, start, topics, vectors):
            _exchange(number, group.size, group, member, start, topics, vectors)
    return joined(group, topics, vectors)


def joined(group: Ints, topics: Masks, vectors: Vectors) -> Ints:
    """Unions of groups of which none shares a topic; one group in the end, which may, if no union is without."""
    group = group.copy()
    while (left := one_sided(group, topics)).size and group.max() > 0:
        _join(int(left[0]), group, topics, vectors)
        group = np.unique(group, return_inverse=True)[1].astype(np.int64)
    return group


@jit
def _exchange(
    number: int, search: int, group: Ints, member: Ints, start: Ints, topics: Masks, vectors: Vectors
) -> bool:
    """Make the best exchange that mends a group, if there is one among the vectors searched."""
    low, high = start[number], start[number + 1]
    size, n = high - low, group.size
    rest = np.empty((size, topics.shape[1]), dtype=np.uint64)
    inside = np.zeros(size, dtype=np.int64)
    for s in range(size):
        _common(low, high, low + s, member, topics, rest[s])
        for m in range(low, high):
            if m != low + s:
                inside[s] += similarity(vectors, member[low + s], vectors, member[m])
    other_rest = np.empty(topics.shape[1], dtype=np.uint64)
    begin = np.int64(member[low])
    best, best_s, best_at = np.int64(0), -1, -1
    place = np.empty(n, dtype=np.int64)
    place[member] = np.arange(n)
    for step in range(min(search, n)):
        j = (begin + step) % n
        other = group[j]
        if other == number:
            continue
        at, first, last = place[j], start[other], start[other + 1]
        _common(first, last, at, member, topics, other_rest)
        stays, comes, measured = np.int64(0), np.int64(0), False
        for s in range(size):
            i = member[low + s]
            if _meets(rest[s], topics[j]) or _meets(other_rest, topics[i]):
                continue
            if not measured:
                measured = True
                for m in range(first, last):
                    if m != at:
                        stays += similarity(vectors, j, vectors, member[m])
                for m in range(low, high):
                    comes += similarity(vectors, j, vectors, member[m])
            goes = np.int64(0)
            for m in range(first, last):
                goes += similarity(vectors, i, vectors, member[m])
            gain = goes - inside[s] + comes - stays - 2 * np.int64(similarity(vectors, i, vectors, j))
            better = best_s < 0 or gain > best
            tie = best_s >= 0 and gain == best and (j, i) < (member[best_at], member[low + best_s])
            if better or tie:
                best, best_s, best_at = gain, s, at
    if best_s < 0:
        return False
    i, j = member[low + best_s], member[best_at]
    group[i], group[j] = group[j], number
    member[low + best_s], member[best_at] = j, i
    return True


@jit
def _common(first: int, last: int, without: int, member: Ints, topics: Masks, shared: Masks) -> None:
    """The topics that all members but one have."""
    shared[:] = np.uint64(0xFFFFFFFFFFFFFFFF)
    for m in range(first, last):
        if m != without:
            for w in range(shared.size):
                shared[w] &= topics[member[m], w]


@jit
def _meets(a: Masks, b: Masks) -> bool:
    common = np.uint64(0)
    for w in range(a.size):
        common |= a[w] & b[w]
    return bool(common != 0)


def _join(number: int, group: Ints, topics: Masks, vectors: Vectors) -> None:
    """Put a group into the most similar one of those with which it shares the fewest topics."""
    order = np.argsort(group, kind="stable")
    begin = starts(group, group.max() + 1)
    shared = np.bitwise_and.reduceat(topics[order], begin[:-1], axis=0)
    fewest = np.unpackbits((shared & shared[number]).view(np.uint8), axis=1).sum(axis=1).astype(np.int64)
    mine = vectors[group == number].astype(np.int64).sum(axis=0)
    alike = np.add.reduceat(vectors[order].astype(np.int64) @ mine, begin[:-1]) / np.diff(begin)
    fewest[number] = np.iinfo(np.int64).max
    group[group == number] = np.lexsort((-alike, fewest))[0]
