"""Trees as an array of parents, numbered by depth: the root is 0, and a level follows the one above it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from coterie.core.arrays import Ints, Short
from coterie.errors import InputError

NO_ROOT = -1
"""The depth of what is not below any root."""


def by_depth(parent: Ints) -> tuple[Ints, Short]:
    """Number a tree by depth, within a depth as given: (old numbers in the new order, new parents).

    `parent` holds old numbers, -1 for the one root.
    """
    depth = depths(parent)
    if (depth == NO_ROOT).any():
        raise InputError(f"The parents form a cycle: {(depth == NO_ROOT).sum():,} categories are not below any root.")
    order = np.argsort(depth, kind="stable")
    new = np.argsort(order)
    above = parent[order]
    return order, np.where(above < 0, -1, new[above]).astype(np.int32)


def depths(parent: Ints) -> Ints:
    """The depth of each category, NO_ROOT for those in a cycle of parents and below one."""
    depth = np.where(parent < 0, 0, NO_ROOT)
    ancestor, steps = parent.copy(), 0
    while (open_ := np.flatnonzero(depth == NO_ROOT)).size:
        steps += 1
        placed = depth[ancestor[open_]] >= 0
        if not placed.any():
            break
        depth[open_[placed]] = depth[ancestor[open_[placed]]] + steps
        ancestor[open_[~placed]] = parent[ancestor[open_[~placed]]]
    return depth


def level_starts(parent: Short) -> Ints:
    """Where the concepts of each depth begin, and the end."""
    # The parents of one level are below its first concept, those of the next level are not.
    largest = np.maximum.accumulate(parent)
    starts = [0, 1]
    while starts[-1] < parent.size:
        starts.append(int(np.searchsorted(largest, starts[-1])))
    return np.array(starts)


def totals(parent: Short, numbers: Ints) -> Ints:
    """The sum of the numbers at and below each concept."""
    result = numbers.copy()
    starts = level_starts(parent).tolist()
    for start, end in reversed([*pairwise(starts[1:])]):
        np.add.at(result, parent[start:end], result[start:end])
    return result
