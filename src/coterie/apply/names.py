"""Who asked: nobody, a fresh name for each session, or one for each person."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, TypeAlias

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Choice
from coterie.core.plan import Draft
from coterie.core.randomness import pseudonyms
from coterie.core.run import Run
from coterie.core.shapes import VISITS
from coterie.steps.sessions import Sessions, session_minutes

Users: TypeAlias = Annotated[
    str,
    Choice("drop", "session", "pseudonym"),
    "what links rows: nothing, a random name for each session, or one for each person",
]
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


def nobody_named(original: Log, run: Run) -> pl.LazyFrame:
    """original, released, group: all subjects of a log, none of whom has a name in the release."""
    nobody = (pl.lit(None, pl.String).alias("released"), pl.lit(None, pl.UInt32).alias("group"))
    return _in_order(run.each(_people(original, run), lambda people: people.with_columns(nobody)), ["original"], run)


def rename_subjects(log: Log, original: Log, users: str, run: Run) -> Draft:
    """Rows with their subjects dropped, or under a fresh name for each session or person."""
    subject = log.shape.subject
    columns = [name for name in ("row", *log.shape.released) if name in log.frame.collect_schema()]
    if users == "drop":
        nobody = pl.lit(None, pl.String).alias(subject)
        rows = run.each(log.frame, lambda given: given.with_columns(nobody).select(columns))
        return Draft(frame=rows, subjects=nobody_named(original, run), unnamed=True, ungrouped=True)
    key, cost = [subject], _VISITOR_COST if log.shape is VISITS else _PERSON_COST
    if users == "session":
        who = "visitor requested" if log.shape is VISITS else "person asked"
        cost = _SESSION_COST.format(who, session_minutes(original))
        log = log if "session" in log.frame.collect_schema() else _with_sessions(log, original)
        key = [subject, "session"]
    people = _people(original, run)
    units = run.each(log.frame, lambda rows: rows.select(key).drop_nulls())
    names = _named(run.blocks(units, lambda rows: rows.unique(), key), key, people, run)
    renamed = run.join(log.frame, names, key, "left")
    frame = run.each(renamed, lambda rows: rows.with_columns(pl.col("released").alias(subject)).select(columns))
    of_person = run.each(names, lambda table: table.select(pl.col(subject).alias("original"), "released"))
    nowhere = pl.lit(None, pl.UInt32).alias("group")
    subjects = run.each(run.join(people, of_person, ["original"], "left"), lambda table: table.with_columns(nowhere))
    return Draft(
        frame=frame,
        subjects=_in_order(subjects, ["original", "released"], run),
        warnings=(cost,),
        ungrouped=True,
    )


def with_sessions(log: Log, users: str, run: Run) -> Log:
    """The log with sessions before rows are left out, where these will be named and rows are elsewhere."""
    if run.engine.here or users != "session" or "session" in log.frame.collect_schema():
        return log
    shape, history = log.shape, log.history

    def number(rows: pl.LazyFrame) -> pl.LazyFrame:
        return Sessions()(Log(frame=rows, shape=shape, history=history)).frame

    return replace(log, frame=run.keep(run.blocks(log.frame, number, [shape.subject])))


def _people(original: Log, run: Run) -> pl.LazyFrame:
    """original: all subjects of a log."""
    name = pl.col(original.shape.subject).alias("original")
    named = run.each(original.frame, lambda rows: rows.select(name).drop_nulls())
    return run.blocks(named, lambda rows: rows.unique(), ["original"])


def _named(units: pl.LazyFrame, key: list[str], people: pl.LazyFrame, run: Run) -> pl.LazyFrame:
    """What has a name of its own (key), with that name.

    Where nobody can see all names at once, they are not compared with each other and with those of the original: of 80
    random bits, no two are ever equal, and judges look.
    """
    label = pl.concat_str(key, separator="\0").alias("released")
    if run.engine.here:
        here = run.small(units).sort(key)
        labels, ids = here.select(label).to_series(), run.small(people)["original"]
        return here.with_columns(run.pseudonyms(labels, taken=ids).alias("released")).lazy()
    named = partial(_fresh, run.seed, run.naming())
    return run.keep(
        run.each(units, lambda rows: rows.with_columns(label.map_batches(named, pl.String, is_elementwise=True)))
    )


def _fresh(seed: int, naming: str, labels: pl.Series) -> pl.Series:
    return pseudonyms(seed, labels, taken=labels.clear(), naming=naming)


def _in_order(table: pl.LazyFrame, by: list[str], run: Run) -> pl.LazyFrame:
    """The table sorted, when somebody reads it."""
    return table.sort(by) if run.engine.here else run.engine.sort(table, by)


def _with_sessions(log: Log, original: Log) -> Log:
    """Sessions as they were before rows were left out."""
    numbers = Sessions()(original).frame.select("row", "session")
    frame = log.frame.join(numbers, on="row", how="left")
    return replace(log, frame=frame)
