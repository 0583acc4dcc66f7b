"""Rows of a sparse matrix as vectors of what they have in common, by latent semantic analysis (kernels/lsa.py).

    tf-idf    (1 + ln n) · (1 + ln((1 + N) / (1 + N_c))) for the n times that a row has a column, N rows, N_c with it
    LSA       their projection on the directions along which rows differ most: on the first D of them, on the first D/2
              and on the first D/4, each to the same length, side by side, length 1

Rows are users or documents, columns are their words, hosts or terms.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from coterie.algorithms.kernels._arrays import taken
from coterie.algorithms.kernels.lsa import Sparse, directions, project
from coterie.core.arrays import Floats, Ints
from coterie.core.threads import in_threads

Singles = NDArray[np.float32]
Begin = Callable[[tuple[int, int]], Floats]
_SCALES = 3  # each with half the directions of the one before
_FEWEST = 8  # directions of a scale: with fewer, every row is like half of all others
_SPARE = 16  # directions more than wanted, which make the wanted ones exact
_ROWS_AT_ONCE = 20_000


def idf(counts: Sparse) -> Floats:
    """How much a column counts: the more, the fewer rows have it."""
    n_rows = np.bincount(counts.column, minlength=counts.width)
    return 1 + np.log(counts.start.size / (1 + n_rows))


def tfidf(counts: Sparse) -> Sparse:
    """The weight of each entry, by how often it is there (at least once); what one row alone has weighs nothing."""
    n_rows = np.bincount(counts.column, minlength=counts.width)
    weight = np.where(n_rows > 1, idf(counts), 0)[counts.column]
    return counts._replace(value=((1 + np.log(counts.value)) * weight).astype(np.float32))


def beside(left: Sparse, right: Sparse, weight: float) -> Sparse:
    """Two matrices of the same height side by side, the right one times `weight`."""
    row = np.concatenate([np.repeat(np.arange(each.start.size - 1), np.diff(each.start)) for each in (left, right)])
    order = np.argsort(row, kind="stable")
    column = np.concatenate([left.column, right.column + np.int32(left.width)])[order]
    value = np.concatenate([left.value, right.value * np.float32(weight)])[order]
    return Sparse(left.start + right.start, column, value, left.width + right.width)


def lsa_vectors(table: Sparse, sample: Ints, dimensions: int, begin: Begin) -> Singles:
    """Rows by the directions along which they differ most: by the first few alone, by more, and by all of them.

    Directions are those of a sample of the rows; `begin` draws a random matrix of a size.
    """
    start, entries = taken(table.start, sample)
    sampled = unit_rows(Sparse(start, table.column[entries], table.value[entries], table.width))
    wanted = min(dimensions, sample.size, table.width)
    if wanted == 0:
        return np.zeros((table.start.size - 1, 0), dtype=np.float32)
    tried = min(wanted + _SPARE, sample.size, table.width)
    found = directions(sampled, begin((sample.size, tried)), in_threads)[:, :wanted].astype(np.float32)
    scales = sorted({wanted, *(dimensions >> i for i in range(1, _SCALES) if _FEWEST <= dimensions >> i < wanted)})
    scaled = by_rows(table, partial(project, words=np.ascontiguousarray(found), scales=np.array(scales)))
    return scaled / np.float32(np.sqrt(len(scales)))


def unit_rows(matrix: Sparse) -> Sparse:
    """The same with rows of length 1 (or 0)."""
    counts = np.diff(matrix.start)
    row = np.repeat(np.arange(counts.size), counts)
    squares = np.bincount(row, weights=matrix.value.astype(np.float64) ** 2, minlength=counts.size)
    return matrix._replace(value=(matrix.value / np.sqrt(np.maximum(squares, 1e-9))[row]).astype(np.float32))


def by_rows(matrix: Sparse, work: Callable[[Sparse], Singles]) -> Singles:
    """`work` on some rows at a time, in threads."""
    parts = [
        matrix._replace(start=matrix.start[at : at + _ROWS_AT_ONCE + 1])
        for at in range(0, matrix.start.size - 1, _ROWS_AT_ONCE)
    ]
    return np.concatenate(in_threads(work, parts))
