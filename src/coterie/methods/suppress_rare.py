"""Release a query only if enough different people asked it.

Paper: E. Adar, "User 4XXXXX9: anonymizing query logs" (2007), as the baseline EQ of Carpineto and Romano,
    "k_θ-affinity privacy" (2015), section 4.1; SPEC 6.1.

Symbols: k = smallest number of users behind a released query; degree(q) = number of distinct users that
    issued exactly q.

Promise: every released query was issued by at least k different users. With `attrs = common` the same holds for
    each (query, clicked page), and times are cut to the day. Rows without a user count as nobody's.

Differs: the papers keep user numbers; we drop them unless asked (`users`), because a promise about single queries
    says nothing about a person's queries taken together. The papers say nothing about time, rank and url; we
    keep urls that k users share with their ranks, and days (`attrs`). Columns that point at a person (address, agent
    and referrer of a visit) are always emptied.

Cost: two passes over the log with one hash table of distinct (user, query) pairs; linear in rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import polars as pl

from coterie.apply import release_items
from coterie.log import Log
from coterie.params import Choice, Range, check_params
from coterie.promises import QueryKAnonymity
from coterie.run import Draft, Run, enough_subjects
from coterie.shapes import KEEP, QUERIES, VISITS, Shape


@dataclass(frozen=True, kw_only=True)
class SuppressRare:
    """Release a query only if at least k different users issued it."""

    k: Annotated[int, Range(2)] = 5
    users: Annotated[str, Choice("drop", "session", "pseudonym")] = "drop"
    attrs: Annotated[str, Choice("common", "keep", "drop")] = "common"

    accepts: ClassVar[tuple[Shape, ...]] = (QUERIES, VISITS)
    status: ClassVar[str] = "stable"
    param_docs: ClassVar[dict[str, str]] = {
        "k": "smallest number of users behind a released query",
        "users": "what links rows: nothing, a random name per session, or one per person",
        "attrs": "pages that k users share, with their ranks, and days; all as it was; or none",
    }

    def __post_init__(self) -> None:
        check_params(self, "suppress_rare")

    def promise(self, n_subjects: int) -> QueryKAnonymity:
        """At least k users behind each released query."""
        enough_subjects("suppress_rare", self.k, n_subjects)
        return QueryKAnonymity(k=self.k, users=self.users, attrs=self.attrs)

    def plan(self, log: Log, run: Run) -> pl.LazyFrame:
        """Step 1: degree(q) for each query; those with degree >= k stay."""
        user, query = log.shape.subject, log.shape.item
        pairs = log.frame.select(pl.col(user).alias("user"), pl.col(query).alias("item"))

        def degrees(frame: pl.LazyFrame) -> pl.LazyFrame:
            counted = frame.drop_nulls().unique().group_by("item").len(name="degree")
            return counted.filter(pl.col("degree") >= self.k)

        return run.collect(run.map(pairs, degrees, by=["item"], out=KEEP))

    def release(self, log: Log, plan: pl.LazyFrame, run: Run) -> Draft:
        """Steps 2-4: keep the planned queries, then what accompanies them, then who asked."""
        return release_items(log, plan, self.k, self.users, self.attrs, run)
