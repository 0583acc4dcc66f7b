"""AOL 2006: tab-separated, no quoting, `AnonID Query QueryTime ItemRank ClickURL`.

Lines without a click have three fields or five with the last two empty. A next-page request repeats
the query at a later time, and several clicks on one query are several lines with the same time; so
lines are not queries (prepare step `events`). Reference: the collection's README (36,389,567 lines,
657,426 users).
"""

from __future__ import annotations

import polars as pl

from coterie.core.shapes import QUERIES
from coterie.reading.sniff import first_line, lines_like
from coterie.reading.source import Loaded, Source, blank_to_null, reason, split_tabs

shape = QUERIES
expected = {
    "encoding": "text must be UTF-8",
    "columns": "3 or 5 tab-separated fields",
    "time": "YYYY-MM-DD HH:MM:SS",
    "rank": "a whole number or nothing",
}
HEADER = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL"
_LINE = r"^[^\t]+\t[^\t]*\t\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\t\d*\t[^\t]*)?$"
sample = f"""{HEADER}
17\tblue teapot\t2020-02-03 09:00:00\t\t
17\tblue teapot\t2020-02-03 09:00:10\t2\thttp://www.tea.example
18\tquiet trains\t2020-02-03 09:01:00
"""


signature = (first_line(HEADER), lines_like(_LINE))


def load(source: Source, options: object) -> Loaded:  # noqa: ARG001 (same for all formats)
    """Parse the lines of AOL files; each file may have its header."""
    lines = source.lines().filter(pl.col("line") != HEADER)
    parts = split_tabs(lines, ["user", "query", "_time", "_rank", "url"])
    time = pl.col("_time").str.to_datetime("%Y-%m-%d %H:%M:%S", time_unit="us", strict=False)
    rank = pl.col("_rank").cast(pl.Int32, strict=False)
    frame = parts.select(
        "row",
        "user",
        time.alias("time"),
        "query",
        rank.alias("rank"),
        blank_to_null("url"),
        reason(
            encoding=source.damage(pl.col("line")),
            columns=pl.col("_time").is_null()
            | pl.col("_extra").is_not_null()
            | (pl.col("_rank").is_not_null() & pl.col("url").is_null()),
            time=(pl.col("_time") != "") & time.is_null(),
            rank=(pl.col("_rank") != "") & rank.is_null(),
        ),
    )
    return Loaded(frame=frame, shape=shape)
