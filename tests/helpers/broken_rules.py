"""Deliberately broken methods that release single queries by rules of search-data sharing; verify must catch each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

import coterie
from coterie.core.plan import learn
from coterie.methods.allowlist import Allowlist


def _plan_of(method, log, run):
    return method.plan(learn(method, log, run), log, run)


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

    def learn(self, log, run):
        return super().learn(replace(log, frame=log.frame.with_columns(pl.col("user").fill_null("nobody"))), run)


@dataclass(frozen=True, kw_only=True)
class AllowsAcross(Allowlist):
    """Counts words of one person together that were typed in two queries."""

    def learn(self, log, run):
        joined = log.frame.with_columns(pl.col("query").str.join(" ").over("user").alias("query"))
        return super().learn(replace(log, frame=pl.concat([log.frame, joined])), run)

    def plan(self, learnt, log, run):
        plan = super().plan(learnt, log, run)
        own = log.frame.select(pl.col("query").alias("item")).unique()
        return replace(plan, table=plan.table.join(own, on="item", how="semi"))


@dataclass(frozen=True, kw_only=True)
class AllowsTwice(Allowlist):
    """Releases every row twice."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        return replace(draft, frame=pl.concat([draft.frame, draft.frame]))


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
    (AllowsLong, words_log, "length.query"),
    (AllowsTwice, words_log, "rows.query"),
]  # fmt: skip
