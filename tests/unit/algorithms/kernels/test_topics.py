"""Topics of vectors, by hand and against plain loops."""

import numpy as np
import pytest

from coterie.algorithms.kernels.lsa import centres_of, nearest, products, sums_by


def _unit(rows):
    rows = np.array(rows, dtype=np.float64)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_two_bundles_are_two_topics():
    vectors = _unit([[1, 0.1], [0.9, 0.2], [0.1, 1], [0.2, 0.9], [1, 0]])
    centres = centres_of(vectors, vectors[:1].repeat(2, axis=0), 1)
    assert nearest(vectors, vectors[[0, 2]]).tolist() == [0, 0, 1, 1, 0]
    assert centres.shape == (2, 2)
    found = centres_of(vectors, vectors[[0, 2]], 5)
    assert found == pytest.approx(_unit([vectors[[0, 1, 4]].sum(axis=0), vectors[[2, 3]].sum(axis=0)]), abs=1e-6)
    assert np.array_equal(centres[1], vectors[0]), "a centre without vectors stays"


def test_sums_and_products():
    stream = np.random.default_rng(1)
    vectors = stream.standard_normal((6, 3)).astype(np.float32)
    of, group = np.array([0, 1, 2, 5], dtype=np.int32), np.array([0, 0, -1, 1], dtype=np.int32)
    sums = sums_by(vectors, of, group, 3)
    assert sums[0] == pytest.approx(_unit([vectors[0] + vectors[1]])[0], abs=1e-6)
    assert sums[1] == pytest.approx(_unit([vectors[5]])[0], abs=1e-6)
    assert not sums[2].any()
    other = np.array([1, 0, 2, 1], dtype=np.int32)
    assert products(vectors, of, sums, other) == pytest.approx((vectors[of] * sums[other]).sum(axis=1), abs=1e-6)
