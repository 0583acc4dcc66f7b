"""F_β: are harmless queries released and sensitive ones left out, by the labels of people?

Needs a file of labelled queries: `coterie measure ... f_beta --labels FILE`, or `labels = "FILE"` under [measure] of a
study. It is a csv or tsv table with a header, the column `query` and one of `sensitive`, `label`, `is_pii` (yes, true,
1, sensitive or maybe; no, false, 0 or harmless). With H the harmless labelled queries of the log and R the released
labelled ones:

    precision P = |H and R| / |R|      recall = |H and R| / |H|      F_β = (β² + 1) P recall / (β² P + recall)

`f_1` weighs both alike; `f_0_1` (β = 0.1) is nearly the precision: that what is released is harmless. Without a
released labelled query P and F_β have no value. Labelled queries that the log does not have are counted (`absent`)
and left out. 1 is best.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from coterie.core.scores import Score
from coterie.measures.comparison import Comparison
from coterie.measures.rates import figures_in, titled

needs = frozenset({"labels", "text"})
SHOWN = {
    "f_1": titled(
        "Agreement with labels, F1",
        "Whether queries that people labelled harmless are released and sensitive ones left out; 1 is best.",
    ),
    "f_0_1": titled(
        "Agreement with labels, F0.1",
        "The same where a sensitive query that is released weighs far more than a harmless one left out.",
    ),
}
figures = figures_in("utility", 50, SHOWN)
BETAS = {"f_1": 1.0, "f_0_1": 0.1}


def measure(comparison: Comparison) -> Iterator[Score]:
    """Precision, recall and F_β of what was released."""
    labels: pl.DataFrame = comparison.given("labels")
    labelled = labels.join(comparison.items_before, on="item", how="semi")
    released = labelled.join(comparison.items_after, on="item", how="semi")
    harmless, right = (frame.filter(~pl.col("sensitive")).height for frame in (labelled, released))
    precision = right / released.height if released.height else None
    recall = right / harmless if harmless else None
    yield Score("labelled", labelled.height, "queries")
    yield Score("sensitive", labelled.height - harmless, "queries")
    yield Score("absent", labels.height - labelled.height, "queries")
    yield Score("released", released.height, "queries")
    yield Score("precision", precision, "of 1")
    yield Score("recall", recall, "of 1")
    for key, beta in BETAS.items():
        yield Score(key, f_beta(precision, recall, beta), "of 1")


def f_beta(precision: float | None, recall: float | None, beta: float) -> float | None:
    """F_β; none where precision or recall has no value, 0 where both are 0."""
    if precision is None or recall is None:
        return None
    below = beta**2 * precision + recall
    return (beta**2 + 1) * precision * recall / below if below else 0.0
