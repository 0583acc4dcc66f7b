"""Normalized certainty penalty (NCP): how much of the words of the log the release leaves uncertain.

Each word of each row of the original costs between 0 and 1: 0 where it is released as it was typed, 1 where its query
was left out (SPEC 2.6). NCP = sum of the costs / T, T = words of the original with repetitions, so 0 is a release of
everything and 1 of nothing. Rows are counted; with the prepare step `events`, searches are. For releases that only
leave queries out: where a query is released more often than it was typed, there is no word to compare it with.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from coterie.errors import NotApplicableError
from coterie.measures import Comparison, Score
from coterie.shapes import QUERIES
from coterie.text import words

needs_record = False
RELEASED, SUPPRESSED = 0.0, 1.0
"""What a word costs that is released as it is, and one that is not released."""


def measure(comparison: Comparison) -> Iterator[Score]:
    """The penalty of the log, T, and the number of words left out."""
    if comparison.log.shape is not QUERIES:
        raise NotApplicableError(f"It counts the words of queries, and this log is {comparison.log.shape.name}.")
    costs = costs_of(_counts(comparison.original), _counts(comparison.released))
    total = int(costs["occurrences"].sum())
    spent = float((costs["occurrences"] * costs["penalty"]).sum())
    yield Score("ncp", spent / total if total else None, "of 1")
    yield Score("terms", total, "words")
    yield Score("terms.suppressed", int(costs.filter(pl.col("penalty") == SUPPRESSED)["occurrences"].sum()), "words")


def costs_of(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """occurrences, penalty: how many words of the original cost how much. Both tables: item, rows."""
    both = before.join(after, on="item", how="full", coalesce=True, suffix="_after").fill_null(0)
    kept, lost = pl.col("rows_after"), pl.col("rows") - pl.col("rows_after")
    if (both["rows_after"] > both["rows"]).any():
        raise NotApplicableError(
            "It is about releases that only leave queries out, and this one has queries more often than the original."
        )
    terms = words(pl.col("item")).list.eval(pl.element() != "").list.sum()
    return pl.concat(
        both.select((terms * rows).sum().cast(pl.Int64).alias("occurrences"), pl.lit(penalty).alias("penalty"))
        for rows, penalty in ((kept, RELEASED), (lost, SUPPRESSED))
    )


def _counts(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.group_by("item").agg(pl.len().cast(pl.Int64).alias("rows"))
