"""Apply a plan to all rows of a log: the part of a release that methods share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from coterie.log import Log
from coterie.prepare.sessions import sessions
from coterie.run import Draft, Run

USER_COSTS = {
    "session": "Rows are linked within sessions: everything one person asked within half an hour can be read together.",
    "pseudonym": "Rows are linked by person: everything one person asked can be read together. This is "
    "how people were found in the AOL log of 2006. Use users=drop unless you must not.",
}
ATTR_COSTS = {
    "keep": "Exact times, ranks and clicked pages of single people are kept: whoever knows when somebody "
    "searched can find the row.",
}


def release_items(log: Log, keep: pl.LazyFrame, k: int, users: str, attrs: str, run: Run) -> Draft:
    """A release of single queries: keep the planned ones, then what accompanies them, then who asked."""
    return _release(keep_items(log, keep), log, k, users, attrs, run)


def release_replaced(log: Log, into: pl.LazyFrame, k: int, users: str, attrs: str, run: Run) -> Draft:
    """The same with something else in place of each planned query."""
    return _release(replace_items(log, into), log, k, users, attrs, run)


def _release(kept: Log, log: Log, k: int, users: str, attrs: str, run: Run) -> Draft:
    kept = without_identifiers(kept)
    if attrs == "common":
        kept = common_details(kept, k, run)
    elif attrs == "drop":
        kept = without_details(kept)
    draft = rename_subjects(kept, log, users, run)
    return replace(draft, warnings=(*draft.warnings, *((ATTR_COSTS[attrs],) if attrs in ATTR_COSTS else ())))


def keep_items(log: Log, keep: pl.LazyFrame) -> Log:
    """The rows whose item is in the KEEP table."""
    item = log.shape.item
    frame = log.frame.join(keep.select(pl.col("item").alias(item)), on=item, how="semi")
    return replace(log, frame=frame)


def replace_items(log: Log, into: pl.LazyFrame) -> Log:
    """The rows whose item is in the REPLACE table, with what it becomes."""
    item = log.shape.item
    rows = log.frame.join(into.select(pl.col("item").alias(item), "into"), on=item)
    return replace(log, frame=rows.with_columns(pl.col("into").alias(item)).drop("into"))


def common_details(log: Log, k: int, run: Run) -> Log:
    """A detail stays only where k subjects share the item, it and all details before it; times become days."""
    shape = log.shape

    def mark(frame: pl.LazyFrame) -> pl.LazyFrame:
        shared = [shape.item]
        for detail in shape.details:
            shared = [*shared, detail]
            owners = frame.select(shape.subject, *shared).drop_nulls().unique()
            common = owners.group_by(shared).len().filter(pl.col("len") >= k)
            flagged = common.select(*shared, pl.lit(True).alias("_common"))
            # A detail that went is null, which joins with nothing: those after it go too.
            frame = frame.join(flagged, on=shared, how="left")
            frame = frame.with_columns(pl.when("_common").then(detail).alias(detail)).drop("_common")
        riders = [pl.when(pl.col(detail).is_not_null()).then(rider).alias(rider) for rider, detail in shape.riders]
        return frame.with_columns(*riders, pl.col("time").dt.truncate("1d"))

    # Each detail needs the rows twice; with several of them it pays to compute the rows once.
    rows = log.frame if len(shape.details) == 1 else run.collect(log.frame)
    return replace(log, frame=run.map(rows, mark, by=[shape.item]))


def without_details(log: Log) -> Log:
    """Only subject and item; every other released column is null."""
    kept = (log.shape.subject, log.shape.item)
    return _emptied(log, [name for name in log.shape.released if name not in kept])


def without_identifiers(log: Log) -> Log:
    """The columns that point at a person by themselves are null."""
    return _emptied(log, log.shape.identifying)


def _emptied(log: Log, names: Sequence[str]) -> Log:
    empty = [pl.lit(None, dtype=log.shape.schema[name]).alias(name) for name in names]
    return replace(log, frame=log.frame.with_columns(empty))


def rename_subjects(log: Log, original: Log, users: str, run: Run) -> Draft:
    """Rows with their subjects dropped, or under a fresh name for each session or person."""
    subject = log.shape.subject
    columns = ["row", *log.shape.released]
    people = original.frame.select(pl.col(subject).alias("original")).drop_nulls().unique()
    if users == "drop":
        nobody = pl.lit(None, dtype=pl.String)
        subjects = people.with_columns(nobody.alias("released"), pl.lit(None, pl.UInt32).alias("group"))
        return Draft(frame=log.frame.with_columns(nobody.alias(subject)).select(columns), subjects=subjects)
    key = [subject]
    if users == "session":
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
    return Draft(frame=frame, subjects=subjects, warnings=(USER_COSTS[users],))


def _with_sessions(log: Log, original: Log) -> Log:
    """Sessions as they were before rows were left out."""
    numbers = sessions(original).frame.select("row", "session")
    frame = log.frame.join(numbers, on="row", how="left")
    return replace(log, frame=frame)
