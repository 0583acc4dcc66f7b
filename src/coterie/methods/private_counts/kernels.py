"""How users spread their weight over their items, and what comes together at an item. Whole numbers throughout.

Pairs (user, item) are distinct and stand by user: those of user u at start[u] .. start[u+1]. Every sum over a user is a
sum of whole numbers, so neither the numbering of items nor the order of pairs changes a weight.

The release table of private selection: with which probability an item of whole weight i is released.

    f[0] = 0;  f[i] = min over steps s = 1..min(i, hm) of
        u                  if f[i-s] = 0,
        u + (1-u)·p        else, with p the largest number such that D(p, f[i-s]) ≤ κ·c2·s²/S²,
    u = κ·d1·s²/S²

where D(p, q) is the larger of the two Rényi divergences of order alpha between coins of bias p and q. The table grows
as fast as (alpha, c2) and d1 allow, and it ends at the first i where 1 - f[i] < 1e-12. These are floating-point numbers
without any guarantee: what a step really costs is computed from the finished whole-number table, and bounds what users
may give (`models.private_tables`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.algorithms.kernels._arrays import Floats, Ints, Masks
from coterie.algorithms.kernels._jit import jit, uncounted

Weights = NDArray[np.uint8]
Keys = NDArray[np.uint32]

COIN_BITS = 36
_COIN = np.uint64(28)  # 64 - COIN_BITS: the upper bits of a word are the coin
_MOST_SQUARES = 1 << 60  # every share is 0 long before; a user with millions of items must not overflow it
_DROPPED = 50  # an item below 1/50 of a user's largest is left out


@uncounted
def _root(value: int) -> int:
    """⌊√value⌋."""
    root = int(np.sqrt(float(value)))
    while root * root > value:
        root -= 1
    while (root + 1) * (root + 1) <= value:
        root += 1
    return root


@jit
def sketch_sums(start: Ints, keys: Keys, prior: Ints, unit: int, sums: Ints) -> None:
    """[2] Add to `sums` of each item v = unit·p div (√Σp² + 1), whose squares sum to at most unit² for each user."""
    for u in range(start.size - 1):
        squares = 0
        for i in range(start[u], start[u + 1]):
            squares = min(squares + prior[keys[i]] ** 2, _MOST_SQUARES)
        divisor = _root(squares) + 1
        for i in range(start[u], start[u + 1]):
            sums[keys[i]] += unit * prior[keys[i]] // divisor


@jit
def spread(
    start: Ints, keys: Keys, wanted: Ints, coins: Masks, costs: Ints, masses: Ints, budgets: Ints, weights: Weights,
    first: int, last: int,
) -> None:  # fmt: skip
    """[3] The whole weights s = min(smax, (L·g + coin) >> 36) of users, with the largest L that both budgets allow.

    `wanted` is g by item; `coins` has a word for each pair.
    """
    longest = 0
    for u in range(first, last):
        longest = max(longest, start[u + 1] - start[u])
    shares, fractions = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64)
    for u in range(first, last):
        size, most = start[u + 1] - start[u], 0
        for i in range(size):
            shares[i] = wanted[keys[start[u] + i]]
            most = max(most, shares[i])
            fractions[i] = np.int64(coins[start[u] + i] >> _COIN)
        least = most
        for i in range(size):
            if _DROPPED * shares[i] <= most:
                shares[i] = 0
            elif shares[i] < least:
                least = shares[i]
        if most == 0:
            continue
        low, high = 0, ((costs.size - 1) << COIN_BITS) // least + 1  # at `high` every item has the largest weight
        while high - low > 1:
            middle = (low + high) // 2
            if _fits(shares, fractions, size, middle, costs, masses, budgets):
                low = middle
            else:
                high = middle
        if _fits(shares, fractions, size, high, costs, masses, budgets):
            low = high
        for i in range(size):
            weights[start[u] + i] = _weight(shares[i], fractions[i], low, costs.size - 1)


@uncounted
def _weight(share: int, fraction: int, scale: int, largest: int) -> int:
    return min(largest, (scale * share + fraction) >> COIN_BITS) if share > 0 else 0


@uncounted
def _fits(shares: Ints, fractions: Ints, size: int, scale: int, costs: Ints, masses: Ints, budgets: Ints) -> bool:
    cost = mass = 0
    for i in range(size):
        s = _weight(shares[i], fractions[i], scale, costs.size - 1)
        cost += costs[s]
        mass += masses[s]
        if cost > budgets[0] or mass > budgets[1]:
            return False
    return True


@jit
def weights_above(
    start: Ints, pairs: Keys, weights: Weights, largest: int, spared: int, sums: Ints, first: int, last: int
) -> None:  # fmt: skip
    """[4] The weight of each item without the `spared` = k - 1 largest contributions to it."""
    counts = np.empty(largest + 1, dtype=np.int64)
    for key in range(first, last):
        counts[:] = 0
        total = 0
        for i in range(start[key], start[key + 1]):
            s = weights[pairs[i]]
            counts[s] += 1
            total += s
        left = spared
        for s in range(largest, 0, -1):
            taken = min(left, counts[s])
            total -= taken * s
            left -= taken
        sums[key] = total


@jit
def picks(start: Ints, keys: Keys, coins: Masks, limit: int, counts: Ints) -> None:
    """[6] Each user counts for at most `limit` of their items, those with the smallest words."""
    for u in range(start.size - 1):
        size = start[u + 1] - start[u]
        own = coins[start[u] : start[u + 1]]
        highest = np.sort(own)[limit - 1] if size > limit else np.uint64(0xFFFFFFFFFFFFFFFF)
        taken = 0
        for i in range(size):
            if own[i] <= highest and taken < limit:
                counts[keys[start[u] + i]] += 1
                taken += 1


@jit
def even_weights(start: Ints, coins: Masks, most: int, unit: int, weights: NDArray[np.uint16]) -> None:
    """Each user gives ⌊unit/√t⌋ to each of t items: all of theirs, or the `most` with the smallest words."""
    for u in range(start.size - 1):
        size = start[u + 1] - start[u]
        own = coins[start[u] : start[u + 1]]
        highest = np.sort(own)[most - 1] if size > most else np.uint64(0xFFFFFFFFFFFFFFFF)
        held = min(size, most)
        weight = _root(unit * unit // held) if held else 0
        taken = 0
        for i in range(size):
            if own[i] <= highest and taken < most:
                weights[start[u] + i] = weight
                taken += 1


@jit
def sums_without_largest(start: Ints, pairs: Keys, weights: NDArray[np.uint16], spared: int, sums: Ints) -> None:
    """The weight of each item without the `spared` largest contributions to it."""
    for key in range(start.size - 1):
        size = start[key + 1] - start[key]
        if size <= spared:
            continue
        own = np.empty(size, dtype=np.int64)
        for i in range(size):
            own[i] = weights[pairs[start[key] + i]]
        sums[key] = own.sum()
        if spared:
            sums[key] -= np.sort(own)[size - spared :].sum()


@jit
def best_items(start: Ints, keys: Keys, prior: Ints, coins: Masks, counts: Ints) -> None:
    """Each user counts for the one item of theirs with the largest prior, and of equal ones with the largest word."""
    for u in range(start.size - 1):
        best = start[u]
        for i in range(start[u] + 1, start[u + 1]):
            new, old = prior[keys[i]], prior[keys[best]]
            if new > old or (new == old and coins[i] > coins[best]):
                best = i
        if start[u + 1] > start[u]:
            counts[keys[best]] += 1


# --- the release table ----------------------------------------------------------------------------


_CERTAIN = 1e-12
_HALVINGS = 64


@uncounted
def _log(p: float, rest: float) -> float:
    """ln p of a coin of bias p = 1 - rest; the smaller of the two is the exact one."""
    return float(np.log(p) if p < 0.5 else np.log1p(-rest))


@uncounted
def _one_way(p: float, rest_p: float, x: float, y: float, alpha: float) -> float:
    """The Rényi divergence of order alpha of a coin from another; x and y are the logarithms of the ratios."""
    grown = p * np.expm1((alpha - 1.0) * x) + rest_p * np.expm1((alpha - 1.0) * y)
    return float(np.log1p(grown) / (alpha - 1.0))


@uncounted
def _are_near(p: float, rest_p: float, q: float, rest_q: float, alpha: float, bound: float) -> bool:
    """Whether coins of bias p and q are at most `bound` apart, both ways."""
    if rest_p >= rest_q and p <= q:
        return True
    if rest_p <= 0.0:
        return False
    x = _log(p, rest_p) - _log(q, rest_q)
    y = _log(rest_p, p) - _log(rest_q, q)
    return _one_way(p, rest_p, x, y, alpha) <= bound and _one_way(q, rest_q, -x, -y, alpha) <= bound


@uncounted
def _least_rest(q: float, rest_q: float, alpha: float, bound: float) -> float:
    """1 - p for the largest p with D(p, q) ≤ bound."""
    if rest_q > 0.5:  # p is the exact number
        low, high = q, 2.0 * q
        while high < 1.0 and _are_near(high, 1.0 - high, q, rest_q, alpha, bound):
            low, high = high, 2.0 * high
        high = min(high, 1.0)
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            if _are_near(middle, 1.0 - middle, q, rest_q, alpha, bound):
                low = middle
            else:
                high = middle
        return -low  # told apart by its sign: nothing is lost
    good, bad = rest_q, 0.5 * rest_q
    while bad > 0.0 and _are_near(1.0 - bad, bad, q, rest_q, alpha, bound):
        good, bad = bad, 0.5 * bad
    for _ in range(_HALVINGS):
        middle = 0.5 * (good + bad)
        if _are_near(1.0 - middle, middle, q, rest_q, alpha, bound):
            good = middle
        else:
            bad = middle
    return good


@jit
def release_table(
    alpha: float, c2: float, d1: float, unit: int, reach: int, kappa: float, until: float
) -> tuple[Floats, Floats]:
    """f[0], f[1], ... up to the first entry of at least `until`, or 1 - 1e-12; and 1 - f, exact where f is near 1."""
    size = 4096
    table, rests = np.zeros(size), np.ones(size)
    last = 1
    i = 0
    while True:
        i += 1
        if i == size:
            table, rests = np.concatenate((table, np.zeros(size))), np.concatenate((rests, np.ones(size)))
            size *= 2
        best, best_rest, steps = 1.0, 0.0, min(i, reach)
        first = min(last, steps)
        # The step that held the last entry back probably holds this one back, too; the others are then one look each.
        for turn in range(steps):
            s = first if turn == 0 else (turn if turn < first else turn + 1)
            h = (s / unit) ** 2
            u = kappa * d1 * h
            q, rest_q = table[i - s], rests[i - s]
            if q == 0.0:
                if u < best:
                    best, best_rest, last = u, 1.0 - u, s
            elif not _are_near((best - u) / (1.0 - u), best_rest / (1.0 - u), q, rest_q, alpha, kappa * c2 * h):
                rest = _least_rest(q, rest_q, alpha, kappa * c2 * h)
                if rest < 0.0:
                    best = u - (1.0 - u) * rest
                    best_rest = 1.0 - best
                else:
                    best_rest = (1.0 - u) * rest
                    best = 1.0 - best_rest
                last = s
        table[i], rests[i] = best, best_rest
        if best >= until or best_rest < _CERTAIN:
            return table[: i + 1].copy(), rests[: i + 1].copy()
