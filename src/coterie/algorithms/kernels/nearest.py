"""The nearest of many sparse vectors, by inner product, found through the lists of vectors that have a feature.

Vectors are given by rows (start, feature, weight), features ascending; lists by columns (begin, vector, value), vectors
ascending. An inner product is the sum over the features of the asking vector, in their order, so that it comes out the
same to the last bit. Of equally near vectors the one with the smaller number comes first.
"""

from __future__ import annotations

import numpy as np

from coterie.algorithms.kernels._arrays import Floats, Ints, enter, places_by
from coterie.algorithms.kernels._jit import inlined, jit


def columns_of(start: Ints, feature: Ints, weight: Floats, n_features: int) -> tuple[Ints, Ints, Floats]:
    """The lists of all features."""
    vector = np.repeat(np.arange(start.size - 1), np.diff(start))
    begin, places = places_by(feature, n_features)
    return begin, vector[places], weight[places]


@jit
def nearest(
    start: Ints, feature: Ints, weight: Floats, begin: Ints, vector: Ints, value: Floats, n_vectors: int, most: int
) -> tuple[Ints, Floats]:  # fmt: skip
    """For each asking vector the `most` nearest ones of the lists, products above 0; -1 where there are fewer."""
    asking = start.size - 1
    near = np.full((asking, most), -1, dtype=np.int64)
    product = np.full((asking, most), np.inf)  # times -1, so that the largest come first
    score = np.zeros(n_vectors, dtype=np.float64)
    touched = np.empty(n_vectors, dtype=np.int64)
    for a in range(asking):
        n = 0
        for i in range(start[a], start[a + 1]):
            for j in range(begin[feature[i]], begin[feature[i] + 1]):
                v = vector[j]
                if score[v] == 0.0 and value[j] * weight[i] > 0.0:
                    touched[n] = v
                    n += 1
                score[v] += value[j] * weight[i]
        for t in range(n):
            enter(-score[touched[t]], touched[t], product[a], near[a])
            score[touched[t]] = 0.0
    return near, np.where(near >= 0, -product, 0.0)


@jit
def nearest_others(
    attacked: Ints,
    first: int,
    last: int,
    person: Ints,
    start: Ints,
    feature: Ints,
    weight: Floats,
    begin: Ints,
    vector: Ints,
    value: Floats,
    item_start: Ints,
    item: Ints,
    most: int,
) -> tuple[Ints, Ints, Ints]:
    """For each attacked vector the nearest others in first..last - 1 that have an item which it lacks.

    Also how many such others there are, however near, and how many of them are of the same person. Items ascend.
    """
    near = np.full((attacked.size, most), -1, dtype=np.int64)
    others = np.zeros(attacked.size, dtype=np.int64)
    own = np.zeros(attacked.size, dtype=np.int64)
    score = np.zeros(last, dtype=np.float64)
    product = np.empty(most, dtype=np.float64)
    for place in range(attacked.size):
        a = attacked[place]
        score[:] = 0.0
        for i in range(start[a], start[a + 1]):
            for j in range(begin[feature[i]], begin[feature[i] + 1]):
                v = vector[j]
                if v >= last:
                    break
                score[v] += value[j] * weight[i]
        product[:] = np.inf
        for v in range(first, last):
            if v == a or not _has_new(item, item_start[a], item_start[a + 1], item_start[v], item_start[v + 1]):
                continue
            others[place] += 1
            own[place] += person[v] == person[a]
            if score[v] > 0.0:
                enter(-score[v], v, product, near[place])
    return near, others, own


@inlined
def _has_new(item: Ints, one: int, one_end: int, other: int, other_end: int) -> bool:
    """Whether the other stretch of ascending items has one that the first lacks."""
    while other < other_end:
        while one < one_end and item[one] < item[other]:
            one += 1
        if one == one_end or item[one] != item[other]:
            return True
        other += 1
    return False


@jit
def products(start: Ints, feature: Ints, weight: Floats, left: Ints, right: Ints) -> Floats:
    """The inner product of each pair of vectors."""
    found = np.zeros(left.size, dtype=np.float64)
    for pair in range(left.size):
        i, j = start[left[pair]], start[right[pair]]
        i_end, j_end = start[left[pair] + 1], start[right[pair] + 1]
        while i < i_end and j < j_end:
            if feature[i] == feature[j]:
                found[pair] += weight[i] * weight[j]
                i += 1
                j += 1
            elif feature[i] < feature[j]:
                i += 1
            else:
                j += 1
    return found
