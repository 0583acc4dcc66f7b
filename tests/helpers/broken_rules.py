"""Deliberately broken methods that release single queries by rules of search-data sharing; verify must catch each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import polars as pl

import coterie
from coterie.methods.affinity import Affinity
from coterie.methods.allowlist import Allowlist
from coterie.methods.generalize import Generalize
from coterie.methods.suppress_rare import SuppressRare
from coterie.methods.unprotected import Unprotected


def _plan_of(method, log, run):
    return method.plan(method.learn(log, run), log, run)


@dataclass(frozen=True, kw_only=True)
class AllowsWords(Allowlist):
    """Promises every two words and looks at each alone, as a list of common words does."""

    def plan(self, learnt, log, run):  # noqa: ARG002
        return _plan_of(Allowlist(k=self.k, words=1), log, run)


@dataclass(frozen=True, kw_only=True)
class AllowsPairs(Allowlist):
    """Promises all words together and looks at every two."""

    words: int | str = "all"

    def plan(self, learnt, log, run):  # noqa: ARG002
        return _plan_of(Allowlist(k=self.k, words=2), log, run)


@dataclass(frozen=True, kw_only=True)
class AllowsFewer(Allowlist):
    """Is content with k - 1 users."""

    def plan(self, learnt, log, run):  # noqa: ARG002
        return _plan_of(Allowlist(k=self.k - 1), log, run)


@dataclass(frozen=True, kw_only=True)
class AllowsLong(Allowlist):
    """Releases queries of any length."""

    max_words: int = 2

    def plan(self, learnt, log, run):  # noqa: ARG002
        return _plan_of(Allowlist(k=self.k, max_words=100), log, run)


@dataclass(frozen=True, kw_only=True)
class AllowsNobody(Allowlist):
    """Counts a missing user as one."""

    def plan(self, learnt, log, run):
        named = replace(log, frame=log.frame.with_columns(pl.col("user").fill_null("nobody")))
        return super().plan(learnt, named, run)


@dataclass(frozen=True, kw_only=True)
class AllowsAcross(Allowlist):
    """Counts words of one person together that were typed in two queries."""

    def plan(self, learnt, log, run):
        joined = log.frame.with_columns(pl.col("query").str.join(" ").over("user").alias("query"))
        plan = super().plan(learnt, replace(log, frame=pl.concat([log.frame, joined])), run)
        own = log.frame.select(pl.col("query").alias("item")).unique()
        return replace(plan, table=plan.table.join(own, on="item", how="semi"))


@dataclass(frozen=True, kw_only=True)
class AllowsTwice(Allowlist):
    """Releases every row twice."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        return replace(draft, frame=pl.concat([draft.frame, draft.frame]))


@dataclass(frozen=True, kw_only=True)
class FewerForWhatAccompanies(SuppressRare):
    """Promises three users for what accompanies a query and is content with two."""

    k_details: int | str = 3

    def release(self, log, plan, run):
        return SuppressRare(k=self.k, k_details=2).release(log, plan, run)


@dataclass(frozen=True, kw_only=True)
class FinerTimes(SuppressRare):
    """Promises months and releases days."""

    times: str = "month"

    def release(self, log, plan, run):
        return SuppressRare(k=self.k, times="day").release(log, plan, run)


@dataclass(frozen=True, kw_only=True)
class AnotherMonth(SuppressRare):
    """Promises quarters and releases months."""

    times: str = "quarter"

    def release(self, log, plan, run):
        return SuppressRare(k=self.k, times="month").release(log, plan, run)


@dataclass(frozen=True, kw_only=True)
class LinksMore(SuppressRare):
    """Promises names for two queries and links three."""

    users: str = "mini"
    link_queries: int = 2

    def release(self, log, plan, run):
        return SuppressRare(k=self.k, users="mini", link_queries=3).release(log, plan, run)


@dataclass(frozen=True, kw_only=True)
class LinksLonger(SuppressRare):
    """Promises names for ten minutes and links an hour."""

    users: str = "mini"
    link_minutes: int = 10

    def release(self, log, plan, run):
        return SuppressRare(k=self.k, users="mini", link_minutes=60).release(log, plan, run)


@dataclass(frozen=True, kw_only=True)
class LinksDays(SuppressRare):
    """Promises a name for each day and releases one for each person."""

    users: str = "day"

    def release(self, log, plan, run):
        return SuppressRare(k=self.k, users="pseudonym").release(log, plan, run)


@dataclass(frozen=True, kw_only=True)
class NamesDaysByHash(SuppressRare):
    """Gives days names that can be made from the user number by anybody."""

    users: str = "day"

    def release(self, log, plan, run):
        return super().release(log, plan, replace(run, seed=1, naming=lambda: ""))


@dataclass(frozen=True, kw_only=True)
class _Ever:
    """Promises users of the last days and counts those of all times: a list that got old."""

    window: str = "2d"

    def plan(self, learnt, log, run):  # noqa: ARG002
        _, honest = type(self).__bases__
        return _plan_of(honest(k=self.k), log, run)


@dataclass(frozen=True, kw_only=True)
class CountsEver(_Ever, SuppressRare):
    """Users behind a query."""


@dataclass(frozen=True, kw_only=True)
class AllowsEver(_Ever, Allowlist):
    """The same for words."""


@dataclass(frozen=True, kw_only=True)
class CoversEver(_Ever, Affinity):
    """The same for queries that others cover."""


@dataclass(frozen=True, kw_only=True)
class GeneralizesEver(_Ever, Generalize):
    """The same for concepts."""


@dataclass(frozen=True, kw_only=True)
class SaysOtherTimes(Unprotected):
    """Promises nothing, and releases times that are finer than it says."""

    def release(self, log, plan, run):
        return Unprotected(times="hour").release(log, plan, run)


@dataclass(frozen=True, kw_only=True)
class FurtherDetailsKept(SuppressRare):
    """Counts page, rank and day, and lets further details stay with them."""

    def release(self, log, plan, run):
        draft = super().release(log.plain, plan, run)
        own = log.frame.select("row", *log.shape.further)
        released = log.shape.with_levels().released
        return replace(draft, frame=draft.frame.join(own, on="row", how="left").select("row", *released))


@dataclass(frozen=True, kw_only=True)
class FewerForFurtherDetails(Allowlist):
    """Is content with two users for device, page, rank and day."""

    def release(self, log, plan, run):
        return Allowlist(k=self.k, k_details=2).release(log, plan, run)


def devices_log():
    """For k = 3: three people ask the same on one day, two with a phone."""
    rows = [(user, "red tea", "2026-03-04 09:00:00", "desk" if user == "c" else "phone") for user in "abc"]
    frame = pl.DataFrame(rows, schema=["user", "query", "time", "device"], orient="row")
    return coterie.log(frame, details="device")


def timed_log():
    """For k = 3: three people ask the same within an hour, on a Wednesday and the day after; two of them clicked."""
    day = datetime(2026, 3, 4, 9)
    rows = []
    for late, user in enumerate("abc"):
        for minutes, query in enumerate(("tea", "rum", "gin")):
            click = ("x.example", 1) if user != "c" and query == "tea" else (None, None)
            rows.append((user, query, day + timedelta(minutes=late + 9 * minutes), *click))
        rows.append((user, "old", day - timedelta(days=40 + late), None, None))
        rows.append((user, "tea", day + timedelta(days=1, minutes=late), None, None))
    return coterie.log(pl.DataFrame(rows, schema=["user", "query", "time", "url", "rank"], orient="row"))


def old_log():
    """For k = 3: three people asked for violins long ago; three others ask for something else today."""
    day = datetime(2026, 3, 4)
    rows = [(user, "violin", day - timedelta(days=40)) for user in "abc"] + [(user, "xyzzy", day) for user in "def"]
    return coterie.log(pl.DataFrame(rows, schema=["user", "query", "time"], orient="row"))


def words_log():
    """For k = 3: red, tea and cup in every pair with three users, the three together with one, and several traps."""
    parts = [
        ("abc", "red tea"), ("abd", "red cup"), ("acd", "tea cup"), ("a", "red tea cup"),
        ("ab", "old pot"), ("c", "old hat"), ("d", "hat pot"), ("ab", "hat"),  # each word has three, no pair has
        ("ab-", "new pan"),
        ("abc", "oak"), ("abc", "elm"), ("d", "oak elm"),  # both of three people, together of one
    ]  # fmt: skip
    rows = [(None if user == "-" else user, query) for users, query in parts for user in users]
    return coterie.log(pl.DataFrame(rows, schema=["user", "query"], orient="row"))


CAUGHT_BY = [
    *((method, words_log, "crowd.words.query") for method in (
        AllowsWords, AllowsPairs, AllowsFewer, AllowsNobody, AllowsAcross
    )),
    (FewerForWhatAccompanies, timed_log, "crowd.query.url.rank.time"),
    (FewerForWhatAccompanies, timed_log, "tuples.query"),
    (FinerTimes, timed_log, "times"),
    (AnotherMonth, timed_log, "times"),
    (LinksMore, timed_log, "size"),
    (LinksMore, timed_log, "links"),
    (LinksLonger, timed_log, "links"),
    (LinksDays, timed_log, "links"),
    (LinksDays, timed_log, "seeded"),
    (NamesDaysByHash, timed_log, "seeded"),
    (CountsEver, timed_log, "crowd.query"),
    (AllowsEver, timed_log, "crowd.words.query"),
    (CoversEver, timed_log, "cover.query"),
    (GeneralizesEver, old_log, "crowd.query"),
    (SaysOtherTimes, timed_log, "tuples.query"),
    (FurtherDetailsKept, devices_log, "tuples.query"),
    (FurtherDetailsKept, devices_log, "crowd.query.url.rank.device.time"),
    (FewerForFurtherDetails, devices_log, "tuples.query"),
    (FewerForFurtherDetails, devices_log, "crowd.query.url.rank.device.time"),
    (AllowsLong, words_log, "length.query"),
    (AllowsTwice, words_log, "rows.query"),
]  # fmt: skip
