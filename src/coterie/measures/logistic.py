"""A plain logistic model of a few features, fitted by Newton's method: always with the same answer."""

from __future__ import annotations

import numpy as np

from coterie.core.arrays import Floats

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
