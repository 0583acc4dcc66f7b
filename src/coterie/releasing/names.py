"""Who is counted, in all of a log or its last days, and who asked: nobody, a fresh name for a few queries, for each
session or day, or one for each person.

`users = mini`: the released rows of a person, in the order of (time, item), are cut into units. A unit ends before the
row that would be more than `link_minutes` after its first one, and before the item that would be one more than
`link_queries`; rows that follow each other with the same item are one. Rows without a time have no name there, nor
where names are for days.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, TypeAlias

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Choice, Range, Span, With
from coterie.core.plan import Draft
from coterie.core.randomness import pseudonyms
from coterie.core.run import Run
from coterie.core.shapes import VISITS
from coterie.errors import InputError, ParameterError
from coterie.steps.sessions import Sessions, session_minutes

Users: TypeAlias = Annotated[
    str,
    Choice("drop", "mini", "session", "day", "pseudonym"),
    "what links rows: nothing, or a random name for a few queries, each session, each day, or each person",
]
_MINI = With("users", "mini")
LinkQueries: TypeAlias = Annotated[int, Range(1, 1000), _MINI, "most queries in a row under one name"]
LinkMinutes: TypeAlias = Annotated[int, Range(1, 1440), _MINI, "minutes from the first to the last of them"]
ALWAYS = "all"
Window: TypeAlias = Annotated[
    str,
    Span(ALWAYS),
    "count the users of a query only so long before the end of the log, such as '390d'; 'all': in all of it",
]
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


def nobody_named(original: Log, run: Run) -> pl.LazyFrame:
    """original, released, group: all subjects of a log, none of whom has a name in the release."""
    nobody = (pl.lit(None, pl.String).alias("released"), pl.lit(None, pl.UInt32).alias("group"))
    return run.engine.sort(run.each(_people(original, run), lambda people: people.with_columns(nobody)), ["original"])


def rename_subjects(
    log: Log, original: Log, users: str, run: Run, *, link_queries: int = 3, link_minutes: int = 30
) -> Draft:
    """Rows with their subjects dropped, or under a fresh name for each of their units (`users`)."""
    subject = log.shape.subject
    columns = [name for name in ("row", *log.shape.released) if name in log.frame.collect_schema()]
    if users == "drop":
        nobody = pl.lit(None, pl.String).alias(subject)
        unnamed = run.each(log.frame, lambda given: given.with_columns(nobody).select(columns))
        return Draft(frame=unnamed, subjects=nobody_named(original, run), unnamed=True, ungrouped=True)
    rows, key, who = log.frame, [subject], "visitor requested" if log.shape.plain is VISITS else "person asked"
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
        cost = _VISITOR_COST if log.shape.plain is VISITS else _PERSON_COST
    people = _people(original, run)
    units = run.each(rows, lambda given: given.select(key).drop_nulls())
    names = _named(run.blocks(units, lambda given: given.unique(), key), key, people, run)
    renamed = run.join(rows, names, key, "left")
    frame = run.each(renamed, lambda given: given.with_columns(pl.col("released").alias(subject)).select(columns))
    of_person = run.each(names, lambda table: table.select(pl.col(subject).alias("original"), "released"))
    nowhere = pl.lit(None, pl.UInt32).alias("group")
    subjects = run.each(run.join(people, of_person, ["original"], "left"), lambda table: table.with_columns(nowhere))
    return Draft(
        frame=frame, subjects=run.engine.sort(subjects, ["original", "released"]), warnings=(cost,), ungrouped=True
    )


def refuse_units(method: str, users: str, window: str = ALWAYS) -> None:
    """ParameterError where rows are elsewhere and something is asked for that needs all of them in one place."""
    if users in ("mini", "day"):
        raise ParameterError(
            f"{method} with users = {users} runs on one machine; leave out --engine, or choose another."
        )
    if window != ALWAYS:
        raise ParameterError(f"{method} with a window runs on one machine; leave out --engine, or --window.")


def with_sessions(log: Log, users: str, run: Run) -> Log:
    """The log with sessions before rows are left out, where these will be named."""
    if users != "session" or _SESSION in log.frame.collect_schema():
        return log
    shape, history = log.shape, log.history

    def number(rows: pl.LazyFrame) -> pl.LazyFrame:
        return Sessions()(Log(frame=rows, shape=shape, history=history)).frame

    return replace(log, frame=run.engine.again(run.blocks(log.frame, number, [shape.subject])))


def _people(original: Log, run: Run) -> pl.LazyFrame:
    """original: all subjects of a log."""
    name = pl.col(original.shape.subject).alias("original")
    named = run.each(original.frame, lambda rows: rows.select(name).drop_nulls())
    return run.blocks(named, lambda rows: rows.unique(), ["original"])


def _named(units: pl.LazyFrame, key: list[str], people: pl.LazyFrame, run: Run) -> pl.LazyFrame:
    """What has a name of its own (key, which begins with the person), with that name.

    Names are compared with each other and with those of the original as far as these are in one block. Beyond that
    nobody need look: of 80 random bits, no two are ever equal, and judges look.
    """
    seed, naming, label = run.seed, run.naming(), pl.concat_str(key, separator="\0").alias("released")

    def named(units: pl.LazyFrame, people: pl.LazyFrame) -> pl.LazyFrame:
        table, ids = units.collect(engine="streaming").sort(key), people.collect(engine="streaming").to_series()
        names = pseudonyms(seed, table.select(label).to_series(), taken=ids, naming=naming)
        return table.with_columns(names.alias("released")).lazy()

    theirs = run.each(people, lambda table: table.rename({"original": key[0]}))
    return run.keep(run.blocks(units, named, [key[0]], theirs))


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
    from coterie.algorithms.kernels.sequences import numbered

    subject, item = original.shape.subject, original.shape.item
    times = original.frame.select("row", _moment(original).alias("_moment"))
    timed = rows.select("row", subject, item).join(times, on="row").drop_nulls()
    table = timed.sort(subject, "_moment", item).collect(engine="streaming")
    changes = [pl.col(name).ne_missing(pl.col(name).shift(1)) for name in (subject, item)]
    flags = table.select(*changes, "_moment")
    new_subject, new_item, moment = (flags[name].to_numpy() for name in flags.columns)
    unit = numbered(new_subject, new_item, moment, queries, minutes * 60_000_000)
    numbers = table.select("row").with_columns(pl.Series(_UNIT, unit))
    return rows.join(numbers.lazy(), on="row", how="left")


def _moment(log: Log) -> pl.Expr:
    """When, in microseconds; nothing where rows have no time."""
    return pl.col(log.shape.time).dt.epoch("us") if log.shape.time else pl.lit(None, pl.Int64)
