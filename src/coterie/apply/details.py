"""What accompanies an item: shared by enough subjects, or empty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, TypeAlias

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Choice
from coterie.core.run import Run

Attrs: TypeAlias = Annotated[
    str,
    Choice("common", "keep", "drop"),
    "what accompanies a query: pages that k users share, with their ranks, and days; all as it was; or nothing",
]
DETAIL_COSTS = {
    "keep": "Exact times, ranks and clicked pages of single people are kept: whoever knows when somebody "
    "searched can find the row.",
}


def common_details(log: Log, k: int, run: Run) -> Log:
    """A detail stays only where k subjects share the item, it and all details before it; times become days."""
    shape = log.shape

    def mark(frame: pl.LazyFrame) -> pl.LazyFrame:
        shared = [shape.item]
        for detail in shape.details:
            shared = [*shared, detail]
            owners = frame.select(shape.subject, *shared).drop_nulls().unique()
            common = owners.group_by(shared).len().filter(pl.col("len") >= k)
            flagged = common.select(*shared, pl.lit(True).alias("_common"))
            # A detail that went is null, which joins with nothing: those after it go too.
            frame = frame.join(flagged, on=shared, how="left")
            frame = frame.with_columns(pl.when("_common").then(detail).alias(detail)).drop("_common")
        riders = [pl.when(pl.col(detail).is_not_null()).then(rider).alias(rider) for rider, detail in shape.riders]
        days = [pl.col(shape.time).dt.truncate("1d")] if shape.time else []
        return frame.with_columns(*riders, *days)

    # Each detail needs the rows twice; with several of them it pays to compute the rows once.
    rows = log.frame if len(shape.details) == 1 else run.collect(log.frame)
    return replace(log, frame=run.map(rows, mark, by=[shape.item]))


def without_details(log: Log) -> Log:
    """Only subject and item; every other released column is null."""
    kept = (log.shape.subject, log.shape.item)
    return _emptied(log, [name for name in log.shape.released if name not in kept])


def without_identifiers(log: Log) -> Log:
    """The columns that point at a person by themselves are null."""
    return _emptied(log, log.shape.identifying)


def _emptied(log: Log, names: Sequence[str]) -> Log:
    empty = [pl.lit(None, dtype=log.shape.schema[name]).alias(name) for name in names]
    return replace(log, frame=log.frame.with_columns(empty))
