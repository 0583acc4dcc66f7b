"""limit_activity: each user counts with a few of their queries, and what k users count with is released.

Paper: A. Korolova, K. Kenthapadi, N. Mishra, A. Ntoulas: Releasing Search Queries and Clicks Privately, 2009, step 1.
Symbols: d, the queries of a user that count.
Promise: query k-anonymity.
Differs: which queries of a user count is drawn at random.
Cost: one pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Late, Range
from coterie.core.plan import Draft, Facts, Method, Plan, enough_subjects
from coterie.core.run import Run
from coterie.core.shapes import KEEP, QUERIES, Shape
from coterie.promises.query_k_anonymity import QueryKAnonymity
from coterie.releasing.details import without_details
from coterie.releasing.items import keep_items
from coterie.releasing.names import rename_subjects


@dataclass(frozen=True, kw_only=True)
class LimitActivity(Method):
    """Releases queries that k users count with, each with d of their own."""

    k: Annotated[int, Range(2), Late(), "smallest number of users behind a released query"] = 5
    d: Annotated[int, Range(1), Late(), "queries that a user counts with"] = 20

    accepts: ClassVar[tuple[Shape, ...]] = (QUERIES,)
    status: ClassVar[str] = "example"
    blocks_by: ClassVar[tuple[str, ...]] = ("subject",)

    def promises(self, facts: Facts) -> tuple[QueryKAnonymity, ...]:
        enough_subjects("limit_activity", self.k, facts)
        return (QueryKAnonymity(k=self.k, users="drop", attrs="drop"),)

    def pairs(self, log: Log) -> pl.LazyFrame:
        """subject, item, each pair once."""
        shape = log.shape
        rows = log.frame.select(pl.col(shape.subject).alias("subject"), pl.col(shape.item).alias("item"))
        return rows.drop_nulls().unique()

    def draw(self, pairs: pl.DataFrame, run: Run) -> pl.Series:
        """A random number for each pair, which belongs to user and query."""
        return pl.Series(run.keys("counting", pairs["subject"] + "\0" + pairs["item"]))

    def plan(self, learnt: None, log: Log, run: Run) -> Plan:  # noqa: ARG002
        def work(frame: pl.LazyFrame) -> pl.LazyFrame:
            pairs = frame.collect()
            drawn = pairs.with_columns(self.draw(pairs, run).alias("drawn"))
            first = pl.col("drawn").rank("ordinal").over("subject") <= self.d
            return drawn.filter(first).select("subject", "item").lazy()

        kept = run.blocks(self.pairs(log), work, list(self.blocks_by))
        degrees = kept.group_by("item").len(name="degree").filter(pl.col("degree") >= self.k)
        return Plan(table=run.keep(KEEP.check(degrees)))

    def release(self, log: Log, plan: Plan, run: Run) -> Draft:
        return rename_subjects(without_details(keep_items(log, plan.table, run), run), log, "drop", run)
