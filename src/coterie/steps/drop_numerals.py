"""Leave out rows whose item has a numeral or an @: a crude filter for addresses, phone numbers and ids.

It is what Mozilla does with search terms before names (the regime `mozilla`). A filter makes no promise: what it does
not find stays.
"""

from __future__ import annotations

import polars as pl

from coterie.core.log import Log
from coterie.steps._spelling import PrepareStep


class DropNumerals(PrepareStep):
    """Leave out rows with a numeral or an @ in the item."""

    looks_at = "rows"

    def __call__(self, log: Log) -> Log:
        """The log without them."""
        item = pl.col(log.shape.item)
        return self.done(log, log.frame.filter(~item.str.contains(r"[\p{Nd}@]")))
