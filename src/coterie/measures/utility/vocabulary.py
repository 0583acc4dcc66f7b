"""Vocabularies: which of the different terms of documents are still there, by Jaccard's index |A ∩ B| / |A ∪ B|.

    all          A: the terms of all documents, B: those of all released vectors
    documents    the mean over documents of the same for each and the vector that it got
    before, after    how many different terms there are
    terms        the mean number of terms of a released vector

Where names of concepts are released, few are terms of the original, and the index says how many.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from coterie.core.scores import Score
from coterie.measures.comparison import Comparison
from coterie.measures.rates import figures_in, titled
from coterie.measures.subjects import DOC, TERM, vectors_of

needs = frozenset({"record"})
SHOWN = {
    "all": titled(
        "Vocabulary kept",
        "The different terms of all documents and those of all released vectors: the share that both have, in "
        "percent of those that either has (Jaccard's index).",
        before="100.0%",
    ),
    "terms": titled("Terms of a released vector", "Mean over released vectors."),
}
figures = figures_in("utility", 46, SHOWN)


def measure(comparison: Comparison) -> Iterator[Score]:
    """Jaccard's index of all terms, and the mean of that of each document."""
    vectors = vectors_of(comparison)
    before, after = (set(rows[TERM].unique()) for rows in (vectors.before, vectors.after))
    yield Score("before", len(before), "terms")
    yield Score("after", len(after), "terms")
    yield Score("all", 100 * len(before & after) / max(len(before | after), 1), "%")
    sizes = [rows.group_by(DOC).len(name) for rows, name in ((vectors.before, "mine"), (vectors.after, "given"))]
    both = vectors.before.join(vectors.after, on=[DOC, TERM], how="semi").group_by(DOC).len("both")
    table = sizes[0].join(sizes[1], on=DOC, how="left").join(both, on=DOC, how="left").fill_null(0).sort(DOC)
    index = pl.col("both") / (pl.col("mine") + pl.col("given") - pl.col("both"))
    yield Score("documents", 100 * float(table.select(index.mean()).item() or 0), "%")
    groups = vectors.distinct["group"].n_unique()
    yield Score("terms", vectors.distinct.height / groups if groups else None, "terms")
