"""Mass: how much of what people did is behind the queries that a release names, also where it has no rows.

    queries    distinct queries that are named, in percent of those of the original
    rows       rows of the original whose query is named
    pairs      pairs of a user and a query, each once, whose query is named
    missing    the others: 100 - pairs, the missing mass (Dick, Joseph and Raman 2026)

Releases of rows and releases of counts can be compared by it: it does not ask how often something stands in a release.
"""

from __future__ import annotations

from collections.abc import Iterator

from coterie.core.scores import Score
from coterie.measures.comparison import Comparison
from coterie.measures.rates import figures_in, percent, titled

needs = frozenset({"text"})
SHOWN = {
    "rows": titled(
        "Rows whose query is named",
        "Share of the original's lines, whether they are released or not.",
        before="100.0%",
    ),
    "missing": titled(
        "Missing mass",
        "Pairs of a user and a query, each once, whose query the release does not name.",
        before="0.0%",
    ),
}
figures = figures_in("utility", 12, SHOWN)


def measure(comparison: Comparison) -> Iterator[Score]:
    """Shares of queries, rows and pairs whose query the release names."""
    named = comparison.items_after.select("item").drop_nulls()
    queries = comparison.items_before.drop_nulls("item")
    kept = queries.join(named, on="item", how="semi")
    pairs = comparison.pairs_before.drop_nulls("item")
    held = pairs.join(named, on="item", how="semi").height
    yield Score("queries", percent(kept.height, queries.height), "%")
    yield Score("rows", percent(int(kept["n"].sum()), int(queries["n"].sum())), "%")
    yield Score("pairs", percent(held, pairs.height), "%")
    yield Score("missing", percent(pairs.height - held, pairs.height), "%")
