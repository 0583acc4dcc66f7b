"""Keep the planned items, or put something else in their place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import polars as pl

from coterie.apply.details import common_details, cost_of_keeping, refuse_exact, without_details, without_identifiers
from coterie.apply.names import refuse_units, rename_subjects, with_sessions
from coterie.core.log import Log
from coterie.core.params import check_params
from coterie.core.plan import Draft, Facts, Plan
from coterie.core.registry import name_of
from coterie.core.run import Run
from coterie.core.shapes import QUERIES, Shape

_NUMBERS = ("users", "link_queries", "link_minutes", "attrs", "times", "k_details", "window")


class ReleasesItems:
    """A method that releases single items. It lists these parameters itself, in the order in which they are shown."""

    k: int
    users: str
    """What links rows."""
    link_queries: int
    """Most queries under one name, where names are for a few."""
    link_minutes: int
    """Minutes from the first to the last of them."""
    attrs: str
    """What accompanies an item."""
    times: str
    """The finest time that does."""
    k_details: int | str
    """How many must share it."""
    window: str
    """How long before the end of the log users are counted."""

    accepts: ClassVar[tuple[Shape, ...]] = (QUERIES,)
    status: ClassVar[str] = "experimental"
    further_details: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_params(self, name_of(self))
        refuse_exact(self.attrs, self.times)

    def refuse_elsewhere(self) -> None:
        """Names for a few queries or a day, and windows, are found on one machine."""
        refuse_units(name_of(self), self.users, self.window)

    def numbers(self, facts: Facts) -> dict[str, Any]:
        """What a promise about single items says of names and of what accompanies items."""
        of_method = {name: getattr(self, name) for name in _NUMBERS}
        return {**of_method, "session_minutes": facts.session_minutes, "details": ",".join(facts.shape.further)}


def release_items(log: Log, plan: Plan, method: ReleasesItems, run: Run) -> Draft:
    """A release of single items: keep the planned ones (KEEP), then what accompanies them, then who asked."""
    log = with_sessions(log, method.users, run)
    return _release(keep_items(log, plan.table, run), log, method, run)


def release_replaced(log: Log, plan: Plan, method: ReleasesItems, run: Run) -> Draft:
    """The same with something else in place of each planned item (REPLACE)."""
    log = with_sessions(log, method.users, run)
    return _release(replace_items(log, plan.table, run), log, method, run)


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


def _release(kept: Log, log: Log, method: ReleasesItems, run: Run) -> Draft:
    kept = without_identifiers(kept, run)
    notes = [cost_of_keeping(log.shape)] if method.attrs == "keep" else []
    if method.attrs == "common":
        enough = method.k if isinstance(method.k_details, str) else method.k_details
        kept, note = common_details(kept, enough, run, method.times)
        notes += filter(None, [note])
    elif method.attrs == "drop":
        kept = without_details(kept, run)
    minis = {"link_queries": method.link_queries, "link_minutes": method.link_minutes}
    draft = rename_subjects(kept, log, method.users, run, **minis)
    return replace(draft, warnings=(*draft.warnings, *notes))
