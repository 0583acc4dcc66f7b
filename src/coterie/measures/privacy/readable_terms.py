"""How much of a document can be read in the vector that it shares with others: terms of the document that stand there.

    mean, median    the share of a document's terms that its released vector has
    weight          the same by weight: frequent terms count more
    true            the share of the terms of a released vector that the document really has
    nothing         documents of which nothing is released

It is counted as if the reader knew which vector is whose. Where names of concepts are released, a term can hardly be
read: this does not apply.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from coterie.core.scores import Score
from coterie.measures.comparison import Comparison
from coterie.measures.rates import figures_in, titled
from coterie.measures.subjects import DOC, TERM, WEIGHT, vectors_of

needs = frozenset({"record", "text"})
SHOWN = {
    "mean": titled(
        "Terms of a document that can be read",
        "Terms of a document that stand in the vector which it shares with others, mean over documents. Lower "
        "is safer.",
        over_k=45,
    ),
    "true": titled(
        "Terms of a vector that are true of a document",
        "Of the terms of a released vector, those that a document behind it really has, mean over documents.",
    ),
}
figures = figures_in("privacy", 12, SHOWN, before="100.0%")


def measure(comparison: Comparison) -> Iterator[Score]:
    """Mean and median over documents."""
    vectors = vectors_of(comparison)
    read = pl.col("read").fill_null(False)
    shown = vectors.after.select(DOC, TERM, pl.lit(True).alias("read"))
    mine = vectors.before.join(shown, on=[DOC, TERM], how="left").sort(DOC, TERM)
    of_mine = mine.group_by(DOC, maintain_order=True).agg(
        read.mean().alias("share"),
        (pl.col(WEIGHT).filter(read).sum() / pl.col(WEIGHT).sum()).alias("weight"),
        read.sum().alias("n"),
    )
    given = vectors.after.group_by(DOC).len("given")
    found = of_mine.join(given, on=DOC, how="left", maintain_order="left")
    yield Score("documents", found.height, "documents")
    numbers = found.select(
        pl.col("share").mean().alias("mean"),
        pl.col("share").median().alias("median"),
        pl.col("weight").mean(),
        (pl.col("n") / pl.col("given")).mean().alias("true"),
        pl.col("given").is_null().mean().alias("nothing"),
    )
    for name, value in numbers.row(0, named=True).items():
        yield Score(name, None if value is None else 100 * value, "% of documents" if name == "nothing" else "%")
