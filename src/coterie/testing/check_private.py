"""A tester of differential privacy: it looks for two neighbouring logs whose releases differ more than is claimed.

Two logs differ in one user. What the others have makes a fault visible (`Scene`):

    alike      n others have the same t items: a budget spent three times, noise of a wrong scale, rows for users
    apart      n others have each item, and nothing else: no bound per user shows where one user has hundreds of items
    company    n others have the item, and many that nobody else has: what the one user adds to a first, private look
               moves the weight of all others, so that a look without noise shows
    days       the one user has the item on many days: for methods that publish numbers by day (their `days`)

The difference is largest where the chance of a release is steep, so n is found by bisection for several chances; small
n, items that nobody else has, and items that are surely released are tried as well. What is observed is how many of the
t items are released, and the sum of the numbers published for them, in each table: events are thresholds on these.

All pairs of logs are looked at with few runs, the most suspicious eighth of them with more, and in the end the worst
three pairs, with the event that looked worst for each, are judged by new runs. There Clopper and Pearson's intervals
bound both probabilities, and

    Pr[one log] ≤ e^ε · Pr[the other] + δ

is broken only where the lower bound of the left side is above the right side with the upper bound. So a mechanism that
keeps its word fails once in a thousand times at most, and one that passes is not proved: a tester only falsifies.

Copies of the two logs with other users and other items stand in one log, because a mechanism whose noise and coins
belong to users and items treats them apart; one run is then thousands.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from coterie import api
from coterie.core.arrays import Flags, Floats
from coterie.core.run import Run
from coterie.core.shapes import COUNTS
from coterie.engines.local import Local

FIRST_DAY = datetime(2006, 3, 1, 12)
"""Of all rows, but for those of the one user in a scene with several days."""
CHANCES = (0.03, 0.15, 0.4, 0.7, 0.93)
"""Of a release, where the two logs are compared."""
_REPEATS = 8
_SMALL = (0, 1, 2, 3, 4, 6, 8)
_SURE = 2  # times as many others as give the largest chance: released in both logs, so that numbers can be compared
_MOST_USERS = 4096
_SEARCHED = 64  # items, for a first idea of a chance
_MOST_COPIES = 40_000
_FEWEST_COPIES = 24
_THRESHOLDS = 40  # of a sum of numbers
_FINAL = 3
_KEPT = 8  # one pair in so many is looked at again
_EXPLORED = (8, 2)  # the first two looks at a pair have an 8th and half of the rows
_SIGNIFICANCE = 1e-3
_TEXTS = 10_000_000
_OWN = "x"  # begins what one of the others has alone, after the number of the copy


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What the one user and the others have."""

    items: int
    """t: how many items the one user has."""
    apart: bool = False
    """Whether others have one of the items each, not all of them."""
    company: int = 0
    """How many items each of the others has besides, which nobody else has."""
    longer: int = 0
    """By how many characters the items of the one user are longer than those: a prior may expect less of them."""
    days: int = 1
    """On how many days the one user has each item, for numbers by day; the others have theirs on the first."""
    others: int = 0
    """n: how many others have each item."""

    @property
    def rows(self) -> int:
        """Of one copy."""
        return self.items * (self.others + self._repeats) + self.company * self._users

    @property
    def _repeats(self) -> int:
        """Rows of the one user for each item: where there is one item, a mechanism that counts rows is seen through."""
        return self.days if self.days > 1 else _REPEATS if self.items == 1 else 1

    @property
    def _users(self) -> int:
        return self.others * (self.items if self.apart else 1)

    def log(self, copies: int, *, one: bool) -> pl.DataFrame:
        """So many copies of the log, with the one user or without."""
        return pl.concat([self._shared(copies), self._own(copies), *([self._one_user(copies)] if one else [])])

    def _shared(self, copies: int) -> pl.DataFrame:
        """The items that the one user has, too."""
        place = pl.int_range(copies * self.others * self.items)
        user = place % (self.others * self.items or 1)
        who = user if self.apart else user // self.items
        return _rows(place // (self.others * self.items or 1), who, self._text(place % self.items))

    def _own(self, copies: int) -> pl.DataFrame:
        """What each of the others has alone."""
        each = self._users * self.company
        place = pl.int_range(copies * each)
        who = place % (each or 1) // (self.company or 1)
        return _rows(place // (each or 1), who, pl.format("{}{}", pl.lit(_OWN), 1000 + place % (each or 1)))

    def _one_user(self, copies: int) -> pl.DataFrame:
        each = self.items * self._repeats
        place = pl.int_range(copies * each)
        day = pl.lit(FIRST_DAY) + pl.duration(days=place % self.days)
        return _rows(place // each, pl.lit(self._users), self._text(place // self._repeats % self.items), day)

    def _text(self, item: pl.Expr) -> pl.Expr:
        """All of one length."""
        return pl.format("{}{}", 1000 + item, pl.lit("-" * self.longer))


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that the release of one of the two logs may show: a figure on one side of a threshold."""

    figure: str
    threshold: float
    above: bool
    """At least the threshold, or at most."""
    with_one: bool
    """Whether it is the log with the one user that shows it too often."""

    def happens(self, figures: Figures) -> Flags:
        """In which copies."""
        values = figures[self.figure]
        flags: Flags = values >= self.threshold if self.above else values <= self.threshold
        return flags


@dataclass(frozen=True, kw_only=True)
class Violation:
    """Two neighbouring logs, and by how much they break the promise."""

    scene: Scene
    event: Event
    excess: float
    """By how much the lower bound of one probability is above what the other allows."""


Figures = Mapping[str, Floats]
"""For each copy: how many of its items are released, and the sums of the numbers published for them."""
SCENES = (
    *(Scene(items=t) for t in (1, 4, 7, 16)),
    *(Scene(items=t, apart=True) for t in (64, 256)),
    Scene(items=1, company=6, longer=24),
    Scene(items=1, days=100),
)
"""Seven is the largest number of items of which each may get nearly as much weight as one alone."""
ROWS = 500_000


def check_private(
    method: Any,
    *,
    epsilon: float,
    delta: float,
    scenes: Sequence[Scene] = SCENES,
    rows: int = ROWS,
    search: bool = True,
) -> None:
    """Raise AssertionError where a method that claims (epsilon, delta) can be told apart from one that keeps it.

    `rows` is how many rows a log may have: more rows are more copies, and see smaller differences. Without `search` the
    numbers of others are those of the scenes. A small epsilon and a large delta, such as 1 and 0.02, show most.
    """
    found = violations(method, epsilon=epsilon, delta=delta, scenes=scenes, rows=rows, search=search)
    worst = max(found, key=lambda each: each.excess, default=None)
    assert worst is None, (
        f"not ({epsilon:g}, {delta:g})-private: {len(found)} pairs of logs show it; with {worst.scene.items} items of "
        f"one user that {worst.scene.others} others have, a probability is at least {worst.excess:.3f} too large"
    )


def violations(
    method: Any,
    *,
    epsilon: float,
    delta: float,
    scenes: Sequence[Scene] = SCENES,
    rows: int = ROWS,
    search: bool = True,
) -> list[Violation]:
    """The pairs of logs that break the promise, among the worst three, each with its excess."""
    seen = [scene for scene in scenes if scene.days == 1 or getattr(method, "days", None)]
    pairs = seen
    if search:
        pairs = [replace(scene, others=n) for scene in seen for n in _numbers_of_others(method, scene)]
    for part in _EXPLORED:
        suspicious = []
        for scene in pairs:
            without, with_one = _both(method, scene, rows // part)
            event, apparent = _worst_event(without, with_one, epsilon)
            suspicious.append((apparent, scene, event))
        suspicious.sort(key=lambda each: each[0], reverse=True)
        pairs = [scene for _, scene, _ in suspicious[: max(_FINAL, len(pairs) // _KEPT)]]
    found = []
    for _, scene, event in suspicious[:_FINAL]:
        excess = _excess(event, *_both(method, scene, rows), epsilon, delta)
        if excess > 0:
            found.append(Violation(scene=scene, event=event, excess=excess))
    return found


def _numbers_of_others(method: Any, scene: Scene) -> list[int]:
    """Small ones, and for each chance the number with which an item is released with about that chance."""
    rates: dict[int, float] = {}

    def rate(n: int) -> float:
        if n not in rates:
            tried = replace(scene, others=n)
            rates[n] = _figures(method, tried, -(-_SEARCHED // scene.items))["released"].mean() / scene.items
        return rates[n]

    found = []
    for chance in CHANCES:
        low, high = 0, 16
        while high < _MOST_USERS and rate(high) < chance:
            low, high = high, 2 * high
        while high - low > max(1, low // 16):
            middle = (low + high) // 2
            low, high = (middle, high) if rate(middle) < chance else (low, middle)
        found.append(high)
    return sorted({*_SMALL, *found, min(_MOST_USERS, _SURE * found[-1])})


def _both(method: Any, scene: Scene, rows: int) -> tuple[Figures, Figures]:
    """What is released without the one user, and with them."""
    copies = max(_FEWEST_COPIES, min(_MOST_COPIES, rows // scene.rows))
    return _figures(method, scene, copies), _figures(method, scene, copies, one=True)


def _figures(method: Any, scene: Scene, copies: int, *, one: bool = False) -> Figures:
    rows = scene.log(copies, one=one)
    if rows.is_empty():
        return {"released": np.zeros(copies)}
    log = api.log(rows)
    run = Run(engine=Local())
    published = method.plan(method.learn(log, run), log, run).table.collect()
    published = published.filter(pl.col(COUNTS.item).str.slice(9, 1) != _OWN)
    copy = (published[COUNTS.item].str.slice(0, 8).cast(pl.Int64) - _TEXTS).to_numpy()
    table = published["table"].fill_null("").to_numpy()
    named = table != "days"  # there every cell is published, of whatever was named before
    figures = {"released": np.bincount(copy[named], minlength=copies).astype(np.float64)}
    numbers = published[COUNTS.count]
    if numbers.null_count() < numbers.len():
        values = numbers.fill_null(0).to_numpy().astype(np.float64)
        for name in sorted(set(table.tolist())):
            here = table == name
            sums = np.bincount(copy[here], weights=values[here], minlength=copies)
            figures[f"sum {name}"] = sums.astype(np.float64)
    return figures


def _rows(copy: pl.Expr, user: pl.Expr, text: pl.Expr, time: pl.Expr | None = None) -> pl.DataFrame:
    number, time = _TEXTS + copy, pl.lit(FIRST_DAY) if time is None else time
    return pl.select(
        pl.format("{}-{}", number, user).alias("user"),
        pl.format("{}-{}", number, text).alias("query"),
        time.cast(pl.Datetime("us")).alias("time"),
    )


def _worst_event(without: Figures, with_one: Figures, epsilon: float) -> tuple[Event, float]:
    """The event that looks worst, and by how much it breaks the promise, less what chance alone may do."""
    found = []
    for figure in without.keys() & with_one.keys():
        seen = np.unique(np.concatenate([without[figure], with_one[figure]]))
        if seen.size > _THRESHOLDS:
            seen = np.unique(np.quantile(seen, np.linspace(0, 1, _THRESHOLDS)))
        for threshold, above, one in product(seen.tolist(), (True, False), (True, False)):
            event = Event(figure=figure, threshold=threshold, above=above, with_one=one)
            found.append((event, _apparent(event, without, with_one, epsilon)))
    return max(found, key=lambda each: each[1])


def _apparent(event: Event, without: Figures, with_one: Figures, epsilon: float) -> float:
    a, b = (with_one, without) if event.with_one else (without, with_one)
    p, q = float(event.happens(a).mean()), float(event.happens(b).mean())
    runs, factor = event.happens(a).size, math.exp(epsilon)
    deviation = math.sqrt((p * (1 - p) + factor * factor * q * (1 - q)) / runs)
    return p - factor * q - deviation


def _excess(event: Event, without: Figures, with_one: Figures, epsilon: float, delta: float) -> float:
    """By how much the event surely breaks the promise; not above 0 where it does not."""
    a, b = (with_one, without) if event.with_one else (without, with_one)
    if event.figure not in a.keys() & b.keys():
        return 0.0
    one, other = event.happens(a), event.happens(b)
    significance = _SIGNIFICANCE / (2 * _FINAL)
    lower = _lower(int(one.sum()), one.size, significance)
    upper = 1 - _lower(int((~other).sum()), other.size, significance)
    return lower - math.exp(epsilon) * upper - delta


def _lower(hits: int, runs: int, significance: float) -> float:
    """Clopper and Pearson: the smallest probability with which so many hits, or more, are not too surprising."""
    if hits == 0:
        return 0.0
    low, high = 0.0, hits / runs
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _tail(hits, runs, middle) < significance else (low, middle)
    return low


def _tail(hits: int, runs: int, p: float) -> float:
    """The probability of at least so many hits."""
    if p <= 0:
        return 0.0
    i = np.arange(hits, runs + 1)
    logs = _LOG_FACTORIALS[runs] - _LOG_FACTORIALS[i] - _LOG_FACTORIALS[runs - i] + i * math.log(p)
    return float(np.exp(logs + (runs - i) * math.log1p(-p)).sum()) if p < 1 else 1.0


_LOG_FACTORIALS = np.concatenate([np.zeros(1), np.cumsum(np.log(np.arange(1, _MOST_COPIES + 1)))])
