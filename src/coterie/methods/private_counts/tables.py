"""The tables of private selection: constants, release table, price list, all from public numbers alone.

Labels such as [P] are those of the steps in docs/proofs/private_counts.md. Floating-point numbers decide how good the
tables are; whether they keep the promise depends on step [P] alone, which prices the finished whole-number table.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
import polars as pl

from coterie.core.arrays import Ints
from coterie.core.randomness import Words, table_error
from coterie.errors import ParameterError
from coterie.methods.private_counts.kernels import release_table

UNIT = 32
"""S: a whole unit of weight; a user's squared weights sum to S² at least."""
KAPPA = 1 - 2.0**-13
"""Keeps the table a little below what it may be, so that rounding does not raise prices above the budget."""
_SHIFT = 64
_COST_BITS, _MASS_BITS = 40, 60
_LESS = 1 - 2.0**-48  # budgets are floating-point numbers before they are whole: never above what they stand for
_SKETCH_UNITS = (256, 128, 64, 32, 16)
_SHARES_OF_DELTA = (0.1, 0.2, 0.3, 0.4, 0.5)
_ORDERS = tuple(1 + 2 ** (j / 4) for j in range(-4, 57))
_FIRST_SHARE = 0.3
_OF_TABLES = ("alpha", "share", "cost_budget", "mass_budget", "sketch_unit", "sketch_variance", "count_variance")
_STAGE_COLUMNS = {
    "stage": pl.String,
    **dict.fromkeys(("epsilon", "delta", "alpha", "share", "sketch", "counts", "scale", "threshold"), pl.Float64),
    **dict.fromkeys(("counted", *_OF_TABLES[2:]), pl.Int64),
}


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What is public before the log is read: the promise, and how it is split."""

    epsilon: float
    delta: float
    sketch: float
    """r: share of the budget for the private sketch."""
    counts: float = 0.0
    """rc: share of the budget for counts; 0 where none are published."""
    reach: int = 12
    """hm: the largest step the table is made for."""
    counted: int = 10
    """m: for how many released items a user counts."""

    @property
    def selection(self) -> float:
        """rs: what is left for selection."""
        return 1 - self.sketch - self.counts


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One part of a release: what it publishes, and what it may spend."""

    name: str
    epsilon: float
    delta: float


@dataclass(frozen=True, kw_only=True)
class Cells:
    """Noise for numbers whose places are public: nothing is selected."""

    alpha: float
    c: float
    variance: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Tables:
    """Everything that selection and counts need, made from a budget alone."""

    budget: Budget
    alpha: float
    """The order of the Rényi divergence."""
    share: float
    """x: the share of delta for items that nobody else has."""
    c: float
    """The whole budget as a Rényi divergence of that order."""
    released: Words
    """F: an item of weight w is released where a random word is below F[min(w, N)]."""
    costs: Ints
    """C[s]: what a weight of s costs, in units of 2^-40."""
    masses: Ints
    """d[s]: its share of delta, in units of 2^-60."""
    cost_budget: int
    mass_budget: int
    sketch_unit: int
    """S1: squared sketch weights of a user sum to at most S1²."""
    sketch_variance: int
    count_variance: int

    @property
    def largest(self) -> int:
        """N: the weight from which on the table is constant."""
        return self.released.size - 1

    def weight_for(self, probability: float) -> int:
        """The smallest weight that is released with this probability."""
        return int(np.searchsorted(self.released, np.uint64(int(probability * 2.0**_SHIFT))))


def divergence_budget(epsilon: float, delta2: float, alpha: float) -> float:
    """[L6] The largest divergence of order alpha that gives (epsilon, delta2)."""
    return epsilon + (math.log(delta2) + math.log(alpha - 1) - alpha * math.log(1 - 1 / alpha)) / (alpha - 1)


@cache
def tables_of(budget: Budget) -> Tables:
    """The tables for a budget, with the order and the share of delta that release an item at the smallest weight."""
    return tables_for(budget, *_best(budget))


def tables_for(budget: Budget, alpha: float, share: float) -> Tables:
    """The tables for a budget, an order and a share of delta."""
    kept = Fraction(63, 64) * Fraction(budget.delta)  # the rest is for rounding in noise tables [L7]
    d1, d2 = float(kept) * share, float(kept) * (1 - share)
    c = divergence_budget(budget.epsilon, d2, alpha)
    if not c > 0:
        raise ParameterError("This order is too small for epsilon and delta: nothing could be spent.")
    released = _released(alpha, budget.selection * c, d1, budget.reach)
    cost_budget = math.floor(2**_COST_BITS * _LESS * budget.selection * c)
    mass_budget = math.floor(2**_MASS_BITS * _LESS * d1)
    costs, masses = prices(released, alpha, d1, cost_budget)
    unit, variance, count_variance = _noise(budget, alpha, c)
    return Tables(
        budget=budget,
        alpha=alpha,
        share=share,
        c=c,
        released=released,
        costs=costs,
        masses=masses,
        cost_budget=cost_budget,
        mass_budget=mass_budget,
        sketch_unit=unit,
        sketch_variance=variance,
        count_variance=count_variance,
    )


def _released(alpha: float, c2: float, d1: float, reach: int) -> Words:
    """F: the release table as whole parts of 2^64."""
    one = 2**_SHIFT
    table, rests = release_table(alpha, c2, d1, UNIT, reach, KAPPA, 1.0)
    whole = [
        math.floor(Fraction(f) * one) if f < 0.5 else one - max(1, math.ceil(Fraction(rest) * one))
        for f, rest in zip(table.tolist(), rests.tolist(), strict=True)
    ]
    if not whole[1] > 0 or any(later < earlier for earlier, later in itertools.pairwise(whole)):
        raise ParameterError("epsilon and delta are too small: the release table would be empty.")
    return np.array(whole, dtype=np.uint64)


def prices(released: Words, alpha: float, d1: float, most: int) -> tuple[Ints, Ints]:
    """[P] The price list from the finished table, rounded up: C[s] and d[s] for s = 0, 1, ... while C[s] ≤ `most`."""
    table = [int(entry) for entry in released]
    costs, masses = [0], [0]
    for s in range(1, UNIT + 1):
        least = KAPPA * d1 * s * s / UNIT**2
        mass = max(-(-table[min(s, len(table) - 1)] // 16), math.ceil(Fraction(least) * 2**_MASS_BITS), masses[-1])
        if 16 * mass >= 2**63:
            break
        cost = max(_costs_of(table, s, mass, alpha), default=1)
        if cost > most:
            break  # nobody could pay it
        masses.append(mass)
        costs.append(max(cost, costs[-1]))
    return np.array(costs, dtype=np.int64), np.array(masses, dtype=np.int64)


def _costs_of(table: list[int], s: int, mass: int, alpha: float) -> Iterator[int]:
    """What raising an item by s costs, from each weight: the divergence of what is left without the mass."""
    one, last = 2**_SHIFT, len(table) - 1
    whole = one - 16 * mass
    for w in range(1, last):
        above, below = table[min(w + s, last)] - 16 * mass, table[w]
        if above * one <= whole * below:
            continue  # a smaller mass makes both equal
        # P' = above/whole, Q = below/one; ratios as exact integers, so that nothing cancels.
        x = _log_ratio(above * one, whole * below)
        y = _log_ratio((whole - above) * one, whole * (one - below))
        p, q = above / whole, below / one
        rest_p, rest_q = (whole - above) / whole, (one - below) / one
        yield max(_rounded_up(p, rest_p, x, y, alpha), _rounded_up(q, rest_q, -x, -y, alpha))


def _log_ratio(numerator: int, denominator: int) -> float:
    """ln(numerator/denominator); by log1p only near 1, because near 0 it would come out too small."""
    if 2 * abs(numerator - denominator) < denominator:
        return math.log1p((numerator - denominator) / denominator)
    return math.log(numerator / denominator)


def _rounded_up(p: float, rest: float, x: float, y: float, alpha: float) -> int:
    u = p * math.expm1((alpha - 1) * x)
    v = rest * math.expm1((alpha - 1) * y)
    divergence: float = math.log1p(u + v + 2.0**-40 * (abs(u) + abs(v))) / (alpha - 1)
    return math.ceil(divergence * 2.0**_COST_BITS) + 1


def _noise(budget: Budget, alpha: float, c: float) -> tuple[int, int, int]:
    """[L7] Sketch unit S1 and the variances V and Vc: the finest unit whose tables cost at most delta/64."""
    m = budget.counted if budget.counts else 0
    count_variance = math.ceil(alpha * m / (2 * budget.counts * c)) if budget.counts else 0
    for unit in _SKETCH_UNITS:
        variance = math.ceil(alpha * unit * unit / (2 * budget.sketch * c)) if budget.sketch else 0
        error = unit * unit * table_error(variance) * bool(variance) + m * table_error(count_variance)
        if (1 + math.exp(budget.epsilon)) * error <= budget.delta / 64:
            return unit, variance, count_variance
    raise ParameterError("delta is too small for the noise tables. Use a larger delta.")


def _best(budget: Budget) -> tuple[float, float]:
    """Order and share of delta with which the fewest weight is needed for a probability of one half; without data."""

    def needed(alpha: float, share: float) -> float:
        kept = 63 / 64 * budget.delta
        c = divergence_budget(budget.epsilon, kept * (1 - share), alpha)
        if c <= 0:
            return math.inf
        table, _ = release_table(alpha, budget.selection * c, kept * share, UNIT, budget.reach, KAPPA, 0.5)
        last, before = float(table[-1]), float(table[-2])
        return table.size - 2 + (0.5 - before) / (last - before)

    orders = [alpha for alpha in _ORDERS if divergence_budget(budget.epsilon, 0.5 * budget.delta, alpha) > 0]
    if not orders:
        raise ParameterError("epsilon is too small for this delta. Use a larger epsilon or a larger delta.")
    low, high = 0, len(orders) - 1
    while high - low > 2:  # the need falls, then rises, with the order
        third = (high - low) // 3
        if needed(orders[low + third], _FIRST_SHARE) <= needed(orders[high - third], _FIRST_SHARE):
            high -= third
        else:
            low += third
    alpha = min(orders[low : high + 1], key=lambda order: needed(order, _FIRST_SHARE))
    return alpha, min(_SHARES_OF_DELTA, key=lambda share: needed(alpha, share))


def cells_of(stage: Stage, counted: int) -> Cells:
    """[L5] The least noise for numbers of which a user changes at most `counted` by one."""
    kept = 63 / 64 * stage.delta
    found = []
    for alpha in _ORDERS:
        c = divergence_budget(stage.epsilon, kept, alpha)
        if c > 0:
            found.append(Cells(alpha=alpha, c=c, variance=math.ceil(alpha * counted / (2 * c))))
    for cells in sorted(found, key=lambda each: each.variance):
        if (1 + math.exp(stage.epsilon)) * counted * table_error(cells.variance) <= stage.delta / 64:
            return cells
    raise ParameterError("epsilon and delta are too small for numbers by day. Leave out days.")


def evidence_of(
    stages: Sequence[Stage],
    tables: Mapping[str, Tables],
    *,
    counted: int = 0,
    scales: Sequence[float] = (),
    thresholds: Sequence[float] = (),
    optimal: Words | None = None,
) -> dict[str, pl.LazyFrame]:
    """All that a judge needs to account for the release, none of it from the log: `stages`, `table` and `prices`."""
    rows, entries, prices_of = [], [], []
    for stage in stages:
        made = tables.get(stage.name)
        numbers = {"stage": stage.name, "epsilon": stage.epsilon, "delta": stage.delta, "counted": counted}
        if made is not None:
            numbers |= {name: getattr(made, name) for name in _OF_TABLES}
            numbers |= {"sketch": made.budget.sketch, "counts": made.budget.counts}
            entries += [
                {"stage": stage.name, "weight": w, "below": int(entry)} for w, entry in enumerate(made.released)
            ]
            both = zip(made.costs.tolist(), made.masses.tolist(), strict=True)
            prices_of += [{"stage": stage.name, "weight": s, "cost": c, "mass": d} for s, (c, d) in enumerate(both)]
        elif stage.name == "days":
            cells = cells_of(stage, counted)
            numbers |= {"alpha": cells.alpha, "count_variance": cells.variance}
        rows.append(numbers)
    if optimal is not None:
        entries = [{"stage": stages[0].name, "weight": n, "below": int(entry)} for n, entry in enumerate(optimal)]
    if scales:
        rows = [{**rows[0], "scale": s, "threshold": t} for s, t in zip(scales, thresholds, strict=True)]
    return {
        "private_stages": pl.LazyFrame(rows, schema=_STAGE_COLUMNS),
        "private_table": pl.LazyFrame(entries, schema={"stage": pl.String, "weight": pl.Int64, "below": pl.UInt64}),
        "private_prices": pl.LazyFrame(
            prices_of, schema={"stage": pl.String, "weight": pl.Int64, "cost": pl.Int64, "mass": pl.Int64}
        ),
    }
