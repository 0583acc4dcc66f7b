"""A method whose release has another shape than its log: queries of at least k users, and how often they were issued.

It stands here as a third party would ship it.

Paper: none. Symbols: k = smallest number of users behind a count. Promise: cell_k. Differs: in
nothing. Cost: one pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Late, Range
from coterie.core.plan import Draft, Facts, Method, Plan, enough_subjects
from coterie.core.run import Run
from coterie.core.shapes import COUNTS, QUERIES, VISITS, Shape
from tests.helpers.cell_k import CellK


@dataclass(frozen=True, kw_only=True)
class CountQueries(Method):
    """Counts of queries that at least k users issued."""

    k: Annotated[int, Range(2), Late(), "smallest number of users behind a released count"] = 3

    accepts: ClassVar[tuple[Shape, ...]] = (QUERIES, VISITS)
    gives: ClassVar[Shape] = COUNTS
    status: ClassVar[str] = "example"

    def promises(self, facts: Facts) -> tuple[CellK, ...]:
        enough_subjects("count_queries", self.k, facts)
        return (CellK(least=self.k),)

    def plan(self, learnt: None, log: Log, run: Run) -> Plan:  # noqa: ARG002 (it learns nothing)
        users = pl.col(log.shape.subject).drop_nulls().n_unique()
        counts = log.frame.group_by(pl.col(log.shape.item).alias(COUNTS.item)).agg(
            pl.len().cast(pl.Int64).alias(COUNTS.count), users.alias("_users")
        )
        return Plan(table=run.keep(COUNTS.completed(counts.filter(pl.col("_users") >= self.k))))

    def release(self, log: Log, plan: Plan, run: Run) -> Draft:  # noqa: ARG002
        people = log.frame.select(pl.col(log.shape.subject).alias("original")).drop_nulls().unique()
        nobody = (pl.lit(None, pl.String).alias("released"), pl.lit(None, pl.UInt32).alias("group"))
        return Draft(frame=plan.table, subjects=people.with_columns(nobody))


@dataclass(frozen=True, kw_only=True)
class CommonQueries(Method):
    """The same without a k: counts of what two users or more issued."""

    accepts: ClassVar[tuple[Shape, ...]] = (QUERIES, VISITS)
    gives: ClassVar[Shape] = COUNTS
    status: ClassVar[str] = "example"

    def promises(self, facts: Facts) -> tuple[CellK, ...]:
        return CountQueries(k=2).promises(facts)

    def plan(self, learnt: None, log: Log, run: Run) -> Plan:
        return CountQueries(k=2).plan(learnt, log, run)

    def release(self, log: Log, plan: Plan, run: Run) -> Draft:
        return CountQueries(k=2).release(log, plan, run)
