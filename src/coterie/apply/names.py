"""Who asked: nobody, a fresh name for a few queries, for each session or day, or one for each person.

`users = mini`: the released rows of a person, in the order of (time, item), are cut into units. A unit ends before the
row that would be more than `link_minutes` after its first one, and before the item that would be one more than
`link_queries`; rows that follow each other with the same item are one. Rows without a time have no name there, nor
where names are for days.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import polars as pl

from coterie import kernels
from coterie.core.log import Log
from coterie.core.params import Choice, Range
from coterie.core.plan import Draft
from coterie.core.run import Run
from coterie.core.shapes import VISITS
from coterie.steps.sessions import Sessions, session_minutes

Users: TypeAlias = Annotated[
    str,
    Choice("drop", "mini", "session", "day", "pseudonym"),
    "what links rows: nothing, or a random name for a few queries, each session, each day, or each person",
]
LinkQueries: TypeAlias = Annotated[int, Range(1, 1000), "with users = mini: most queries in a row under one name"]
LinkMinutes: TypeAlias = Annotated[int, Range(1, 1440), "with users = mini: minutes from the first to the last of them"]
_MINI_COST = (
    "Rows are linked in small units: up to {} {} that one {} within {} minutes can be read together. Units of one "
    "person can often be matched with each other by their words; measure it (coterie measure ... relink)."
)
_DAY_COST = (
    "Rows are linked by day: everything one {} on a day can be read together. Days of one person can often be matched "
    "with each other by their words; measure it (coterie measure ... relink)."
)
_SESSION, _UNIT = "session", "_unit"
_DAY = 86_400_000_000  # microseconds
_SESSION_COST = (
    "Rows are linked within sessions: what one {} without a pause of more than {} minutes can be read together."
)
_PERSON_COST = (
    "Rows are linked by person: everything one person asked can be read together. This is how people were found in the "
    "AOL log of 2006. Use users=drop unless you cannot."
)
_VISITOR_COST = (
    "Rows are linked by visitor: everything one visitor requested can be read together, and two pages and a day often "
    "tell who it was. Use users=drop unless you cannot."
)


def nobody_named(original: Log) -> pl.LazyFrame:
    """original, released, group: all subjects of a log, none of whom has a name in the release."""
    people = original.frame.select(pl.col(original.shape.subject).alias("original")).drop_nulls().unique()
    nobody = (pl.lit(None, pl.String).alias("released"), pl.lit(None, pl.UInt32).alias("group"))
    return people.with_columns(nobody).sort("original")


def rename_subjects(
    log: Log, original: Log, users: str, run: Run, *, link_queries: int = 3, link_minutes: int = 30
) -> Draft:
    """Rows with their subjects dropped, or under a fresh name for each of their units (`users`)."""
    subject = log.shape.subject
    columns = ["row", *log.shape.released]
    if users == "drop":
        rows = log.frame.with_columns(pl.lit(None, pl.String).alias(subject)).select(columns)
        return Draft(frame=rows, subjects=nobody_named(original))
    people = original.frame.select(pl.col(subject).alias("original")).drop_nulls().unique()
    rows, key, who = log.frame, [subject], "visitor requested" if log.shape is VISITS else "person asked"
    if users == "session":
        cost = _SESSION_COST.format(who, session_minutes(original))
        rows = rows if _SESSION in rows.collect_schema() else _with_sessions(rows, original)
        key = [subject, _SESSION]
    elif users == "day":
        cost, rows, key = _DAY_COST.format(who), _with_days(rows, original), [subject, _UNIT]
    elif users == "mini":
        cost = _MINI_COST.format(link_queries, log.shape.item_nouns, who, link_minutes)
        rows, key = _with_minis(rows, original, link_queries, link_minutes), [subject, _UNIT]
    else:
        cost = _VISITOR_COST if log.shape is VISITS else _PERSON_COST
    units = rows.select(key).drop_nulls().unique().collect(engine="streaming").sort(key)
    labels = units.select(pl.concat_str(key, separator="\0")).to_series()
    ids = people.collect(engine="streaming")["original"]
    names = units.with_columns(run.pseudonyms(labels, taken=ids).alias("released"))
    renamed = rows.join(names.lazy(), on=key, how="left")
    frame = renamed.with_columns(pl.col("released").alias(subject)).select(columns)
    subjects = people.join(
        names.lazy().select(pl.col(subject).alias("original"), "released"),
        on="original",
        how="left",
    ).with_columns(pl.lit(None, pl.UInt32).alias("group"))
    return Draft(frame=frame, subjects=subjects.sort("original", "released"), warnings=(cost,))


def _with_sessions(rows: pl.LazyFrame, original: Log) -> pl.LazyFrame:
    """Sessions as they were before rows were left out."""
    numbers = Sessions()(original).frame.select("row", _SESSION)
    return rows.join(numbers, on="row", how="left")


def _with_days(rows: pl.LazyFrame, original: Log) -> pl.LazyFrame:
    """The number of the day of each row, counted from 1970-01-01 on; what the row says of it is coarser by now."""
    numbers = original.frame.select("row", _moment(original).floordiv(_DAY).alias(_UNIT))
    return rows.join(numbers, on="row", how="left")


def _with_minis(rows: pl.LazyFrame, original: Log, queries: int, minutes: int) -> pl.LazyFrame:
    """The number of the small unit of each row among those of its person."""
    subject, item = original.shape.subject, original.shape.item
    times = original.frame.select("row", _moment(original).alias("_moment"))
    timed = rows.select("row", subject, item).join(times, on="row").drop_nulls()
    table = timed.sort(subject, "_moment", item).collect(engine="streaming")
    changes = [pl.col(name).ne_missing(pl.col(name).shift(1)) for name in (subject, item)]
    flags = table.select(*changes, "_moment")
    new_subject, new_item, moment = (flags[name].to_numpy() for name in flags.columns)
    unit = kernels.small_units.numbered(new_subject, new_item, moment, queries, minutes * 60_000_000)
    numbers = table.select("row").with_columns(pl.Series(_UNIT, unit))
    return rows.join(numbers.lazy(), on="row", how="left")


def _moment(log: Log) -> pl.Expr:
    """When, in microseconds; nothing where rows have no time."""
    return pl.col(log.shape.time).dt.epoch("us") if log.shape.time else pl.lit(None, pl.Int64)
