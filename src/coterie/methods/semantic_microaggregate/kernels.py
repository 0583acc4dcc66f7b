"""Groups of users by what they have in common, with sum linkage (paper 003).

    sim(i, j) = Σ_c min(M(i, c), M(j, c))          M(i, c): how often user i has the category c, of all levels

    while |U| >= 2k:  z = {i, ρ}, the most similar pair of U
                      while |z| < k:  add the user j of U with the largest Σ_{m in z} sim(m, j)
                      U = U - z
    the rest, k to 2k - 1 users, is the last group

Ties go to the smallest index. Sums are taken in the order in which users join, and counts are whole numbers, so that
the result is that of the plain version.
"""

from __future__ import annotations

import numpy as np

from coterie.algorithms.kernels._arrays import Floats, Ints, Short
from coterie.algorithms.kernels._jit import jit

NOBODY = -1
"""The group of users who are in none."""
_DEAD = -1.0  # below every similarity


@jit
def similarities(users: Ints, start: Ints, category: Short, count: Ints, n_categories: int, cosine: bool) -> Floats:
    """What each two of some users have in common; with `cosine`, divided by the geometric mean of their totals."""
    n = users.size
    result = np.zeros((n, n), dtype=np.float64)
    mine = np.zeros(n_categories, dtype=np.int64)
    total, size = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for i in range(n):
        size[i] = start[users[i] + 1] - start[users[i]]
        for at in range(start[users[i]], start[users[i] + 1]):
            total[i] += count[at]
    order = np.argsort(-size, kind="mergesort")
    for place in range(n):  # of each two the one with fewer categories is walked over
        i = order[place]
        first, last = start[users[i]], start[users[i] + 1]
        for at in range(first, last):
            mine[category[at]] = count[at]
        for j in order[place + 1 :]:
            common = 0
            for at in range(start[users[j]], start[users[j] + 1]):
                common += min(count[at], mine[category[at]])
            value = float(common)
            if cosine and common > 0:
                value = common / np.sqrt(float(total[i] * total[j]))
            result[i, j] = result[j, i] = value
        for at in range(first, last):
            mine[category[at]] = 0
    return result


@jit
def sum_linkage(similar: Floats, k: int, least: int) -> tuple[Ints, int]:
    """The group of each user, NOBODY for those left over, and the number of groups; each has k members.

    Groups are made while at least `least` users are left.
    """
    n = similar.shape[0]
    group = np.full(n, NOBODY, dtype=np.int64)
    best, partner = np.full(n, _DEAD), np.full(n, -1, dtype=np.int64)
    for i in range(n):
        _look_for_partner(i, similar, group, best, partner)
    left, number = n, 0
    while left >= least:
        i = _first_of_best_pair(similar, group, best, partner)
        group[i] = group[partner[i]] = number
        linked = similar[i] + similar[partner[i]]
        for _ in range(k - 2):
            joins = -1
            for j in range(n):
                if group[j] == NOBODY and (joins < 0 or linked[j] > linked[joins]):
                    joins = j
            group[joins] = number
            linked += similar[joins]
        number += 1
        left -= k
    return group, number


@jit
def _look_for_partner(i: int, similar: Floats, group: Ints, best: Floats, partner: Ints) -> None:
    """The most similar user after i that is in no group."""
    best[i], partner[i] = _DEAD, -1
    for j in range(i + 1, group.size):
        if group[j] == NOBODY and similar[i, j] > best[i]:
            best[i], partner[i] = similar[i, j], j


@jit
def _first_of_best_pair(similar: Floats, group: Ints, best: Floats, partner: Ints) -> int:
    """The first user of the most similar pair. Groups only take users away, so an earlier best is an upper bound."""
    while True:
        first = -1
        for i in range(group.size):
            if group[i] == NOBODY and partner[i] >= 0 and (first < 0 or best[i] > best[first]):
                first = i
        if group[partner[first]] == NOBODY:
            return first
        _look_for_partner(first, similar, group, best, partner)


def most_similar_groups(similar: Floats, group: Ints, n_groups: int) -> Ints:
    """The groups; users who are in none join the group that is most similar to them (by the sum over its members)."""
    result, grouped = group.copy(), group != NOBODY
    for i in np.flatnonzero(~grouped):
        linked = np.bincount(group[grouped], weights=similar[i, grouped], minlength=n_groups)
        result[i] = np.argmax(linked)
    return result
