"""Keep the planned items, or put something else in their place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Attrs, KDetails, Times
from coterie.core.plan import Draft, Facts, Method, Plan
from coterie.core.registry import name_of
from coterie.core.run import Run
from coterie.core.shapes import QUERIES, Shape
from coterie.releasing.details import (
    common_details,
    cost_of_keeping,
    refuse_exact,
    without_details,
    without_identifiers,
)
from coterie.releasing.names import (
    ALWAYS,
    LinkMinutes,
    LinkQueries,
    Users,
    Window,
    refuse_units,
    rename_subjects,
    with_sessions,
)

SHARED = "users link_queries link_minutes attrs times k_details window"
"""The parameters that methods share which release single items; shown after those of their own."""


@dataclass(frozen=True, kw_only=True)
class ReleasesItems(Method):
    """A method that releases single items: it keeps the planned ones, or puts something else in their place."""

    k: int
    """How many must have an item."""
    users: Users = "drop"
    link_queries: LinkQueries = 3
    link_minutes: LinkMinutes = 30
    attrs: Attrs = "common"
    times: Times = "day"
    k_details: KDetails = "k"
    window: Window = ALWAYS

    accepts: ClassVar[tuple[Shape, ...]] = (QUERIES,)
    status: ClassVar[str] = "experimental"
    further_details: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_exact(self.attrs, self.times)

    def refuse_elsewhere(self) -> None:
        """Names for a few queries or a day, and windows, are found on one machine."""
        refuse_units(name_of(self), self.users, self.window)

    def numbers(self, facts: Facts) -> dict[str, Any]:
        """What a promise about single items says of names and of what accompanies items."""
        shared = {name: getattr(self, name) for name in SHARED.split()}
        return {**shared, "session_minutes": facts.session_minutes, "details": ",".join(facts.shape.further)}

    def release(self, log: Log, plan: Plan, run: Run) -> Draft:
        """Keep the planned items (KEEP) or replace them (REPLACE), then what accompanies them, then who asked."""
        log = with_sessions(log, self.users, run)
        planned = replace_items if "into" in plan.table.collect_schema() else keep_items
        kept = without_identifiers(planned(log, plan.table, run), run)
        notes = [cost_of_keeping(log.shape)] if self.attrs == "keep" else []
        if self.attrs == "common":
            enough = self.k if isinstance(self.k_details, str) else self.k_details
            kept, note = common_details(kept, enough, run, self.times)
            notes += filter(None, [note])
        elif self.attrs == "drop":
            kept = without_details(kept, run)
        minis = {"link_queries": self.link_queries, "link_minutes": self.link_minutes}
        draft = rename_subjects(kept, log, self.users, run, **minis)
        return replace(draft, warnings=(*draft.warnings, *notes))


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
