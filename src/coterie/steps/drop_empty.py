"""Leave out rows that reveal nothing: empty items, and `-`, which AOL writes for blanked queries."""

from __future__ import annotations

import polars as pl

from coterie.core.log import Log
from coterie.steps._spelling import PrepareStep


class DropEmpty(PrepareStep):
    """Leave out rows with an empty item."""

    looks_at = "rows"

    def __call__(self, log: Log) -> Log:
        """The log without empty items."""
        item = pl.col(log.shape.item)
        return self.done(log, log.frame.filter(~item.is_in(["", "-"])))
