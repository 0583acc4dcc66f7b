"""Keep the planned items, or put something else in their place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import polars as pl

from coterie.apply.details import common_details, cost_of_keeping, without_details, without_identifiers
from coterie.apply.names import rename_subjects, with_sessions
from coterie.core.log import Log
from coterie.core.plan import Draft, Facts, Plan
from coterie.core.run import Run


class ReleasesItems(Protocol):
    """What methods that release single items have in common."""

    @property
    def users(self) -> str:
        """What links rows."""

    @property
    def link_queries(self) -> int:
        """Most queries under one name, where names are for a few."""

    @property
    def link_minutes(self) -> int:
        """Minutes from the first to the last of them."""

    @property
    def attrs(self) -> str:
        """What accompanies an item."""

    @property
    def times(self) -> str:
        """The finest time that does."""

    @property
    def k_details(self) -> int | str:
        """How many must share it."""


@dataclass(frozen=True, kw_only=True)
class Beside:
    """How finely rows are linked and dated, and how many must share what accompanies an item."""

    link_queries: int = 3
    link_minutes: int = 30
    times: str = "day"
    k_details: int | str = "k"

    @classmethod
    def of(cls, method: ReleasesItems) -> Beside:
        """What a method is asked for."""
        return cls(
            link_queries=method.link_queries,
            link_minutes=method.link_minutes,
            times=method.times,
            k_details=method.k_details,
        )


AS_EVER = Beside()


def numbers_of(method: ReleasesItems, facts: Facts) -> dict[str, Any]:
    """What a promise about single items says of names and of what accompanies items."""
    return {
        "users": method.users,
        "link_queries": method.link_queries,
        "link_minutes": method.link_minutes,
        "attrs": method.attrs,
        "times": method.times,
        "k_details": method.k_details,
        "session_minutes": facts.session_minutes,
        "details": ",".join(facts.shape.further),
    }


def release_items(
    log: Log, plan: Plan, k: int, users: str, attrs: str, run: Run, beside: Beside = AS_EVER
) -> Draft:  # fmt: skip
    """A release of single items: keep the planned ones (KEEP), then what accompanies them, then who asked."""
    log = with_sessions(log, users, run)
    return _release(keep_items(log, plan.table, run), log, k, users, attrs, run, beside)


def release_replaced(
    log: Log, plan: Plan, k: int, users: str, attrs: str, run: Run, beside: Beside = AS_EVER
) -> Draft:  # fmt: skip
    """The same with something else in place of each planned item (REPLACE)."""
    log = with_sessions(log, users, run)
    return _release(replace_items(log, plan.table, run), log, k, users, attrs, run, beside)


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


def _release(kept: Log, log: Log, k: int, users: str, attrs: str, run: Run, beside: Beside) -> Draft:
    kept = without_identifiers(kept, run)
    notes = [cost_of_keeping(log.shape)] if attrs == "keep" else []
    if attrs == "common":
        enough = k if isinstance(beside.k_details, str) else beside.k_details
        kept, note = common_details(kept, enough, run, beside.times)
        notes += filter(None, [note])
    elif attrs == "drop":
        kept = without_details(kept, run)
    minis = {"link_queries": beside.link_queries, "link_minutes": beside.link_minutes}
    draft = rename_subjects(kept, log, users, run, **minis)
    return replace(draft, warnings=(*draft.warnings, *notes))
