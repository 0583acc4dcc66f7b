"""Deliberately broken methods: the verifier must catch each of them."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from coterie.methods.suppress_rare import SuppressRare
from coterie.run import Draft


@dataclass(frozen=True, kw_only=True)
class ReleasesRare(SuppressRare):
    """Releases queries of k - 1 users."""

    def plan(self, log, run):
        return SuppressRare(k=self.k - 1).plan(log, run)


@dataclass(frozen=True, kw_only=True)
class CountsRows(SuppressRare):
    """Counts rows instead of users, the mistake of every first version."""

    def plan(self, log, run):  # noqa: ARG002
        item = pl.col(log.shape.item).alias("item")
        counts = log.frame.group_by(item).len("degree")
        return counts.filter(pl.col("degree") >= self.k)


@dataclass(frozen=True, kw_only=True)
class KeepsIds(SuppressRare):
    """Keeps original subjects."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        users = log.frame.select("row", pl.col(log.shape.subject).alias("_id"))
        frame = draft.frame.join(users, on="row").with_columns(pl.col("_id").alias(log.shape.subject))
        return Draft(frame=frame.drop("_id"), subjects=draft.subjects)


@dataclass(frozen=True, kw_only=True)
class HashesIds(SuppressRare):
    """Promises to drop subjects and releases a bare hash of them."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        users = log.frame.select("row", pl.col(log.shape.subject).hash().cast(pl.String).alias("_id"))
        frame = draft.frame.join(users, on="row").with_columns(pl.col("_id").alias(log.shape.subject))
        return Draft(frame=frame.drop("_id"), subjects=draft.subjects)


@dataclass(frozen=True, kw_only=True)
class KeepsDetails(SuppressRare):
    """Keeps urls (and other details) of single users."""

    def release(self, log, plan, run):
        loose = SuppressRare(k=self.k, attrs="keep").release(log, plan, run)
        days = loose.frame.with_columns(pl.col("time").dt.truncate("1d"))
        return Draft(frame=days, subjects=loose.subjects)


@dataclass(frozen=True, kw_only=True)
class KeepsRanks(SuppressRare):
    """Keeps the rank of a click whose url was removed."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        ranks = log.frame.select("row", pl.col("rank").alias("_rank"))
        frame = draft.frame.join(ranks, on="row").with_columns(pl.col("_rank").alias("rank"))
        return Draft(frame=frame.drop("_rank"), subjects=draft.subjects)


@dataclass(frozen=True, kw_only=True)
class KeepsTimes(SuppressRare):
    """Keeps the second at which somebody searched."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        times = log.frame.select("row", pl.col("time").alias("_time"))
        frame = draft.frame.join(times, on="row").with_columns(pl.col("_time").alias("time"))
        return Draft(frame=frame.drop("_time"), subjects=draft.subjects)


@dataclass(frozen=True, kw_only=True)
class KeepsAddresses(SuppressRare):
    """Keeps the address of a visit."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        found = log.frame.select("row", pl.col("address").alias("_address"))
        frame = draft.frame.join(found, on="row").with_columns(pl.col("_address").alias("address"))
        return Draft(frame=frame.drop("_address"), subjects=draft.subjects)


@dataclass(frozen=True, kw_only=True)
class InventsRows(SuppressRare):
    """Releases every row twice."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        return Draft(frame=pl.concat([draft.frame, draft.frame]), subjects=draft.subjects)


@dataclass(frozen=True, kw_only=True)
class InventsQueries(SuppressRare):
    """Releases a query that nobody issued."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        changed = pl.col(log.shape.item) + " made up"
        return Draft(frame=draft.frame.with_columns(changed), subjects=draft.subjects)


# method, shape, the check that must catch it
CAUGHT_BY = [
    (ReleasesRare, "QUERIES", "crowd.query"),
    (ReleasesRare, "VISITS", "crowd.path"),
    (CountsRows, "QUERIES", "crowd.query"),
    (KeepsIds, "QUERIES", "ids"),
    (KeepsIds, "QUERIES", "names"),
    (HashesIds, "QUERIES", "names"),
    (KeepsDetails, "QUERIES", "crowd.query.url"),
    (KeepsDetails, "VISITS", "crowd.path.bytes"),
    (KeepsRanks, "QUERIES", "alone.url"),
    (KeepsTimes, "QUERIES", "times"),
    (KeepsAddresses, "VISITS", "identifying"),
    (InventsRows, "QUERIES", "rows"),
    (InventsQueries, "QUERIES", "crowd.query"),
]
