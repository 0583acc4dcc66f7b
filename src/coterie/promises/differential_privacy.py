"""Differential privacy: whether any one user was in the log hardly changes what is published.

What a differentially private release may cost, computed again from the tables it was made with.

The labels are those of docs/proofs/private_counts.md. Every price is compared with the divergence that it must cover,
for every weight and every step, in long doubles; the noise tables are charged with what their rounding costs. Nothing
here is shared with the code that made the tables.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from fractions import Fraction
from statistics import NormalDist
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.core.params import Above, Choice, Days, Range
from coterie.core.promise import Case, Check, Kind
from coterie.promises._checks import Question, count
from coterie.promises._words import Worded

_RECORD = "the run record (--record DIR)"
_SEPARATOR = "\x1f"
_STAGES = {
    "stage": pl.String,
    **dict.fromkeys(("epsilon", "delta", "alpha", "share", "sketch", "counts", "scale", "threshold"), pl.Float64),
    **dict.fromkeys(
        ("counted", "cost_budget", "mass_budget", "sketch_unit", "sketch_variance", "count_variance"), pl.Int64
    ),
}
_TABLE = {"stage": pl.String, "weight": pl.Int64, "below": pl.UInt64}
_PRICES = {"stage": pl.String, "weight": pl.Int64, "cost": pl.Int64, "mass": pl.Int64}


@dataclass(frozen=True, kw_only=True)
class DifferentialPrivacy(Worded):
    """(epsilon, delta)-differential privacy of users, and at least k users behind each item."""

    epsilon: Annotated[
        float, Above(0), "one user changes the probability of any release by a factor e^epsilon at most"
    ] = 1.0
    delta: Annotated[float, Above(0), "what that does not hold for"] = 1e-6
    k: Annotated[int, Range(1), "smallest number of users behind a released item"] = 5
    items: Annotated[str, Choice("queries", "words", "phrases", "clicks"), "what is published"] = "queries"
    counts: Annotated[float, Range(0, 0.9), "share of the budget for numbers of users"] = 0.2
    count_items: Annotated[int, Range(1, 1000), "for how many released items a user counts at most"] = 10
    days: Annotated[str, Days(), "the days for which there are numbers by day"] = ""
    queries_per_user: Annotated[int, Range(1), "about how many different items a user has"] = 16
    mechanism: Annotated[str, Choice("table", "wgm", "sips", "korolova"), "how items are chosen"] = "table"

    name: ClassVar[str] = "differential_privacy"
    anywhere: ClassVar[bool] = True
    """Its judge reads a cluster's rows as a stream, a few columns of them."""
    releases: ClassVar[Kind] = "counts"
    """Numbers, or items without numbers."""
    evidence: ClassVar[tuple[str, ...]] = ("private_stages", "private_table", "private_prices")
    """The tables that selection and noise were made with; none of them depends on the log."""
    not_of_foreign: ClassVar[str] = (
        "is about how a file was made and cannot be checked for a file that Coterie did not make."
    )

    @property
    def derived(self) -> Mapping[str, object]:
        """The factor that epsilon stands for, and whether numbers are released at all."""
        return {"factor": math.exp(self.epsilon), "numbers_too": bool(self.counts or self.days)}

    def check(self, case: Case) -> Iterator[Check]:
        """Look at the form of what is published, count users, and compute again what it all costs.

        It stops noise that is too small for the epsilon that is promised, and items that too few users have.
        """
        yield from self._form(case)
        yield self._crowds(case)
        yield self._accounts(case)

    # --- form ------------------------------------------------------------------------------------

    def _form(self, case: Case) -> Iterator[Check]:
        """One line for each item, numbers where they are promised, and intervals that do not depend on the log."""
        expected = self._tables
        allowed = pl.col("table").is_null() if expected == [None] else pl.col("table").is_in(expected)
        rows = case.rows
        belongs = Question("tables", "every line belongs to a table of the promise", "belong to none")
        yield belongs.of_rows(rows, ~allowed.fill_null(False))
        lines = count(rows.select(pl.len()))
        doubled = lines - count(rows.select(pl.struct("table", "item", "detail").n_unique()))
        yield Question("lines", "every item stands once in its table", "stand twice").answered(doubled, lines)
        numbers = pl.any_horizontal(pl.col("count", "low", "high").is_null())
        wanted = pl.lit(bool(self.counts)) | pl.col("table").eq_missing("days")
        wrong = pl.when(wanted).then(numbers).otherwise(~pl.all_horizontal(pl.col("count", "low", "high").is_null()))
        least = pl.when(pl.col("table").eq_missing("days")).then(0).otherwise(self.k)
        low = pl.any_horizontal(
            pl.col("low") < least, pl.col("count") < pl.col("low"), pl.col("high") < pl.col("count")
        )
        placed = Question("numbers", "numbers stand where they are promised, inside their intervals", "do not")
        yield placed.of_rows(rows, wrong | low.fill_null(False))
        widths = (
            rows.filter(pl.col("low") > least)
            .group_by("table")
            .agg((pl.col("high") - pl.col("count")).n_unique().alias("n"))
        )
        uneven = count(widths.select((pl.col("n") > 1).sum()))
        yield Question("intervals", "all intervals of a table are of one width", "tables have others").answered(uneven)
        if self.days:
            first, last = (date.fromisoformat(day) for day in self.days.split(".."))
            items = count(rows.filter(pl.col("table") == expected[0]).select(pl.len()))
            cells = rows.filter(pl.col("table") == "days")
            inside = pl.col("detail").str.to_date("%Y-%m-%d", strict=False).is_between(first, last).fill_null(False)
            there = count(cells.filter(inside).select(pl.len()))
            missing = abs(items * ((last - first).days + 1) - there) + count(cells.filter(~inside).select(pl.len()))
            detail = "every published item has a number for each of the days"
            yield Question("days", detail, "numbers are missing or too many").answered(missing)

    @property
    def _tables(self) -> list[str | None]:
        names: list[str | None] = list(stage_names(self.items, self.days))
        return names if len(names) > 1 else [None]

    # --- users -----------------------------------------------------------------------------------

    def _crowds(self, case: Case) -> Check:
        """With the original: every item is there, and enough users have it."""
        detail = f"every released item was typed by at least {self.k} users of the original"
        typed = Question("users", detail, "were not", original=True, carries=True)
        if case.original is None:
            return typed.open()
        broken = looked_at = 0
        for stage, table in zip(stage_names(self.items, self.days), self._tables, strict=True):
            if stage == "days":
                continue
            lines = case.rows.filter(pl.col("table").eq_missing(pl.lit(table, pl.String)))
            items = lines.select(pl.concat_str("item", "detail", separator=_SEPARATOR, ignore_nulls=True).alias("text"))
            published = items.collect(engine="streaming")["text"]
            looked_at += published.len()
            broken += published.len() - _held_by(case, stage, published, self.k)
        return typed.answered(broken, looked_at)

    # --- cost ------------------------------------------------------------------------------------

    def _accounts(self, case: Case) -> Check:
        """Compute what the tables of the run cost."""
        accounts = Question("accounts", "tables, prices and noise cost at most epsilon and delta", carries=True)
        empty = tuple(name for name in _STAGES if name not in ("stage", "epsilon", "delta"))
        stages = case.table("private_stages", _STAGES, nullable=empty)
        table, prices = case.table("private_table", _TABLE), case.table("private_prices", _PRICES)
        if stages is None or table is None or prices is None:
            return accounts.open(_RECORD)
        faults = list(broken_accounts(stages.to_dicts(), table, prices, asdict(self)))
        how = f"{table.height:,} weights and {prices.height:,} prices computed again"
        return replace(accounts, fault=f"faults: {'; '.join(faults)}").answered(len(faults), how=how)


def _held_by(case: Case, stage: str, published: pl.Series, k: int) -> int:
    """How many of the published texts at least k users of the original have."""
    if case.original is None or published.is_empty():
        return 0
    shape = case.original.shape
    user, item = pl.col(shape.subject).alias("user"), pl.col(shape.item)
    rows = case.original.frame.drop_nulls(shape.subject)
    if stage in ("words", "phrases"):  # looked for inside the queries, with a space on either side
        spaced = pl.concat_str(pl.lit(" "), item.str.replace_all(r"\s+", " "), pl.lit(" "))
        inside = spaced.str.extract_many((" " + published + " ").to_list(), overlapping=True)
        found = rows.select(user, inside.alias("text")).explode("text", empty_as_null=True, keep_nulls=True)
        found = found.with_columns(pl.col("text").str.slice(1, pl.col("text").str.len_chars() - 2))
    elif stage == "clicks":
        found = rows.select(user, pl.concat_str(item, pl.col(shape.page), separator=_SEPARATOR).alias("text"))
    else:
        found = rows.select(user, item.alias("text"))
    wanted = found.drop_nulls().filter(pl.col("text").is_in(published.implode()))
    crowds = wanted.group_by("text").agg(pl.col("user").n_unique().alias("users"))
    return count(crowds.select((pl.col("users") >= k).sum()))


Long = np.longdouble
_ONE = 2**64
_PRECISE = np.finfo(Long).nmant >= 63
_SLACK = Long(0 if _PRECISE else 1e-9)
_NEARLY = 1 + 1e-9  # for sums of public shares, written as decimal numbers
_MOST_ITEMS = 256  # of a user, in the Gaussian mechanisms

Row = Mapping[str, Any]


def broken_accounts(
    stages: Sequence[Row], table: pl.DataFrame, prices: pl.DataFrame, promise: Mapping[str, Any]
) -> Iterator[str]:
    """What does not add up, in words; nothing where the release costs at most what is promised."""
    names = stage_names(promise["items"], promise["days"])
    if promise["mechanism"] == "table" and [stage["stage"] for stage in stages] != names:
        yield "other parts than the promise has"
        return
    if promise["mechanism"] != "table" or promise["queries_per_user"] == 1:
        yield from _simple(stages, table, promise)
        return
    for what in ("epsilon", "delta"):
        if math.fsum(stage[what] for stage in stages) > promise[what] * _NEARLY:
            yield f"parts whose {what} sums to more than the promise's"
    for stage in stages:
        if stage["stage"] == "days":
            yield from _cells(stage, promise)
        else:
            own, paid = (frame.filter(pl.col("stage") == stage["stage"]) for frame in (table, prices))
            yield from _selection(stage, own.sort("weight"), paid.sort("weight"), promise)


def stage_names(items: str, days: str) -> list[str]:
    """The parts of a release."""
    first = {"phrases": ["words", "phrases"], "clicks": ["queries", "clicks"]}.get(items, [items])
    return first + (["days"] if days else [])


def _c(epsilon: float, delta2: Long, alpha: Long) -> Long:
    """[L6] The divergence of order alpha that (epsilon, delta2) allows."""
    inner = np.log(delta2) + np.log(alpha - 1) - alpha * np.log1p(-1 / alpha)
    return Long(Long(epsilon) + inner / (alpha - 1))


def _rounding(variance: int) -> float:
    """[L7] Total variation between a draw of a noise table and the discrete Gaussian."""
    return (20 * math.sqrt(variance) + 3) * 2.0**-65 + 2.0**-75


def _laplace_rounding(scale: float) -> float:
    """The same for discrete Laplace noise, whose table ends where its entries are below 2^-80 of the largest."""
    return (2 * (80 * math.log(2) * scale + 2) + 3) * 2.0**-65 + 2.0**-78


def _selection(stage: Row, table: pl.DataFrame, prices: pl.DataFrame, promise: Mapping[str, Any]) -> Iterator[str]:
    """Items and their numbers: budgets, noise, and the price of each step."""
    if any(stage[name] is None for name in ("alpha", "share", "cost_budget", "mass_budget", "sketch_unit")):
        yield "a part without its numbers"
        return
    alpha, share, sketch, counts = (Long(stage[name]) for name in ("alpha", "share", "sketch", "counts"))
    counted = int(stage["counted"])
    if not (alpha > 1 and 0 < share < 1 and sketch > 0 and counts >= 0 and sketch + counts < 1):
        yield "shares that are none"
        return
    if float(counts) != promise["counts"] or (counts > 0 and counted != promise["count_items"]):
        yield "another share for counts than the promise has"
    kept = Long(63) / 64 * Long(stage["delta"])
    d1, c = share * kept, _c(stage["epsilon"], (1 - share) * kept, alpha)
    if not c > 0:
        yield "an order that leaves nothing to spend"
        return
    yield from _spending(stage, d1, c, alpha)
    yield from _prices(table["below"].to_list(), prices["cost"].to_list(), prices["mass"].to_list(), alpha)
    if any(lines["weight"].to_list() != list(range(lines.height)) for lines in (table, prices)):
        yield "tables with lines missing"


def _spending(stage: Row, d1: Long, c: Long, alpha: Long) -> Iterator[str]:
    """Budgets of users, noise of the sketch, and of numbers where these are released."""
    sketch, counts, counted = Long(stage["sketch"]), Long(stage["counts"]), int(stage["counted"])
    if stage["cost_budget"] > 2**40 * (1 - sketch - counts) * c or stage["mass_budget"] > 2**60 * d1:
        yield "budgets of users that are too large"
    unit, variance, count_variance = (int(stage[n]) for n in ("sketch_unit", "sketch_variance", "count_variance"))
    if 2 * sketch * c * variance < alpha * unit * unit:
        yield "too little noise in the sketch"
    if counts > 0 and 2 * counts * c * count_variance < alpha * counted:
        yield "too little noise in counts"
    error = unit * unit * _rounding(variance) + (counted * _rounding(count_variance) if counts > 0 else 0)
    if (1 + math.exp(stage["epsilon"])) * error > stage["delta"] / 64:
        yield "noise tables that are too coarse for delta"


def _rises(below: list[int]) -> bool:
    """Whether chances of release, in parts of 2^64, begin with 0 and never fall."""
    return len(below) > 1 and below[0] == 0 and sorted(below) == below and below[-1] < _ONE


def _prices(below: list[int], costs: list[int], masses: list[int], alpha: Long) -> Iterator[str]:
    """[P] and [L1]: each price covers what raising an item by that weight does, from every weight."""
    if not _rises(below):
        yield "a release table that falls, or does not begin with 0"
        return
    if len(costs) < 2 or costs[0] or masses[0] or sorted(costs) != costs or sorted(masses) != masses:
        yield "prices that fall, or do not begin with 0"
        return
    last = len(below) - 1
    for s in range(1, len(costs)):
        removed = 16 * masses[s]
        if below[min(s, last)] > removed or removed >= 2**63:
            yield "a mass that does not cover what one user alone can release"
            return
        raised = [below[min(w + s, last)] - removed for w in range(1, last + 1)]
        if _divergence(raised, _ONE - removed, below[1:], alpha) * 2**40 > costs[s] * (1 + _SLACK):
            yield "a price that does not cover what it pays for"
            return


def _divergence(raised: list[int], whole: int, before: list[int], alpha: Long) -> Long:
    """The largest divergence, both ways, between coins of bias raised/whole and before/2^64, for larger first ones."""
    pairs = [(a, b) for a, b in zip(raised, before, strict=True) if a * _ONE > whole * b]
    if not pairs:
        return Long(0)
    p, rest_p = _long([a for a, _ in pairs]) / Long(whole), _long([whole - a for a, _ in pairs]) / Long(whole)
    q, rest_q = _long([b for _, b in pairs]) / Long(_ONE), _long([_ONE - b for _, b in pairs]) / Long(_ONE)
    # Differences as exact whole numbers, so that nothing cancels.
    apart = _long([a * _ONE - whole * b for a, b in pairs]) / Long(whole) / Long(_ONE)
    # log1p near -1 would lose what is left of the smaller coin.
    near = 2 * apart < rest_q
    up, down = (
        np.log1p(apart / q),
        np.where(near, np.log1p(np.where(near, -apart / rest_q, 0)), np.log(rest_p / rest_q)),
    )
    order = alpha - 1
    there = np.log1p(p * np.expm1(order * up) + rest_p * np.expm1(order * down)) / order
    back = np.log1p(q * np.expm1(-order * up) + rest_q * np.expm1(-order * down)) / order
    return Long(max(there.max(), back.max()))


def _long(values: list[int]) -> NDArray[Any]:
    """Whole numbers of any size as long doubles, each rounded once."""
    return np.array([Long(value >> 64) * Long(_ONE) + Long(value & (_ONE - 1)) for value in values], dtype=Long)


def _cells(stage: Row, promise: Mapping[str, Any]) -> Iterator[str]:
    """[L5] Noise of numbers whose places are public."""
    if stage["alpha"] is None or stage["count_variance"] is None or stage["counted"] != promise["count_items"]:
        yield "a part without its numbers"
        return
    alpha, variance, counted = Long(stage["alpha"]), int(stage["count_variance"]), int(stage["counted"])
    c = _c(stage["epsilon"], Long(63) / 64 * Long(stage["delta"]), alpha)
    if not c > 0 or 2 * c * variance < alpha * counted:
        yield "too little noise in numbers by day"
    if (1 + math.exp(stage["epsilon"])) * counted * _rounding(variance) > stage["delta"] / 64:
        yield "noise tables that are too coarse for delta"


def _simple(stages: Sequence[Row], table: pl.DataFrame, promise: Mapping[str, Any]) -> Iterator[str]:
    """The other mechanisms."""
    epsilon, delta, mechanism = promise["epsilon"], promise["delta"], promise["mechanism"]
    if mechanism == "table":
        yield from _optimal(table.sort("weight")["below"].to_list(), epsilon, delta)
        return
    if not stages or any(not (stage["scale"] or 0) > 0 or stage["threshold"] is None for stage in stages):
        yield "a part without its numbers"
        return
    if mechanism == "korolova":
        yield from _laplace(stages, promise)
    elif _gaussian(stages, epsilon) > delta * _NEARLY:
        yield "noise or thresholds that cost more than delta"


def _laplace(stages: Sequence[Row], promise: Mapping[str, Any]) -> Iterator[str]:
    """Laplace noise on numbers of users, and a threshold."""
    epsilon, d = promise["epsilon"], promise["queries_per_user"]
    scale, threshold = stages[0]["scale"], stages[0]["threshold"]
    q = math.exp(-1 / scale)
    if len(stages) != 1 or scale * _NEARLY < d / epsilon:
        yield "too little noise"
    elif d * q ** (threshold - 1) / (1 + q) + (1 + math.exp(epsilon)) * d * _laplace_rounding(scale) > promise["delta"]:
        yield "a threshold that is too low"


def _gaussian(stages: Sequence[Row], epsilon: float) -> float:
    """The delta that Gaussian noise and thresholds cost."""
    normal = NormalDist()
    mu = math.sqrt(math.fsum(stage["scale"] ** -2 for stage in stages))
    noise = normal.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * normal.cdf(-mu / 2 - epsilon / mu)
    tails = 0.0
    for stage in stages:
        at_most = ((stage["threshold"] - t**-0.5) / stage["scale"] for t in range(1, _MOST_ITEMS + 1))
        tails += max(-math.expm1(t * math.log1p(-normal.cdf(-x))) for t, x in enumerate(at_most, 1))
    error = sum(_rounding(math.ceil(1024 * stage["scale"]) ** 2) for stage in stages)
    return noise + tails + (1 + math.exp(epsilon)) * _MOST_ITEMS * error


def _optimal(below: list[int], epsilon: float, delta: float) -> Iterator[str]:
    """[D] One item for each user: neighbouring entries are (epsilon, delta)-close, both ways."""
    grow, spare = Fraction(math.exp(epsilon)) * (1 + Fraction(1, 2**50)), Fraction(delta) * _ONE
    if not _rises(below):
        yield "a release table that falls, or does not begin with 0"
        return
    for before, after in itertools.pairwise(below):
        if after > grow * before + spare or _ONE - before > grow * (_ONE - after) + spare:
            yield "a release table that rises too fast"
            return
