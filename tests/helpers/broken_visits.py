"""Deliberately broken methods on access logs, and a log in which each of them breaks its promise."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import polars as pl

import coterie
from coterie.algorithms.pages import INTO, ITEM, stays
from coterie.core.plan import Draft
from coterie.methods.generalize_visits import GeneralizeVisits

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:{0}.0) Gecko/20100101 Firefox/{0}.0"
CHROME = "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{0}.0.0.0 Safari/537.36"
_PATHS = ["/tea/green", "/tea/green?cup=2", "/tea/black", "/tea/white/old", "/tea/white/new", "/ten/one", "/", "/maps"]
_REFERRERS = [None, "http://one.example/a?b", "https://two.example:80/", "three.example"]


def visited(rows=160, visitors=12, seed=3):
    """An access log of a few visitors who share much, and something with nobody."""
    draw = random.Random(seed)
    start = datetime(2020, 2, 3, 22)
    requests = [(draw.randrange(visitors + 1), draw.choice(_PATHS)) for _ in range(rows)]
    requests += [(0, "/tea/rare"), (1, "/one"), (2, "/two"), (3, "/own/3"), (4, "/own/4"), (5, "/own/5")]
    lines = []
    for who, path in requests:
        agent = (FIREFOX if who % 2 else CHROME).format(100 + who)
        time = start + timedelta(minutes=draw.randrange(200))
        method, status = draw.choice(["GET", "GET", "POST"]), draw.choice([200, 304])
        user = None if who == visitors else f"10.0.0.{who} {agent}"
        lines.append((user, f"10.0.0.{who}", path, draw.choice(_REFERRERS), agent, time, method, status))
    columns = ["user", "address", "path", "referrer", "agent", "time", "method", "status"]
    return coterie.log(pl.DataFrame(lines, schema=columns, orient="row"))


def _putting_back(draft, log, column, value=None):
    """A draft in which a column has what the original has."""
    original = log.frame.select("row", (pl.col(column) if value is None else value).alias("_original"))
    frame = draft.frame.join(original, on="row").with_columns(pl.col("_original").alias(column))
    return Draft(frame=frame.drop("_original"), subjects=draft.subjects)


def _crowds(visits, key):
    """How many visitors each key has."""
    return visits.group_by(key).agg(pl.col("visitor").drop_nulls().n_unique().alias("crowd"))


@dataclass(frozen=True, kw_only=True)
class CountsRequests(GeneralizeVisits):
    """Counts rows instead of visitors."""

    def plan(self, learnt, log, run):
        own = log.frame.with_columns(pl.col("row").cast(pl.String).alias("user"))
        return super().plan(learnt, replace(log, frame=own), run)


@dataclass(frozen=True, kw_only=True)
class CountsAFriendLess(GeneralizeVisits):
    """Releases what k - 1 visitors did."""

    def plan(self, learnt, log, run):
        return GeneralizeVisits(k=self.k - 1, details=self.details).plan(learnt, log, run)


@dataclass(frozen=True, kw_only=True)
class CountsNobody(GeneralizeVisits):
    """Counts a missing visitor as one."""

    def plan(self, learnt, log, run):
        named = log.frame.with_columns(pl.col("user").fill_null("nobody"))
        return super().plan(learnt, replace(log, frame=named), run)


@dataclass(frozen=True, kw_only=True)
class ForgetsWhoIsLeft(GeneralizeVisits):
    """Keeps a detail wherever k visitors share it, and does not look at those who are left without it."""

    details: str = "referrer"

    def plan(self, learnt, log, run):
        plan = super().plan(learnt, log, run)
        visits = self._visits(log, plan.table, plan.tables, run)
        kinds = visits.select(INTO, "referrer").unique()
        crowds = _crowds(visits, [INTO, "referrer"]).with_columns(
            (pl.col("referrer").is_not_null() & (pl.col("crowd") >= self.k)).alias(stays("referrer"))
        )
        kept = kinds.join(crowds.drop("crowd"), on=[INTO, "referrer"], nulls_equal=True)
        return replace(plan, tables={**plan.tables, "details": kept})


@dataclass(frozen=True, kw_only=True)
class CountsThePagesThatStay(GeneralizeVisits):
    """Cuts a path to a prefix of k visitors, among whom it counts those whose rows are released with their own page."""

    details: str = "none"

    def plan(self, learnt, log, run):
        plan = super().plan(learnt, log, run)
        visits = log.frame.select(pl.col("user").alias("visitor"), pl.col("path").alias(ITEM))
        exact = _crowds(visits, [ITEM]).filter(pl.col("crowd") >= self.k).select(ITEM, pl.col(ITEM).alias(INTO))
        folder = (pl.col(ITEM).str.extract("^(.*)/") + "/*").alias(INTO)
        folders = visits.with_columns(folder)
        enough = _crowds(folders, [INTO]).filter(pl.col("crowd") >= self.k)
        others = folders.join(exact, on=ITEM, how="anti").join(enough, on=INTO, how="semi").select(ITEM, INTO).unique()
        return replace(plan, table=pl.concat([exact, others]))


@dataclass(frozen=True, kw_only=True)
class CountsDetailsOneByOne(GeneralizeVisits):
    """Keeps each detail where k visitors share it with the page, whatever else is released beside it."""

    def plan(self, learnt, log, run):
        plan = super().plan(learnt, log, run)
        visits = self._visits(log, plan.table, plan.tables, run).collect().lazy()
        kept = visits.select(INTO, *self._details).unique()
        for detail in self._details:
            crowds = _crowds(visits, [INTO, detail]).drop_nulls(detail)
            enough = crowds.select(INTO, detail, (pl.col("crowd") >= self.k).alias(stays(detail)))
            kept = kept.join(enough, on=[INTO, detail], how="left").with_columns(pl.col(stays(detail)).fill_null(False))
        return replace(plan, tables={**plan.tables, "details": kept})


@dataclass(frozen=True, kw_only=True)
class CutsByCharacters(GeneralizeVisits):
    """Cuts paths after three letters, in the middle of a segment: /te/* is the beginning of nobody's path."""

    details: str = "none"

    def plan(self, learnt, log, run):
        plan = super().plan(learnt, log, run)
        short = pl.when(pl.col(ITEM).str.len_chars() > 3).then(pl.col(ITEM).str.head(3) + "/*").otherwise(INTO)
        return replace(plan, table=plan.table.with_columns(short.alias(INTO)))


@dataclass(frozen=True, kw_only=True)
class KeepsAddresses(GeneralizeVisits):
    """Keeps the address of a visit."""

    def release(self, log, plan, run):
        return _putting_back(super().release(log, plan, run), log, "address")


@dataclass(frozen=True, kw_only=True)
class KeepsAgents(GeneralizeVisits):
    """Keeps agents as browsers name themselves."""

    def release(self, log, plan, run):
        return _putting_back(super().release(log, plan, run), log, "agent")


@dataclass(frozen=True, kw_only=True)
class KeepsReferrers(GeneralizeVisits):
    """Keeps the whole referrer where its host was shared."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        whole = _putting_back(draft, log, "referrer").frame.select("row", pl.col("referrer").alias("_whole"))
        told = pl.when(pl.col("referrer").is_not_null()).then("_whole").alias("referrer")
        return replace(draft, frame=draft.frame.join(whole, on="row").with_columns(told).drop("_whole"))


@dataclass(frozen=True, kw_only=True)
class KeepsMinutes(GeneralizeVisits):
    """Keeps the minute."""

    def release(self, log, plan, run):
        minute = pl.col("time").dt.truncate("1m")
        return _putting_back(super().release(log, plan, run), log, "time", minute)


@dataclass(frozen=True, kw_only=True)
class KeepsWhatNobodyAskedFor(GeneralizeVisits):
    """Keeps the status, which is not among the details."""

    def release(self, log, plan, run):
        return _putting_back(super().release(log, plan, run), log, "status")


@dataclass(frozen=True, kw_only=True)
class KeepsVisitors(GeneralizeVisits):
    """Keeps who it was."""

    def release(self, log, plan, run):
        return _putting_back(super().release(log, plan, run), log, "user")


@dataclass(frozen=True, kw_only=True)
class RepeatsRows(GeneralizeVisits):
    """Releases every row twice."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        return replace(draft, frame=pl.concat([draft.frame, draft.frame]))


@dataclass(frozen=True, kw_only=True)
class InventsHosts(GeneralizeVisits):
    """Says that all came from one host."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        return replace(draft, frame=draft.frame.with_columns(pl.lit("one.example").alias("referrer")))


CAUGHT_BY = [
    (CountsRequests, "crowd.row"),
    (CountsAFriendLess, "crowd.row"),
    (CountsNobody, "crowd.row"),
    (ForgetsWhoIsLeft, "crowd.row"),
    (CountsThePagesThatStay, "crowd.row"),
    (CountsDetailsOneByOne, "crowd.row"),
    (CutsByCharacters, "visits"),
    (KeepsAddresses, "identifying"),
    (KeepsAddresses, "details"),
    (KeepsAgents, "visits"),
    (KeepsReferrers, "visits"),
    (KeepsMinutes, "times"),
    (KeepsWhatNobodyAskedFor, "details"),
    (KeepsVisitors, "names"),
    (KeepsVisitors, "ids"),
    (RepeatsRows, "visits"),
    (InventsHosts, "visits"),
]
