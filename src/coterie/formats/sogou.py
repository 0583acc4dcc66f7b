"""Sogou: time, user, [query], result rank and click order, url; tabs and spaces, GB18030.

The sample files hold the time of day only: give the day with `--date YYYY-MM-DD`, or times are null.
"""

from __future__ import annotations

import re

import polars as pl

from coterie.formats._options import Options
from coterie.formats._source import Source, blank_to_null, fields, reason
from coterie.shapes import QUERIES

shape = QUERIES
expected = {
    "encoding": "text must be GB18030",
    "columns": "time, user, [query], rank and order, url",
    "time": "HH:MM:SS",
    "rank": "a whole number",
}
encoding = "gb18030"
_PATTERN = r"^(\d{2}:\d{2}:\d{2})\s+(\S+)\s+\[(.*)\]\s+(\d+)\s+\d+\s+(\S*)\s*$"


def sniff(head: list[str]) -> bool:
    """A time of day, a user and a query in brackets."""
    return bool(head) and re.match(_PATTERN, head[0]) is not None


def load(source: Source, options: Options) -> pl.LazyFrame:
    """Parse the lines of Sogou files."""
    names = ["_time", "user", "query", "_rank", "url"]
    parts = fields(source.lines(encoding), names, _PATTERN)
    rank = pl.col("_rank").cast(pl.Int32, strict=False)
    clock = pl.lit(f"{options.date} ") + pl.col("_time")
    time = clock.str.to_datetime("%Y-%m-%d %H:%M:%S", time_unit="us", strict=False)
    return parts.select(
        "row",
        blank_to_null("user"),
        (time if options.date else pl.lit(None, dtype=pl.Datetime("us"))).alias("time"),
        pl.col("query").fill_null(""),
        rank.alias("rank"),
        blank_to_null("url"),
        reason(
            encoding=source.damage(pl.col("line")),
            columns=pl.col("_time").is_null(),
            time=time.is_null() if options.date else pl.lit(False),
            rank=rank.is_null(),
        ),
    )
