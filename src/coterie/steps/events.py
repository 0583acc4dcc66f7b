"""Turn lines into events (SPEC 1.1): one row for each (subject, item, time).

Several clicks on one query are several lines; as an event they are one row, which keeps the click of the best
rank (ties by url, never by the order of lines). Rows without a time cannot be told apart and are all kept.
"""

from __future__ import annotations

import polars as pl

from coterie.core.log import Log, Step


def events(log: Log) -> Log:
    """The log with one row for each event."""
    shape = log.shape
    key = [shape.subject, shape.item, "time"]
    order = [*(rider for rider, _ in shape.riders), *shape.details]
    timed = log.frame.filter(pl.col("time").is_not_null())
    first = timed.sort(*order, "row", nulls_last=True).unique(key, keep="first", maintain_order=True)
    untimed = log.frame.filter(pl.col("time").is_null())
    return log.then(pl.concat([first, untimed]), Step(name="events"))
