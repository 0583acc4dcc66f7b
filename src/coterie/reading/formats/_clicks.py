"""Searches and clicks that were logged apart: a search without a click is one row, else it is a row for each click."""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from coterie.core.shapes import LEVEL
from coterie.reading.source import Spool, reason
from coterie.reading.values import as_time

QUERY: dict[str, Any] = {"row": pl.UInt64, "query_id": pl.String, "user": pl.String, "query": pl.String,
                         "time": pl.String, "bad": pl.String}  # fmt: skip
CLICK: dict[str, Any] = {"click": pl.UInt64, "query_id": pl.String, "rank": pl.Int32, "url": pl.String}


def with_clicks(queries: Spool, clicks: Spool) -> pl.LazyFrame:
    """Rows of a search log from spools of the searches (`QUERY`) and the clicks (`CLICK`), joined by `query_id`.

    Spools of released searches also say how exact their times are.
    """
    searches = queries.scan()
    level = [LEVEL] if LEVEL in searches.collect_schema() else []
    # A query that was logged twice gets its clicks once.
    first = pl.when(pl.col("query_id").is_first_distinct()).then(pl.col("query_id"))
    time = as_time(pl.col("time"), pl.String())
    return (
        searches.with_columns(first.alias("query_id"))
        .join(clicks.scan(), on="query_id", how="left")
        .select(
            pl.coalesce("click", "row").alias("row"),
            "user",
            time.alias("time"),
            "query",
            "rank",
            "url",
            *level,
            pl.coalesce("bad", reason(time=pl.col("time").is_not_null() & time.is_null())).alias("bad"),
        )
    )


def rank_of(value: Any) -> int | None:
    """A place in a list of results."""
    digits = str(value)
    return int(digits) if re.fullmatch(r"[0-9]{1,9}", digits) else None
