"""Leave out rows that reveal nothing: empty items, and `-`, which AOL writes for blanked queries."""

from __future__ import annotations

import polars as pl

from coterie.core.log import Log, Step


def drop_empty(log: Log) -> Log:
    """The log without empty items."""
    item = pl.col(log.shape.item)
    return log.then(log.frame.filter(~item.is_in(["", "-"])), Step(name="drop_empty"))
