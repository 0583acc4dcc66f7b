"""Deliberately broken ways to release walks through a website: the judge must catch each of them."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np
import polars as pl

import coterie
from coterie.algorithms import walks as model
from coterie.core.plan import Draft
from coterie.methods.common_visits import CommonVisits

START = datetime(2020, 2, 3, 9)


def walk_log():
    """For k = 3: what each letter asked for, in visits an hour and more apart."""
    visits = [
        ("abcde", 0, "/tea /cups /pots"),  # five on one day
        ("fgh", 24, "/tea /cups /pots"),  # three on the next
        ("i", 48, "/tea /cups /pots"),  # one alone on the third: no day, and one day is given up for it
        ("z", 0, "/tea /cups /secret"),
        ("z", 3, "/own /page"),  # one person, four visits
        ("z", 5, "/own /page"),
        ("z", 7, "/own /page"),
        ("z", 9, "/own /page"),
        ("abc", 10, "/door"),  # three people, two visits each
        ("abc", 12, "/stairs"),
        ("de", 10, "/garden /gate"),  # two people
        ("jkl", 30, "/map"),  # three on one day
        ("mno", 54, "/map"),  # three on the next
    ]
    rows = [
        (who, START + timedelta(hours=hours, minutes=minute), path)
        for people, hours, walk in visits
        for who in people
        for minute, path in enumerate(walk.split())
    ]
    # Within one second, two people in one order and two in the other.
    for who, walk in (("p", "/north /south"), ("q", "/north /south"), ("r", "/south /north"), ("s", "/south /north")):
        rows += [(who, START + timedelta(hours=80), path) for path in walk.split()]
    return coterie.log(pl.DataFrame(rows, schema=["user", "time", "path"], orient="row"))


def _names(run, count):
    return run.pseudonyms(pl.Series([str(number) for number in range(count)]), taken=pl.Series([""]))


def _under_new_names(rows, run):
    """The rows of a release under the names that a run gives as many walks."""
    walks = rows.select("sequence").unique().sort("sequence")
    walks = walks.with_columns(_names(run, walks.height).alias("name"))
    return rows.join(walks, on="sequence").with_columns(pl.col("name").alias("sequence")).drop("name")


@dataclass(frozen=True, kw_only=True)
class _OfPaths(CommonVisits):
    """Paths as they are, so that what a twin changes is all that it changes."""

    paths: str = "exact"


@dataclass(frozen=True, kw_only=True)
class TooFewVisitors(_OfPaths):
    """Releases walks of k - 1 visitors."""

    def plan(self, learnt, log, run):
        return CommonVisits(k=self.k - 1, paths="exact").plan(learnt, log, run)


@dataclass(frozen=True, kw_only=True)
class CountsVisits(_OfPaths):
    """Counts how often a walk was walked, not by how many."""

    def plan(self, learnt, log, run):
        return super().plan(replace(learnt, visitor=np.cumsum(learnt.begins).astype(np.int32)), log, run)


@dataclass(frozen=True, kw_only=True)
class AcrossVisits(_OfPaths):
    """Takes all that a visitor ever asked for as one visit."""

    days: bool = False

    def _without_pauses(self, log):
        since = pl.col("time") - pl.lit(START)
        return replace(
            log, frame=log.frame.with_columns((pl.lit(START) + since / 10_000).cast(pl.Datetime("us")).alias("time"))
        )

    def plan(self, learnt, log, run):  # noqa: ARG002
        log = self._without_pauses(log)
        return super().plan(self.learn(log, run), log, run)

    def release(self, log, plan, run):
        return super().release(self._without_pauses(log), plan, run)


@dataclass(frozen=True, kw_only=True)
class ByTheAlphabet(_OfPaths):
    """Puts pages of one second in the order of the alphabet."""

    def _sorted(self, log):
        return replace(
            log, frame=log.frame.sort("path").with_columns(pl.int_range(pl.len(), dtype=pl.UInt64).alias("row"))
        )

    def plan(self, learnt, log, run):  # noqa: ARG002
        return super().plan(self.learn(self._sorted(log), run), log, run)

    def release(self, log, plan, run):
        return super().release(self._sorted(log), plan, run)


@dataclass(frozen=True, kw_only=True)
class BareDays(_OfPaths):
    """Puts the day beside every walk."""

    def plan(self, learnt, log, run):
        plan = super().plan(learnt, log, run)
        kinds = plan.tables["sequences"].select("kind").unique()
        days = pl.LazyFrame({"day": np.unique(learnt.day)})
        return replace(plan, tables={**plan.tables, "days": kinds.join(days, how="cross")})


@dataclass(frozen=True, kw_only=True)
class LeavesOneWithoutADay(_OfPaths):
    """Puts a day beside each walk that k visitors walked on it, whoever is left."""

    def plan(self, learnt, log, run):
        plan = super().plan(learnt, log, run)
        found, kinds = model.planned_sequences(
            model.walks(learnt, plan.table.collect()), plan.tables["sequences"].collect()
        )
        parts = pl.DataFrame({"kind": kinds, "day": found.day, "visitor": found.visitor})
        many = parts.group_by("kind", "day").agg(pl.col("visitor").n_unique()).filter(pl.col("visitor") >= self.k)
        return replace(plan, tables={**plan.tables, "days": many.select("kind", "day").lazy()})


@dataclass(frozen=True, kw_only=True)
class OneNameForEachVisitor(_OfPaths):
    """Gives all walks of a visitor one name."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        first = draft.subjects.drop_nulls("released").with_columns(
            pl.col("released").min().over("original").alias("_one")
        )
        frame = draft.frame.join(first.select("released", "_one"), left_on="sequence", right_on="released")
        return Draft(frame=frame.with_columns(pl.col("_one").alias("sequence")).drop("_one"), subjects=draft.subjects)


@dataclass(frozen=True, kw_only=True)
class WalksOn(OneNameForEachVisitor):
    """The same, as one long walk on no day."""

    days: bool = False

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        on = draft.frame.sort("row").with_columns(
            pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("sequence").alias("position")
        )
        return Draft(frame=_under_new_names(on.collect(), run).lazy(), subjects=draft.subjects)


@dataclass(frozen=True, kw_only=True)
class OnesOwnWalk(_OfPaths):
    """Releases k copies of one visitor's walk, as a centre of a group of visits would be."""

    days: bool = False

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        own = log.frame.filter(pl.col("user") == "z").sort("time").head(3).select(
            pl.lit("own").alias("sequence"), pl.int_range(1, pl.len() + 1, dtype=pl.Int32).alias("position"),
            "path", pl.lit(None, pl.Datetime("us")).alias("time"),
        ).collect()  # fmt: skip
        copies = [own.with_columns(pl.lit(f"own {n}").alias("sequence")) for n in range(self.k)]
        return Draft(
            frame=_under_new_names(pl.concat([draft.frame.drop("row").collect(), *copies]), run).lazy(),
            subjects=draft.subjects,
        )


@dataclass(frozen=True, kw_only=True)
class InventsWalks(_OfPaths):
    """Releases every walk twice."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        rows = draft.frame.drop("row").collect()
        twice = pl.concat([rows, rows.with_columns(pl.col("sequence") + " again")])
        return Draft(frame=_under_new_names(twice, run).lazy(), subjects=draft.subjects)


@dataclass(frozen=True, kw_only=True)
class HidesVisitors(_OfPaths):
    """Releases walks of k visitors, and only those of one."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        one = draft.subjects.filter(pl.col("original") == "a").select(pl.col("released").alias("sequence"))
        rows = draft.frame.drop("row").join(one, on="sequence", how="semi").collect()
        return Draft(frame=_under_new_names(rows, run).lazy(), subjects=draft.subjects)


@dataclass(frozen=True, kw_only=True)
class KeepsSeconds(_OfPaths):
    """Keeps the second at which a walk began."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        when = draft.frame.join(log.frame.select("row", pl.col("time").alias("_time")), on="row")
        first = pl.col("_time").min().over("sequence").alias("time")
        return Draft(frame=when.with_columns(first).drop("_time"), subjects=draft.subjects)


@dataclass(frozen=True, kw_only=True)
class TellsTimes(_OfPaths):
    """Promises no times and releases days."""

    days: bool = False

    def plan(self, learnt, log, run):
        return CommonVisits(k=self.k, paths="exact").plan(learnt, log, run)


@dataclass(frozen=True, kw_only=True)
class NamesFromVisitors(_OfPaths):
    """Makes names of visitors that look random."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        subjects = draft.subjects.drop_nulls("released").collect()
        turn = pl.int_range(pl.len()).over("original")
        texts = subjects.select(pl.format("{} {}", "original", turn)).to_series().to_list()
        hashed = [
            base64.b32encode(hashlib.blake2b(text.encode(), digest_size=10).digest()).decode().lower() for text in texts
        ]
        made = subjects.select(sequence="released").with_columns(pl.Series("_made", [f"u_{text}" for text in hashed]))
        frame = (
            draft.frame.join(made.lazy(), on="sequence").with_columns(pl.col("_made").alias("sequence")).drop("_made")
        )
        return Draft(frame=frame, subjects=draft.subjects)


@dataclass(frozen=True, kw_only=True)
class KeepsRarePaths(CommonVisits):
    """Promises to cut rare paths and releases them as they are, where others walk there."""

    def plan(self, learnt, log, run):
        plan = super().plan(learnt, log, run)
        cut = pl.when(pl.col("page") == "/*").then(pl.lit("/secret")).otherwise("page").alias("page")
        into = pl.when(pl.col("into") == "/*").then(pl.lit("/secret")).otherwise("into").alias("into")
        tables = {**plan.tables, "sequences": plan.tables["sequences"].with_columns(cut)}
        return replace(plan, table=plan.table.with_columns(into), tables=tables)


CAUGHT_BY = [
    (TooFewVisitors, "crowd.sequence"),
    (CountsVisits, "crowd.sequence"),
    (AcrossVisits, "crowd.sequence"),
    (ByTheAlphabet, "crowd.sequence"),
    (BareDays, "crowd.sequence.time"),
    (LeavesOneWithoutADay, "crowd.sequence.time"),
    (OneNameForEachVisitor, "walks"),
    (WalksOn, "crowd.sequence"),
    (OnesOwnWalk, "crowd.sequence"),
    (InventsWalks, "rows.sequence"),
    (HidesVisitors, "rows.sequence"),
    (KeepsSeconds, "times"),
    (TellsTimes, "times"),
    (NamesFromVisitors, "seeded"),
    (KeepsRarePaths, "crowd.sequence"),
]
