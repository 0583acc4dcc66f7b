"""How much of the log is still there: rows, events, distinct queries and users, in percent.

An event is a distinct (user, query, time) of the original; a user is kept when at least one of their rows is. Events
and users need the run record of a method that keeps rows; without it they are left out. Where concepts are released in
place of queries, a query is kept when one of its rows is, which needs the same record. Where counts are released, each
stands for as many rows.

Rows of profiles that users share are not rows that were kept: each profile is repeated for everybody behind it. Such a
release has a number of rows and no share of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from coterie.core.scores import Figure, Glance, Score
from coterie.measures.comparison import Comparison
from coterie.measures.rates import figures_in, percent, titled

needs: frozenset[str] = frozenset()
_ROWS = frozenset({"rows"})
SHOWN = {
    "rows.count": titled("Number of rows", "Lines of the log.", before="rows"),
    "rows": titled(
        "Rows kept",
        "Share of the original's lines. Profiles that users share have no such number: they are repeated.",
        over_k=10,
    ),
    "events": titled("Searches kept", "Share of distinct searches: one user, one query, one time.", needs=_ROWS),
    "queries.count": titled("Number of distinct queries", "Different texts.", before="queries"),
    "queries": titled(
        "Distinct queries kept",
        "Usually small: most queries are typed by one person only.",
        glance=Glance(axis="distinct queries kept", reading="More distinct queries are more useful."),
        over_k=20,
    ),
    "users": titled("Users with something kept", "Share of users of whom at least one row is left.", needs=_ROWS),
}
figures = (
    Figure(
        section="verdict",
        key="rows.count",
        title="Number of rows",
        if_zero="Nothing was released, so there is nothing to find in it and nothing to use.",
    ),
    *figures_in("utility", 10, SHOWN, expected=True, before="100.0%"),
)


def measure(comparison: Comparison) -> Iterator[Score]:
    """Shares of the original that the release keeps."""
    typed, released = comparison.items_before, comparison.items_after.filter(pl.col("n") > 0)
    n_released = int(released["n"].sum())
    record, rows = comparison.release.record, None
    if record is not None and record.rows is not None:
        rows = comparison.original.join(comparison.rows, on="row", how="semi")
    there = rows if comparison.has_concepts else released
    kept = None if there is None else typed.join(there, on="item", how="semi").height
    if not comparison.about_subjects:
        yield Score("rows", percent(n_released, comparison.rows_before), "%")
    if kept is not None:
        yield Score("queries", percent(kept, typed.height), "%")
    yield Score("rows.count", n_released, "rows")
    if kept is not None:
        yield Score("queries.count", kept, "queries")
    if rows is None:
        return
    for key, columns in (("events", ["subject", "item", "time"]), ("users", ["subject"])):
        whole, part = (f.select(columns).drop_nulls("subject").unique().height for f in (comparison.original, rows))
        yield Score(key, percent(part, whole), "%")
