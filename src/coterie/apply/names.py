"""Who asked: nobody, a fresh name for each session, or one for each person."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, TypeAlias

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Choice
from coterie.core.plan import Draft
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


def nobody_named(original: Log) -> pl.LazyFrame:
    """original, released, group: all subjects of a log, none of whom has a name in the release."""
    people = original.frame.select(pl.col(original.shape.subject).alias("original")).drop_nulls().unique()
    nobody = (pl.lit(None, pl.String).alias("released"), pl.lit(None, pl.UInt32).alias("group"))
    return people.with_columns(nobody).sort("original")


def rename_subjects(log: Log, original: Log, users: str, run: Run) -> Draft:
    """Rows with their subjects dropped, or under a fresh name for each session or person."""
    subject = log.shape.subject
    columns = ["row", *log.shape.released]
    if users == "drop":
        rows = log.frame.with_columns(pl.lit(None, pl.String).alias(subject)).select(columns)
        return Draft(frame=rows, subjects=nobody_named(original))
    people = original.frame.select(pl.col(subject).alias("original")).drop_nulls().unique()
    key, cost = [subject], _VISITOR_COST if log.shape is VISITS else _PERSON_COST
    if users == "session":
        who = "visitor requested" if log.shape is VISITS else "person asked"
        cost = _SESSION_COST.format(who, session_minutes(original))
        log = log if "session" in log.frame.collect_schema() else _with_sessions(log, original)
        key = [subject, "session"]
    units = log.frame.select(key).drop_nulls().unique().collect(engine="streaming").sort(key)
    labels = units.select(pl.concat_str(key, separator="\0")).to_series()
    ids = people.collect(engine="streaming")["original"]
    names = units.with_columns(run.pseudonyms(labels, taken=ids).alias("released"))
    renamed = log.frame.join(names.lazy(), on=key, how="left")
    frame = renamed.with_columns(pl.col("released").alias(subject)).select(columns)
    subjects = people.join(
        names.lazy().select(pl.col(subject).alias("original"), "released"),
        on="original",
        how="left",
    ).with_columns(pl.lit(None, pl.UInt32).alias("group"))
    return Draft(frame=frame, subjects=subjects.sort("original", "released"), warnings=(cost,))


def _with_sessions(log: Log, original: Log) -> Log:
    """Sessions as they were before rows were left out."""
    numbers = Sessions()(original).frame.select("row", "session")
    frame = log.frame.join(numbers, on="row", how="left")
    return replace(log, frame=frame)
