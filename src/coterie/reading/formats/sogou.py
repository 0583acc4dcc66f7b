"""Sogou: time, user, [query], result rank and click order, url; tabs and spaces, GB18030.

The sample files hold the time of day only: give the day with `--date YYYY-MM-DD`, or times are
null. Files that somebody has turned to UTF-8 are read as such.
"""

from __future__ import annotations

import polars as pl

from coterie.core.shapes import QUERIES
from coterie.reading.reading import Reading
from coterie.reading.sniff import lines_like
from coterie.reading.source import Loaded, Source, blank_to_null, breaks_to_spaces, fields, reason

shape = QUERIES
takes = ("date",)
expected = {
    "encoding": "text must be GB18030 or UTF-8",
    "columns": "time, user, [query], rank and order, url",
    "time": "HH:MM:SS",
    "rank": "a whole number",
}
sample = """00:00:01\t123456\t[蓝茶壶]\t8 3\twww.tea.example/a
00:00:02\t654321\t[安静的火车]\t1 1\trail.example
"""
_PATTERN = r"^([0-9]{2}:[0-9]{2}:[0-9]{2})\s+(\S+)\s+\[(.*)\]\s+([0-9]+)\s+[0-9]+\s+(\S*)\s*$"


signature = (lines_like(_PATTERN),)


def load(source: Source, options: Reading) -> Loaded:
    """Parse the lines of Sogou files."""
    names = ["_time", "user", "query", "_rank", "url"]
    converted = not any("\ufffd" in line for line in source.head())
    lines = source.lines("utf-8" if converted else "gb18030")
    parts = fields(lines, names, _PATTERN)
    rank = pl.col("_rank").cast(pl.Int32, strict=False)
    clock = pl.lit(f"{options.date} ") + pl.col("_time")
    time = clock.str.to_datetime("%Y-%m-%d %H:%M:%S", time_unit="us", strict=False)
    frame = parts.select(
        "row",
        "user",
        (time if options.date else pl.lit(None, dtype=pl.Datetime("us"))).alias("time"),
        breaks_to_spaces(pl.col("query").fill_null("")).alias("query"),
        rank.alias("rank"),
        blank_to_null("url"),
        reason(
            encoding=source.damage(pl.col("line")),
            columns=pl.col("_time").is_null(),
            time=time.is_null() if options.date else pl.lit(False),
            rank=rank.is_null(),
        ),
    )
    return Loaded(frame=frame, shape=shape)
