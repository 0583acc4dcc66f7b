"""Keep the planned items, or put something else in their place."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from coterie.apply.details import common_details, cost_of_keeping, without_details, without_identifiers
from coterie.apply.names import rename_subjects, with_sessions
from coterie.core.log import Log
from coterie.core.plan import Draft, Plan
from coterie.core.run import Run


def release_items(log: Log, plan: Plan, k: int, users: str, attrs: str, run: Run) -> Draft:
    """A release of single items: keep the planned ones (KEEP), then what accompanies them, then who asked."""
    log = with_sessions(log, users, run)
    return _release(keep_items(log, plan.table, run), log, k, users, attrs, run)


def release_replaced(log: Log, plan: Plan, k: int, users: str, attrs: str, run: Run) -> Draft:
    """The same with something else in place of each planned item (REPLACE)."""
    log = with_sessions(log, users, run)
    return _release(replace_items(log, plan.table, run), log, k, users, attrs, run)


def keep_items(log: Log, keep: pl.LazyFrame, run: Run) -> Log:
    """The rows whose item is in the KEEP table."""
    item = log.shape.item
    kept = run.each(keep, lambda table: table.select(pl.col("item").alias(item)))
    return replace(log, frame=run.join(log.frame, kept, [item], "semi"))


def replace_items(log: Log, into: pl.LazyFrame, run: Run) -> Log:
    """The rows whose item is in the REPLACE table, with what it becomes."""
    item = log.shape.item
    table = run.each(into, lambda given: given.select(pl.col("item").alias(item), "into"))
    rows = run.join(log.frame, table, [item])
    return replace(log, frame=run.each(rows, lambda given: given.with_columns(pl.col("into").alias(item)).drop("into")))


def _release(kept: Log, log: Log, k: int, users: str, attrs: str, run: Run) -> Draft:
    kept = without_identifiers(kept, run)
    notes = [cost_of_keeping(log.shape)] if attrs == "keep" else []
    if attrs == "common":
        kept, note = common_details(kept, k, run)
        notes += filter(None, [note])
    elif attrs == "drop":
        kept = without_details(kept, run)
    draft = rename_subjects(kept, log, users, run)
    return replace(draft, warnings=(*draft.warnings, *notes))
