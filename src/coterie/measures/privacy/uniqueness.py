"""How many users are singled out by one query, by some two, or by their whole profile.

Users are singled out by one query when nobody else issued some query of theirs; by two when nobody else issued some
pair of their queries (one query counts as well); by their profile when nobody else has the same set of queries. Before:
users of the original. After: the names of the release, where it has any; a release without names singles nobody out
by what is linked, and gives 0.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from coterie import kernels
from coterie.core.scores import Figure, Picture, Score
from coterie.measures.comparison import Comparison

needs: frozenset[str] = frozenset()
_BARS = Picture(
    kind="bars",
    title="People singled out, before and after",
    reading="Share of users in the original, and of names in a release, whom somebody would recognize who knows this "
    "much about them.",
)
figures = (
    Figure(
        section="privacy",
        order=20,
        expected=True,
        key="after.one_query",
        title="Singled out by one query",
        reading="Users (in a release: names) with a query that nobody else has. A release whose rows carry no names "
        "links nothing and shows 0%.",
        before="before.one_query",
        picture=_BARS,
    ),
    Figure(
        section="privacy",
        order=20,
        expected=True,
        key="after.two_queries",
        title="Singled out by two queries",
        reading="The same for somebody who knows two of the queries.",
        before="before.two_queries",
        picture=_BARS,
    ),
    Figure(
        section="privacy",
        order=20,
        expected=True,
        key="after.profile",
        title="Singled out by all queries",
        reading="Users (names) whose set of queries nobody else has.",
        before="before.profile",
        picture=_BARS,
    ),
)


def measure(comparison: Comparison) -> Iterator[Score]:
    """Shares of users singled out, before and after."""
    for moment, pairs in (("before", comparison.pairs_before), ("after", comparison.pairs_after)):
        yield from (Score(f"{moment}.{key}", value, unit) for key, value, unit in uniqueness(pairs))


def uniqueness(rows: pl.DataFrame) -> Iterator[tuple[str, float, str]]:
    """Key, value and unit for a table of subject and item."""
    owned = rows.lazy().select("subject", "item").drop_nulls().unique()
    owned = owned.select(
        pl.col("subject").rank("dense").cast(pl.Int64) - 1, pl.col("item").rank("dense").cast(pl.Int64) - 1
    )
    pairs = owned.with_columns(pl.len().over("item").alias("owners")).collect()
    subjects = pairs["subject"].n_unique()
    yield "subjects", subjects, "users"
    if subjects == 0:
        alone = {"one_query": 0, "two_queries": 0, "profile": 0}
    else:
        alone = {
            "one_query": pairs.filter(pl.col("owners") == 1)["subject"].n_unique(),
            "two_queries": int(_by_two(pairs, subjects).sum()),
            "profile": _by_profile(pairs),
        }
    for key, count in alone.items():
        yield key, 100 * count / max(subjects, 1), "% of users"


def _by_two(pairs: pl.DataFrame, subjects: int) -> np.ndarray:
    """The kernel on compressed rows: items of each subject (rarest first), owners of each item."""
    by_subject = pairs.sort("subject", "owners", "item")
    by_item = pairs.sort("item", "subject")
    singled_out: np.ndarray = kernels.pairs.singled_out_by_two(
        _starts(by_subject["subject"], subjects),
        by_subject["item"].to_numpy(),
        _starts(by_item["item"], by_item["item"].n_unique()),
        by_item["subject"].to_numpy(),
    )
    return singled_out


def _starts(sorted_ids: pl.Series, n: int) -> np.ndarray:
    return np.searchsorted(sorted_ids.to_numpy(), np.arange(n + 1))


def _by_profile(pairs: pl.DataFrame) -> int:
    """Subjects whose set of items nobody else has; sets are compared as sorted lists."""
    sets = pairs.sort("subject", "item").group_by("subject").agg("item")
    return sets.group_by("item").len().filter(pl.col("len") == 1).height
