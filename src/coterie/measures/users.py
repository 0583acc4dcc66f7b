"""Users before and after a release, with everything that the distance of users looks at.

For measures that compare users with the profiles they got. Such a release has one name for each user; where it was made
of groups, a sample takes groups as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.core import randomness
from coterie.core.run import HERE, Run
from coterie.core.shapes import QUERIES
from coterie.errors import NotApplicableError
from coterie.measures.comparison import Comparison

if TYPE_CHECKING:
    from coterie.models.events import Scales


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Users:
    """Users that have a profile in both logs: all of them, or a sample."""

    members: pl.DataFrame
    """user, group; a user who shares a profile with nobody by design is a group of one."""
    before: pl.DataFrame
    """user and the columns of an event, sorted: the original."""
    after: pl.DataFrame
    """The same for the release, with users under their original names."""
    scales_before: Scales
    scales_after: Scales
    total: int
    """How many there are with those that are not in the sample."""
    seed: int

    def keys(self, purpose: str, subjects: pl.Series) -> NDArray[np.uint64]:
        """A random number for each subject."""
        return randomness.keys(self.seed, purpose, subjects)

    @property
    def unit(self) -> str:
        """The unit of the number of users: says when they are a sample."""
        return "users" if self.members.height == self.total else f"of {self.total} users"


def users_of(comparison: Comparison, most: int) -> Users:
    """The users of a comparison; where there are more than `most`, a random sample of whole groups."""
    for log, shape in (("log", comparison.log.shape), ("release", comparison.release.log.shape)):
        if shape.plain is not QUERIES:
            raise NotApplicableError(f"It compares what users searched for, and this {log} is {shape.name}.")
    from coterie.models import events

    columns, needed = [QUERIES.subject, *events.EVENT], [QUERIES.subject, QUERIES.item]
    before, after = (log.frame.select(columns).drop_nulls(needed) for log in (comparison.log, comparison.release.log))
    everybody = _with_groups(_names(comparison, before, after))
    chosen = _sample(everybody, most, comparison.seed)
    run, names, theirs = Run(engine=HERE), chosen.select("user").lazy(), chosen.select(user="released").lazy()
    profiles = run.small(after.join(theirs, on="user", how="semi")).rename({"user": "released"})
    renamed = profiles.join(chosen.select("user", "released"), on="released").select(columns)
    return Users(
        members=chosen.select("user", "group"),
        before=run.small(before.join(names, on="user", how="semi")).sort("user", *events.EVENT_ORDER),
        after=renamed.sort("user", *events.EVENT_ORDER),
        scales_before=comparison.of_log("scales", lambda: events.Scales.of_rows(before, run)),
        scales_after=events.Scales.of_rows(after, run),
        total=everybody.height,
        seed=comparison.seed,
    )


def _names(comparison: Comparison, before: pl.LazyFrame, after: pl.LazyFrame) -> pl.DataFrame:
    """user, released, group (or null) of users that have rows in both logs."""
    of_original, of_release = (rows.select("user").unique() for rows in (before, after))
    subjects = comparison.record.subjects.rename({"original": "user"}).drop_nulls(["user", "released"])
    in_both = subjects.join(of_original, on="user", how="semi").join(
        of_release, left_on="released", right_on="user", how="semi"
    )  # fmt: skip
    names = in_both.select("user", "released", "group").collect(engine="streaming").sort("user", "released")
    if names.is_empty():
        raise NotApplicableError(
            "It compares users with their released profiles, and no row of the release has a name."
        )
    if names["user"].is_duplicated().any():
        raise NotApplicableError(
            "It compares users with their released profiles, and users have several names in this release."
        )
    return names


def _with_groups(names: pl.DataFrame) -> pl.DataFrame:
    """Groups numbered in the order of their first members, so that the numbers in the record do not matter."""
    first = pl.when(pl.col("group").is_null()).then("user").otherwise(pl.col("user").min().over("group"))
    return names.with_columns(first.alias("first")).with_columns(
        (pl.col("first").rank("dense") - 1).cast(pl.UInt32).alias("group")
    )


def _sample(everybody: pl.DataFrame, most: int, seed: int) -> pl.DataFrame:
    """As many random groups as have at most `most` users together, and at least one."""
    if everybody.height <= most:
        return everybody
    groups = everybody.group_by("first").len("size").sort("first")
    order = np.argsort(randomness.keys(seed, "sample of groups", groups["first"]), kind="stable")
    shuffled = groups[order]
    fits = (shuffled["size"].cum_sum() <= most) | (pl.Series(range(shuffled.height)) == 0)
    return everybody.join(shuffled.filter(fits), on="first", how="semi").sort("user")
