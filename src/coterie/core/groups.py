"""Groups of an earlier release, for another release of the same log: the same groups, or unions of them.

Two releases with different groups can be laid side by side; two on the same groups, or on unions of them, cannot. A run
record tells who was in which group. Groups are known by a digest, and a run keeps the digests of those that its own are
unions of, so that a history can tell releases that go together from others.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import polars as pl

from coterie.core.log import Record
from coterie.core.shapes import GROUPS
from coterie.errors import InputError

GROUPS_DIGEST, GROUPS_OF = "groups", "groups_of"
"""What a run calls the digest of its groups, and the digests of those that they are unions of, the nearest first."""
_DAMAGED = "The table of subjects in the run record is damaged: use the record as it was written with the release."


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class EarlierGroups:
    """Who was in which group of an earlier release."""

    table: pl.LazyFrame
    """Of the shape GROUPS."""
    digests: tuple[str, ...]
    """Of these groups, then of those that they are unions of."""


def earlier_groups(record: Record) -> EarlierGroups:
    """The groups that a run record tells of; InputError where it has none."""
    members = _members(record.subjects)
    if members.is_empty():
        raise InputError(
            f"The run record is of a release by {record.run.get('method')}, which made no groups of users, so there "
            "are none to use again. Give the record of a release in which users share profiles."
        )
    if members["subject"].has_nulls() or members["subject"].is_duplicated().any():
        raise InputError(_DAMAGED)
    digests = (_digest(members), *record.run.get(GROUPS_OF, ()))
    return EarlierGroups(table=GROUPS.check(members.lazy()), digests=digests)


def groups_digest(subjects: pl.LazyFrame) -> str:
    """What groups are known by, whatever their numbers; empty where users are in none."""
    members = _members(subjects)
    return "" if members.is_empty() else _digest(members)


def _members(subjects: pl.LazyFrame) -> pl.DataFrame:
    """subject, group of those who are in one, in the order of subjects."""
    try:
        named = subjects.select(pl.col("original").cast(pl.String).alias("subject"), pl.col("group").cast(pl.UInt32))
        return named.drop_nulls("group").collect(engine="streaming").sort("subject")
    except (pl.exceptions.PolarsError, OSError):
        raise InputError(_DAMAGED) from None


def _digest(members: pl.DataFrame) -> str:
    first = members.select("subject", pl.col("subject").min().over("group").alias("first"))
    whole = hashlib.sha256()
    for part in first.iter_slices(100_000):
        whole.update(part.write_csv(include_header=False).encode())
    return whole.hexdigest()
