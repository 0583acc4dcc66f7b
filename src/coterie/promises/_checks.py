"""Small helpers of judges: counting rows, and making a Check of a count.

What a promise may say publicly about a list or a taxonomy: the name of one that has a name, or a digest.

Times that are no finer than said, and that say how exact they are, as rows show without the original.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from coterie.core.params import Choice
from coterie.core.promise import ORIGINAL, Case, Check
from coterie.core.shapes import TIME, Shape


def judged(
    name: str,
    broken: int,
    detail: str,
    *,
    fault: str,
    looked_at: int | None = None,
    concerns: int | None = None,
    how: str = "",
    needs_original: bool = False,
    carries_promise: bool = False,
    largest_k: int | None = None,
) -> Check:
    """A check that was made: it failed if anything is broken."""
    return Check(
        name=name,
        status="failed" if broken else "passed",
        detail=detail,
        looked_at=looked_at,
        broken=int(broken),
        fault=fault if broken else "",
        concerns=concerns if broken else None,
        how=how,
        needs_original=needs_original,
        carries_promise=carries_promise,
        largest_k=largest_k,
    )


def not_checked(name: str, detail: str, *, carries_promise: bool = False, needs: str = ORIGINAL) -> Check:
    """A check that could not be made with what was given."""
    return Check(
        name=name,
        status="not checked",
        detail=detail,
        needs=needs,
        needs_original=True,
        carries_promise=carries_promise,
    )


def rows_broken(rows: pl.LazyFrame, broken: pl.Expr) -> tuple[int, int]:
    """How many rows a condition is true of, and how many rows there are."""
    numbers = rows.select(broken.sum().alias("broken"), pl.len().alias("rows")).collect(engine="streaming").row(0)
    return int(numbers[0] or 0), int(numbers[1])


def any_given(names: tuple[str, ...]) -> pl.Expr:
    """Whether a row has a value in one of these columns."""
    return pl.any_horizontal(pl.col(name).is_not_null() for name in names) if names else pl.lit(False)


def count(one_number: pl.LazyFrame) -> int:
    """The only number of a table."""
    return int(numbers(one_number).item())


def numbers(one_row: pl.LazyFrame) -> pl.DataFrame:
    """A row of numbers, counted."""
    return one_row.collect(engine="streaming")


def strange_items(rows: pl.LazyFrame, shape: Shape, allowed: pl.LazyFrame) -> tuple[int, int]:
    """How many of the distinct released items are not in `allowed`, a table of one column, and how many there are."""
    items = rows.select(pl.col(shape.item).alias("item")).unique()
    allowed = allowed.select(pl.all().name.map(lambda _: "item")).unique().with_columns(pl.lit(True).alias("allowed"))
    numbers = items.join(allowed, on="item", how="left").select(pl.col("allowed").null_count(), pl.len())
    strange, total = numbers.collect(engine="streaming").row(0)
    return int(strange), int(total)


def time_columns(shape: Shape) -> tuple[str, ...]:
    """The released columns that are times."""
    return tuple(name for name in shape.released if shape.schema[name] == TIME)


def other_columns(shape: Shape) -> tuple[str, ...]:
    """The released columns that are neither subject nor item."""
    return tuple(name for name in shape.released if name not in (shape.subject, shape.item))


_DIGEST = "sha256:[0-9a-f]{64}"


class NameOrDigest(Choice):
    """One of a few names, or the digest of something that has no name."""

    def accepts(self, value: Any, kind: type) -> bool:
        """Whether `value` is one of the names or a digest."""
        return super().accepts(value, kind) or (isinstance(value, str) and bool(re.fullmatch(_DIGEST, value)))

    def describe(self, kind: type) -> str:
        """The allowed values in words."""
        return f"{super().describe(kind)} or a digest (sha256:...)"


# --- times ------------------------------------------------------------------------------------------


UNITS = {"hour": "1h", "day": "1d", "week": "1w", "month": "1mo", "quarter": "1q"}
"""The levels that a time may have, the finest first; weeks begin on Monday."""
LEVELS = {
    "hour": ("hour", "day", "week", "month"),
    "day": ("day", "week", "month"),
    "week": ("week", "month"),
    "month": ("month",),
    "quarter": ("quarter",),
    "drop": (),
}
"""By the finest time that may accompany an item: that, and what takes its place where too few share it."""


def level_of(shape: Shape) -> pl.Expr:
    """How exact the time of a row is; nothing where rows do not say it."""
    return pl.col(shape.level) if shape.level else pl.lit(None, pl.String)


def no_finer(levels: Sequence[str], case: Case, *, carries_promise: bool = False) -> Iterator[Check]:
    """Each released time is the beginning of its hour, day, week, month or quarter, one of `levels`, or missing."""
    shape = case.shape
    if not shape.time:
        return
    time, said = pl.col(shape.time), level_of(shape)
    fits = [(time == time.dt.truncate(UNITS[level])) & (said == level) for level in levels]
    whole = pl.any_horizontal(pl.lit(False), *fits).fill_null(False)
    broken, rows = rows_broken(case.rows, pl.when(time.is_null()).then(said.is_not_null()).otherwise(~whole))
    yield judged(
        "times",
        broken,
        f"each time is the beginning of its {_one_of(levels)}, as its row says" if levels else "no row has a time",
        fault="rows have another time, or say something else" if levels else "rows do",
        looked_at=rows,
        carries_promise=carries_promise,
    )


def _one_of(levels: Sequence[str]) -> str:
    """`hour, day or month`."""
    *first, last = levels
    return f"{', '.join(first)} or {last}" if first else last
