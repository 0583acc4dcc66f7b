"""The kernels of latent semantic analysis against NumPy's linear algebra."""

import numpy as np
import pytest

from coterie.algorithms.kernels import lsa
from coterie.core.threads import in_threads


def sparse(dense):
    row, column = np.nonzero(dense)
    start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(dense)))]).astype(np.int64)
    return lsa.Sparse(start, column.astype(np.int32), dense[row, column].astype(np.float32), dense.shape[1])


def example(rows, columns, seed, rank=None):
    draw = np.random.default_rng(seed)
    dense = draw.normal(size=(rows, columns)) * (draw.random((rows, columns)) < 0.4)
    dense[:, : columns // 4] *= 4
    if rank is not None:
        dense = dense[:, :rank] @ draw.normal(size=(rank, columns))
    return dense.astype(np.float32).astype(np.float64)


@pytest.mark.parametrize("seed", range(3))
def test_products_and_eigenvectors(seed):
    dense = example(30, 20, seed)
    right = np.random.default_rng(seed).normal(size=(20, 5))
    np.testing.assert_allclose(lsa.times(sparse(dense), right), dense @ right)
    np.testing.assert_allclose(lsa.times(lsa.transposed(sparse(dense)), dense), dense.T @ dense)
    np.testing.assert_allclose(lsa.product(dense, right), dense @ right)
    values, vectors = lsa.eigen(lsa.gram(dense))
    np.testing.assert_allclose(values, np.linalg.eigvalsh(dense.T @ dense)[::-1], atol=1e-9)
    np.testing.assert_allclose(vectors @ np.diag(values) @ vectors.T, dense.T @ dense, atol=1e-9)


@pytest.mark.parametrize(("rows", "columns", "rank"), [(40, 60, None), (60, 25, None), (50, 50, 3), (5, 1, None)])
def test_directions_span_the_leading_singular_vectors(rows, columns, rank):
    dense = example(rows, columns, 1, rank)
    tried = min(rows, columns, 20)
    found = lsa.directions(sparse(dense), np.random.default_rng(0).standard_normal((rows, tried)))
    _, values, expected = np.linalg.svd(dense)
    for number in range(min(tried, 4, rank or 4)):
        assert abs(found[:, number] @ expected[number]) == pytest.approx(1, abs=0.02), values
    lengths = np.linalg.norm(found, axis=0)
    assert set(lengths.round(6)) <= {0.0, 1.0}  # what is not there is nothing, not noise
    assert (lengths > 0.5).sum() == min(tried, rank or np.linalg.matrix_rank(dense))


def test_threads_and_parts_change_no_bit(monkeypatch):
    dense = example(50, 30, 4)
    begin = np.random.default_rng(0).standard_normal((50, 12))
    expected = lsa.directions(sparse(dense), begin)
    monkeypatch.setattr(lsa, "_ROWS_AT_ONCE", 7)
    monkeypatch.setattr(lsa, "_COLUMNS_AT_ONCE", 5)
    assert (lsa.directions(sparse(dense), begin, in_threads) == expected).all()


def test_scales_are_the_first_numbers_each_of_length_one():
    dense = example(12, 8, 2)
    words = np.random.default_rng(0).normal(size=(8, 5)).astype(np.float32)
    found = lsa.project(sparse(dense), words, np.array([2, 5]))
    for columns, scale in ((slice(0, 2), 2), (slice(2, 7), 5)):
        alone = lsa.project(sparse(dense), np.ascontiguousarray(words[:, :scale]), np.array([scale]))
        assert (found[:, columns] == alone).all()


def test_projections_have_length_one_or_zero():
    dense = example(12, 8, 2)
    dense[3] = 0
    words = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
    found = lsa.project(sparse(dense), words, np.array([3]))
    expected = dense @ words
    np.testing.assert_allclose(found * np.linalg.norm(expected, axis=1, keepdims=True), expected, atol=1e-4)
    assert (found[3] == 0).all()
    np.testing.assert_allclose(np.linalg.norm(np.delete(found, 3, axis=0), axis=1), 1, atol=1e-6)
