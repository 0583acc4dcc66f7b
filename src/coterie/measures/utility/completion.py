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
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

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
    before = Suggestions(comparison.items_before, typed["item"], theirs)
    after = Suggestions(comparison.items_after, typed["item"], _released(comparison, users))
    for prefix, suggestions in (("", after), ("before.", before)):
        yield from of_trials(prefix, _trials(typed, suggestions), comparison.seed, _UNIT)


def half_typed(items: pl.DataFrame, typed: pl.Series) -> list[float]:
    """The value of each query whose first half is typed, among strings (item, n) that begin with it."""
    strings = sorted(items.drop_nulls().iter_rows())
    texts, times = [text for text, _ in strings], np.array([n for _, n in strings], dtype=np.int64)
    values = []
    for query in typed:
        letters = query[: (len(query) + 1) // 2]
        begin, end = bisect_left(texts, letters), bisect_left(texts, letters + chr(sys.maxunicode))
        place = bisect_left(texts, query, lo=begin, hi=end)
        there = place < end and texts[place] == query
        values.append(reciprocal_rank(int(times[place]), times[begin:end]) if there else 0.0)
    return values


def _typed(later: pl.DataFrame, seed: int) -> pl.DataFrame:
    """subject, item: some later queries of some users, by the seed."""
    rows = later.filter(pl.col("item").str.len_chars() > LETTERS)
    users = drawn(rows["subject"].unique().sort(), MOST_USERS, seed, "users who type")
    rows = rows.filter(pl.col("subject").is_in(users.implode()))
    rows = rows.with_columns(time=pl.int_range(pl.len()).over("subject", "item"))  # a query typed twice is two draws
    return first_drawn(rows, ["subject"], "queries that are typed", seed, QUERIES_EACH).select("subject", "item")


def _released(comparison: Comparison, users: pl.DataFrame) -> pl.DataFrame | None:
    """subject, item: the released profiles of users; None where users have no names, several, or it is not known."""
    if comparison.release.record is None or comparison.release.log.shape.count:
        return None
    names = comparison.names
    if names.is_empty() or names["original"].is_duplicated().any():
        return None
    return comparison.released_of_original.join(users, on="subject", how="semi").drop_nulls()


@dataclass(frozen=True, eq=False, repr=False)
class Suggestions:
    """What a search box knows: how often each string stands in a log, and in the profiles of some users."""

    items: pl.DataFrame
    """item, n."""
    typed: pl.Series
    """The queries that will be completed."""
    profiles: pl.DataFrame | None
    """subject, item: a row for each time."""

    @cached_property
    def rows(self) -> int:
        """How many rows the log has."""
        return int(self.items["n"].sum())

    @cached_property
    def strings(self) -> pl.DataFrame:
        """place, item, n, letters: strings that are longer than the letters, those that begin alike together."""
        longer = self.items.drop_nulls().filter(pl.col("item").str.len_chars() > LETTERS)
        letters = pl.col("item").str.slice(0, LETTERS).alias("letters")
        return longer.with_columns(letters).sort("letters", "item").with_row_index("place")

    @cached_property
    def times(self) -> NDArray[np.int64]:
        """How often each string stands in the log."""
        return self.strings["n"].to_numpy().astype(np.int64)

    @cached_property
    def spans(self) -> dict[str, tuple[int, int]]:
        """For each beginning, where the strings with it begin and end."""
        place = pl.col("place")
        spans = self.strings.group_by("letters").agg(place.min(), (place.max() + 1).alias("end"))
        return {letters: (begin, end) for letters, begin, end in spans.iter_rows()}

    @cached_property
    def places(self) -> dict[str, int]:
        """Where the strings are that are typed or stand in a profile; a log may have far more."""
        looked_up = [self.typed, *([] if self.profiles is None else [self.profiles["item"]])]
        items = pl.DataFrame({"item": pl.concat(looked_up).unique()})
        return dict(self.strings.join(items, on="item", how="semi").select("item", "place").iter_rows())

    @cached_property
    def of_users(self) -> dict[str, dict[str, int]]:
        """How often each string stands in the profile of each user."""
        counts: dict[str, dict[str, int]] = {}
        if self.profiles is not None:
            for user, item, n in self.profiles.group_by("subject", "item").len("n").iter_rows():
                counts.setdefault(user, {})[item] = n
        return counts

    def value(self, query: str, user: str | None = None) -> float:
        """1 / rank of the query among what is suggested for its first letters, the mean over orders of equals."""
        letters = query[:LETTERS]
        if query not in self.places:
            return 0.0
        begin, end = self.spans[letters]
        own = self.of_users.get(user, {}) if user is not None else {}
        weight = self.times[begin:end] * max(sum(own.values()), 1)  # whole numbers, so that equal shares are equal
        for item, times in own.items():
            if item[:LETTERS] == letters and item in self.places:
                weight[self.places[item] - begin] += times * self.rows
        mine = weight[self.places[query] - begin]
        return reciprocal_rank(int(mine), weight)


def _trials(typed: pl.DataFrame, suggestions: Suggestions) -> pl.DataFrame:
    """subject, with_profile (where profiles are known), without_profile: how well each query is completed."""
    trials = {"subject": typed["subject"]}
    if suggestions.profiles is not None:
        trials["with_profile"] = pl.Series([suggestions.value(query, user) for user, query in typed.rows()])
    trials["without_profile"] = pl.Series([suggestions.value(query) for query in typed["item"]])
    return pl.DataFrame(trials)
