"""Publish tables about an access log in place of its rows: pages, pairs of pages, referrers, hours, browsers.

Paper: none. It complements the microaggregation of access logs by G. Navarro-Arribas and V. Torra (2009, 2010),
    whose indicators (clicks and visits by browser) are numbers that can be published as such.

Symbols: k = smallest number of visitors behind a number; a cell = one line of a table; a visit = what a visitor asks
    for without a pause of more than half an hour (or as the prepare step `sessions` says).

Promise: every released number counts what at least k different visitors did, exactly; and the lines that are left out
    of a table come from k visitors together, or there are none. No totals are released.

Differs:
    - Tables: `pages` (requests of each path), `landing` (visits that begin with it), `pairs` (how often a page followed
      another in a visit), `referrers` (requests by host), `days` (requests by day and hour) or `hours` (by hour of the
      day), `browsers` (by family, as ua-parser calls it) and `lengths` (visits by their number of requests). `days` and
      `hours` are not released together: one gives totals of the other.
    - Where the lines left out of a table would be those of fewer than k visitors, the smallest line that would stay is
      left out with them: otherwise a total that somebody knows would tell what they did.
    - Pages are ordered by time, and those of one second by their lines. A page that follows itself makes no pair, but
      counts in the length of a visit.
    - Rows without a visitor count nowhere, and rows without a time in no table about visits or hours. Requests without
      a referrer, an agent or a time count as left out of the tables about these, and of `lengths`: other tables tell
      how many there are.
    - There is no noise. Numbers can be subtracted from each other: see `docs/limits.md`.

Cost: one pass over the log for each table, and one sort for those about visits. Memory: rows of numbers, and what each
    visitor is counted in.

Example:
    >>> import coterie, polars
    >>> visits = [("ann", "/tea"), ("bob", "/tea"), ("bob", "/tea"), ("cyd", "/maps")]
    >>> log = coterie.log(polars.DataFrame(visits, schema=["user", "path"], orient="row"))
    >>> coterie.anonymize(log, CountVisits(k=2, tables="pages")).to_polars()["item", "count"].rows()
    []
    >>> log = coterie.log(polars.DataFrame([*visits, ("dan", "/post")], schema=["user", "path"], orient="row"))
    >>> coterie.anonymize(log, CountVisits(k=2, tables="pages")).to_polars()["item", "count"].rows()
    [('/tea', 3)]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Late, Range, Several
from coterie.core.plan import Draft, Facts, Method, Plan, enough_subjects
from coterie.core.run import Run
from coterie.core.shapes import COUNTS, VISITS, Shape
from coterie.errors import ParameterError
from coterie.promises.cell_k_anonymity import CellKAnonymity, Tables
from coterie.releasing.names import nobody_named


@dataclass(frozen=True, kw_only=True)
class CountVisits(Method):
    """Publish tables in which each number counts what at least k different visitors did."""

    k: Annotated[int, Range(2), Late(), "smallest number of visitors behind a released number"] = 5
    tables: Tables = "pages,landing,pairs,referrers,days,browsers,lengths"

    accepts: ClassVar[tuple[Shape, ...]] = (VISITS,)
    gives: ClassVar[Shape] = COUNTS
    status: ClassVar[str] = "stable"

    def __post_init__(self) -> None:
        super().__post_init__()
        if {"days", "hours"} <= set(Several.words(self.tables)):
            raise ParameterError(
                "Hours of the day are totals of days with their hours, and tell what is left out there: in 'tables' of "
                "count_visits, choose one of days and hours."
            )

    def promises(self, facts: Facts) -> tuple[CellKAnonymity, ...]:
        """At least k visitors behind each released number."""
        enough_subjects("count_visits", self.k, facts)
        return (CellKAnonymity(k=self.k, tables=self.tables, session_minutes=facts.session_minutes),)

    def learn(self, log: Log, run: Run) -> pl.DataFrame:
        """Step 1: how often each visitor is counted in each cell, which serves every k."""
        from coterie.algorithms.walks import counted

        return counted(log, Several.words(self.tables), run)

    def plan(self, learnt: pl.DataFrame, log: Log, run: Run) -> Plan:  # noqa: ARG002 (all is learnt)
        """Step 2: the cells of k visitors stay, where those left out are k visitors, too."""
        from coterie.algorithms.walks import enough

        return Plan(table=COUNTS.completed(enough(learnt, self.k).lazy()))

    def release(self, log: Log, plan: Plan, run: Run) -> Draft:
        """Step 3: the cells themselves."""
        return Draft(frame=plan.table, subjects=nobody_named(log, run))
