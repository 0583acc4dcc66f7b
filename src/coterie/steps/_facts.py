"""What a method may know of a prepared log before it promises anything."""

from __future__ import annotations

import polars as pl

from coterie.core.log import Log
from coterie.core.plan import Facts
from coterie.core.run import Engine
from coterie.errors import InputError
from coterie.steps.sessions import session_minutes


def facts_of(log: Log, engine: Engine) -> Facts:
    """Rows and subjects."""
    name, log_item = log.shape.subject, log.shape.item
    subject, item = pl.col(name), pl.col(log_item)
    numbers = [pl.len().alias("rows"), item.null_count().alias("empty")]
    columns, distinct = [name], [subject.drop_nulls().n_unique().alias("subjects")]
    if (owner := log.shape.owner) in log.frame.collect_schema():
        columns.append(owner)
        distinct.append(pl.coalesce(owner, pl.lit("\0") + subject).n_unique().alias("owners"))
    counts = engine.total(log.frame, lambda rows: rows.select(numbers)).row(0, named=True)
    names = engine.each(log.frame, lambda rows: rows.select(columns).unique())
    counts |= engine.small_blocks(names, lambda rows: rows.select(distinct), [name]).sum().row(0, named=True)
    if counts["rows"] == 0:
        raise InputError("The log has no rows left to anonymize. Check the prepare steps.")
    if empty := counts.pop("empty"):
        raise InputError(f"{empty:,} rows have no {log.shape.item_noun}. Leave them out before anonymizing.")
    return Facts(**counts, session_minutes=session_minutes(log), in_lines=log.in_lines, shape=log.shape)
