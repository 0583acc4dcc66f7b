"""Turn lines into events: one row for each (subject, item, time).

Several clicks on one query are several lines; as an event they are one row, which keeps the click of the best
rank (ties by url, never by the order of lines). Rows without a time cannot be told apart and are all kept.
"""

from __future__ import annotations

import polars as pl

from coterie.core.log import Log
from coterie.steps._spelling import PrepareStep


class Events(PrepareStep):
    """One row for each (subject, item, time)."""

    looks_at = "subjects"

    def __call__(self, log: Log) -> Log:
        """The log with one row for each event."""
        shape, frame = log.shape, log.frame
        if shape.time:
            order = dict.fromkeys(filter(None, (shape.rank, *shape.details)))
            timed = frame.filter(pl.col(shape.time).is_not_null())
            first = timed.sort(*order, "row", nulls_last=True).unique(
                [shape.subject, shape.item, shape.time], keep="first", maintain_order=True
            )
            frame = pl.concat([first, frame.filter(pl.col(shape.time).is_null())])
        return self.done(log, frame)
