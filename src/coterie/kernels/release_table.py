"""The release table of private selection: with which probability an item of whole weight i is released.

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

from coterie.kernels._arrays import Floats
from coterie.kernels._jit import jit, uncounted

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
def _fits(p: float, rest_p: float, q: float, rest_q: float, alpha: float, bound: float) -> bool:
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
        while high < 1.0 and _fits(high, 1.0 - high, q, rest_q, alpha, bound):
            low, high = high, 2.0 * high
        high = min(high, 1.0)
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            if _fits(middle, 1.0 - middle, q, rest_q, alpha, bound):
                low = middle
            else:
                high = middle
        return -low  # told apart by its sign: nothing is lost
    good, bad = rest_q, 0.5 * rest_q
    while bad > 0.0 and _fits(1.0 - bad, bad, q, rest_q, alpha, bound):
        good, bad = bad, 0.5 * bad
    for _ in range(_HALVINGS):
        middle = 0.5 * (good + bad)
        if _fits(1.0 - middle, middle, q, rest_q, alpha, bound):
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
            elif not _fits((best - u) / (1.0 - u), best_rest / (1.0 - u), q, rest_q, alpha, kappa * c2 * h):
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
