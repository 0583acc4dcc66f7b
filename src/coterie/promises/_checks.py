"""Small helpers of judges: counting rows, and making a Check of a count."""

from __future__ import annotations

import polars as pl

from coterie.core.promise import ORIGINAL, Check
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
