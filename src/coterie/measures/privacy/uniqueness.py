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

from coterie.core.arrays import Flags, Ints, Short, offsets
from coterie.core.scores import Picture, Score
from coterie.measures.comparison import Comparison
from coterie.measures.rates import figures_in, titled

needs: frozenset[str] = frozenset()
_BARS = Picture(
    kind="bars",
    title="People singled out, before and after",
    reading="Share of users in the original, and of names in a release, whom somebody would recognize who knows this "
    "much about them.",
)
SHOWN = {
    "after.one_query": titled(
        "Singled out by one query",
        "Users (in a release: names) with a query that nobody else has. A release whose rows carry no names "
        "links nothing and shows 0%.",
    ),
    "after.two_queries": titled("Singled out by two queries", "The same for somebody who knows two of the queries."),
    "after.profile": titled("Singled out by all queries", "Users (names) whose set of queries nobody else has."),
}
figures = figures_in("privacy", 20, SHOWN, expected=True, picture=_BARS)


def measure(comparison: Comparison) -> Iterator[Score]:
    """Shares of users singled out, before and after."""
    for moment, pairs in (("before", comparison.pairs_before), ("after", comparison.pairs_after)):
        yield from (Score(f"{moment}.{key}", value, unit) for key, value, unit in uniqueness(pairs))


def uniqueness(rows: pl.DataFrame | pl.LazyFrame) -> Iterator[tuple[str, float, str]]:
    """Key, value and unit for a table of subject and item."""
    start, items, owners = _owned(rows)
    subjects = int(np.count_nonzero(np.diff(start)))
    yield "subjects", subjects, "users"
    if subjects == 0:
        alone = {"one_query": 0, "two_queries": 0, "profile": 0}
    else:
        rarest = items[start[:-1][np.diff(start) > 0]]
        by_two = _by_two(start, items, owners)
        alone = {
            "one_query": int(np.count_nonzero(owners[rarest] == 1)),
            "two_queries": int(by_two.sum()),
            "profile": int(by_two.sum()) + _by_profile(start, items, by_two),
        }
    for key, count in alone.items():
        yield key, 100 * count / max(subjects, 1), "% of users"


def _owned(rows: pl.DataFrame | pl.LazyFrame) -> tuple[Ints, Short, Ints]:
    """Where the items of each subject start, these items, the rarest first, and how many subjects have each item.

    Subjects and items are numbers from here on: there are many pairs of them, and memory has room for few copies.
    """
    number = [pl.col(name).cast(pl.Categorical(pl.Categories.random())).to_physical() for name in ("subject", "item")]
    coded = rows.lazy().select("subject", "item").drop_nulls().select(number).collect(engine="streaming")
    if coded.is_empty():
        return np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64)
    n = int(coded["item"].max()) + 1  # type: ignore[arg-type]
    keys = _keys(coded["subject"].to_numpy(), coded["item"].to_numpy(), n)
    del coded
    keys = keys[np.flatnonzero(np.diff(keys, prepend=-1))]  # each pair once
    subject, item = _parts(keys, n)
    owners = np.bincount(item, minlength=n)
    order = np.argsort(owners, kind="stable")
    place = np.empty(n, np.int32)
    place[order] = np.arange(n, dtype=np.int32)
    subject, item = _parts(_keys(subject, place[item], n), n)
    return offsets(np.bincount(subject)), item, owners[order]


def _keys(first: np.ndarray, second: np.ndarray, n: int) -> Ints:
    """Pairs of numbers as one number each, sorted; the second ones are below n."""
    keys = first.astype(np.int64)
    keys *= n
    keys += second
    keys.sort()
    return keys


def _parts(keys: Ints, n: int) -> tuple[Short, Short]:
    """The pairs that keys stand for."""
    return (keys // n).astype(np.int32), (keys % n).astype(np.int32)


def _by_two(start: Ints, items: Short, owners: Ints) -> Flags:
    """Which subjects are singled out by one or two items: the kernel on the items of subjects, the owners of items."""
    from coterie.algorithms.kernels.clues import singled_out_by_two

    subjects = np.repeat(np.arange(start.size - 1, dtype=np.int32), np.diff(start))
    of_items = _parts(_keys(items, subjects, start.size - 1), start.size - 1)[1]
    return singled_out_by_two(start, items, offsets(owners), of_items)


def _by_profile(start: Ints, items: Short, by_two: Flags) -> int:
    """Subjects whose set of items nobody else has, beside those whose two items nobody else has."""
    left = np.flatnonzero(~np.repeat(by_two, np.diff(start)))
    subjects = np.searchsorted(start, left, side="right")
    sets = pl.DataFrame({"subject": subjects, "item": items[left]}).group_by("subject", maintain_order=True).agg("item")
    return sets.group_by("item").len().filter(pl.col("len") == 1).height
