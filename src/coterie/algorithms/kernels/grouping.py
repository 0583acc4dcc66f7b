"""Groups of vectors that point the same way: k to 2k - 1 in each, as similar within a group as can be found.

    s(i, j) = Σ_c v_ic · v_jc in whole numbers, so that no order of additions and no thread changes an answer

Up to `DENSE` vectors, on all pairs:
    greedy  while 2k or more are free: the most similar free pair, grown to k by the free vector with the largest sum of
            similarities to the members; the rest, k to 2k - 1, is the last group
    swaps   the exchange of two vectors of different groups that adds most to Σ_groups Σ_pairs s, until none adds
            anything: gain(i in A, j in B) = S_iB - S_iA + S_jA - S_jB - 2 s(i, j), S_iA = Σ_{m in A, m ≠ i} s(i, m)

Above, on near ones: random-projection trees (the direction of a node is one power step from a random vector on its
covariance, the cut at 40 to 60 %) whose leaves are compared pair by pair; the nearest found are the neighbours of a
vector. Pairs of neighbours by decreasing similarity are grown as above among the neighbours of the members; a pair
that cannot be grown to k is given up. What is left starts over, and the last round is on all pairs.

Ties go to the smallest index. The plain version of the first part is in the tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.algorithms.kernels._arrays import STEP, Ints, Short, SideBySide, splitmix64
from coterie.algorithms.kernels._jit import inlined, jit

Vectors = NDArray[np.int16]

UNIT = 1 << 13
"""Stands for the length 1; no vector may be longer than 2."""
DENSE = 1_200
TREES, LEAF, NEIGHBOURS = 6, 256, 24
_SAMPLE = 2_000  # vectors of a node that its direction is computed from
_PROGRESS = 0.05  # share of the vectors that a round has to group to be followed by another
_LEAVES_AT_ONCE = 64
_NOBODY = np.int32(-1)


@inlined
def similarity(a: Vectors, i: Any, b: Vectors, j: Any) -> Any:
    """s of row i of a and row j of b."""
    total = np.int32(0)
    for c in range(a.shape[1]):
        total = np.int32(total + np.int32(a[i, c]) * np.int32(b[j, c]))
    return total


@jit
def similarities(vectors: Vectors) -> Short:
    """s of all pairs; 0 with itself."""
    n = vectors.shape[0]
    result = np.zeros((n, n), dtype=np.int32)
    for i in range(n):
        for j in range(i):
            result[i, j] = result[j, i] = similarity(vectors, i, vectors, j)
    return result


def dense_groups(k: int, vectors: Vectors) -> Ints:
    """The group of each vector, on all pairs."""
    alike = similarities(vectors)
    first, second = np.triu_indices(alike.shape[0], 1)
    order = np.argsort(-alike[first, second], kind="stable")
    group = greedy(k, alike, first[order], second[order])
    swap(group, int(group.max()) + 1, alike)
    return group


@jit
def greedy(k: int, alike: Short, first: Ints, second: Ints) -> Ints:
    """Pair-first greedy; the pairs come by decreasing similarity."""
    n = alike.shape[0]
    group = np.full(n, -1, dtype=np.int64)
    total = np.empty(n, dtype=np.int64)
    free, made = n, 0
    for e in range(first.size):
        if free < 2 * k:
            break
        i, j = first[e], second[e]
        if group[i] >= 0 or group[j] >= 0:
            continue
        group[i] = group[j] = made
        for u in range(n):
            total[u] = np.int64(alike[u, i]) + alike[u, j]
        for _ in range(k - 2):
            best = -1
            for u in range(n):
                if group[u] < 0 and (best < 0 or total[u] > total[best]):
                    best = u
            group[best] = made
            for u in range(n):
                total[u] += alike[u, best]
        free -= k
        made += 1
    group[group < 0] = made
    return group


@jit
def swap(group: Ints, n_groups: int, alike: Short) -> None:
    """Best exchanges until none adds anything. Of each vector the best partner with a larger index is remembered."""
    n = group.size
    sums = np.zeros((n, n_groups), dtype=np.int64)
    for i in range(n):
        for u in range(n):
            sums[i, group[u]] += alike[i, u]
    gain = np.empty(n, dtype=np.int64)
    partner = np.empty(n, dtype=np.int64)
    touched = np.empty(n, dtype=np.bool_)
    changed = np.empty(n, dtype=np.int64)
    for i in range(n):
        _best_partner(i, group, alike, sums, gain, partner)
    while True:
        a = 0
        for i in range(n):
            if gain[i] > gain[a]:
                a = i
        if gain[a] <= 0:
            return
        b = partner[a]
        here, there = group[a], group[b]
        group[a], group[b] = there, here
        for u in range(n):
            change = np.int64(alike[u, b]) - alike[u, a]
            sums[u, here] += change
            sums[u, there] -= change
        count = 0
        for u in range(n):
            touched[u] = group[u] == here or group[u] == there
            if touched[u]:
                changed[count] = u
                count += 1
        for i in range(n):
            if touched[i] or (partner[i] >= 0 and touched[partner[i]]):
                _best_partner(i, group, alike, sums, gain, partner)
                continue
            for c in range(count):
                j = changed[c]
                if j > i:
                    new = _gain(i, j, group, alike, sums)
                    if new > gain[i] or (new == gain[i] and j < partner[i]):
                        gain[i], partner[i] = new, j


@inlined
def _gain(i: int, j: Any, group: Ints, alike: Short, sums: Ints) -> Any:
    here, there = group[i], group[j]
    return sums[i, there] - sums[i, here] + sums[j, here] - sums[j, there] - 2 * np.int64(alike[i, j])


@jit
def _best_partner(i: int, group: Ints, alike: Short, sums: Ints, gain: Ints, partner: Ints) -> None:
    gain[i], partner[i] = 0, -1
    for j in range(i + 1, group.size):
        if group[j] != group[i]:
            new = _gain(i, j, group, alike, sums)
            if new > gain[i]:
                gain[i], partner[i] = new, j


@jit
def tree(vectors: Vectors, largest: int, least: int, seed: int) -> tuple[Ints, Ints]:
    """The vectors in the order of the leaves of a random-projection tree, and where leaves start.

    A leaf has at most `largest` vectors and at least `least`, where largest >= 2·least - 1.
    """
    n, width = vectors.shape
    order = np.arange(n)
    side = np.empty(n, dtype=np.int64)
    projected = np.empty(n, dtype=np.int64)
    direction = np.empty((1, width), dtype=np.int16)
    start = np.zeros(n + 1, dtype=np.int64)
    todo = np.empty(n + 1, dtype=np.int64)  # where nodes end that are not looked at yet, the next one last
    low, leaves, node, waiting = 0, 0, 0, 1
    todo[0] = n
    while waiting > 0:
        high = todo[waiting - 1]
        size = high - low
        if size <= largest:
            waiting -= 1
            leaves += 1
            start[leaves] = low = high
            continue
        node += 1
        dice = splitmix64(np.uint64(seed) + np.uint64(node) * STEP)
        _direct(low, high, order, vectors, dice, direction)
        for p in range(low, high):
            projected[p] = similarity(vectors, order[p], direction, 0)
        share = 0.4 + 0.2 * (np.int64(dice >> np.uint64(44)) / 2**20)
        cut = min(max(int(size * share), least), size - least)
        _divide(low, high, cut, projected, order, side)
        todo[waiting] = low + cut
        waiting += 1
    return order, start[: leaves + 1]


@jit
def _divide(low: int, high: int, cut: int, projected: Ints, order: Ints, side: Ints) -> None:
    """Put the `cut` vectors with the smallest projections first, of equal ones those that came first."""
    least, most = projected[low], projected[low]
    for p in range(low, high):
        least, most = min(least, projected[p]), max(most, projected[p])
    while least < most:  # the smallest number that `cut` projections or more do not exceed
        middle = (least + most) // 2
        count = 0
        for p in range(low, high):
            count += projected[p] <= middle
        if count >= cut:
            most = middle
        else:
            least = middle + 1
    equal = cut
    for p in range(low, high):
        equal -= projected[p] < least
    left, right = low, 0
    for p in range(low, high):
        ties = projected[p] == least
        if projected[p] < least or (ties and equal > 0):
            equal -= ties
            order[left] = order[p]
            left += 1
        else:
            side[right] = order[p]
            right += 1
    for p in range(right):
        order[left + p] = side[p]


@jit
def _direct(low: int, high: int, order: Ints, vectors: Vectors, dice: Any, direction: Vectors) -> None:
    """One power step from a random vector of signs: Σ (x - x̄) <x - x̄, r> over a sample, at length UNIT."""
    width = vectors.shape[1]
    signs = np.empty(width, dtype=np.float64)
    mean = np.zeros(width, dtype=np.float64)
    axis = np.zeros(width, dtype=np.float64)
    for c in range(width):
        dice = splitmix64(dice + STEP)
        signs[c] = 1.0 if dice & np.uint64(1) else -1.0
    step = max(1, (high - low) // _SAMPLE)
    count = 0
    for p in range(low, high, step):
        count += 1
        for c in range(width):
            mean[c] += vectors[order[p], c]
    for c in range(width):
        mean[c] /= count
    for p in range(low, high, step):
        along = 0.0
        for c in range(width):
            along += (vectors[order[p], c] - mean[c]) * signs[c]
        for c in range(width):
            axis[c] += along * (vectors[order[p], c] - mean[c])
    length = 0.0
    for c in range(width):
        length += axis[c] * axis[c]
    if length == 0.0:  # all of the sample are equal
        axis, length = signs, float(width)
    for c in range(width):
        direction[0, c] = np.int16(np.rint(axis[c] / np.sqrt(length) * UNIT))


@jit
def compare_leaves(
    order: Ints, start: Ints, first: int, last: int, vectors: Vectors, near: Short, score: Short
) -> None:
    """Compare all pairs within leaves first..last - 1; rows of `near` hold the most similar so far, best first."""
    for at in range(first, last):
        users = order[start[at] : start[at + 1]]
        leaf = vectors[users]
        for p in range(users.size):
            for q in range(p):
                alike = similarity(leaf, p, leaf, q)
                _remember(users[p], users[q], alike, near, score)
                _remember(users[q], users[p], alike, near, score)


@inlined
def _remember(i: int, j: int, alike: Any, near: Short, score: Short) -> None:
    room = near.shape[1]
    if alike < score[i, room - 1] or (alike == score[i, room - 1] and j > near[i, room - 1] >= 0):
        return
    for t in range(room):
        if near[i, t] == j:
            return
    t = room - 1
    while t > 0 and (
        near[i, t - 1] < 0 or score[i, t - 1] < alike or (score[i, t - 1] == alike and near[i, t - 1] > j)
    ):
        near[i, t], score[i, t] = near[i, t - 1], score[i, t - 1]
        t -= 1
    near[i, t], score[i, t] = j, alike


@jit
def edges(near: Short, score: Short) -> tuple[Short, Short, Short]:
    """Each pair of neighbours once, in the order of the rows, and how similar it is."""
    n, room = near.shape
    kept = np.zeros((n, room), dtype=np.bool_)
    count = 0
    for i in range(n):
        for t in range(room):
            j = near[i, t]
            if j < 0:
                break
            mutual = False
            if j < i:
                for s in range(room):
                    mutual = mutual or near[j, s] == i
            kept[i, t] = not mutual
            count += not mutual
    first = np.empty(count, dtype=np.int32)
    second = np.empty(count, dtype=np.int32)
    alike = np.empty(count, dtype=np.int32)
    at = 0
    for i in range(n):
        for t in range(room):
            if kept[i, t]:
                first[at], second[at], alike[at] = i, near[i, t], score[i, t]
                at += 1
    return first, second, alike


@jit
def grow(k: int, order: Ints, first: Short, second: Short, near: Short, vectors: Vectors) -> Ints:
    """Pair-first greedy among neighbours; -1 where a vector stays free, of which there are k or more, or none."""
    n = vectors.shape[0]
    group = np.full(n, -1, dtype=np.int64)
    seen = np.full(n, -1, dtype=np.int64)
    members = np.empty(k, dtype=np.int64)
    others = np.empty(k * near.shape[1], dtype=np.int64)
    total = np.empty(others.size, dtype=np.int64)
    free, made = n, 0
    for e in order:
        if free < 2 * k:
            break
        if group[first[e]] >= 0 or group[second[e]] >= 0:
            continue
        size, count = 0, 0
        new = np.int64(first[e])
        while True:
            members[size] = new
            size += 1
            seen[new] = e
            if size == k:
                break
            for o in range(count):
                total[o] += similarity(vectors, others[o], vectors, new)
            for t in range(near.shape[1]):
                u = near[new, t]
                if u < 0:
                    break
                if group[u] < 0 and seen[u] != e:
                    seen[u] = e
                    others[count] = u
                    total[count] = 0
                    for m in range(size):
                        total[count] += similarity(vectors, u, vectors, members[m])
                    count += 1
            if count == 0:
                break
            best = 0
            for o in range(count):
                wanted = size == 1 and others[o] == second[e]
                if wanted or (size > 1 and (total[o], -others[o]) > (total[best], -others[best])):
                    best = o
                    if wanted:
                        break
            new = others[best]
            count -= 1
            others[best], total[best] = others[count], total[count]
        if size == k:
            group[members] = made
            made += 1
            free -= k
    return group


def neighbours(vectors: Vectors, trees: Sequence[tuple[Ints, Ints]], each: SideBySide) -> tuple[Short, Short]:
    """The most similar vectors of each one, best first, and how similar they are; -1 where there are fewer."""
    shape = (vectors.shape[0], NEIGHBOURS)
    near = np.full(shape, _NOBODY, dtype=np.int32)
    score = np.full(shape, np.iinfo(np.int32).min, dtype=np.int32)
    for order, start in trees:
        # A vector is in one leaf of a tree, so leaves may be compared at the same time.
        leaves = start.size - 1
        firsts = range(0, leaves, _LEAVES_AT_ONCE)
        parts = [(order, start, a, min(a + _LEAVES_AT_ONCE, leaves), vectors, near, score) for a in firsts]
        each(lambda part: compare_leaves(*part), parts)
    return near, score


def similar_groups(k: int, vectors: Vectors, seed: int, each: SideBySide) -> Ints:
    """The group of each vector, numbered from 0; every group has k to 2k - 1 members. There are k vectors or more."""
    n = vectors.shape[0]
    group = np.full(n, -1, dtype=np.int64)
    left = np.arange(n)
    made = step = 0
    while left.size:
        round_group = _round(k, vectors[left], seed + 2 * TREES * step, each)
        done = round_group >= 0
        group[left[done]] = round_group[done] + made
        made += int(round_group.max()) + 1
        left = left[~done]
        step += 1
    sizes = np.bincount(group)
    if sizes.min() < k or sizes.max() > 2 * k - 1:
        raise AssertionError(f"groups of {sizes.min()} to {sizes.max()} where k to 2k - 1 are due, k = {k}")
    return group


def _round(k: int, vectors: Vectors, seed: int, each: SideBySide) -> Ints:
    """Groups of some of the vectors, or of all; -1 for those that are left, which are k or more."""
    if vectors.shape[0] <= DENSE:
        return dense_groups(k, vectors)
    if 2 * k - 1 > DENSE:  # too many for pairs: the leaves of a tree are the groups
        order, start = tree(vectors, 2 * k - 1, k, seed)
        group = np.empty(order.size, dtype=np.int64)
        group[order] = np.repeat(np.arange(start.size - 1), np.diff(start))
        return group
    trees = each(partial(tree, vectors, LEAF, 1), range(seed, seed + TREES))
    near, score = neighbours(vectors, trees, each)
    first, second, alike = edges(near, score)
    group = grow(k, np.argsort(-alike, kind="stable"), first, second, near, vectors)
    if np.count_nonzero(group >= 0) < _PROGRESS * group.size:
        return _in_leaves(k, vectors, seed + TREES)
    return group


def _in_leaves(k: int, vectors: Vectors, seed: int) -> Ints:
    """Groups on all pairs within the leaves of a tree."""
    order, start = tree(vectors, DENSE, k, seed)
    group = np.empty(order.size, dtype=np.int64)
    made = 0
    for at in range(start.size - 1):
        users = order[start[at] : start[at + 1]]
        group[users] = dense_groups(k, vectors[users]) + made
        made = int(group[users].max()) + 1
    return group
