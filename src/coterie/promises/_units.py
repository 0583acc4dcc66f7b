"""Units: what of a person's rows may carry one name, found again in the original for the judge alone.

A label is the user, or the user and the number of a unit: of a session, of a day since 1970-01-01, or of a few queries.
Plain loops and no code of what gave the names.
"""

from __future__ import annotations

from array import array
from datetime import timedelta
from typing import Protocol

import polars as pl

from coterie.core.log import Log
from coterie.core.shapes import Shape

OWNER, SESSION, UNIT = "_owner", "session", "_number"
_STEP = "sessions"  # the prepare step that numbers sessions, with its default
_STEP_MINUTES = 30
_MINUTE, _DAY = 60_000_000, 86_400_000_000  # microseconds
_AT_ONCE = 1_000_000  # rows


class Linking(Protocol):
    """What a promise says about names."""

    @property
    def users(self) -> str: ...
    @property
    def session_minutes(self) -> int: ...
    @property
    def link_queries(self) -> int: ...
    @property
    def link_minutes(self) -> int: ...


def with_owner(
    original: Log, shape: Shape, promise: Linking, released: pl.LazyFrame | None
) -> tuple[list[str], pl.LazyFrame]:
    """The columns that say whose unit a row belongs to, and with them the original's rows of `released` items, or all.

    Sessions and days are those of all rows; a few queries in a row are counted among the released ones.
    """
    subject, item = shape.subject, shape.item

    def kept(rows: pl.LazyFrame) -> pl.LazyFrame:
        return rows if released is None else rows.join(released.select(item).unique(), on=item, how="semi")

    rows = original.frame
    if promise.users == "drop":
        return [], kept(rows)
    rows = rows.with_columns(pl.col(subject).alias(OWNER))
    if promise.users == "pseudonym":
        return [OWNER], kept(rows)
    if promise.users == "session":
        return [OWNER, SESSION], kept(_with_sessions(original, rows, shape, promise.session_minutes))
    moment = pl.col(shape.time).dt.epoch("us") if shape.time else pl.lit(None, pl.Int64)
    rows = kept(rows).with_columns(moment.alias("_moment"))
    if promise.users == "day":
        return [OWNER, UNIT], rows.with_columns(pl.col("_moment").floordiv(_DAY).alias(UNIT)).drop("_moment")
    return [OWNER, UNIT], _with_few_queries(rows, item, promise.link_queries, promise.link_minutes).drop("_moment")


def labels_of(owner: list[str], rows: pl.LazyFrame) -> pl.Series:
    """What names are made from: each owner once."""
    units = rows.select(owner).drop_nulls().unique().collect(engine="streaming").sort(owner)
    return units.select(pl.concat_str(owner, separator="\0").alias("label"))["label"]


def _with_sessions(original: Log, rows: pl.LazyFrame, shape: Shape, minutes: int) -> pl.LazyFrame:
    if SESSION in rows.collect_schema() and numbered_as_promised(original, minutes):
        return rows
    times = [shape.time] if shape.time else []
    begins = pl.lit(False)
    for time in times:
        begins = pl.col(time) - pl.col(time).shift(1) > timedelta(minutes=minutes)
    same = pl.col(shape.subject) == pl.col(shape.subject).shift(1)
    number = (same & begins).fill_null(False).cum_sum().over(shape.subject).alias(SESSION)
    return rows.sort(shape.subject, *times).with_columns(number)


def _with_few_queries(rows: pl.LazyFrame, item: str, most: int, minutes: int) -> pl.LazyFrame:
    """The rows with the number of their unit: at most so many queries in a row within so many minutes."""
    table = rows.sort(OWNER, "_moment", item).collect(engine="streaming")
    timed = table.filter(pl.col(OWNER).is_not_null() & pl.col("_moment").is_not_null())
    other_owner = pl.col(OWNER).ne_missing(pl.col(OWNER).shift(1))
    other_item = pl.col(item).ne_missing(pl.col(item).shift(1))
    walk = timed.select(other_owner.alias("owner"), other_item.alias("item"), "_moment")
    units, span = array("q"), minutes * _MINUTE
    unit = begin = count = 0
    for part in walk.iter_slices(_AT_ONCE):
        for starts, differs, moment in zip(*(part[name].to_list() for name in part.columns), strict=True):
            if starts:
                unit, begin, count = 0, moment, 1
            elif moment - begin > span or (differs and count == most):
                unit, begin, count = unit + 1, moment, 1
            elif differs:
                count += 1
            units.append(unit)
    numbered = timed.with_columns(pl.Series(UNIT, units, dtype=pl.Int64))
    others = table.filter(pl.col(OWNER).is_null() | pl.col("_moment").is_null())
    return pl.concat([numbered, others.with_columns(pl.lit(None, pl.Int64).alias(UNIT))]).lazy()


def numbered_as_promised(original: Log, session_minutes: int) -> bool:
    """Whether sessions were numbered by a step, and by none with another pause.

    Numbers are looked at because rows that were left out after the step may have bridged a pause.
    """
    promised = _STEP if session_minutes == _STEP_MINUTES else f"{_STEP}(minutes={session_minutes})"
    numbering = [step for step in original.steps if step.partition("(")[0] == _STEP]
    return bool(numbering) and all(step == promised for step in numbering)
