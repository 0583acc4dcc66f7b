"""Leave out those who have little in the log: users with few different queries, documents with few different terms.

They have little in common with others, so the groups that they are in share little. Rows without a user stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Range
from coterie.steps._spelling import PrepareStep


@dataclass(frozen=True, kw_only=True)
class DropShort(PrepareStep):
    """Leave out subjects with few different items."""

    items: Annotated[int, Range(2), "those with fewer different queries, pages or terms are left out"] = 2

    looks_at = "subjects"

    def __call__(self, log: Log) -> Log:
        """The log without subjects that have fewer items; the step counts them."""
        subject, item = log.shape.subject, log.shape.item
        pairs = log.frame.select(subject, item).unique().group_by(subject).len("n").drop_nulls()
        short = pairs.filter(pl.col("n") < self.items).select(subject).collect(engine="streaming")
        kept = log.frame.join(short.lazy(), on=subject, how="anti")
        return self.done(log, kept, {"subjects": short.height})
