"""Topics of unit vectors: spherical k-means, added up in one order.

centres = some of the vectors
repeat:  each vector to the centre with the largest product (ties to the lowest number)
         centre = sum of its vectors, to length 1; a centre without vectors stays
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.kernels._arrays import Short
from coterie.kernels._jit import jit

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
            length = 0.0
            for d in range(vectors.shape[1]):
                length += sums[c, d] * sums[c, d]
            if length > 0.0:
                for d in range(vectors.shape[1]):
                    centres[c, d] = sums[c, d] / np.sqrt(length)
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
        length = 0.0
        for d in range(vectors.shape[1]):
            length += sums[g, d] * sums[g, d]
        if length > 0.0:
            for d in range(vectors.shape[1]):
                result[g, d] = sums[g, d] / np.sqrt(length)
    return result


@jit
def products(vectors: Singles, one: Short, others: Singles, other: Short) -> NDArray[np.float64]:
    """The product of vectors[one[i]] and others[other[i]]."""
    result = np.zeros(one.size, dtype=np.float64)
    for i in range(one.size):
        for d in range(vectors.shape[1]):
            result[i] += np.float64(vectors[one[i], d]) * np.float64(others[other[i], d])
    return result
