"""Personal data in the text itself: queries that look like an address, a number or a name of an account.

    before.rows, before.queries    rows of the original as it was read, and different queries in them, that the detector
                                   of the prepare step `scrub` would leave out
    after.rows, after.queries      the same in the release: a profile that k users share repeats what stands in it
    after.kind.email ...           rows of the release by kind

A promise about k users does not look at what a query says, so a release can keep it and still have somebody's address.
The detector knows shapes and checksums. It does not know names of people, health or beliefs: 0 means that nothing was
found, not that nothing is there.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from coterie.core.scores import Score
from coterie.measures.comparison import Comparison
from coterie.measures.rates import figures_in, titled

needs: frozenset[str] = frozenset()
ON_SHEET = {
    "after.rows": titled(
        "Rows that look like personal data",
        "By their shape or checksum: addresses, telephone and account numbers. Names of people, health and beliefs are "
        "not recognized.",
    ),
    "after.queries": titled("Different queries in these rows"),
}
IN_TABLE = {
    "after.rows": titled(
        "Rows that look like personal data",
        "Rows with a query that looks like an address or a number that belongs to somebody.",
    ),
    "after.queries": titled("Queries that look like personal data", "The different queries in these rows."),
}
figures = (*figures_in("sheet", 10, ON_SHEET), *figures_in("privacy", 40, IN_TABLE))


def measure(comparison: Comparison) -> Iterator[Score]:
    """How many rows and different items look like personal data, before and after."""
    for moment, items in (("before", comparison.items_as_read), ("after", comparison.items_after)):
        of_kind = personal(items).group_by("kind")
        found = of_kind.agg(pl.col("n").sum(), pl.len().cast(pl.Int64).alias("items"))
        yield Score(f"{moment}.rows", int(found["n"].sum()), "rows")
        yield Score(f"{moment}.queries", int(found["items"].sum()), "queries")
        if moment == "after":
            kinds = found.sort("n", "kind", descending=[True, False])
            yield from (Score(f"after.kind.{kind}", count, "rows") for kind, count, _ in kinds.iter_rows())


def personal(items: pl.DataFrame) -> pl.DataFrame:
    """item, n, kind: those of some items that look like personal data."""
    from coterie.steps.scrub import find  # which loads the rules of all countries

    return items.with_columns(find(items["item"]).alias("kind")).drop_nulls("kind")
