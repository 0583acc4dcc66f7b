"""Units: what a release links, and the original cut in the same way.

A unit is what can be read together: all rows under one name, or a row that has none. Names may stand for a person, a
day, a session or a few searches of one (`users = pseudonym | day | session | mini`); with `users = drop` each row is a
unit. The original, under other names, is cut as the release was, so that both can be attacked alike.

    unit      its number
    person    who is behind it, by the run record
    item      what was searched
    page      what was clicked
    time      as it stands there
    level     how exact that is, where a release says it
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import polars as pl

from coterie.core.log import Log
from coterie.core.shapes import TIME, Shape
from coterie.errors import NotApplicableError
from coterie.measures.comparison import Comparison
from coterie.steps.sessions import Sessions, session_minutes

ROW, MINI, SESSION, DAY, PERSON = "row", "mini", "session", "day", "person"
NOUNS = {ROW: "rows", MINI: "mini-sessions", SESSION: "sessions", DAY: "days", PERSON: "names"}
_KINDS = {"drop": ROW, "mini": MINI, "session": SESSION, "day": DAY, "pseudonym": PERSON}
_UNIT_COLUMNS = ("unit", "person", "item", "page", "time", "level")
_MINI_QUERIES, _MINI_MINUTES = 3, 30  # where a release does not say how long its mini-sessions are


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Units:
    """Rows by unit, before and after."""

    kind: str
    """What the release links."""
    cut_by: tuple[str, int, int]
    """What the units of the original depend on, besides the original."""
    log: Log
    after: pl.DataFrame

    @cached_property
    def before(self) -> pl.DataFrame:
        """The original in such units; it is cut when it is asked for."""
        return cut(self.log, *self.cut_by)


def units_of(comparison: Comparison) -> Units:
    """The units of a release, and those that the original would have."""
    shape = comparison.release.log.shape
    if shape.count or not shape.subject:
        raise NotApplicableError("The release has counts in place of rows, so nothing in it is linked.")
    comparison.refuse_without_rows()
    after = _released(comparison, shape)
    kind = kind_of(comparison)
    return Units(kind=kind, cut_by=(kind, *_mini(comparison)), log=comparison.log, after=after)


def kind_of(comparison: Comparison) -> str:
    """What a release links: by its parameter `users`; where it has none, by the names that people have in it."""
    told = comparison.release.params.get("users")
    if isinstance(told, str) and told in _KINDS:
        return _KINDS[told]
    names = comparison.names
    if names.is_empty() or comparison.released["subject"].null_count():
        return ROW
    return SESSION if names["original"].is_duplicated().any() else PERSON


def _mini(comparison: Comparison) -> tuple[int, int]:
    params = comparison.release.params
    return int(params.get("link_queries", _MINI_QUERIES)), int(params.get("link_minutes", _MINI_MINUTES))


def cut(log: Log, kind: str, queries: int = _MINI_QUERIES, minutes: int = _MINI_MINUTES) -> pl.DataFrame:
    """The rows of a log that say whose they are, by unit.

    Mini-sessions hold at most so many queries in a row, none of them more than so many minutes after the first. Rows
    without a time stand alone where units are days or mini-sessions.
    """
    shape = log.shape
    rows = Sessions(minutes=session_minutes(log))(log).frame if kind == SESSION else log.frame
    linked = ["session"] if kind == SESSION else []
    columns = {"person": pl.col(shape.subject), **_columns(shape)}
    table = rows.select("row", *linked, **columns).drop_nulls("person").collect(engine="streaming")
    table = table.sort("person", "time", "item", "page", "row")
    if kind in (DAY, MINI):
        alone = pl.when(pl.col("time").is_null()).then(pl.int_range(pl.len()))
        part = table["time"].dt.date().cast(pl.Int64) if kind == DAY else _minis(table, queries, minutes)
        table = table.with_columns(_alone=alone, _part=part)
        return _numbered(table, ["person", "_alone", "_part"])
    return _numbered(table, {ROW: ["row"], SESSION: ["person", "session"], PERSON: ["person"]}[kind])


def _minis(rows: pl.DataFrame, queries: int, minutes: int) -> pl.Series:
    """The number of the mini-session of each row among those of its person; rows are in order."""
    from coterie.kernels.small_units import numbered

    changes = [pl.col(name).ne_missing(pl.col(name).shift(1)) for name in ("person", "item")]
    flags = rows.select(*changes, pl.col("time").dt.epoch("us").fill_null(0))
    new_person, new_item, moment = (flags[name].to_numpy() for name in flags.columns)
    return pl.Series(numbered(new_person, new_item, moment, queries, minutes * 60_000_000))


def _columns(shape: Shape) -> dict[str, pl.Expr]:
    return {
        "item": pl.col(shape.item),
        "page": pl.col(shape.page) if shape.page else pl.lit(None, pl.String),
        "time": pl.col(shape.time) if shape.time else pl.lit(None, TIME),
        "level": pl.col(shape.level) if shape.level else pl.lit(None, pl.String),
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
    columns = ["released_row", "name", "person", *_UNIT_COLUMNS[2:]]
    both = pl.concat([each.select(columns) for each in (named, bare)])
    alone = pl.when(pl.col("name").is_null()).then(pl.col("released_row"))
    return _numbered(both.with_columns(_alone=alone).sort("person", "name", "released_row"), ["name", "_alone"])


def people_behind(comparison: Comparison) -> pl.DataFrame:
    """person, item of the release, each pair once: whose rows an item stands in."""
    shape = comparison.release.log.shape
    if shape.count or not shape.subject:
        raise NotApplicableError("The release has counts in place of rows, and nobody knows whose they are.")
    return _released(comparison, shape).select("person", "item").drop_nulls().unique()
