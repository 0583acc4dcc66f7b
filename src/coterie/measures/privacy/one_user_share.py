"""One-user share: how much of what is released only one person in the log ever typed.

A rule about words, or about what else a query is made of, can let queries pass that nobody else typed. No attack is
needed to say how many:

    after.distinct    different released queries that one user alone typed, as a part of all that are released
    after.rows        released rows with such a query, as a part of all rows
    kept              different queries that one user alone typed: how many of them are released
    kept.shared       the same for queries of two users and more
    after.few         different released queries of fewer users than the k that is promised, if one is

`before` is the same in the log itself. Users are those of the original, whatever names a release has. `low` and `high`
are 95 % intervals over users (1,000 bootstrap samples; who is alone with a query stays as it is in the log): a query of
n users counts 1/n for each. What a release has in place of queries, or parts of queries that nobody typed as a whole,
belong to nobody and count as typed by more than one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from coterie.core.arrays import Floats
from coterie.core.promise import to_dict
from coterie.core.scores import Score
from coterie.measures.comparison import Comparison
from coterie.measures.rates import SAMPLES, figures_in, scored, titled, weights

needs = frozenset({"text"})
SHOWN = {
    "after.distinct": titled(
        "Released queries that one person alone typed",
        "Of the different queries in the release. Nobody else in the log typed them, so whoever recognises one "
        "knows that all its rows are of one person.",
    ),
    "after.rows": titled("Released rows with a query that one person alone typed", "The same, counted by rows."),
}
figures = figures_in("privacy", 25, SHOWN)


def measure(comparison: Comparison) -> Iterator[Score]:
    """The share in the original and in the release, by different queries and by rows."""
    pairs = comparison.pairs_before
    users = pairs.group_by("item").agg(pl.len().cast(pl.Int64).alias("users"))
    people = pairs.select(pl.col("subject").unique().sort()).with_row_index("place")
    yield Score("users", people.height, "users")
    owned = pairs.join(users, on="item").join(people, on="subject")
    times = weights(comparison.seed, people.height)
    released = comparison.items_after.drop_nulls("item")
    for moment, items in (("before", comparison.items_before.drop_nulls("item")), ("after", released)):
        theirs = owned.join(items, on="item").sort("place", "item")
        foreign = items.join(users, on="item", how="anti")
        for key, weight, others in (
            ("distinct", pl.lit(1.0), foreign.height),
            ("rows", pl.col("n").cast(pl.Float64), int(foreign["n"].sum() or 0)),
        ):
            yield from scored(f"{moment}.{key}", _share(theirs, weight, others, people.height, times), "%")
    there = users.join(released, on="item", how="semi").group_by(pl.col("users") == 1).len("n")
    all_there = users.group_by(pl.col("users") == 1).len("n")
    for key, alone in (("kept", True), ("kept.shared", False)):
        part, whole = (int(table.filter(pl.col("users") == alone)["n"].sum()) for table in (there, all_there))
        yield Score(key, 100 * part / whole if whole else None, "%")
    if promised := max((int(to_dict(promise).get("k", 0) or 0) for promise in comparison.release.promises), default=0):
        few = users.filter(pl.col("users") < promised).join(released, on="item", how="semi").height
        yield Score("after.few", 100 * few / released.height if released.height else None, "%")


def _share(theirs: pl.DataFrame, weight: pl.Expr, others: float, people: int, times: Floats) -> Floats:
    """100 Σ of users alone / Σ of all, in the log and in samples of users; `others` belong to nobody."""
    part = theirs.select("place", "users", part=weight / pl.col("users"))
    place, size = part["place"].to_numpy(), part["part"].to_numpy()
    alone = np.where((part["users"] == 1).to_numpy(), size, 0.0)
    own, everything = (np.bincount(place, values, minlength=people) for values in (alone, size))
    if not everything.sum() + others:
        return np.full(SAMPLES + 1, np.nan)
    # Not `@`: the sums of a linear algebra library depend on its threads.
    above, below = (np.einsum("su,u->s", times, values) for values in (own, everything))
    return np.asarray(100 * above / np.maximum(below + others, 1e-12))
