"""Learning: sparse vectors of texts, and plain models that are fitted to them, always with the same answer.

TF-IDF: sparse vectors as arrays that kernels take. The weight of a term that stands n times in one of N vectors, d of
which have it, is (1 + ln n) ln(N / d); vectors have the length 1. A term of one vector alone adds to its length, and
points to nobody.

A logistic model of a few features, fitted by Newton's method.

A classifier of texts: multinomial logistic regression on tf-idf vectors. The value of a term is sqrt(weight) (idf),
idf = 1 + ln(n / documents that have it), and vectors have the length 1. The loss is the mean of -ln p(topic) plus
|W|² / 2n, as usual; it is made small by steps of Nesterov's accelerated descent. A vector without a known term has the
most frequent topic. Terms that one document alone has are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.core.arrays import Floats, Ints, offsets


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Vectors:
    """Rows of a sparse matrix, terms ascending in each."""

    start: Ints
    row: Ints
    feature: Ints
    weight: Floats
    n_features: int

    @classmethod
    def of(cls, entries: pl.DataFrame, raw: Floats, vectors: int, n_features: int) -> Vectors:
        """Rows of length 1 from entries (row, feature) in order and their weights."""
        row, feature = (entries[name].to_numpy().astype(np.int64) for name in ("row", "feature"))
        length = np.sqrt(np.bincount(row, weights=raw**2, minlength=vectors))
        return cls(
            start=offsets(np.bincount(row, minlength=vectors)),
            row=row,
            feature=feature,
            weight=raw / np.maximum(length[row], 1e-12),
            n_features=n_features,
        )

    @property
    def rows(self) -> tuple[Ints, Ints, Floats]:
        """The matrix as kernels take it."""
        return self.start, self.feature, self.weight

    @cached_property
    def columns(self) -> tuple[Ints, Ints, Floats]:
        """The same by terms."""
        from coterie.algorithms.kernels.nearest import columns_of

        return columns_of(*self.rows, self.n_features)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Terms:
    """The terms of some vectors, with their weights: others are measured by the same."""

    table: pl.DataFrame
    """term, feature, idf."""

    @classmethod
    def of(cls, counts: pl.DataFrame, vectors: int) -> Terms:
        """From id, term, n of so many vectors."""
        having = counts.group_by("term").agg(pl.len().cast(pl.Int64).alias("having")).sort("term")
        idf = np.log(vectors / having["having"].to_numpy()) if having.height else np.zeros(0)
        return cls(table=having.with_row_index("feature").with_columns(pl.Series("idf", idf, dtype=pl.Float64)))

    def weighed(self, counts: pl.DataFrame, vectors: int) -> Vectors:
        """Vectors from id, term, n; unknown terms count for nothing."""
        entries = counts.join(self.table, on="term").rename({"id": "row"}).sort("row", "feature")
        raw = (1 + np.log(entries["n"].to_numpy())) * entries["idf"].to_numpy()
        return Vectors.of(entries, raw, vectors, self.table.height)


# --- a logistic model -----------------------------------------------------------------------------


ROUNDS = 12  # more change nothing that is shown
RIDGE = 1e-3


def fit(columns: Floats, right: Floats) -> Floats:
    """Weights of the features, one line of `columns` each, with a small ridge; sums are taken in one order."""
    n = columns.shape[0]
    weights = np.zeros(n)
    for _ in range(ROUNDS):
        chance = 1 / (1 + np.exp(-np.clip(weighed(columns, weights), -30, 30)))
        spread = chance * (1 - chance)
        slope = np.array([(column * (right - chance)).sum() for column in columns]) - RIDGE * weights
        curve = np.zeros((n, n))
        for i in range(n):
            for j in range(i + 1):
                curve[i, j] = curve[j, i] = (columns[i] * columns[j] * spread).sum()
        before, weights = weights, weights + np.linalg.solve(curve + RIDGE * np.eye(n), slope)
        if np.array_equal(before, weights):
            break
    return weights


def weighed(columns: Floats, weights: Floats) -> Floats:
    """The weighted sum of the lines, without a library whose order of additions depends on threads."""
    total: Floats = np.zeros(columns.shape[1])
    for column, weight in zip(columns, weights, strict=True):
        total += column * weight
    return total


# --- texts ------------------------------------------------------------------------------------------


STEPS = 300
_STEP = 1.0  # vectors have the length 1, so that no slope changes faster than this allows


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Classifier:
    """What was learnt of labelled documents."""

    topics: list[str]
    terms: pl.DataFrame
    """term, feature, idf."""
    weights: NDArray[np.float64]
    """Of each term and topic; the last line is that of the topic itself."""
    usual: int
    """The most frequent topic."""

    def predict(self, rows: pl.DataFrame, documents: pl.Series) -> pl.Series:
        """The topic of each of some documents, from doc, term and weight."""
        values = _values(rows, documents, self.terms)
        scores = _scores(values, self.weights, len(documents))
        best = np.where(np.bincount(values.row, minlength=len(documents)) > 0, scores.argmax(axis=1), self.usual)
        return pl.Series("topic", self.topics, dtype=pl.String).gather(best)


def learn(rows: pl.DataFrame, labels: pl.DataFrame) -> Classifier:
    """A classifier from doc, term, weight and doc, topic."""
    labels = labels.sort("doc")
    topics = sorted(labels["topic"].unique().to_list())
    documents, n = labels["doc"], labels.height
    topic = labels["topic"].replace_strict(topics, range(len(topics)), return_dtype=pl.Int64).to_numpy()
    having = rows.join(labels, on="doc", how="semi").group_by("term").agg(pl.col("doc").n_unique().alias("n"))
    known = having.filter(pl.col("n") > 1).sort("term").with_row_index("feature")
    terms = known.select("term", "feature", (1 + (n / pl.col("n")).log()).alias("idf"))
    values = _values(rows, documents, terms)
    weights = np.zeros((terms.height + 1, len(topics)))
    ahead, pace = weights, 1.0
    one = np.eye(len(topics))[topic]
    for _ in range(STEPS):
        slope = (_shares(_scores(values, ahead, n)) - one) / n
        step = np.empty_like(weights)
        for at in range(len(topics)):
            sums = np.bincount(values.feature, values.weight * slope[values.row, at], minlength=terms.height)
            step[:-1, at] = sums + ahead[:-1, at] / n
            step[-1, at] = slope[:, at].sum()
        before, weights = weights, ahead - _STEP * step
        faster = (1 + np.sqrt(1 + 4 * pace * pace)) / 2
        ahead, pace = weights + (pace - 1) / faster * (weights - before), faster
    return Classifier(topics=topics, terms=terms, weights=weights, usual=int(np.bincount(topic).argmax()))


def _values(rows: pl.DataFrame, documents: pl.Series, terms: pl.DataFrame) -> Vectors:
    places = documents.alias("doc").to_frame().with_row_index("row")
    value = (pl.col("weight").sqrt() * pl.col("idf")).alias("value")
    entries = rows.join(terms, on="term").join(places, on="doc").select("row", "feature", value).sort("row", "feature")
    return Vectors.of(entries, entries["value"].to_numpy(), len(documents), terms.height)


def _scores(values: Vectors, weights: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Row by row in one order: no library whose additions depend on threads."""
    columns = [
        np.bincount(values.row, values.weight * weights[values.feature, at], minlength=n) + weights[-1, at]
        for at in range(weights.shape[1])
    ]
    return np.stack(columns, axis=1)


def _shares(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    result: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
    return result
