"""Release a query, or a page of an access log, only if enough different people asked for it.

Paper: E. Adar, "User 4XXXXX9: anonymizing query logs" (2007), as the baseline EQ of Carpineto and Romano,
    "k_θ-affinity privacy" (2015), section 4.1.

Symbols: k = smallest number of users behind a released query; degree(q) = number of distinct users who issued exactly
    q.

Promise: every released query was issued by at least k different users, and all its rows are there. With `attrs =
    common` (url, rank, day) is released only where k users share all of it with the query; else the week or the month
    stands in place of the day, or no time does; then the rank goes, then the url. Rows without a user are not counted.
    `times` may say another finest time, `k_details` another number of users for what accompanies a query, and `window`
    that the users of a query are counted in the last days of the log only; all rows of the query are released then.

Differs:
    - The papers keep user numbers. We drop them unless asked (`users`), because a promise about single queries says
      nothing about a person's queries taken together.
    - The papers say nothing about time, rank and url. We keep as much of them as k users share (`attrs`).
    - Columns that point at a person (address, agent and referrer of a visit) are always emptied.

Cost: two passes over the log with one hash table of distinct (user, query) pairs; linear in rows.

Example:
    >>> import coterie, polars
    >>> typed = [("ann", "maps"), ("bob", "maps"), ("bob", "a rare illness")]
    >>> log = coterie.log(polars.DataFrame(typed, schema=["user", "query"], orient="row"))
    >>> coterie.anonymize(log, SuppressRare(k=2)).to_polars()["query"].to_list()
    ['maps', 'maps']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Late, Range
from coterie.core.plan import Facts, Plan, enough_subjects
from coterie.core.run import Run
from coterie.core.shapes import KEEP, QUERIES, VISITS, Shape
from coterie.promises.query_k_anonymity import QueryKAnonymity
from coterie.releasing.items import SHARED, ReleasesItems
from coterie.releasing.names import within


@dataclass(frozen=True, kw_only=True)
class SuppressRare(ReleasesItems):
    """Release a query, or a page of an access log, only if at least k different users or visitors asked for it."""

    k: Annotated[int, Range(2), Late(), "smallest number of users or visitors behind a released query or page"] = 5

    shown: ClassVar[str] = f"k {SHARED}"
    accepts: ClassVar[tuple[Shape, ...]] = (QUERIES, VISITS)
    status: ClassVar[str] = "stable"
    anywhere: ClassVar[bool] = True

    def promises(self, facts: Facts) -> tuple[QueryKAnonymity, ...]:
        """At least k users behind each released query."""
        enough_subjects("suppress_rare", self.k, facts)
        return (QueryKAnonymity(k=self.k, shape=facts.shape.name, **self.numbers(facts)),)

    def plan(self, learnt: None, log: Log, run: Run) -> Plan:  # noqa: ARG002 (it learns nothing)
        """Step 1: degree(q) for each query; those with degree >= k stay."""
        user, query = log.shape.subject, log.shape.item
        counted = within(log, self.window).frame
        pairs = run.each(counted, lambda rows: rows.select(subject=pl.col(user), item=pl.col(query)))
        degrees = run.crowds(pairs, ["item"], "subject", "degree")
        enough = run.each(degrees, lambda counted: counted.filter(pl.col("degree") >= self.k))
        return Plan(table=run.keep(KEEP.check(enough)))
