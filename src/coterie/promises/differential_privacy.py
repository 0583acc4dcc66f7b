"""Differential privacy: whether any one user was in the log hardly changes what is published."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from typing import Annotated, Any, ClassVar, Literal

import polars as pl

from coterie.core.params import Above, Choice, Days, Range, check_params
from coterie.core.promise import Case, Check, Kind
from coterie.errors import ParameterError
from coterie.promises._checks import count, judged, not_checked
from coterie.promises._private_accounting import broken_accounts, stage_names
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
    about: ClassVar[Literal["items", "subjects"]] = "items"

    def __post_init__(self) -> None:
        check_params(self, self.name)

    @property
    def derived(self) -> Mapping[str, object]:
        """The factor that epsilon stands for, and whether numbers are released at all."""
        return {"factor": math.exp(self.epsilon), "numbers_too": bool(self.counts or self.days)}

    @property
    def releases(self) -> Kind:
        """Numbers, or items without numbers."""
        return "counts"

    @property
    def linkage_bound(self) -> float | None:
        """None: nothing is released under a name."""
        return None

    @property
    def evidence(self) -> tuple[str, ...]:
        """The tables that selection and noise were made with; none of them depends on the log."""
        return ("private_stages", "private_table", "private_prices")

    @classmethod
    def of_foreign(cls, values: Mapping[str, Any], *, named: bool) -> DifferentialPrivacy:  # noqa: ARG003 (the protocol's)
        """Rows alone cannot show it."""
        raise ParameterError(
            "differential_privacy is about how a file was made and cannot be checked for a file that Coterie did not "
            "make."
        )

    def check(self, case: Case) -> Iterator[Check]:
        """Look at the form of what is published, count users, and compute again what it all costs."""
        yield from self._form(case)
        yield self._crowds(case)
        yield self._accounts(case)

    # --- form ------------------------------------------------------------------------------------

    def _form(self, case: Case) -> Iterator[Check]:
        """One line for each item, numbers where they are promised, and intervals that do not depend on the log."""
        expected = self._tables
        allowed = pl.col("table").is_null() if expected == [None] else pl.col("table").is_in(expected)
        rows = case.rows
        broken = count(rows.select((~allowed.fill_null(False)).sum()))
        lines = count(rows.select(pl.len()))
        yield judged(
            "tables", broken, "every line belongs to a table of the promise", fault="belong to none", looked_at=lines
        )
        doubled = lines - count(rows.select(pl.struct("table", "item", "detail").n_unique()))
        yield judged("lines", doubled, "every item stands once in its table", fault="stand twice", looked_at=lines)
        numbers = pl.any_horizontal(pl.col("count", "low", "high").is_null())
        wanted = pl.lit(bool(self.counts)) | pl.col("table").eq_missing("days")
        wrong = pl.when(wanted).then(numbers).otherwise(~pl.all_horizontal(pl.col("count", "low", "high").is_null()))
        least = pl.when(pl.col("table").eq_missing("days")).then(0).otherwise(self.k)
        low = pl.any_horizontal(
            pl.col("low") < least, pl.col("count") < pl.col("low"), pl.col("high") < pl.col("count")
        )
        broken = count(rows.select((wrong | low.fill_null(False)).sum()))
        yield judged(
            "numbers",
            broken,
            "numbers stand where they are promised, inside their intervals",
            fault="do not",
            looked_at=lines,
        )
        widths = (
            rows.filter(pl.col("low") > least)
            .group_by("table")
            .agg((pl.col("high") - pl.col("count")).n_unique().alias("n"))
        )
        uneven = count(widths.select((pl.col("n") > 1).sum()))
        yield judged("intervals", uneven, "all intervals of a table are of one width", fault="tables have others")
        if self.days:
            first, last = (date.fromisoformat(day) for day in self.days.split(".."))
            items = count(rows.filter(pl.col("table") == expected[0]).select(pl.len()))
            cells = rows.filter(pl.col("table") == "days")
            inside = pl.col("detail").str.to_date("%Y-%m-%d", strict=False).is_between(first, last).fill_null(False)
            there = count(cells.filter(inside).select(pl.len()))
            missing = abs(items * ((last - first).days + 1) - there) + count(cells.filter(~inside).select(pl.len()))
            detail = "every published item has a number for each of the days"
            yield judged("days", missing, detail, fault="numbers are missing or too many")

    @property
    def _tables(self) -> list[str | None]:
        names: list[str | None] = list(stage_names(self.items, self.days))
        return names if len(names) > 1 else [None]

    # --- users -----------------------------------------------------------------------------------

    def _crowds(self, case: Case) -> Check:
        """With the original: every item is there, and enough users have it."""
        detail = f"every released item was typed by at least {self.k} users of the original"
        if case.original is None:
            return not_checked("users", detail, carries_promise=True)
        broken = looked_at = 0
        for stage, table in zip(stage_names(self.items, self.days), self._tables, strict=True):
            if stage == "days":
                continue
            lines = case.rows.filter(pl.col("table").eq_missing(pl.lit(table, pl.String)))
            items = lines.select(pl.concat_str("item", "detail", separator=_SEPARATOR, ignore_nulls=True).alias("text"))
            published = items.collect(engine="streaming")["text"]
            looked_at += published.len()
            broken += published.len() - _held_by(case, stage, published, self.k)
        return judged(
            "users", broken, detail, fault="were not", looked_at=looked_at, needs_original=True, carries_promise=True
        )

    # --- cost ------------------------------------------------------------------------------------

    def _accounts(self, case: Case) -> Check:
        """Compute what the tables of the run cost."""
        detail = "tables, prices and noise cost at most epsilon and delta"
        empty = (
            "alpha",
            "share",
            "sketch",
            "counts",
            "scale",
            "threshold",
            *[n for n, t in _STAGES.items() if t == pl.Int64],
        )
        stages = case.table("private_stages", _STAGES, nullable=empty)
        table, prices = case.table("private_table", _TABLE), case.table("private_prices", _PRICES)
        if stages is None or table is None or prices is None:
            return not_checked("accounts", detail, needs=_RECORD, carries_promise=True)
        faults = list(broken_accounts(stages.to_dicts(), table, prices, asdict(self)))
        fault = f"faults: {'; '.join(faults)}" if faults else ""
        how = f"{table.height:,} weights and {prices.height:,} prices computed again"
        return judged("accounts", len(faults), detail, fault=fault, how=how, carries_promise=True)


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
