"""Rates: how often an attack succeeds, over which people, and how sure that is.

The people of an attack are drawn once, from the original, and so are their targets: searches, units, or the people
themselves. A rate is a mean over people of the mean over each person's targets, in percent:

    before.NAME            in the original, under other names
    after.NAME             in the release, over the same people and targets: one that was not released is a failure
    released.NAME          over released targets and the people who have any; a decision weighs this rate and no other
    *.people               how many people that is; before and after it is the same number
    *.control              the same rate of somebody who knows nothing of the person; each attack says how
    released.NAME.risk     (rate - control) / (1 - control): what remains once luck is taken away. Below 0 if the
                           control does better; `.low` and `.high` are the ends of its 95 % interval

A release of 1 % of the rows that exposes each of them has a small `after`, and so does one with all rows of 1 % of the
people. `released` is large for both, which is why it is the one that counts.

The interval is about people, because searches of one person are alike. It takes people as independent, which those of
one group, or behind one query, are not: where outcomes are shared in tens, it misses far more often than it says. With
p = rate - control, and s² its variance over n people, it is Wilson's for n p (1 - p) / s² observations (n where p is 0
or 1), divided by 1 - control. Its upper end is at least what n people without a single success allow, 1 - 0.025^(1/n);
its lower end at most 0.025^(1/n).

Resampling: how much a number that is a mean over users depends on which users were asked.

Users are drawn anew, with replacement, 1,000 times; 95 % of what comes out lies between `low` and `high`. The draws
depend on the seed and the number of users alone. Two releases of one log that are judged by the same users have
therefore the same draws, and the interval of their ratio is a paired one: whom chance favours, it favours in both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.core import randomness
from coterie.core.arrays import Floats
from coterie.core.scores import ENDS, Figure, Finding, Risk, Score, Section, Weighed

Z = 1.959964
"""95 % of a normal distribution lie within."""
_TAIL = 0.025
_LEAST = 1e-9
"""What a control must leave open for a rate beyond it to mean anything."""
People = pl.Series | NDArray[Any]
TARGETS = {"person": pl.String, "n": pl.Int64, "released": pl.Boolean, "success": pl.Float64, "control": pl.Float64}
"""Targets of an attack: whose each is, how often it counts, whether it was released, and who succeeded."""


@dataclass(frozen=True, eq=False, repr=False)
class Shares:
    """What an attack found, one number in 0..1 for each person, in the order of people."""

    every: Floats
    """Success over all targets of each person."""
    every_control: Floats
    released: Floats
    """Success over the released targets of those people who have any, in the same order."""
    control: Floats

    @classmethod
    def of(cls, targets: pl.DataFrame) -> Shares:
        """`targets`: columns of TARGETS, one line for each target of every person who is attacked."""
        rows = targets.select(pl.col(name).cast(kind) for name, kind in TARGETS.items()).sort(*TARGETS)
        person = rows["person"].rle_id().to_numpy().astype(np.int64)
        people = int(person.max(initial=-1)) + 1
        n = rows["n"].to_numpy().astype(np.float64)
        there = rows["released"].to_numpy()

        def summed(column: str) -> Floats:
            values = np.where(there, rows[column].fill_null(0.0).to_numpy() * n, 0.0)
            return np.bincount(person, values, minlength=people).astype(np.float64)

        whole, kept = (np.bincount(person, each, minlength=people) for each in (n, np.where(there, n, 0.0)))
        success, control, some = summed("success"), summed("control"), kept > 0
        return cls(success / whole, control / whole, success[some] / kept[some], control[some] / kept[some])

    @classmethod
    def among(cls, people: People, success: Floats, control: Floats, failed: People) -> Shares:
        """Of attacked people, one of whom may be there several times; and of those who have nothing in the release."""
        found = pl.DataFrame({"person": pl.Series(people).cast(pl.String), "success": success, "control": control})
        lost = pl.DataFrame({"person": pl.Series(failed).cast(pl.String)})
        both = pl.concat([found.with_columns(released=True), lost.with_columns(released=False)], how="diagonal")
        return cls.of(both.with_columns(n=pl.lit(1)))


Titled = Mapping[str, Any]
"""The parts of a figure."""
OF_RELEASED = ("of what was released", "released.{}")
CONTROL = ("control", "released.{}.control")
CHANCE = ("chance", "released.{}.control")
"""What a rate is compared with: a word and the key of a score, with {} for the name of the rate."""


@dataclass(frozen=True)
class Rate:
    """A rate of success, declared once: its scores, its figure and what a decision weighs follow from it."""

    name: str
    title: str = ""
    """The title of its figure, and how to read it; none where it has no figure."""
    reading: str = ""
    _: KW_ONLY
    unit: str
    beside: tuple[tuple[str, str], ...] = (OF_RELEASED, CONTROL)
    risk: Risk = "singling out"
    attacker: str = ""
    """What a decision weighs, as in core/scores.py; likewise what follows. Empty: it weighs nothing."""
    control: str = ""
    bound: str = ""
    shape: str = ""
    names: str = ""

    @property
    def shown(self) -> Mapping[str, Titled]:
        """How a report shows it: in the release, with the original before it."""
        beside = tuple((word, key.format(self.name)) for word, key in self.beside)
        return {f"after.{self.name}": titled(self.title, self.reading, beside=beside)}

    @property
    def weighed(self) -> Weighed:
        """How a decision weighs it."""
        return Weighed(
            risk=self.risk, rate=self.name, attacker=self.attacker, control=self.control,
            bound=self.bound, shape=self.shape, names=self.names,
        )  # fmt: skip

    def scores(self, moment: str, found: Shares) -> Iterator[Score]:
        """The rate in the original (`before`), or in the release, over all targets and over released ones (`after`)."""
        yield from mean(f"{moment}.{self.name}", found.every, self.unit)
        yield Score(f"{moment}.{self.name}.people", found.every.size, "people")
        key, rate, control = f"before.{self.name}", found.every, found.every_control
        if moment == "after":
            key, rate, control = f"released.{self.name}", found.released, found.control
            yield from mean(key, rate, self.unit)
            yield Score(f"{key}.people", rate.size, "people")
        yield Score(f"{key}.control", _percent(control), self.unit)
        risk = interval(rate, control) if rate.size else None
        for end, number in zip(ENDS, risk or (None, None, None), strict=True):
            yield Score(f"{key}.risk{end}", None if number is None else 100 * number, self.unit)


def titled(title: str, reading: str = "", **own: Any) -> Titled:
    """A figure of a table: its title, how to read it, and what else it has of its own."""
    return {"title": title, "reading": reading, **own}


def figures_in(section: Section, order: int, shown: Mapping[str, Titled], **common: Any) -> tuple[Figure, ...]:
    """Figures that stand together in a section, from a table of keys; `common` is what else all of them have.

    What the original has is, unless it is said, the same score before: that of `after.x` is `before.x`. In `before`, {}
    is the key.
    """
    figures = []
    for key, own in shown.items():
        parts = {"before": "before.{}" if key.startswith("after.") else "", **common, **own}
        parts["before"] = parts["before"].format(key.removeprefix("after."))
        figures.append(Figure(section=section, order=order, key=key, **parts))
    return tuple(figures)


def sentences(risk: Risk, *texts: str, options: str = "--record DIR") -> tuple[Finding, ...]:
    """What an attacker can or cannot do, one sentence after the other; `options` are what it takes to measure it."""
    return tuple(Finding(risk=risk, text=text, options=options) for text in texts)


def share_of(targets: pl.DataFrame, hit: pl.Expr) -> Floats:
    """For each person (a column `subject`) the share of their targets that are hit; a target counts `n` times."""
    hits = targets.select("n", person="subject", released=pl.lit(True), success=hit, control=pl.lit(0.0))
    return Shares.of(hits).every


def mean(key: str, values: Floats, unit: str) -> Iterator[Score]:
    """The mean of one number in 0..1 for each person, in percent, with its 95 % interval; None of nobody."""
    yield Score(key, _percent(values), unit)
    if values.size and (found := interval(values, np.zeros_like(values))) is not None:
        for end, limit in zip(("low", "high"), found[1:], strict=True):
            yield Score(f"{key}.{end}", 100 * limit, unit)


def interval(rate: Floats, control: Floats) -> tuple[float, float, float] | None:
    """Risk and the ends of its 95 % interval, given one rate and control in 0..1 for each person.

    None where the control always succeeds, so that nothing is left to find.
    """
    n, left = rate.size, 1.0 - float(control.mean())
    if left < _LEAST:
        return None
    difference = float(rate.mean()) - float(control.mean())
    p = min(max(difference, 0.0), 1.0)
    variance = float((rate - control).var(ddof=1)) if n > 1 else 0.0
    # Where all people have one and the same rate, nothing varies, and the ends are those that n people allow.
    size = n * p * (1 - p) / max(variance, 1e-12) if 0 < p < 1 else float(n)
    centre = (p + Z**2 / (2 * size)) / (1 + Z**2 / size)
    half = Z * math.sqrt(p * (1 - p) / size + Z**2 / (4 * size**2)) / (1 + Z**2 / size)
    # Rates and controls that cancel out have p = 0 and still vary, of which Wilson's interval knows nothing.
    high = max(centre + half, difference + Z * math.sqrt(variance / n))
    low = min((centre - half) / left, _TAIL ** (1 / n))
    return difference / left, max(0.0, low), min(1.0, max(high / left, least_upper_end(n)))


def least_upper_end(people: int) -> float:
    """The upper end of the interval where an attack failed on so many people: no interval of theirs ends below it."""
    return 1.0 - _TAIL ** (1 / people) if people else 1.0


def least_people(threshold: float) -> int:
    """How many people must be attacked for a rate to be shown to be within a threshold in 0..1."""
    if threshold <= 0:
        return 2**31  # nobody can show that
    return 1 if threshold >= 1 else math.ceil(math.log(_TAIL) / math.log1p(-threshold) - 1e-9)


def percent(part: float, whole: float) -> float | None:
    """A part of something in percent; None where there is nothing."""
    return 100 * part / whole if whole else None


def _percent(values: Floats) -> float | None:
    return 100 * float(values.mean()) if values.size else None


# --- means over users -------------------------------------------------------------------------------


SAMPLES = 1_000
_ENDS = (0.025, 0.975)
FIRST = 10
"""The last rank that counts."""
_HARMONIC = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, FIRST + 1))])


def weights(seed: int, users: int) -> Floats:
    """How often each user counts: once in the first line, as often as they are drawn in each of the others."""
    key = int(randomness.keys(seed, "bootstrap", pl.Series(["users"]))[0])
    stream = np.random.Generator(np.random.Philox(key))
    drawn = (np.bincount(stream.integers(0, users, users), minlength=users) for _ in range(SAMPLES))
    return np.stack([np.ones(users), *drawn]) if users else np.zeros((SAMPLES + 1, 0))


def means(seed: int, values: Floats) -> Floats:
    """The mean of one value per user, and what it is in each sample; no numbers where there is nobody."""
    if not values.size:
        return np.full(SAMPLES + 1, np.nan)
    # Not `@`: the sums of a linear algebra library depend on its threads.
    return np.asarray(np.einsum("su,u->s", weights(seed, values.size), values) / values.size)


def scored(key: str, values: Floats, unit: str) -> Iterator[Score]:
    """A number and the ends of its interval, given what it is and what it is in each sample.

    Numbers of the original (`before.`) are the same for all releases, so that there is no ratio of them.
    """
    samples = values[1:]
    low, high = np.quantile(samples[~np.isnan(samples)], _ENDS) if not np.isnan(samples).all() else (np.nan, np.nan)
    kept = () if key.startswith("before.") else tuple(map(float, samples))
    yield Score(key, _or_none(values[0]), unit, samples=kept)
    yield Score(f"{key}.low", _or_none(low), unit)
    yield Score(f"{key}.high", _or_none(high), unit)


def of_trials(prefix: str, trials: pl.DataFrame, seed: int, unit: str) -> Iterator[Score]:
    """A number for each task: the mean over people of the mean over their trials, with its interval.

    `trials`: subject, and for each task how well it was done, 0..1.
    """
    of_people = trials.group_by("subject").mean().sort("subject")
    for task in trials.drop("subject").columns:
        yield from scored(prefix + task, means(seed, 100 * of_people[task].to_numpy()), unit)


def ratio(one: float, of_one: Sequence[float], other: float, of_other: Sequence[float]) -> tuple[float | None, ...]:
    """one / other and the ends of its paired interval; None where `other` may be 0 or less, so that it has no end."""
    above, below = np.asarray(of_one, dtype=np.float64), np.asarray(of_other, dtype=np.float64)
    known = ~np.isnan(above) & ~np.isnan(below)
    if other <= 0 or not known.any():
        return None, None, None
    above, below = above[known], below[known]
    ratios = np.sort(np.where(below > 0, above / np.where(below > 0, below, 1), np.inf))
    low, high = (ratios[round(end * (ratios.size - 1))] for end in _ENDS)
    return one / other, _or_none(low), _or_none(high)


def reciprocal_rank(mine: float, weights: NDArray[Any]) -> float:
    """1 / rank of one of the weights, up to rank 10, and 0 below; among equals the mean over all orders."""
    better, alike = int((weights > mine).sum()), int((weights == mine).sum())
    return float(_HARMONIC[min(better + alike, FIRST)] - _HARMONIC[min(better, FIRST)]) / alike


def _or_none(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None
