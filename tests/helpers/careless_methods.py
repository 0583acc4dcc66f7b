"""Methods that break the contract, or their promise in rare cases: check_method must catch each of them.

Each says in `said` what it must be caught by; tests find them by that name, so that a new one is never forgotten.

Paper: none. Symbols: none. Promise: that of the method each one spoils. Differs: by one mistake. Cost: small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Annotated, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl

from coterie.core.log import Log
from coterie.core.params import Late, Range
from coterie.core.plan import Draft, Facts, Plan
from coterie.core.run import Run
from coterie.methods._template import Template
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.promises.query_k_anonymity import QueryKAnonymity
from coterie.releasing.details import without_details
from coterie.releasing.items import keep_items
from coterie.releasing.names import rename_subjects
from tests.helpers.limit_activity import LimitActivity


@dataclass(frozen=True, kw_only=True)
class RemembersItsPlan(Template):
    """What it releases is in a cache of the run; without it, one query less is released."""

    said: ClassVar[str] = "it is the whole decision"

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

    said: ClassVar[str] = "notes are part of a plan"

    def plan(self, learnt: None, log: Log, run: Run) -> Plan:
        return replace(super().plan(learnt, log, run), notes=(("a", "pair"),))


@dataclass(frozen=True, kw_only=True)
class ReadsGroupNumbers(Microaggregate):
    """Members of group 0 lose their ranks."""

    said: ClassVar[str] = "order and numbers of groups mean nothing"

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

    said: ClassVar[str] = "order and numbers of groups mean nothing"

    def plan(self, learnt: None, log: Log, run: Run) -> Plan:
        plan = super().plan(learnt, log, run)
        return replace(plan, table=run.keep(plan.table.sort("item")))

    def release(self, log: Log, plan: Plan, run: Run) -> Draft:
        return super().release(log, replace(plan, table=plan.table.head(2)), run)


@dataclass(frozen=True, kw_only=True)
class ReadsTheLogInOrder(Template):
    """Releases the query of the first row that may be released, and no other."""

    said: ClassVar[str] = "the order of rows never changes the answer"

    def plan(self, learnt: None, log: Log, run: Run) -> Plan:
        plan = super().plan(learnt, log, run)
        rows = log.frame.sort("row").select(pl.col(log.shape.item).alias("item"))
        first = rows.join(plan.table, on="item", how="semi", maintain_order="left").head(1)
        return replace(plan, table=run.keep(plan.table.join(first, on="item", how="semi")))


@dataclass(frozen=True, kw_only=True)
class DrawsWithoutTheSeed(SuppressRare):
    """Queries that no seed chooses: two of three releases lack one, so that chance never hides the mistake."""

    said: ClassVar[str] = "it is the whole decision|the same seed gives the same release"

    turns: ClassVar[Iterator[int]] = count()

    def release(self, log: Log, plan: Plan, run: Run) -> Draft:
        draft = super().release(log, plan, run)
        item = pl.col(log.shape.item)
        lacks_one = next(self.turns) % 3 > 0
        return replace(draft, frame=draft.frame.filter(item != item.min()) if lacks_one else draft.frame)


@dataclass(frozen=True, kw_only=True)
class AcceptsAnything(Template):
    """Never looks at its parameters."""

    said: ClassVar[str] = "k=None was accepted"

    def __post_init__(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class PromisesToAnyone(Template):
    """Does not ask whether there are k users."""

    said: ClassVar[str] = "was not refused"

    def promises(self, facts: Facts) -> tuple[QueryKAnonymity, ...]:  # noqa: ARG002
        return (QueryKAnonymity(k=self.k, users="drop", attrs="drop"),)


@dataclass(frozen=True, kw_only=True)
class LearnsItsK(Template):
    """What it learns depends on k, which it says is late."""

    said: ClassVar[str] = "what is learnt does not depend on k"

    def learn(self, log: Log, run: Run) -> int:  # noqa: ARG002
        return self.k

    def plan(self, learnt: int, log: Log, run: Run) -> Plan:  # type: ignore[override]
        return Template(k=max(self.k, 2 * learnt)).plan(None, log, run)


@dataclass(frozen=True, kw_only=True)
class ComparesWithAnother(Template):
    """Its baseline promises less."""

    said: ClassVar[str] = "the baseline promises the same"

    def baseline(self) -> ComparesWithAnother | None:
        return None if self.k == 2 else replace(self, k=2)


@dataclass(kw_only=True)
class Changes:
    """Parameters can be changed afterwards."""

    said: ClassVar[str] = "a method is frozen"

    k: Annotated[int, Range(2), Late(), "smallest number of users"] = 5


@dataclass(frozen=True, kw_only=True)
class SaysNothingOfItsParameter(Template):
    """A parameter without a text."""

    said: ClassVar[str] = "lacks a text"

    k: Annotated[int, Range(2), Late()] = 5


# --- the twelve mistakes of somebody who wrote their first method -------------------------------------


@dataclass(frozen=True, kw_only=True)
class CountsRowsNotUsers(LimitActivity):
    """A user who asks often is several."""

    said: ClassVar[str] = "does not keep its promise|the promise holds"

    def pairs(self, log: Log) -> pl.LazyFrame:
        shape = log.shape
        rows = log.frame.select(pl.col(shape.subject).alias("subject"), pl.col(shape.item).alias("item"))
        return rows.drop_nulls()


@dataclass(frozen=True, kw_only=True)
class OneTooFew(LimitActivity):
    """k - 1 users are enough."""

    said: ClassVar[str] = "does not keep its promise|the promise holds"

    def plan(self, learnt: None, log: Log, run: Run) -> Plan:
        return LimitActivity(k=max(2, self.k - 1), d=self.d).plan(learnt, log, run)


@dataclass(frozen=True, kw_only=True)
class NamesThoughNobodyIsPromised(LimitActivity):
    """Pseudonyms where the promise says that users are dropped."""

    said: ClassVar[str] = "does not keep its promise"

    def release(self, log: Log, plan: Plan, run: Run) -> Draft:
        return rename_subjects(without_details(keep_items(log, plan.table, run), run), log, "pseudonym", run)


@dataclass(frozen=True, kw_only=True)
class KeepsTimes(LimitActivity):
    """Times stay, though the promise says that nothing accompanies a query."""

    said: ClassVar[str] = "does not keep its promise"

    def release(self, log: Log, plan: Plan, run: Run) -> Draft:
        return rename_subjects(keep_items(log, plan.table, run), log, "drop", run)


@dataclass(frozen=True, kw_only=True)
class RefusesNobody(LimitActivity):
    """Does not ask whether there are k users."""

    said: ClassVar[str] = "was not refused"

    def promises(self, facts: Facts) -> tuple[QueryKAnonymity, ...]:  # noqa: ARG002
        return (QueryKAnonymity(k=self.k, users="drop", attrs="drop"),)


@dataclass(frozen=True, kw_only=True)
class DrawsOnItsOwn(LimitActivity):
    """Randomness of its own, which no seed repeats: another draw each time, so that chance never hides it."""

    said: ClassVar[str] = "the same seed gives the same release|it is the whole decision"
    turns: ClassVar[Iterator[int]] = count()

    def draw(self, pairs: pl.DataFrame, run: Run) -> pl.Series:  # noqa: ARG002
        return pl.Series(np.random.default_rng(next(self.turns)).permutation(pairs.height))


@dataclass(frozen=True, kw_only=True)
class DrawsByOrder(LimitActivity):
    """Random numbers from the seed, given to rows in the order in which they come."""

    said: ClassVar[str] = "never changes? the answer"

    def pairs(self, log: Log) -> pl.LazyFrame:
        shape = log.shape
        rows = log.frame.select(pl.col(shape.subject).alias("subject"), pl.col(shape.item).alias("item"))
        return rows.drop_nulls().unique(maintain_order=True)

    def draw(self, pairs: pl.DataFrame, run: Run) -> pl.Series:
        return pl.Series(run.stream("counting").permutation(pairs.height))


@dataclass(frozen=True, kw_only=True)
class SplitsUsers(LimitActivity):
    """Blocks by query, so that a user counts with d queries in each."""

    said: ClassVar[str] = "engine blocks never change the answer"
    blocks_by: ClassVar[tuple[str, ...]] = ("item",)


@dataclass(frozen=True, kw_only=True)
class CountsNobodyAsAPerson(LimitActivity):
    """Rows without a user are one more person."""

    said: ClassVar[str] = "rows of nobody would tip the scale"

    def pairs(self, log: Log) -> pl.LazyFrame:
        shape = log.shape
        rows = log.frame.select(pl.col(shape.subject).fill_null("").alias("subject"), pl.col(shape.item).alias("item"))
        return rows.unique()


@dataclass(frozen=True, kw_only=True)
class AllowsAnyValue(LimitActivity):
    """A parameter without allowed values."""

    said: ClassVar[str] = r"the annotation of \['d'\] lacks the values that are allowed"

    d: Annotated[int, Late(), "queries that a user counts with"] = 20

    def __post_init__(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class DeclaresNothing(LimitActivity):
    """A parameter without an annotation."""

    said: ClassVar[str] = r"the annotation of \['depth'\] lacks the values that are allowed"

    depth: int = 3


@dataclass(frozen=True, kw_only=True)
class IgnoresItsParameter(LimitActivity):
    """Reads d, and forgets to apply it."""

    said: ClassVar[str] = "no value of d changes a release"

    def plan(self, learnt: None, log: Log, run: Run) -> Plan:
        limit = max(self.d, 10_000)
        return LimitActivity(k=self.k, d=limit).plan(learnt, log, run)


@dataclass(frozen=True, kw_only=True)
class CountsWhatArrivesTogether(SuppressRare):
    """Counts users among the rows that it sees at once, which are all rows on one machine only."""

    said: ClassVar[str] = "where rows are never changes the answer|does not keep its promise"

    def plan(self, learnt: None, log: Log, run: Run) -> Plan:  # noqa: ARG002
        user, query, k = log.shape.subject, log.shape.item, self.k

        def counted(rows: pl.LazyFrame) -> pl.LazyFrame:
            degrees = rows.drop_nulls(user).group_by(item=query).agg(pl.col(user).n_unique().alias("degree"))
            return degrees.filter(pl.col("degree") >= k)

        return Plan(table=run.keep(run.each(log.frame, counted)))
