"""A method that releases a column which points at people where a judge answers for it: agents that k visitors share.

It stands here as a third party would ship it.

Paper: none. Symbols: k = smallest number of visitors behind a page and an agent. Promise: agent_k. Differs: in
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
from coterie.core.shapes import VISITS, Shape
from tests.helpers.agent_k import AgentK


@dataclass(frozen=True, kw_only=True)
class KeepAgents(Method):
    """Pages with their agents, where k visitors have both."""

    k: Annotated[int, Range(2), Late(), "smallest number of visitors behind a page and an agent"] = 3

    accepts: ClassVar[tuple[Shape, ...]] = (VISITS,)
    status: ClassVar[str] = "example"
    leaves: ClassVar[tuple[str, ...]] = ("agent",)
    """The columns that are not emptied, besides that of pages."""

    def promises(self, facts: Facts) -> tuple[AgentK, ...]:
        enough_subjects("keep_agents", self.k, facts)
        return (AgentK(k=self.k),)

    def plan(self, learnt: None, log: Log, run: Run) -> Plan:  # noqa: ARG002 (it learns nothing)
        pairs = log.frame.group_by("path", "agent").agg(pl.col("user").drop_nulls().n_unique().alias("_crowd"))
        return Plan(table=run.keep(pairs.filter(pl.col("_crowd") >= self.k)))

    def release(self, log: Log, plan: Plan, run: Run) -> Draft:  # noqa: ARG002
        people = log.frame.select(pl.col("user").alias("original")).drop_nulls().unique()
        nobody = (pl.lit(None, pl.String).alias("released"), pl.lit(None, pl.UInt32).alias("group"))
        rows = log.frame.join(plan.table.lazy(), on=["path", "agent"], how="semi")
        gone = [name for name in VISITS.released if name not in ("path", *self.leaves)]
        emptied = rows.with_columns(pl.lit(None, VISITS.schema[name]).alias(name) for name in gone)
        return Draft(frame=emptied, subjects=people.with_columns(nobody))
