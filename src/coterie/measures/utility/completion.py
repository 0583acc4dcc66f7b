"""How well can later queries be completed from their first letters, with what was released?

What a search box does: somebody types three letters, and the released strings that begin with them are suggested, the
most frequent ones first. The first three letters of up to six later queries of each user, drawn by the seed, are
typed; queries of three letters and fewer are not asked for. The rank of a suggestion c is by

    without_profile    how often c stands in the release, as a share of its rows
    with_profile       that share, plus the share of c in the rows of the profile that was released for the person

and its value 1 / rank, up to rank 10, and 0 where the query is not suggested; among equals, the mean over all orders.
Both numbers are means over users (MRR@10), in percent. `before` is the same with the original earlier queries, and
those of the person. `with_profile` is given where each user has one name in the release, and its run record tells it.

    others             the same without a profile, for people of the later log who are not in the original: what the
                       release is worth to somebody else. They type half of the letters, rounded up


A release of parts of queries completes few whole ones: this is what it costs to leave out strings that few people
typed. `low` and `high` are 95 % intervals over users (1,000 bootstrap samples); in reports and studies with random
groups `ratio` compares with these, user by user. At most 2,000 users are asked.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from coterie.core.arrays import Ints
from coterie.core.scores import Score
from coterie.core.shapes import QUERIES
from coterie.errors import NotApplicableError
from coterie.measures.comparison import Comparison
from coterie.measures.rates import FIRST, figures_in, of_trials, reciprocal_rank, titled
from coterie.measures.subjects import drawn, first_drawn

needs = frozenset({"later"})
SHOWN = {
    "with_profile": titled(
        "Later queries completed, with the profile",
        "Three letters of a later query are typed, and released strings are suggested, those of the person's "
        "profile before others: 100% means that the query always stands first (MRR@10).",
    ),
    "without_profile": titled(
        "Later queries completed, for anybody",
        "The same for somebody of whom nothing is known: the most frequent strings are suggested first.",
    ),
    "others": titled(
        "Later queries of other people completed",
        "Half of the letters of what people search for who are not in the log are typed, and released strings "
        "are suggested, the most frequent ones first (MRR@10).",
    ),
}
figures = figures_in("utility", 94, SHOWN, before="before.{}")
LETTERS = 3
QUERIES_EACH = 6
MOST_USERS = 2_000
_UNIT = f"% MRR@{FIRST}"


def measure(comparison: Comparison) -> Iterator[Score]:
    """MRR with and without the profile of the person, in the release and in the original."""
    comparison.require_shape(QUERIES, "It completes queries")
    earlier = comparison.original.select("subject", "item").drop_nulls()
    later = comparison.given("later").select("subject", "item").drop_nulls()
    typed = _typed(later.join(earlier, on="subject", how="semi"), comparison.seed)
    foreign = _typed(later.join(earlier, on="subject", how="anti"), comparison.seed)
    if typed.is_empty() and foreign.is_empty():
        raise NotApplicableError(f"There is no later query of more than {LETTERS} letters.")
    if typed.height:
        yield from _of_users(comparison, earlier, typed)
    if foreign.height:
        yield Score("others.users", foreign["subject"].n_unique(), "people who are not in the log")
        for prefix, items in (("", comparison.items_after), ("before.", comparison.items_before)):
            trials = foreign.select("subject", others=pl.Series(half_typed(items, foreign["item"])))
            yield from of_trials(prefix, trials, comparison.seed, _UNIT)


def _of_users(comparison: Comparison, earlier: pl.DataFrame, typed: pl.DataFrame) -> Iterator[Score]:
    """How well later queries of users of the original are completed."""
    users = typed.select("subject").unique()
    yield Score("users", users.height, "users with later queries")
    yield Score("queries", typed.height, "later queries")
    theirs = earlier.join(users, on="subject", how="semi")
    after, before = (comparison.items_after, _released(comparison, users)), (comparison.items_before, theirs)
    for prefix, (items, profiles) in (("", after), ("before.", before)):
        yield from of_trials(prefix, _trials(items, typed, profiles), comparison.seed, _UNIT)


def half_typed(items: pl.DataFrame, typed: pl.Series) -> list[float]:
    """The value of each query whose first half is typed, among strings (item, n) that begin with it."""
    letters = typed.to_frame("item").select(pl.col("item").str.slice(0, (pl.col("item").str.len_chars() + 1) // 2))
    return Suggestions.of(items).values(typed, letters.to_series())


def _typed(later: pl.DataFrame, seed: int) -> pl.DataFrame:
    """subject, item: some later queries of some users, by the seed."""
    rows = later.filter(pl.col("item").str.len_chars() > LETTERS)
    users = drawn(rows["subject"].unique().sort(), MOST_USERS, seed, "users who type")
    rows = rows.filter(pl.col("subject").is_in(users.implode()))
    rows = rows.select(
        "subject", "item", time=pl.int_range(pl.len()).over("subject", "item")
    )  # a query typed twice is two draws
    return first_drawn(rows, ["subject"], "queries that are typed", seed, QUERIES_EACH).select("subject", "item")


def _released(comparison: Comparison, users: pl.DataFrame) -> pl.DataFrame | None:
    """subject, item: the released profiles of users; None where users have no names, several, or it is not known."""
    if comparison.release.record is None or comparison.release.log.shape.count:
        return None
    names = comparison.names
    if names.is_empty() or names["original"].is_duplicated().any():
        return None
    return comparison.released_of_original.join(users, on="subject", how="semi").drop_nulls()


def _trials(items: pl.DataFrame, typed: pl.DataFrame, profiles: pl.DataFrame | None) -> pl.DataFrame:
    """subject, with_profile (where profiles are known), without_profile: how well each query is completed."""
    box = Suggestions.of(items.filter(pl.col("item").str.len_chars() > LETTERS))
    queries, letters = typed["item"], typed["item"].str.slice(0, LETTERS)
    trials: dict[str, Any] = {"subject": typed["subject"]}
    if profiles is not None:
        own = box.profiles(profiles, rows=int(items["n"].sum()))
        trials["with_profile"] = box.values(queries, letters, [own.get(user) for user in typed["subject"]])
    return pl.DataFrame(trials | {"without_profile": box.values(queries, letters)})


@dataclass(frozen=True, eq=False, repr=False)
class _Profile:
    """What one person's profile adds to suggestions."""

    place: Ints
    """Where its strings are among those that are suggested."""
    weight: Ints
    """How often each stands in the profile, times the rows of the log."""
    rows: int
    """Of the profile."""


@dataclass(frozen=True, eq=False, repr=False)
class Suggestions:
    """What a search box knows: how often each string stands in a log."""

    texts: pl.Series
    """In order, so that those that begin alike stand together."""
    times: Ints

    @classmethod
    def of(cls, items: pl.DataFrame) -> Suggestions:
        """From item, n."""
        strings = items.drop_nulls().sort("item")
        return cls(strings["item"], strings["n"].to_numpy().astype(np.int64))

    def places(self, items: pl.Series) -> Ints:
        """Where these strings stand; -1 for those that are not there."""
        known = pl.DataFrame({"item": self.texts}).with_row_index("place")
        found = items.to_frame("item").join(known, on="item", how="left", maintain_order="left")
        return found["place"].cast(pl.Int64).fill_null(-1).to_numpy()

    def profiles(self, profiles: pl.DataFrame, rows: int) -> dict[str, _Profile]:
        """The profile of each user (subject, item: a row for each time) beside a log of so many rows."""
        counts = profiles.group_by("subject", "item").len("n").with_columns(pl.col("n").cast(pl.Int64))
        counts = counts.with_columns(pl.Series("place", self.places(counts["item"])))
        there = pl.col("place") >= 0
        of_users = counts.group_by("subject").agg(pl.col("place", "n").filter(there), rows=pl.col("n").sum())
        return {
            user: _Profile(np.array(place, np.int64), rows * np.array(n, np.int64), own)
            for user, place, n, own in of_users.iter_rows()
        }

    def values(
        self, typed: pl.Series, letters: pl.Series, profiles: Sequence[_Profile | None] | None = None
    ) -> list[float]:
        """1 / rank of each query among what is suggested for its letters, the mean over orders of equals."""
        begin, end = (self.texts.search_sorted(letters + last) for last in ("", chr(sys.maxunicode)))
        values = []
        of_users = profiles or [None] * typed.len()
        for place, first, last, own in zip(self.places(typed).tolist(), begin, end, of_users, strict=True):
            weight = self.times[first:last]
            if own is not None:  # whole numbers, so that equal shares are equal
                weight = weight * max(own.rows, 1)
                inside = (own.place >= first) & (own.place < last)
                weight[own.place[inside] - first] += own.weight[inside]
            values.append(reciprocal_rank(int(weight[place - first]), weight) if place >= 0 else 0.0)
        return values
