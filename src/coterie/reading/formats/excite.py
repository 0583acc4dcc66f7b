"""Excite 1997: tab-separated, no header: cookie, time as yymmddHHMMSS, query. No clicks."""

from __future__ import annotations

import polars as pl

from coterie.core.shapes import QUERIES
from coterie.reading.sniff import lines_like
from coterie.reading.source import Loaded, Source, reason, split_tabs

shape = QUERIES
expected = {
    "encoding": "text must be UTF-8",
    "columns": "3 tab-separated fields",
    "time": "yymmddHHMMSS",
}
sample = """0123456789ABCDEF\t970916105432\tblue teapot
FEDCBA9876543210\t970916105500\tquiet trains
"""
_LINE = r"^[0-9A-Fa-f]{16}\t\d{12}\t[^\t]*$"


signature = (lines_like(_LINE),)


def load(source: Source, options: object) -> Loaded:  # noqa: ARG001 (same for all formats)
    """Parse the lines of Excite files."""
    parts = split_tabs(source.lines(), ["user", "_time", "query"])
    time = pl.col("_time").str.to_datetime("%y%m%d%H%M%S", time_unit="us", strict=False)
    frame = parts.select(
        "row",
        "user",
        time.alias("time"),
        pl.col("query").fill_null(""),
        reason(
            encoding=source.damage(pl.col("line")),
            columns=pl.col("query").is_null() | pl.col("_extra").is_not_null(),
            time=time.is_null(),
        ),
    )
    return Loaded(frame=frame, shape=shape)
