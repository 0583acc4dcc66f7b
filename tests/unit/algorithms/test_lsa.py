"""Rows of a sparse matrix as vectors of what they have in common."""

import numpy as np
import pytest

from coterie.algorithms import lsa
from coterie.algorithms.kernels.lsa import Sparse


def sparse(rows):
    """A matrix from lists of numbers; 0 stands for nothing."""
    table = np.array(rows, dtype=np.float32)
    start = np.concatenate([[0], np.cumsum((table > 0).sum(axis=1))])
    return Sparse(start, np.nonzero(table)[1].astype(np.int32), table[table > 0], table.shape[1])


def dense(matrix):
    result = np.zeros((matrix.start.size - 1, matrix.width))
    for row in range(result.shape[0]):
        some = slice(matrix.start[row], matrix.start[row + 1])
        result[row, matrix.column[some]] = matrix.value[some]
    return result


def test_tf_idf_by_hand():
    counts = sparse([[1, 3, 2], [0, 1, 0], [1, 0, 0]])
    assert lsa.idf(counts) == pytest.approx(1 + np.log([4 / 3, 4 / 3, 4 / 2]))
    expected = np.zeros((3, 3))
    expected[0] = [1, 1 + np.log(3), 0]  # what one row alone has weighs nothing
    expected[1, 1] = expected[2, 0] = 1
    assert dense(lsa.tfidf(counts)) == pytest.approx(expected * (1 + np.log(4 / 3)))


def test_rows_of_length_one():
    unit = dense(lsa.unit_rows(sparse([[3, 4, 0], [0, 0, 0], [0, 2, 0]])))
    assert unit == pytest.approx(np.array([[0.6, 0.8, 0], [0, 0, 0], [0, 1, 0]]))


def test_side_by_side():
    both = lsa.beside(sparse([[1, 0], [0, 2]]), sparse([[4, 0, 6], [0, 8, 0]]), 0.5)
    assert dense(both).tolist() == [[1, 0, 2, 0, 3], [0, 2, 0, 4, 0]]


def begin(shape):
    return np.random.default_rng(1).standard_normal(shape)


def test_rows_with_the_same_columns_are_alike(monkeypatch):
    counts = sparse([[1, 1, 0, 0], [2, 2, 0, 0], [0, 0, 1, 1], [0, 0, 1, 2]])
    vectors = lsa.lsa_vectors(counts, np.arange(4), 2, begin)
    alike = vectors @ vectors.T
    assert alike[0, 1] == pytest.approx(1)
    assert alike[2, 3] == pytest.approx(1, abs=0.01)
    assert abs(alike[0, 2]) < 0.01
    monkeypatch.setattr(lsa, "_ROWS_AT_ONCE", 1)
    assert (lsa.lsa_vectors(counts, np.arange(4), 2, begin) == vectors).all()


def test_scales_stand_side_by_side():
    counts = sparse(np.random.default_rng(2).integers(0, 3, (40, 50)))
    everything = np.arange(40)
    assert lsa.lsa_vectors(counts, everything, 32, begin).shape[1] == 32 + 16 + 8
    assert lsa.lsa_vectors(counts, everything, 12, begin).shape[1] == 12, "none of fewer than eight but all"
    lengths = np.linalg.norm(lsa.lsa_vectors(counts, everything, 32, begin), axis=1)
    assert lengths == pytest.approx(np.ones(40), abs=1e-5)


def test_nothing_to_tell_rows_by():
    assert lsa.lsa_vectors(sparse(np.zeros((3, 0))), np.arange(3), 8, begin).shape == (3, 0)
