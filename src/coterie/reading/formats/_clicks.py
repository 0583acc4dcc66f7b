"""Searches and clicks that were logged apart: a search without a click is one row, else it is a row for each click."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import polars as pl

from coterie.core.shapes import LEVEL
from coterie.reading.source import Source, Spool, reason
from coterie.reading.values import as_time

_SEARCHES = {"row": pl.UInt64, "id": pl.String, "user": pl.String, "query": pl.String, "time": pl.String,
             LEVEL: pl.String, "bad": pl.String}  # fmt: skip
_CLICKS = {"click": pl.UInt64, "id": pl.String, "rank": pl.Int32, "url": pl.String}


class Search(NamedTuple):
    """A search as it was logged."""

    id: str | None
    """What its clicks call it."""
    user: str | None
    query: str
    time: str | None
    level: str | None = None
    """How exact the time is, which releases say."""


class Click(NamedTuple):
    """A click, which says whose search it belongs to."""

    id: str | None
    rank: int | None
    url: str | None


class Clicked:
    """Collects searches and clicks in the order of a log, and joins them."""

    def __init__(self, source: Source) -> None:
        self._searches, self._clicks = Spool(source, _SEARCHES), Spool(source, _CLICKS)

    def add(self, row: int, entry: Search | Click | None) -> None:
        """Add an entry, or None for what cannot be read."""
        if isinstance(entry, Click):
            self._clicks.add((row, *entry))
        else:
            self._searches.add((row, *(entry or Search(None, None, "", None)), None if entry else "columns"))

    def rows(self) -> pl.LazyFrame:
        """Rows of a search log."""
        # A query that was logged twice gets its clicks once.
        first = pl.when(pl.col("id").is_first_distinct()).then(pl.col("id"))
        time = as_time(pl.col("time"), pl.String())
        return (
            self._searches.scan()
            .with_columns(first.alias("id"))
            .join(self._clicks.scan(), on="id", how="left")
            .select(
                pl.coalesce("click", "row").alias("row"),
                "user",
                time.alias("time"),
                "query",
                "rank",
                "url",
                LEVEL,
                pl.coalesce("bad", reason(time=pl.col("time").is_not_null() & time.is_null())).alias("bad"),
            )
        )

    def lost(self) -> int:
        """How many clicks say a search that is not there."""
        clicks, searches = self._clicks.scan().drop_nulls("id"), self._searches.scan()
        return int(clicks.join(searches, on="id", how="anti").select(pl.len()).collect(engine="streaming").item())


def rank_of(value: Any) -> int | None:
    """A place in a list of results."""
    digits = str(value)
    return int(digits) if re.fullmatch(r"[0-9]{1,9}", digits) else None
