"""Leave out rows that reveal nothing: empty items, and `-`, which AOL writes for blanked queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from coterie.core.log import Log, Step
from coterie.steps._spelling import spelled


@dataclass(frozen=True, kw_only=True)
class DropEmpty:
    """Leave out rows with an empty item."""

    looks_at: ClassVar[str] = "rows"

    def __call__(self, log: Log) -> Log:
        """The log without empty items."""
        item = pl.col(log.shape.item)
        return log.then(log.frame.filter(~item.is_in(["", "-"])), Step(name=spelled(self)))
