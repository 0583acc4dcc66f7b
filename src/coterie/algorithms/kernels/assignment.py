"""The cheapest one-to-one assignment of n rows to n columns, in whole numbers (Jonker and Volgenant 1987).

    min over permutations p of Σ_i c[i, p(i)]  =  max Σ_i u_i + Σ_j v_j  where  u_i + v_j <= c[i, j]

Columns are reduced by their smallest cost, rows that are nobody's smallest are offered what is cheapest for them, and
those that are left find a cheapest path of exchanges. Any v gives the bound Σ_j v_j + Σ_i min_j (c[i, j] - v_j), which
the assignment cannot be cheaper than: whoever needs to know only whether it is cheap enough stops there.

The assignment is the same on every machine. Where several are equally cheap, it is the one this algorithm finds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.algorithms.kernels._arrays import Ints
from coterie.algorithms.kernels._jit import uncounted

TOO_MUCH, TOO_LITTLE = -1, -2
ANY_COST = 2**62
MOST_ROWS = 2**11
"""Costs are below 2^51, so that no sum of so many leaves 64 bits."""
_INFINITE = 2**62


class Workspace(NamedTuple):
    """Room for one assignment, so that none is made for each."""

    cost: Ints
    """Rows x columns; the upper left part is used."""
    column_of: Ints
    row_of: Ints
    """The assignment, both ways."""
    price: Ints
    free: Ints
    path: Ints
    before: Ints
    columns: Ints
    settled: Ints


def workspace(n: int) -> Workspace:
    """Room for n rows."""
    return Workspace(np.empty((n, n), dtype=np.int64), *(np.empty(n, dtype=np.int64) for _ in range(8)))


@uncounted
def assign(n: int, least: int, most: int, work: Workspace) -> int:
    """Assign the n rows of `work.cost` to its n columns; the cost of that.

    TOO_MUCH as soon as it is known to be above `most`, TOO_LITTLE as soon as it is known to be below `least`: then
    there is no assignment. That is not always found out.
    """
    if _reduce_columns(n, work) > most:
        return TOO_MUCH
    free = _offer(n, _transfer(n, work), work)
    if free > 0 and most < ANY_COST and _bound(n, work) > most:
        return TOO_MUCH
    if free > 0 and least > 0 and _completed(n, free, work) < least:
        return TOO_LITTLE
    for f in range(free):
        _augment(n, work.free[f], work)
    total = 0
    for i in range(n):
        total += work.cost[i, work.column_of[i]]
    return total


@uncounted
def _bound(n: int, work: Workspace) -> int:
    """What no assignment can be cheaper than, by the prices of columns."""
    bound = 0
    for i in range(n):
        least = work.cost[i, 0] - work.price[0]
        for j in range(1, n):
            least = min(least, work.cost[i, j] - work.price[j])
        bound += least + work.price[i]
    return bound


@uncounted
def _completed(n: int, free: int, work: Workspace) -> int:
    """The cost if each row that is left takes its cheapest free column in turn: not less than that of the best."""
    columns, left, total = work.columns, 0, 0
    for j in range(n):
        if work.row_of[j] < 0:
            columns[left] = j
            left += 1
    for i in range(n):
        if work.column_of[i] >= 0:
            total += work.cost[i, work.column_of[i]]
    for f in range(free):
        i, best = work.free[f], 0
        for at in range(1, left):
            if work.cost[i, columns[at]] < work.cost[i, columns[best]]:
                best = at
        total += work.cost[i, columns[best]]
        left -= 1
        columns[best] = columns[left]
    return total


@uncounted
def _reduce_columns(n: int, work: Workspace) -> int:
    """Prices are the smallest costs of columns, whose rows get the first of them; the bound these prices give."""
    cost, price, chosen = work.cost, work.price, work.before
    for j in range(n):
        price[j], chosen[j] = cost[0, j], 0
    for i in range(1, n):
        for j in range(n):
            if cost[i, j] < price[j]:
                price[j], chosen[j] = cost[i, j], i
    wanted = work.path
    for i in range(n):
        work.column_of[i] = work.row_of[i] = -1
        wanted[i] = 0
    for j in range(n - 1, -1, -1):
        i = chosen[j]
        wanted[i] += 1
        if wanted[i] == 1:
            work.column_of[i], work.row_of[j] = j, i
    return _bound(n, work)


@uncounted
def _transfer(n: int, work: Workspace) -> int:
    """Lower the price of columns that their row wants and no other; the number of rows without a column."""
    cost, price, wanted, free = work.cost, work.price, work.path, 0
    for i in range(n):
        if wanted[i] == 0:
            work.free[free] = i
            free += 1
        elif wanted[i] == 1 and n > 1:
            own = work.column_of[i]
            least = _INFINITE
            for j in range(n):
                if j != own:
                    least = min(least, cost[i, j] - price[j])
            price[own] -= least
    return free


@uncounted
def _offer(n: int, free: int, work: Workspace) -> int:
    """Rows without a column take their cheapest one, perhaps from another row; how many are left without."""
    cost, price, waiting = work.cost, work.price, work.free
    at, left, steps = 0, 0, 0
    while at < free:
        i = waiting[at]
        at += 1
        steps += 1
        first, second = 0, -1
        least, next_ = cost[i, 0] - price[0], _INFINITE
        for j in range(1, n):
            reduced = cost[i, j] - price[j]
            if reduced < next_:
                if reduced >= least:
                    next_, second = reduced, j
                else:
                    next_, second = least, first
                    least, first = reduced, j
        driven_out = work.row_of[first]
        cheaper = least < next_
        if cheaper and second >= 0:
            price[first] -= next_ - least
        elif driven_out >= 0 and second >= 0:
            first = second
            driven_out = work.row_of[first]
        work.column_of[i], work.row_of[first] = first, i
        if driven_out >= 0:
            work.column_of[driven_out] = -1
            if cheaper and steps <= n:  # rows may outbid each other by next to nothing, over and over
                at -= 1
                waiting[at] = driven_out
            else:
                waiting[left] = driven_out
                left += 1
    return left


@uncounted
def _augment(n: int, start: int, work: Workspace) -> None:
    """Find the cheapest chain of exchanges that ends at a free column, and make it."""
    cost, price, path, before, open_ = work.cost, work.price, work.path, work.before, work.columns
    for j in range(n):
        path[j] = open_[j] = cost[start, j] - price[j]
        before[j] = start
        work.settled[j] = _INFINITE
    while True:
        least = open_[0]
        for j in range(1, n):
            least = min(least, open_[j])
        end = 0
        while open_[end] != least:
            end += 1
        i = work.row_of[end]
        if i < 0:
            break
        # A column that is done is never the nearest again, and no way to it is shorter.
        work.settled[end], open_[end], path[end] = least, _INFINITE, -_INFINITE
        more = cost[i, end] - price[end] - least
        for j in range(n):
            way = cost[i, j] - price[j] - more
            shorter = way < path[j]
            path[j] = way if shorter else path[j]
            open_[j] = way if shorter else open_[j]
            before[j] = i if shorter else before[j]
    for j in range(n):
        price[j] += min(work.settled[j] - least, 0)
    while True:
        i = before[end]
        work.row_of[end] = i
        end, work.column_of[i] = work.column_of[i], end
        if i == start:
            break
