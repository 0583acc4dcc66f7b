"""Latent semantic analysis: the directions along which the rows of a sparse matrix differ most.

    A ≈ U Σ Vᵀ      by subspace iteration on the rows: Y ← orth(A (Aᵀ Y)), at the end V from Aᵀ Y

Everything is added up in one order and without a linear algebra library, whose sums depend on the number of threads and
on the machine; A has at most tens of thousands of rows, so this is a matter of seconds. Threads work on different rows
of a result, never on one sum. orth(Y) = Y E Λ^(-1/2) with YᵀY = E Λ Eᵀ; eigenvectors by cyclic Jacobi rotations.

Topics of unit vectors: spherical k-means, added up in one order.

centres = some of the vectors
repeat:  each vector to the centre with the largest product (ties to the lowest number)
         centre = sum of its vectors, to length 1; a centre without vectors stays
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.algorithms.kernels._arrays import Floats, Ints, Short, SideBySide, one_after_the_other, places_by
from coterie.algorithms.kernels._jit import inlined, jit

_ROUNDS = 4
_ROWS_AT_ONCE = 4_000
_COLUMNS_AT_ONCE = 12
_SWEEPS = 30
_NOTHING = 1e-12  # share of the largest eigenvalue below which there is no direction


class Sparse(NamedTuple):
    """A sparse matrix by rows."""

    start: Ints
    column: NDArray[np.int32]
    value: NDArray[np.float32]
    width: int


def transposed(a: Sparse) -> Sparse:
    """Aᵀ, entries of a row in the order of its columns."""
    height = a.start.size - 1
    row = np.repeat(np.arange(height, dtype=np.int32), np.diff(a.start))
    start, entries = places_by(a.column, a.width)
    return Sparse(start, row[entries], a.value[entries], height)


@jit
def times(a: Sparse, dense: Floats) -> Floats:
    """A times a dense matrix."""
    result = np.zeros((a.start.size - 1, dense.shape[1]), dtype=np.float64)
    for r in range(result.shape[0]):
        for e in range(a.start[r], a.start[r + 1]):
            c, v = a.column[e], np.float64(a.value[e])
            for d in range(dense.shape[1]):
                result[r, d] += v * dense[c, d]
    return result


@jit
def gram_rows(y: Floats, first: int, last: int) -> Floats:
    """Rows first..last-1 of YᵀY."""
    result = np.zeros((last - first, y.shape[1]), dtype=np.float64)
    for r in range(y.shape[0]):
        for i in range(last - first):
            v = y[r, first + i]
            for j in range(y.shape[1]):
                result[i, j] += v * y[r, j]
    return result


def gram(y: Floats, side_by_side: SideBySide = one_after_the_other) -> Floats:
    """YᵀY."""
    width = y.shape[1]
    ends = [(at, min(at + _COLUMNS_AT_ONCE, width)) for at in range(0, width, _COLUMNS_AT_ONCE)]
    return np.concatenate([np.zeros((0, width)), *side_by_side(lambda part: gram_rows(y, *part), ends)])


@jit
def product(y: Floats, small: Floats) -> Floats:
    """Y times a small dense matrix."""
    result = np.zeros((y.shape[0], small.shape[1]), dtype=np.float64)
    for r in range(y.shape[0]):
        for i in range(y.shape[1]):
            v = y[r, i]
            for j in range(small.shape[1]):
                result[r, j] += v * small[i, j]
    return result


def eigen(matrix: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues of a symmetric matrix, largest first, and its eigenvectors as columns."""
    rotated, rows = matrix.copy(), np.eye(matrix.shape[0])
    _rotate(rotated, rows)
    values = np.diag(rotated)
    order = np.argsort(-values, kind="stable")
    return values[order], rows[order].T.copy()


@jit
def _rotate(a: Floats, rows: Floats) -> None:
    """Make a symmetric matrix diagonal; `rows` become its eigenvectors."""
    n = a.shape[0]
    for _ in range(_SWEEPS):
        off, total = 0.0, 0.0
        for i in range(n):
            for j in range(n):
                total += a[i, j] * a[i, j]
                if i != j:
                    off += a[i, j] * a[i, j]
        if off <= 1e-28 * total:
            break
        for p in range(n - 1):
            for q in range(p + 1, n):
                if a[p, q] == 0.0:
                    continue
                theta = (a[q, q] - a[p, p]) / (2.0 * a[p, q])
                t = 1.0 / (abs(theta) + np.sqrt(theta * theta + 1.0))
                if theta < 0.0:
                    t = -t
                c = 1.0 / np.sqrt(t * t + 1.0)
                s = t * c
                for i in range(n):
                    x, y = a[i, p], a[i, q]
                    a[i, p], a[i, q] = c * x - s * y, s * x + c * y
                for i in range(n):
                    x, y = a[p, i], a[q, i]
                    a[p, i], a[q, i] = c * x - s * y, s * x + c * y
                    x, y = rows[p, i], rows[q, i]
                    rows[p, i], rows[q, i] = c * x - s * y, s * x + c * y


def orthonormal(y: Floats, side_by_side: SideBySide = one_after_the_other) -> Floats:
    """Y E Λ^(-1/2): orthonormal columns that span those of Y, largest first; 0 where Y has fewer dimensions."""
    values, vectors = eigen(gram(y, side_by_side))
    there = values > max(_NOTHING * values[0], 0.0)
    scale = np.where(there, 1.0 / np.sqrt(np.where(there, values, 1.0)), 0.0)
    scaled = vectors * scale
    return np.concatenate(side_by_side(lambda some: product(y[some], scaled), _slices(y.shape[0])))


def directions(a: Sparse, begin: Floats, side_by_side: SideBySide = one_after_the_other) -> Floats:
    """The columns V of the largest singular values of A; `begin` is a random matrix, rows of A x directions."""
    back = transposed(a)

    def multiplied(matrix: Sparse, dense: Floats) -> Floats:
        parts = [
            matrix._replace(start=matrix.start[some.start : some.stop + 1]) for some in _slices(matrix.start.size - 1)
        ]
        return np.concatenate(side_by_side(lambda part: times(part, dense), parts))

    y = orthonormal(begin, side_by_side)
    for _ in range(_ROUNDS):
        y = orthonormal(multiplied(a, multiplied(back, y)), side_by_side)
    return orthonormal(multiplied(back, y), side_by_side)


def _slices(rows: int) -> list[slice]:
    return [slice(at, min(at + _ROWS_AT_ONCE, rows)) for at in range(0, max(rows, 1), _ROWS_AT_ONCE)]


@inlined
def _to_unit(total: Floats, result: NDArray[np.float32]) -> None:
    """The same direction at length 1; nothing is written where there is none."""
    length = 0.0
    for d in range(total.size):
        length += total[d] * total[d]
    if length > 0.0:
        for d in range(total.size):
            result[d] = total[d] / np.sqrt(length)


@jit
def project(a: Sparse, words: NDArray[np.float32], scales: Ints) -> NDArray[np.float32]:
    """A times one vector for each column: for each scale the first so many numbers of it, of length 1 (or 0)."""
    width = words.shape[1]
    result = np.zeros((a.start.size - 1, scales.sum()), dtype=np.float32)
    total = np.empty(width, dtype=np.float64)
    for r in range(result.shape[0]):
        total[:] = 0.0
        for e in range(a.start[r], a.start[r + 1]):
            c, v = a.column[e], np.float64(a.value[e])
            for d in range(width):
                total[d] += v * words[c, d]
        at = 0
        for scale in scales:
            _to_unit(total[:scale], result[r, at:])
            at += scale
    return result


# --- topics ---------------------------------------------------------------------------------------


Singles = NDArray[np.float32]


@jit
def nearest(vectors: Singles, centres: Singles) -> Short:
    """The number of the nearest centre of each vector."""
    result = np.empty(vectors.shape[0], dtype=np.int32)
    for i in range(vectors.shape[0]):
        best, at = -np.inf, 0
        for c in range(centres.shape[0]):
            product = 0.0
            for d in range(vectors.shape[1]):
                product += np.float64(vectors[i, d]) * np.float64(centres[c, d])
            if product > best:
                best, at = product, c
        result[i] = at
    return result


@jit
def centres_of(vectors: Singles, start: Singles, rounds: int) -> Singles:
    """The centres after some rounds, beginning with `start`."""
    centres = start.copy()
    sums = np.empty(centres.shape, dtype=np.float64)
    for _ in range(rounds):
        group = nearest(vectors, centres)
        sums[:] = 0.0
        for i in range(vectors.shape[0]):
            for d in range(vectors.shape[1]):
                sums[group[i], d] += vectors[i, d]
        for c in range(centres.shape[0]):
            _to_unit(sums[c], centres[c])
    return centres


@jit
def sums_by(vectors: Singles, of: Short, group: Short, groups: int) -> Singles:
    """The sum of vectors[of[i]] over each group, to length 1 (or 0); entries in no group have -1 or less."""
    sums = np.zeros((groups, vectors.shape[1]), dtype=np.float64)
    for i in range(of.size):
        if group[i] >= 0:
            for d in range(vectors.shape[1]):
                sums[group[i], d] += vectors[of[i], d]
    result = np.zeros(sums.shape, dtype=np.float32)
    for g in range(groups):
        _to_unit(sums[g], result[g])
    return result


@jit
def products(vectors: Singles, one: Short, others: Singles, other: Short) -> NDArray[np.float64]:
    """The product of vectors[one[i]] and others[other[i]]."""
    result = np.zeros(one.size, dtype=np.float64)
    for i in range(one.size):
        for d in range(vectors.shape[1]):
            result[i] += np.float64(vectors[one[i], d]) * np.float64(others[other[i], d])
    return result
