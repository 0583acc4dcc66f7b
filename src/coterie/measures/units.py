"""Units: what a release links, and the original cut in the same way.

A unit is what can be read together: all rows under one name, or a row that has none. Names may stand for a person, a
day, a session or a few searches of one (`users = pseudonym | day | session | mini`); with `users = drop` each row is a
unit. The original, under other names, is cut as the release was, so that both can be attacked alike.

    unit      its number
    person    who is behind it, by the run record
    item      what was searched
    page      what was clicked
    time      as it stands there
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import polars as pl

from coterie.core.log import Log
from coterie.core.shapes import TIME, Shape
from coterie.errors import NotApplicableError
from coterie.measures.comparison import Comparison
from coterie.steps.sessions import Sessions, session_minutes

ROW, MINI, SESSION, DAY, PERSON = "row", "mini", "session", "day", "person"
NOUNS = {ROW: "rows", MINI: "mini-sessions", SESSION: "sessions", DAY: "days", PERSON: "names"}
_KINDS = {"drop": ROW, "mini": MINI, "session": SESSION, "day": DAY, "pseudonym": PERSON}
_UNIT_COLUMNS = ("unit", "person", "item", "page", "time")
_MINI_QUERIES, _MINI_MINUTES = 3, 30  # where a release does not say how long its mini-sessions are


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Units:
    """Rows by unit, before and after."""

    kind: str
    """What the release links."""
    before: pl.DataFrame
    after: pl.DataFrame


def units_of(comparison: Comparison) -> Units:
    """The units of a release, and those that the original would have."""
    shape = comparison.release.log.shape
    if shape.count or not shape.subject:
        raise NotApplicableError("The release has counts in place of rows, so nothing in it is linked.")
    comparison.refuse_without_rows()
    after = _released(comparison, shape)
    kind = kind_of(comparison)
    return Units(kind=kind, before=cut(comparison.log, kind, *_mini(comparison)), after=after)


def kind_of(comparison: Comparison) -> str:
    """What a release links: by its parameter `users`; where it has none, by the names that people have in it."""
    told = comparison.release.params.get("users")
    if isinstance(told, str) and told in _KINDS:
        return _KINDS[told]
    names = comparison.names
    if names.is_empty():
        return ROW
    return SESSION if names["original"].is_duplicated().any() else PERSON


def _mini(comparison: Comparison) -> tuple[int, int]:
    params = comparison.release.params
    return int(params.get("link_queries", _MINI_QUERIES)), int(params.get("link_minutes", _MINI_MINUTES))


def cut(log: Log, kind: str, queries: int = _MINI_QUERIES, minutes: int = _MINI_MINUTES) -> pl.DataFrame:
    """The rows of a log that say whose they are, by unit. Mini-sessions have at most so many rows of one session, and
    none of them comes later than so many minutes after the first."""
    shape = log.shape
    rows = Sessions(minutes=session_minutes(log))(log).frame if kind in (SESSION, MINI) else log.frame
    linked = [pl.col("session")] if kind in (SESSION, MINI) else []
    table = rows.select("row", person=pl.col(shape.subject), **_columns(shape)).drop_nulls("person")
    if linked:
        table = table.join(rows.select("row", *linked), on="row")
    order = ["person", "time", "item", "page", "row"]
    sorted_rows = table.collect(engine="streaming").sort(order)
    if kind == ROW:
        return _numbered(sorted_rows, ["row"])
    if kind == DAY:
        return _numbered(sorted_rows.with_columns(_day=pl.col("time").dt.date()), ["person", "_day"])
    if kind == SESSION:
        return _numbered(sorted_rows, ["person", "session"])
    if kind == MINI:
        return _numbered(_in_minis(sorted_rows, queries, minutes), ["person", "session", "_span", "_turn"])
    return _numbered(sorted_rows, ["person"])


def _in_minis(rows: pl.DataFrame, queries: int, minutes: int) -> pl.DataFrame:
    """Stretches of a session of so many minutes from its beginning on, each cut into runs of so many rows."""
    session = ["person", "session"]
    since = (pl.col("time") - pl.col("time").min().over(session)).fill_null(timedelta(0))
    span = since.dt.total_microseconds() // (minutes * 60_000_000)
    rows = rows.with_columns(_span=span)
    return rows.with_columns(_turn=pl.int_range(pl.len()).over(*session, "_span") // queries)


def _columns(shape: Shape) -> dict[str, pl.Expr]:
    return {
        "item": pl.col(shape.item),
        "page": pl.col(shape.page) if shape.page else pl.lit(None, pl.String),
        "time": pl.col(shape.time) if shape.time else pl.lit(None, TIME),
    }


def _numbered(rows: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Units numbered in the order of their people and times, in which the rows stand."""
    return rows.with_columns(unit=pl.struct(key).rle_id().cast(pl.Int64)).select(_UNIT_COLUMNS)


def _released(comparison: Comparison, shape: Shape) -> pl.DataFrame:
    """Rows of the release by unit; those of whom nobody knows the person are left out."""
    rows = comparison.release.log.frame.select(name=pl.col(shape.subject), **_columns(shape))
    table = rows.collect(engine="streaming").with_row_index("released_row")
    owners = comparison.names.select(person="original", name="released").unique("name", keep="first")
    named = table.drop_nulls("name").join(owners, on="name")
    bare = table.filter(pl.col("name").is_null())
    if bare.height:
        if comparison.record.rows is None:
            raise NotApplicableError("Its rows have no names, and the run record does not tell whose they are.")
        whose = comparison.rows.join(comparison.original.select("row", person="subject"), on="row")
        bare = bare.join(whose.select("released_row", "person"), on="released_row").drop_nulls("person")
    else:
        bare = bare.with_columns(person=pl.lit(None, pl.String))
    both = pl.concat([each.select("released_row", "name", "person", "item", "page", "time") for each in (named, bare)])
    alone = pl.when(pl.col("name").is_null()).then(pl.col("released_row"))
    return _numbered(both.with_columns(_alone=alone).sort("person", "name", "released_row"), ["name", "_alone"])


def people_behind(comparison: Comparison) -> pl.DataFrame:
    """person, item of the release, each pair once: whose rows an item stands in."""
    shape = comparison.release.log.shape
    if shape.count or not shape.subject:
        raise NotApplicableError("The release has counts in place of rows, and nobody knows whose they are.")
    return _released(comparison, shape).select("person", "item").drop_nulls().unique()
