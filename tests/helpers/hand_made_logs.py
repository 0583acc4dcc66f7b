"""Logs of a few rows, written down column by column."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import polars as pl

from coterie.core.log import Log, Step
from coterie.core.shapes import QUERIES, Shape
from coterie.engines.local import Local

NOON = datetime(2006, 3, 1, 12)


def log_of(
    columns: Sequence[str], *rows: tuple[Any, ...], shape: Shape = QUERIES, steps: tuple[str, ...] = ()
) -> Log:  # fmt: skip
    """A log of rows, numbered from 0; the columns that are not named are null, and sessions are not numbered."""
    schema = {name: kind for name, kind in shape.schema.items() if name != "session" or name in columns}
    dicts = [dict.fromkeys(schema) | {"row": i} | dict(zip(columns, row, strict=True)) for i, row in enumerate(rows)]
    history = tuple(Step(name=name) for name in ("read", *steps))
    return Log(frame=pl.DataFrame(dicts, schema=schema).lazy(), shape=shape, history=history)


def rows_of(rows: Log | pl.LazyFrame, *columns: str) -> list[tuple[Any, ...]]:
    """Some columns of all rows, in the order of the column `row` where there is one, else sorted."""
    frame = (rows.frame if isinstance(rows, Log) else rows).collect()
    frame = frame.sort("row") if "row" in frame.columns else frame.sort(pl.all())
    return frame.select(columns or pl.all()).rows()


class Listener(Local):
    """A local engine that remembers what it was asked for."""

    def __init__(self, blocks: int = 1) -> None:
        super().__init__(blocks)
        self.keys: list[list[str]] = []
        self.collected = 0

    def blocks(self, table: pl.LazyFrame, work: Any, by: Sequence[str], *beside: pl.LazyFrame) -> pl.LazyFrame:
        """The same as without a listener."""
        self.keys.append(list(by))
        return super().blocks(table, work, by, *beside)

    def keep(self, table: pl.LazyFrame) -> pl.LazyFrame:
        """The same as without a listener."""
        self.collected += 1
        return super().keep(table)
