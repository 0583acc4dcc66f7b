"""Methods that keep their promise and break the contract: check_method must catch each of them.

Paper: none. Symbols: none. Promise: that of the method each one spoils. Differs: by one mistake. Cost: small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Annotated, ClassVar
from weakref import WeakKeyDictionary

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Late, Range
from coterie.core.plan import Draft, Facts, Plan
from coterie.core.run import Run
from coterie.methods._template import Template
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.promises.query_k_anonymity import QueryKAnonymity


@dataclass(frozen=True, kw_only=True)
class RemembersItsPlan(Template):
    """What it releases is in a cache of the run; without it, one query less is released."""

    kept: ClassVar[WeakKeyDictionary[object, Plan]] = WeakKeyDictionary()

    def plan(self, learnt: None, log: Log, run: Run) -> Plan:
        plan = self.kept[run.engine] = super().plan(learnt, log, run)
        return plan

    def release(self, log: Log, plan: Plan, run: Run) -> Draft:
        cached = self.kept.get(run.engine, replace(plan, table=plan.table.sort("item").head(1)))
        return super().release(log, cached, run)


@dataclass(frozen=True, kw_only=True)
class HidesNotes(Template):
    """Its notes are not text, so a stored plan has others."""

    def plan(self, learnt: None, log: Log, run: Run) -> Plan:
        return replace(super().plan(learnt, log, run), notes=(("a", "pair"),))


@dataclass(frozen=True, kw_only=True)
class ReadsGroupNumbers(Microaggregate):
    """Members of group 0 lose their ranks."""

    def release(self, log: Log, plan: Plan, run: Run) -> Draft:
        draft = super().release(log, plan, run)
        subject = log.shape.subject
        first = draft.subjects.filter(pl.col("group") == 0).select(pl.col("released").alias(subject), spared=True)
        rank = pl.when(pl.col("spared").is_null()).then(log.shape.rank).alias(log.shape.rank)
        frame = draft.frame.join(first, on=subject, how="left").with_columns(rank).drop("spared")
        return replace(draft, frame=frame)


@dataclass(frozen=True, kw_only=True)
class ReadsThePlanInOrder(Template):
    """Releases the first two queries of the plan."""

    def plan(self, learnt: None, log: Log, run: Run) -> Plan:
        plan = super().plan(learnt, log, run)
        return replace(plan, table=run.collect(plan.table.sort("item")))

    def release(self, log: Log, plan: Plan, run: Run) -> Draft:
        return super().release(log, replace(plan, table=plan.table.head(2)), run)


@dataclass(frozen=True, kw_only=True)
class ReadsTheLogInOrder(Template):
    """Releases the query of the first row that may be released, and no other."""

    def plan(self, learnt: None, log: Log, run: Run) -> Plan:
        plan = super().plan(learnt, log, run)
        rows = log.frame.sort("row").select(pl.col(log.shape.item).alias("item"))
        first = rows.join(plan.table, on="item", how="semi", maintain_order="left").head(1)
        return replace(plan, table=run.collect(plan.table.join(first, on="item", how="semi")))


@dataclass(frozen=True, kw_only=True)
class DrawsWithoutTheSeed(SuppressRare):
    """Queries that no seed chooses: two of three releases lack one, so that chance never hides the mistake."""

    turns: ClassVar[Iterator[int]] = count()

    def release(self, log: Log, plan: Plan, run: Run) -> Draft:
        draft = super().release(log, plan, run)
        item = pl.col(log.shape.item)
        lacks_one = next(self.turns) % 3 > 0
        return replace(draft, frame=draft.frame.filter(item != item.min()) if lacks_one else draft.frame)


@dataclass(frozen=True, kw_only=True)
class AcceptsAnything(Template):
    """Never looks at its parameters."""

    def __post_init__(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class PromisesToAnyone(Template):
    """Does not ask whether there are k users."""

    def promises(self, facts: Facts) -> tuple[QueryKAnonymity, ...]:  # noqa: ARG002
        return (QueryKAnonymity(k=self.k, users="drop", attrs="drop"),)


@dataclass(frozen=True, kw_only=True)
class LearnsItsK(Template):
    """What it learns depends on k, which it says is late."""

    def learn(self, log: Log, run: Run) -> int:  # noqa: ARG002
        return self.k

    def plan(self, learnt: int, log: Log, run: Run) -> Plan:  # type: ignore[override]
        return Template(k=max(self.k, 2 * learnt)).plan(None, log, run)


@dataclass(frozen=True, kw_only=True)
class ComparesWithAnother(Template):
    """Its baseline promises less."""

    def baseline(self) -> ComparesWithAnother | None:
        return None if self.k == 2 else replace(self, k=2)


@dataclass(kw_only=True)
class Changes:
    """Parameters can be changed afterwards."""

    k: Annotated[int, Range(2), Late(), "smallest number of users"] = 5


@dataclass(frozen=True, kw_only=True)
class SaysNothingOfItsParameter(Template):
    """A parameter without a text."""

    k: Annotated[int, Range(2), Late()] = 5
