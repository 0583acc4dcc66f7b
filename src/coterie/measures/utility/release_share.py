"""How much of the log is still there: rows, events, distinct queries and users, in percent.

An event is a distinct (user, query, time) of the original; a user is kept when at least one of her rows is. Events and
users need the run record of a method that keeps rows; without it they are left out. Where concepts are released in
place of queries, a query is kept when one of its rows is, which needs the same record.
"""

from __future__ import annotations

from collections.abc import Iterator

from coterie.measures import Comparison, Score

needs_record = False


def measure(comparison: Comparison) -> Iterator[Score]:
    """Shares of the original that the release keeps."""
    before, after = comparison.original, comparison.released
    record = comparison.release.record
    rows = None if record is None or record.rows is None else before.join(comparison.rows, on="row", how="semi")
    found = rows if comparison.has_concepts else after
    items = before.select("item").unique()
    kept = None if found is None else items.join(found, on="item", how="semi")
    yield Score("rows", _percent(after.height, before.height), "%")
    if kept is not None:
        yield Score("queries", _percent(kept.height, items.height), "%")
    yield Score("rows.count", after.height, "rows")
    if kept is not None:
        yield Score("queries.count", kept.height, "queries")
    if rows is None:
        return
    for key, columns in (("events", ["subject", "item", "time"]), ("users", ["subject"])):
        whole, part = (f.select(columns).drop_nulls("subject").unique().height for f in (before, rows))
        yield Score(key, _percent(part, whole), "%")


def _percent(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None
