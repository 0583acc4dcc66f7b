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

TUPLE, WHEN, WHO, CROWD = "_tuple", "_when", "_who", "_crowd"
_UNITS = {  # weeks begin on Monday
    "hour": ("1h", "1d", "1w", "1mo"),
    "day": ("1d", "1w", "1mo"),
    "week": ("1w", "1mo"),
    "month": ("1mo",),
    "quarter": ("1q",),
    "drop": (),
}


def said(rows: pl.LazyFrame, shape: Shape, attrs: str, key: int, *columns: str) -> pl.LazyFrame:
    """What each row says: item and details in one number, and the time; with further `columns`."""
    when = _time(shape) if attrs == "common" else pl.lit(None, pl.Datetime("us"))
    return rows.select(*columns, _number(shape, _accompanying(shape, attrs), key).alias(TUPLE), when.alias(WHEN))


def should_say(
    rows: pl.LazyFrame, shape: Shape, attrs: str, k: int, key: int, *columns: str, times: str = "day", cut: str = "1s"
) -> pl.LazyFrame:
    """What each row of the original should say in a release; and where a detail or time stays, how many share it."""
    who = pl.when(pl.col(shape.subject).is_not_null()).then(pl.col(shape.subject).hash(key)).alias(WHO)
    if attrs != "common":
        # A file can hold whole seconds; `cut` is what else becomes of times that are kept, empty where they are not.
        kept = pl.col(pl.Datetime).dt.truncate(cut) if cut else pl.lit(None, pl.Datetime("us")).alias(shape.time)
        exact = rows.with_columns(kept)
        return said(exact.with_columns(who), shape, attrs, key, *columns, WHO).with_columns(pl.lit(None).alias(CROWD))
    details = _accompanying(shape, attrs)
    numbers = [_number(shape, details[:count], key).alias(f"_{count}") for count in range(len(details) + 1)]
    table = rows.select(*columns, who, _time(shape).alias(WHEN), *numbers).collect(engine="streaming")
    parts = _levels(table, len(details), k, _UNITS[times])
    return pl.concat(part.select(*columns, TUPLE, WHEN, WHO, CROWD) for part in parts).lazy()


def _levels(rows: pl.DataFrame, details: int, k: int, units: Sequence[str]) -> Iterator[pl.DataFrame]:
    """The rows that each level takes, with what they say there and how many users do; the last takes the rest."""
    whole = f"_{details}"
    enough = pl.col(WHO).drop_nulls().n_unique().over(whole) >= k  # what fewer share at any time, fewer share on a day
    left, waiting = rows.filter(~enough), rows.filter(enough)
    for unit in (*units, None):
        when = pl.lit(None, pl.Datetime("us")) if unit is None else pl.col(WHEN).dt.truncate(unit)
        taken, waiting = _split(waiting.with_columns(pl.col(whole).alias(TUPLE), when.alias("_unit")), k)
        yield taken
    left = pl.concat([left, waiting.select(left.columns)])
    for count in range(details - 1, 0, -1):
        nothing = pl.lit(None, pl.Datetime("us")).alias("_unit")
        taken, left = _split(left.with_columns(pl.col(f"_{count}").alias(TUPLE), nothing), k)
        yield taken
    bare = pl.col("_0").alias(TUPLE), pl.lit(None, pl.Datetime("us")).alias(WHEN), pl.lit(None, pl.UInt32).alias(CROWD)
    yield left.with_columns(bare)


def _split(rows: pl.DataFrame, k: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows whose tuple k users share, and the others."""
    counted = rows.with_columns(pl.col(WHO).drop_nulls().n_unique().over(TUPLE, "_unit").alias(CROWD))
    enough = pl.col(CROWD) >= k
    return counted.filter(enough).with_columns(pl.col("_unit").alias(WHEN)), counted.filter(~enough).drop(CROWD)


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
