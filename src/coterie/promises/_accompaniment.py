"""Recount: the rows of released items as the original has them, with as much beside them as is promised.

For the judge alone; it shares no code with what applies plans. Rows become numbers: hashes of what a released row says,
under a key that nobody who made the rows could know. So whole tuples can be compared and counted as cheaply as numbers.

`attrs = common` determines what a row says: each level, from (details, finest time) to nothing at all, takes those of
the rows left by finer levels whose tuple at least k users of them share, together with the item.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from coterie.core.shapes import Shape
from coterie.promises._checks import other_columns
from coterie.promises._times import LEVELS, UNITS, level_of

TUPLE, WHEN, LEVEL, WHO, CROWD = "_tuple", "_when", "_level", "_who", "_crowd"
SAID = [TUPLE, WHEN, LEVEL]
"""What a row says: item and details in one number, the time, and how exact that is."""
_NO_TIME, _NO_LEVEL = pl.lit(None, pl.Datetime("us")), pl.lit(None, pl.String)


def said(rows: pl.LazyFrame, shape: Shape, attrs: str, key: int, *columns: str) -> pl.LazyFrame:
    """What each row says (SAID), with further `columns`."""
    when, level = (_time(shape), level_of(shape)) if attrs == "common" else (_NO_TIME, _NO_LEVEL)
    number = _number(shape, _accompanying(shape, attrs), key)
    return rows.select(*columns, number.alias(TUPLE), when.alias(WHEN), level.alias(LEVEL))


def should_say(
    rows: pl.LazyFrame, shape: Shape, attrs: str, k: int, key: int, *columns: str, times: str = "day", cut: str = ""
) -> pl.LazyFrame:
    """What each row of the original should say in a release; and where a detail or time stays, how many share it.

    `cut` is the level of times that are kept whoever shares them, or `drop`; none where they are as they were logged.
    """
    who = pl.when(pl.col(shape.subject).is_not_null()).then(pl.col(shape.subject).hash(key)).alias(WHO)
    if attrs != "common":
        unit = UNITS.get(cut, "1s")  # a file can hold whole seconds
        kept = [_NO_TIME.alias(shape.time)] if cut == "drop" else [pl.col(pl.Datetime).dt.truncate(unit)]
        kept += [_level(_time(shape), cut).alias(shape.level)] if shape.level else []
        exact = rows.with_columns(kept)
        return said(exact.with_columns(who), shape, attrs, key, *columns, WHO).with_columns(pl.lit(None).alias(CROWD))
    details = _accompanying(shape, attrs)
    numbers = [_number(shape, details[:count], key).alias(f"_{count}") for count in range(len(details) + 1)]
    table = rows.select(*columns, who, _time(shape).alias(WHEN), *numbers).collect(engine="streaming")
    said_there = (part.select(*columns, *SAID, WHO, CROWD) for part in _by_level(table, len(details), k, LEVELS[times]))
    return pl.concat(said_there).lazy()


def _by_level(rows: pl.DataFrame, details: int, k: int, levels: Sequence[str]) -> Iterator[pl.DataFrame]:
    """The rows that each level takes, with what they say there and how many users do; the last takes the rest."""
    whole = f"_{details}"
    enough = pl.col(WHO).drop_nulls().n_unique().over(whole) >= k  # what fewer share at any time, fewer share on a day
    left, waiting = rows.filter(~enough), rows.filter(enough)
    for level in levels:
        when = pl.col(WHEN).dt.truncate(UNITS[level])
        taken, waiting = _split(waiting, whole, when, k)
        yield taken.with_columns(_level(pl.col(WHEN), level).alias(LEVEL))
    taken, waiting = _split(waiting, whole, _NO_TIME, k)
    yield taken.with_columns(_NO_LEVEL.alias(LEVEL))
    left = pl.concat([left, waiting.select(left.columns)])
    for count in range(details - 1, 0, -1):
        taken, left = _split(left, f"_{count}", _NO_TIME, k)
        yield taken.with_columns(_NO_LEVEL.alias(LEVEL))
    nobody = pl.lit(None, pl.UInt32).alias(CROWD)
    yield left.with_columns(pl.col("_0").alias(TUPLE), _NO_TIME.alias(WHEN), _NO_LEVEL.alias(LEVEL), nobody)


def _split(rows: pl.DataFrame, number: str, when: pl.Expr, k: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows whose tuple (a column of numbers, and when) k users share, and the others as they are."""
    counted = rows.with_columns(pl.col(number).alias(TUPLE), when.alias("_unit"))
    counted = counted.with_columns(pl.col(WHO).drop_nulls().n_unique().over(TUPLE, "_unit").alias(CROWD))
    enough = pl.col(CROWD) >= k
    return counted.filter(enough).with_columns(pl.col("_unit").alias(WHEN)), counted.filter(~enough).select(
        rows.columns
    )


def _level(time: pl.Expr, level: str) -> pl.Expr:
    """How exact a time is; nothing where there is none."""
    return pl.when(time.is_not_null()).then(pl.lit(level))


def _accompanying(shape: Shape, attrs: str) -> tuple[str, ...]:
    kept = tuple(name for name in other_columns(shape) if name not in shape.identifying)
    return {"drop": (), "common": shape.details, "keep": kept}[attrs]


def _time(shape: Shape) -> pl.Expr:
    return pl.col(shape.time) if shape.time else pl.lit(None, pl.Datetime("us"))


def _number(shape: Shape, stays: Sequence[str], key: int) -> pl.Expr:
    """Item and details as one number, with those that do not stay empty."""
    columns = [pl.col(shape.item)]
    for name in dict.fromkeys((*shape.details, *stays)):
        columns.append(pl.col(name) if name in stays else pl.lit(None, shape.schema[name]).alias(name))
    return pl.struct(columns).hash(key)
