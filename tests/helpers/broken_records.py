"""Deliberately broken ways to put records in place of visits: the judge must catch each of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import polars as pl

import coterie
from coterie.lab.microaggregate_visits.method import MicroaggregateVisits
from tests.helpers.random_visits import AGENTS

START = datetime(2020, 2, 3, 9)


def record_log():
    """For k = 3: seven visitors; one of them, z, asked for a page of their own again and again."""
    visits = [
        ("abcdef", "/tea/green"),
        ("abc", "/tea/black"),
        ("defz", "/maps/1"),
        ("zzzz", "/secret/page"),
        ("ab", "/maps/2"),
        ("z", "/tea/red"),
    ]
    rows = [
        (
            who,
            f"10.0.0.{ord(who) % 16}",
            START + timedelta(minutes=47 * number + ord(who) + place),
            path,
            f"http://{who}.news.example/{path[1:4]}",
            AGENTS[ord(who) % 3],
            200 + ord(who),  # each has a status of their own
        )
        for number, (people, path) in enumerate(visits)
        for place, who in enumerate(people)
    ]
    schema = ["user", "address", "time", "path", "referrer", "agent", "status"]
    return coterie.log(pl.DataFrame(rows, schema=schema, orient="row").with_columns(method=pl.lit("GET")))


def _plan_of(method, log, run):
    return method.plan(method.learn(log, run), log, run)


@dataclass(frozen=True, kw_only=True)
class TooFew(MicroaggregateVisits):
    """Groups of k - 1."""

    def plan(self, learnt, log, run):  # noqa: ARG002
        return _plan_of(MicroaggregateVisits(k=self.k - 1, visitors=self.visitors, leftovers="suppress"), log, run)


@dataclass(frozen=True, kw_only=True)
class TooFewRecords(TooFew):
    """Groups of k - 1 records, of any visitors."""

    visitors: bool = False


@dataclass(frozen=True, kw_only=True)
class CountsRecords(MicroaggregateVisits):
    """Promises visitors and counts records."""

    def plan(self, learnt, log, run):
        return MicroaggregateVisits(k=self.k, visitors=False).plan(learnt, log, run)


def _putting_back(draft, log, column):
    """A draft in which a column has the value of the original row again."""
    original = log.frame.select("row", pl.col(column).alias("_original"))
    frame = draft.frame.join(original, on="row").with_columns(pl.col("_original").alias(column))
    return replace(draft, frame=frame.drop("_original"))


@dataclass(frozen=True, kw_only=True)
class KeepsAddresses(MicroaggregateVisits):
    """Releases the address of each visit."""

    def release(self, log, plan, run):
        return _putting_back(super().release(log, plan, run), log, "address")


@dataclass(frozen=True, kw_only=True)
class KeepsCommonAddresses(MicroaggregateVisits):
    """Releases the address that all records of a group have in common, as the paper does."""

    visitors: bool = False

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        one = log.frame.join(plan.table, on="row").group_by("group").agg(
            pl.col("address").first().alias("_one"), pl.col("address").n_unique().alias("_n")
        )  # fmt: skip
        given = plan.table.join(one, on="group").select("row", pl.when(pl.col("_n") == 1).then("_one").alias("_one"))
        frame = draft.frame.join(given, on="row").with_columns(pl.col("_one").alias("address")).drop("_one")
        return replace(draft, frame=frame)


@dataclass(frozen=True, kw_only=True)
class KeepsPages(MicroaggregateVisits):
    """Releases the page of one record of each group in place of what all have in common: somebody's own page."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        rows = log.frame.select("row", pl.col("path").alias("_own")).join(plan.table, on="row")
        own = rows.with_columns(pl.col("_own").max().over("group")).select("row", "_own")
        frame = draft.frame.join(own, on="row").with_columns(pl.col("_own").alias("path")).drop("_own")
        return replace(draft, frame=frame)


@dataclass(frozen=True, kw_only=True)
class KeepsRareValues(MicroaggregateVisits):
    """Releases commonest values of one visitor alone."""

    def release(self, log, plan, run):
        return MicroaggregateVisits(k=self.k, visitors=False).release(log, plan, run)


@dataclass(frozen=True, kw_only=True)
class KeepsVisitors(MicroaggregateVisits):
    """Releases records under the names of visitors."""

    def release(self, log, plan, run):
        return _putting_back(super().release(log, plan, run), log, "user")


@dataclass(frozen=True, kw_only=True)
class CopiesOne(MicroaggregateVisits):
    """Releases k copies of each visit of one visitor, and says that others are behind them."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        rows = draft.frame.collect()
        own = log.frame.filter(pl.col("user") == "z").collect().with_columns(
            pl.lit(None, pl.String).alias(name) for name in ("user", "address", "agent", "referrer")
        ).select(rows.columns)  # fmt: skip
        copies = pl.concat([own] * (rows.height // own.height + 1)).head(rows.height)
        return replace(draft, frame=copies.with_columns(rows["row"]).lazy())


@dataclass(frozen=True, kw_only=True)
class CopiesMore(MicroaggregateVisits):
    """Releases every record twice."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        return replace(draft, frame=pl.concat([draft.frame, draft.frame]))


@dataclass(frozen=True, kw_only=True)
class HidesAmongStrangers(MicroaggregateVisits):
    """Says in the record that rows of others are behind the records of one visitor."""

    def plan(self, learnt, log, run):
        plan = MicroaggregateVisits(k=self.k, visitors=False).plan(learnt, log, run)
        said = MicroaggregateVisits(k=self.k).plan(learnt, log, run).table
        return replace(plan, evidence={"clusters": said})


CAUGHT_BY = [
    (TooFew, "copies"),
    (TooFew, "visitors"),
    (TooFewRecords, "copies"),
    (CountsRecords, "visitors"),
    (KeepsAddresses, "identifying"),
    (KeepsCommonAddresses, "identifying"),
    (KeepsPages, "records"),
    (KeepsRareValues, "records"),
    (KeepsVisitors, "names"),
    (KeepsVisitors, "ids"),
    (CopiesOne, "records"),
    (CopiesMore, "records"),
    (HidesAmongStrangers, "records"),
]
