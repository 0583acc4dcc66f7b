"""How many people are behind rows that are equal in the release, all columns together except names.

    after.one         released rows that stand for one person, as do all that are equal to them (% of rows)
    after.few         released rows that stand, with all that are equal to them, for fewer people than the promised k
    after.people      people behind equal rows, median over rows
    after.kinds       different rows
    before.one ...    the same in the original

k equal rows hide somebody only where they come from different people. It needs to know what became of single rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from coterie.core.promise import k_of
from coterie.core.scores import Score
from coterie.core.shapes import Shape
from coterie.measures.comparison import Comparison
from coterie.measures.rates import figures_in, titled

needs = frozenset({"record", "rows"})
SHOWN = {
    "after.one": titled(
        "Rows with one person behind them",
        "Released rows, all columns together, that come from one person, however often they appear. Lower is safer.",
    ),
    "after.few": titled(
        "Rows with fewer than k people behind them",
        "The same for fewer people than the promised k. Where details of a query are released for those who "
        "share them, a few of its rows may be left without any: at least k people typed the query all the same.",
    ),
}
figures = figures_in("privacy", 25, SHOWN)


def measure(comparison: Comparison) -> Iterator[Score]:
    """People behind equal rows, before and after."""
    k = k_of(comparison.release.promises)
    people = comparison.original.select("row", "subject")
    before = comparison.log.frame.select("row", *_told(comparison.log.shape)).collect(engine="streaming")
    yield from _scores("before", before.join(people, on="row").drop("row"), k)
    release = comparison.release.log
    released = release.frame.select(_told(release.shape)).collect(engine="streaming").with_row_index("released_row")
    after = released.join(comparison.rows, on="released_row").join(people, on="row").drop("row", "released_row")
    yield from _scores("after", after, k)


def _told(shape: Shape) -> list[str]:
    return [name for name in shape.released if name != shape.subject]


def _scores(moment: str, rows: pl.DataFrame, k: int | None) -> Iterator[Score]:
    """Rows with the subject they come from."""
    kinds = rows.group_by(pl.exclude("subject")).agg(
        pl.col("subject").drop_nulls().n_unique().alias("people"), pl.len().alias("rows")
    )
    total, people, n = rows.height, pl.col("people"), pl.col("rows")
    shares = {"one": people <= 1} | ({} if k is None else {"few": people < k})
    for key, of_them in shares.items():
        some = int(kinds.select(n.filter(of_them).sum()).item())
        yield Score(f"{moment}.{key}", 100 * some / total if total else None, "% of rows")
    each = kinds.select(people.repeat_by(n).explode()).to_series() if total else pl.Series([], dtype=pl.UInt32)
    yield Score(f"{moment}.people", None if each.is_empty() else float(each.median()), "people")  # type: ignore[arg-type]
    yield Score(f"{moment}.kinds", kinds.height, "different rows")
