"""Recount: in which cells of which tables the visitors of the original are counted, for the judge alone.

It shares no code with the model of visit counts. What has no value for a table (no referrer, agent or time) is counted
there as a cell without an item, which is never released; so is all of a table that the original has no column for.
Lengths of visits, times their number, are the requests that have a time: those that have none count there in this way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial

import polars as pl

from coterie.core.log import Log
from coterie.promises._units import SESSION, numbered_as_promised
from coterie.promises._visit_recount import family, host, with_reading

WHO = "_who"
CELL = ["table", "item", "detail"]
_PATH, _TIME, _READ, _BEGINS, _VISIT = "_path", "_time", "_read", "_begins", "_visit"


def recounted(original: Log, tables: tuple[str, ...], minutes: int) -> pl.DataFrame:
    """table, item, detail, _who, count: how often each visitor of the original is counted in each cell."""
    shape, frame = original.shape, original.frame
    people = frame.select(shape.subject).drop_nulls().unique().collect(engine="streaming").with_row_index(WHO)
    rows = frame.join(people.lazy(), on=shape.subject)
    if not shape.time:
        rows = rows.with_columns(pl.lit(None, pl.Datetime("us")).alias(_TIME))
    rows = rows.rename({shape.item: _PATH, **({shape.time: _TIME} if shape.time else {})}).drop(shape.subject)
    numbered = numbered_as_promised(original, minutes)
    things: Mapping[str, Callable[[], pl.LazyFrame]] = {
        "pages": lambda: rows.select(WHO, item=_PATH),
        "referrers": partial(_read, rows, "referrer", host),
        "browsers": partial(_read, rows, "agent", family),
        "hours": lambda: rows.select(WHO, item=pl.col(_TIME).dt.to_string("%H")),
        "days": lambda: rows.select(
            WHO, item=pl.col(_TIME).dt.date().cast(pl.String), detail=pl.col(_TIME).dt.to_string("%H")
        ),
        "landing": lambda: visits().filter(_BEGINS).select(WHO, item=_PATH),
        "pairs": lambda: _pairs(visits()),
        "lengths": lambda: pl.concat(
            [
                visits().group_by(_VISIT).agg(pl.col(WHO).first(), item=pl.len().cast(pl.String)).drop(_VISIT),
                rows.filter(pl.col(_TIME).is_null()).select(WHO, item=pl.lit(None, pl.String)),
            ]
        ),
    }

    def visits() -> pl.LazyFrame:
        return _in_visits(rows, minutes, numbered)

    cells = [pl.DataFrame(schema={**dict.fromkeys(CELL, pl.String), WHO: pl.UInt32, "count": pl.Int64})]
    for table in tables:
        thing = things[table]()
        if "detail" not in thing.collect_schema():
            thing = thing.with_columns(pl.lit(None, pl.String).alias("detail"))
        counts = thing.group_by(WHO, "item", "detail").agg(pl.len().cast(pl.Int64).alias("count"))
        cells.append(counts.select(pl.lit(table).alias("table"), *CELL[1:], WHO, "count").collect(engine="streaming"))
    return pl.concat(cells)


def _read(rows: pl.LazyFrame, column: str, reader: Callable[[str], str | None]) -> pl.LazyFrame:
    """What is read from a column, if there is one."""
    if column not in rows.collect_schema():
        return rows.select(WHO, item=pl.lit(None, pl.String))
    return with_reading(rows, column, _READ, reader).select(WHO, item=_READ)


def _in_visits(rows: pl.LazyFrame, minutes: int, numbered: bool) -> pl.LazyFrame:
    """Rows with a time in the order of visits, with the number of their visit and whether it begins with them."""
    session = [SESSION] if numbered else []
    ordered = rows.drop_nulls(_TIME).sort(WHO, *session, _TIME, "row").select(WHO, *session, _TIME, _PATH)
    same = [pl.col(name).eq_missing(pl.col(name).shift(1)) for name in (WHO, *session)]
    short = pl.col(_TIME) - pl.col(_TIME).shift(1) <= timedelta(minutes=minutes)
    goes_on = pl.all_horizontal(*same, pl.lit(True) if numbered else short).fill_null(False)
    goes_on = goes_on & (pl.int_range(pl.len()) > 0)
    begun = ordered.with_columns((~goes_on).alias(_BEGINS))
    return begun.with_columns(pl.col(_BEGINS).cast(pl.UInt32).cum_sum().alias(_VISIT))


def _pairs(visits: pl.LazyFrame) -> pl.LazyFrame:
    """Each page and the one before it in the same visit, where they differ."""
    before = pl.col(_PATH).shift(1).alias("item")
    both = visits.select(WHO, _BEGINS, before, pl.col(_PATH).alias("detail"))
    return both.filter(~pl.col(_BEGINS) & (pl.col("item") != pl.col("detail"))).drop(_BEGINS)
