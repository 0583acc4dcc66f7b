"""A format as a third party would ship it: lines of a session, its user and its queries, like those of Yandex's logs.

`session TAB Q TAB user TAB seconds since the session began TAB words of the query, separated by commas`; other kinds of
lines (clicks, `C`) are left out.
"""

import polars as pl

from coterie.core.shapes import QUERIES
from coterie.formats import Loaded, Reading, Source, blank_to_null, reason, split_tabs, sureness

shape = QUERIES
expected = {"encoding": "text must be UTF-8", "columns": "5 tab-separated fields"}
sample = """1\tQ\t17\t0\tblue,teapot
2\tQ\t18\t12\tquiet,trains
"""
_LINE = r"^[0-9]+\tQ\t[0-9]+\t[0-9]+\t[^\t]*$"


def sniff(head: list[str]) -> float:
    """A number, a Q, two numbers and words."""
    return sureness(_LINE, head)


def load(source: Source, options: Reading) -> Loaded:
    """Parse the lines of queries."""
    parts = split_tabs(source.lines(), ["_session", "_kind", "user", "_seconds", "_words"])
    frame = parts.filter((pl.col("_kind") != "C").fill_null(True)).select(
        "row",
        blank_to_null("user"),
        pl.col("_words").str.replace_all(",", " ").fill_null("").alias("query"),
        reason(
            encoding=source.damage(pl.col("line")),
            columns=(pl.col("_kind") != "Q").fill_null(True)
            | pl.col("_words").is_null()
            | pl.col("_extra").is_not_null(),
        ),
    )
    return Loaded(frame=frame, shape=shape)
