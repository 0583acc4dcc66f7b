"""TF-IDF: sparse vectors of texts, as arrays that kernels take.

The weight of a term that stands n times in one of N vectors, d of which have it, is (1 + ln n) ln(N / d); vectors have
the length 1. A term of one vector alone adds to its length, and points to nobody.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from coterie.core.arrays import Floats, Ints, offsets


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Vectors:
    """Rows of a sparse matrix, terms ascending in each."""

    start: Ints
    feature: Ints
    weight: Floats
    n_features: int


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
        entries = counts.join(self.table, on="term").sort("id", "feature")
        row, often = entries["id"].to_numpy().astype(np.int64), entries["n"].to_numpy()
        raw = (1 + np.log(often)) * entries["idf"].to_numpy() if entries.height else np.zeros(0)
        length = np.sqrt(np.bincount(row, weights=raw**2, minlength=vectors))
        return Vectors(
            start=offsets(np.bincount(row, minlength=vectors)),
            feature=entries["feature"].to_numpy().astype(np.int64),
            weight=raw / np.maximum(length[row], 1e-12),
            n_features=self.table.height,
        )
