"""How alike two terms are in a tree of concepts (Wu and Palmer 1994), and what they have in common.

    s(a, b) = 2 depth(lcs) / (depth(a) + depth(b))     of concepts; depth in nodes, 1 for the root
    s of terms = the largest over their senses; they have in common the least common subsumer (lcs) of those senses, of
    several the deepest, then the one with the smallest number

A distance 1 - s is a fraction of two small numbers, so there are few: each has a code, and smaller distances have
smaller codes. `costs_of` gives the distances in whole parts of UNIT, so that sums are the same in whatever order they
are taken.

Nodes are the concepts of the terms and all above them, numbered so that all below a node follow it. Then the depth of
the lcs of one node with all others is a running minimum, outwards from the node.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.kernels._arrays import Ints
from coterie.kernels._jit import jit, uncounted

Codes = NDArray[np.uint16]

UNIT = 2**50


class Senses(NamedTuple):
    """Terms and the nodes they can mean."""

    parent: Ints
    """The node above each node, -1 for the root."""
    depth: Ints
    """1 for the root."""
    concept: Ints
    """The number of each node in the tree it was taken from: ties go to the smallest."""
    term_start: Ints
    term_nodes: Ints
    """The nodes of each term, at least one."""
    codes: Codes
    """The code of a distance, by the depth of the lcs and the sum of both depths."""


def codes_of(height: int) -> Codes:
    """Codes for trees of so many levels, the root among them."""
    values, there = _fractions(height)
    return np.searchsorted(np.unique(values[there]), values).astype(np.uint16)


def costs_of(height: int) -> Ints:
    """The distance of each code in parts of UNIT, then that of what has no partner: UNIT."""
    values, there = _fractions(height)
    _, first = np.unique(values[there], return_index=True)
    common, total = (part[first] for part in np.nonzero(there))
    # Halves up, in whole numbers.
    return np.append((2 * (total - 2 * common) * UNIT + total) // (2 * total), UNIT)


def _fractions(height: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """1 - s by the depth of the lcs and the sum of depths, and where these can be. Equal fractions are equal floats."""
    common, total = np.arange(height + 1)[:, None], np.arange(2 * height + 1)[None, :]
    there = (common > 0) & (2 * common <= total)
    return np.where(there, (total - 2 * common) / np.maximum(total, 1), 2.0), there


@jit
def row(nodes: Ints, senses: Senses, near: Codes, result: Codes) -> None:
    """The codes of one term, given as its nodes, with all terms; `near` is room for one code of each node."""
    parent, depth = senses.parent, senses.depth
    near[:] = np.uint16(65535)
    for source in nodes:
        deep = depth[source]
        common = deep
        for i in range(source, depth.size):
            if i > source:
                common = min(common, depth[parent[i]])
            near[i] = min(near[i], senses.codes[common, deep + depth[i]])
        common = deep
        for i in range(source - 1, -1, -1):
            common = min(common, depth[parent[i + 1]])
            near[i] = min(near[i], senses.codes[common, deep + depth[i]])
    for term in range(senses.term_start.size - 1):
        code = near[senses.term_nodes[senses.term_start[term]]]
        for s in range(senses.term_start[term] + 1, senses.term_start[term + 1]):
            code = min(code, near[senses.term_nodes[s]])
        result[term] = code


@jit
def table(senses: Senses) -> Codes:
    """The codes of all pairs of terms."""
    n = senses.term_start.size - 1
    near = np.empty(senses.depth.size, dtype=np.uint16)
    result = np.empty((n, n), dtype=np.uint16)
    for term in range(n):
        row(
            senses.term_nodes[senses.term_start[term] : senses.term_start[term + 1]], senses, near, result[term]
        )  # fmt: skip
    return result


@uncounted
def common_node(nodes: Ints, others: Ints, senses: Senses) -> int:
    """The node that two terms have in common, given as their nodes."""
    depth, parent = senses.depth, senses.parent
    best, best_code = -1, 0
    for i in range(nodes.size):
        for j in range(others.size):
            a, b = nodes[i], others[j]
            while a != b:  # who is below another, or no less deep, follows it
                if a > b:
                    a = parent[a]
                else:
                    b = parent[b]
            code = senses.codes[depth[a], depth[nodes[i]] + depth[others[j]]]
            deeper = best < 0 or (depth[a], -senses.concept[a]) > (depth[best], -senses.concept[best])
            if best < 0 or code < best_code or (code == best_code and deeper):
                best, best_code = a, code
    return best
