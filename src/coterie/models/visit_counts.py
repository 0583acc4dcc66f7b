"""Visit counts: how often things stand in an access log, visitor by visitor, and which of these numbers stay.

A cell is a line of one of these tables:

    pages       a path that was requested
    landing     the first page of a visit
    pairs       a page, and the one that followed it in the same visit (detail); no page follows itself
    referrers   the host of the page that led here
    days        a day, and one of its hours (detail)
    hours       an hour of the day, whatever the day
    browsers    a family of browsers
    lengths     how many requests a visit has

Visits are those of `walks`. Rows without a visitor count nowhere, and rows without a time are in no visit. Rows without
a referrer, an agent or a time are a cell (null) of the tables about these, and of `lengths`, which has the number of
all requests with a time; this cell never stays: other tables have these rows, and would tell how many there are.

A cell stays where k visitors are counted in it, and where the cells that are left out of its table are those of k
visitors together, or none. Otherwise the smallest cell that would stay is given up: with it, they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from coterie.core.arrays import Ints
from coterie.core.log import Log
from coterie.core.run import Run
from coterie.core.shapes import COUNTS
from coterie.models.pages import AGENT, BROWSER, HOST, REFERRER, browsers, hosts, with_short_names
from coterie.models.walks import visits

_TABLE, _ITEM, _DETAIL, _COUNT = COUNTS.lead, COUNTS.item, "detail", COUNTS.count
_CELL = [_TABLE, _ITEM, _DETAIL]
_VISITOR, _CROWD = "_visitor", "_crowd"
_OF_VISITS = ("landing", "pairs", "lengths")


def counted(log: Log, tables: Sequence[str], run: Run) -> pl.DataFrame:
    """table, item, detail, _visitor, count: how often each visitor is counted in each cell."""
    rows = with_short_names(replace(log, frame=log.frame.drop_nulls(log.shape.subject)), run)
    parts = [_of_rows(rows, table, run) for table in tables if table not in _OF_VISITS]
    if set(tables) & set(_OF_VISITS):
        parts += [part for table, part in _of_visits(rows).items() if table in tables]
    if "lengths" in tables:
        parts.append(_without_time(rows))
    schema = {_VISITOR: pl.String, **{name: COUNTS.schema[name] for name in (*_CELL, _COUNT)}}
    return pl.concat([pl.DataFrame(schema=schema), *(part.select(*schema) for part in parts)])


def enough(cells: pl.DataFrame, k: int) -> pl.DataFrame:
    """The cells that stay: table, item, detail, count."""
    crowds = cells.group_by(_CELL).agg(pl.len().alias(_CROWD), pl.col(_COUNT).sum())
    stay = crowds.filter(pl.col(_ITEM).is_not_null() & (pl.col(_CROWD) >= k))
    left = cells.join(stay, on=_CELL, how="anti", nulls_equal=True)
    too_few = left.group_by(_TABLE).agg(pl.col(_VISITOR).n_unique().alias(_CROWD)).filter(pl.col(_CROWD) < k)
    smallest = stay.join(too_few, on=_TABLE, how="semi").sort(_CROWD, *_CELL).unique(_TABLE, keep="first")
    return stay.join(smallest, on=_CELL, how="anti", nulls_equal=True).drop(_CROWD)


def _of_rows(log: Log, table: str, run: Run) -> pl.DataFrame:
    """The cells of a table of which each row of the log counts in one."""
    frame, time, detail = log.frame, pl.col(log.shape.time), pl.lit(None, pl.String)
    match table:
        case "pages":
            item = pl.col(log.shape.item)
        case "referrers":
            frame, item = frame.join(hosts(log, run), on=REFERRER, how="left"), pl.col(HOST)
        case "browsers":
            frame, item = frame.join(browsers(log, run), on=AGENT, how="left"), pl.col(BROWSER)
        case "hours":
            item = time.dt.strftime("%H")
        case _:
            item, detail = time.dt.strftime("%Y-%m-%d"), time.dt.strftime("%H")
    visitor = pl.col(log.shape.subject).alias(_VISITOR)
    things = frame.select(visitor, item.alias(_ITEM), detail.alias(_DETAIL))
    cells = things.group_by(_VISITOR, _ITEM, _DETAIL).agg(pl.len().cast(pl.Int64).alias(_COUNT))
    return cells.with_columns(pl.lit(table).alias(_TABLE)).collect(engine="streaming")


def _without_time(log: Log) -> pl.DataFrame:
    """The requests that are in no visit, as a cell of `lengths`."""
    nothing = pl.lit(None, pl.String)
    rows = log.frame.filter(pl.col(log.shape.time).is_null()).group_by(pl.col(log.shape.subject).alias(_VISITOR))
    cells = rows.agg(pl.lit("lengths").alias(_TABLE), nothing.alias(_ITEM), nothing.alias(_DETAIL),
                     pl.len().cast(pl.Int64).alias(_COUNT))  # fmt: skip
    return cells.collect(engine="streaming")


def _of_visits(log: Log) -> dict[str, pl.DataFrame]:
    """The cells of tables about whole visits."""
    visited = visits(replace(log, frame=log.frame.drop_nulls(log.shape.time)))
    begin = np.flatnonzero(visited.begins)
    length = np.diff(np.append(begin, visited.begins.size))
    follows = np.flatnonzero(~visited.begins[1:] & (visited.path[1:] != visited.path[:-1]))

    def cells(table: str, at: Ints, item: pl.Series, detail: pl.Series | None = None) -> pl.DataFrame:
        columns = {_VISITOR: visited.visitors.gather(visited.visitor[at]), _ITEM: item, _DETAIL: detail}
        things = pl.DataFrame(columns, schema_overrides={_DETAIL: pl.String})
        counts = things.group_by(pl.all()).agg(pl.len().cast(pl.Int64).alias(_COUNT))
        return counts.with_columns(pl.lit(table).alias(_TABLE))

    pages = visited.paths.gather(visited.path)
    return {
        "landing": cells("landing", begin, pages.gather(begin)),
        "pairs": cells("pairs", follows, pages.gather(follows), pages.gather(follows + 1)),
        "lengths": cells("lengths", begin, pl.Series(length).cast(pl.String)),
    }
