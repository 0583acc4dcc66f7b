"""Whom to count: all people of a log, or those of its last days."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, TypeAlias

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Span
from coterie.errors import InputError

ALWAYS = "all"
Window: TypeAlias = Annotated[
    str,
    Span(ALWAYS),
    "count the users of a query only so long before the end of the log, such as '390d'; 'all': in all of it",
]


def within(log: Log, window: str) -> Log:
    """The log with rows that are older than the window, or have no time, as rows of nobody: they are not counted."""
    if window == ALWAYS:
        return log
    shape = log.shape
    time = pl.col(shape.time)
    last = log.frame.select(time.max()).collect(engine="streaming").item() if shape.time else None
    if last is None:
        raise InputError("No row has a time, and without times there is no window. Say which column holds them.")
    recent = time > pl.lit(last) - pl.duration(seconds=Span.seconds(window))
    counted = pl.when(recent).then(shape.subject).alias(shape.subject)
    return replace(log, frame=log.frame.with_columns(counted))
