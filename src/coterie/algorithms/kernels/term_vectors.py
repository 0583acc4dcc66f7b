"""Documents as vectors of weighted terms: their distance, what several have in common, and MDAV (paper 004).

    d(a, b) = (1/N) min over one-to-one assignments of Σ (1 - s(term, its partner)),   N = terms of the longer one

A term without a partner counts 1. In common two vectors have the least common subsumers of partners, with the mean of
both weights; more vectors are folded in one after the other. For that ε·min(w, w')·|w - w'| is added to each cost, so
that of equally good partners those with like weights are taken (ε = 1e-6). What has no partner is dropped.

MDAV needs the nearest and the farthest documents of one, not all distances. Two bounds decide most pairs without an
assignment:

    below   the sum of the distances of a's terms to the nearest terms of b, and of b's to those of a; both are looked
            up in a table of all documents and terms. Then what `assignment` knows before it assigns
    above   the cost if each term takes its nearest free one

Assignments are computed only while the bound says that a document could still be among the nearest, or the farthest.
Nothing is pruned with the triangle inequality, as s makes no metric. Ties go to the smallest index. The result is that
of the plain version.

How alike two terms are in a tree of concepts (Wu and Palmer 1994), and what they have in common.

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

from coterie.algorithms.kernels._arrays import Floats, Ints, Short, enter
from coterie.algorithms.kernels._jit import inlined, jit, uncounted
from coterie.algorithms.kernels.assignment import ANY_COST, TOO_LITTLE, TOO_MUCH, Workspace, assign, workspace
from coterie.algorithms.kernels.mdav import partition

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


@inlined
def _meeting(a: int, b: int, parent: Ints) -> int:
    """The lowest node above two nodes, or one of them."""
    while a != b:  # who is below another, or no less deep, follows it
        if a > b:
            a = parent[a]
        else:
            b = parent[b]
    return a


@uncounted
def common_node(nodes: Ints, others: Ints, senses: Senses) -> int:
    """The node that two terms have in common, given as their nodes."""
    depth, parent = senses.depth, senses.parent
    best, best_code = -1, 0
    for i in range(nodes.size):
        for j in range(others.size):
            a = _meeting(nodes[i], others[j], parent)
            code = senses.codes[depth[a], depth[nodes[i]] + depth[others[j]]]
            deeper = best < 0 or (depth[a], -senses.concept[a]) > (depth[best], -senses.concept[best])
            if best < 0 or code < best_code or (code == best_code and deeper):
                best, best_code = a, code
    return best


# --- vectors ----------------------------------------------------------------------------------------


_EPSILON = 1e-6 * UNIT
_ROUNDING = 2**10  # more than rounding can change a sum of costs
_ROWS = 4096  # nodes whose distances to all terms are remembered


class Vectors(NamedTuple):
    """The terms of each document, heaviest first, each once, and their weights (at most 1)."""

    start: Ints
    term: Ints
    weight: Floats


class Distances(NamedTuple):
    """Terms and how far they are from each other and from documents, as codes."""

    senses: Senses
    cost: Ints
    """The distance of each code; the last is that of what has no partner."""
    terms: Codes
    """Of each term from each term."""
    documents: Codes
    """Of the nearest term of each document from each term."""


class Common(NamedTuple):
    """What several documents have in common: nodes and weights."""

    node: Ints
    weight: Floats


class _Rows(NamedTuple):
    """Distances of some nodes from all terms, computed when they are first asked for."""

    codes: Codes
    place: Short
    """Where the codes of a node are, -1 where they are not known."""
    node: Ints
    """Which nodes are known."""
    known: Ints
    """How many."""
    near: Codes


def distances_of(vectors: Vectors, senses: Senses, cost: Ints) -> Distances:
    """The tables of some documents."""
    terms = table(senses)
    return Distances(senses, cost, terms, _nearest(vectors, terms, cost.size - 1))


@jit
def _nearest(vectors: Vectors, terms: Codes, none: int) -> Codes:
    result = np.full((vectors.start.size - 1, terms.shape[0]), none, dtype=np.uint16)
    for d in range(result.shape[0]):
        for e in range(vectors.start[d], vectors.start[d + 1]):
            t = vectors.term[e]
            for other in range(terms.shape[0]):
                result[d, other] = min(result[d, other], terms[t, other])
    return result


def _rows_of(senses: Senses) -> _Rows:
    nodes, terms = senses.depth.size, senses.term_start.size - 1
    return _Rows(
        np.empty((min(nodes, _ROWS), terms), dtype=np.uint16),
        np.full(nodes, -1, dtype=np.int32),
        np.empty(min(nodes, _ROWS), dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.empty(nodes, dtype=np.uint16),
    )


@jit
def _ask_for(nodes: Ints, senses: Senses, rows: _Rows) -> None:
    """Make sure that the distances of some nodes are known."""
    unknown = 0
    for node in nodes:
        unknown += rows.place[node] < 0
    if rows.known[0] + unknown > rows.node.size:
        for at in range(rows.known[0]):
            rows.place[rows.node[at]] = -1
        rows.known[0] = 0
    for node in nodes:
        if rows.place[node] < 0:
            at = rows.known[0]
            rows.place[node], rows.node[at] = at, node
            rows.known[0] += 1
            row(np.array([node]), senses, rows.near, rows.codes[at])


@uncounted
def _fill(lines: Ints, codes: Codes, document: int, vectors: Vectors, cost: Ints, work: Workspace) -> int:
    """The costs of some lines of a table of codes and the terms of a document, square; its size."""
    first, last = vectors.start[document], vectors.start[document + 1]
    n: int = max(lines.size, last - first)
    for i in range(lines.size):
        for j in range(last - first):
            work.cost[i, j] = cost[codes[lines[i], vectors.term[first + j]]]
        for j in range(last - first, n):
            work.cost[i, j] = UNIT
    for i in range(lines.size, n):
        for j in range(n):
            work.cost[i, j] = UNIT
    return n


@jit
def distance(lines: Ints, codes: Codes, document: int, vectors: Vectors, cost: Ints, work: Workspace) -> float:
    """d of what has these lines in a table of codes and a document."""
    n = _fill(lines, codes, document, vectors, cost, work)
    return 0.0 if n == 0 else assign(n, 0, ANY_COST, work) / (n * UNIT)


@jit
def below(document: int, others: Ints, vectors: Vectors, distances: Distances) -> Floats:
    """For each of some documents a number that d is not below."""
    cost, nearest = distances.cost, distances.documents
    first, last = vectors.start[document], vectors.start[document + 1]
    result = np.empty(others.size, dtype=np.float64)
    for at in range(others.size):
        o = others[at]
        start, end = vectors.start[o], vectors.start[o + 1]
        n = max(last - first, end - start)
        ours, theirs = UNIT * (n - (last - first)), UNIT * (n - (end - start))
        for e in range(first, last):
            ours += cost[nearest[o, vectors.term[e]]]
        for e in range(start, end):
            theirs += cost[nearest[document, vectors.term[e]]]
        result[at] = max(ours, theirs) / (n * UNIT) if n > 0 else 0.0
    return result


@jit
def nearest(
    document: int, others: Ints, order: Ints, low: Floats, wanted: int, vectors: Vectors, distances: Distances,
    work: Workspace, counts: Ints,
) -> Ints:  # fmt: skip
    """The `wanted` nearest of some documents, nearest first; `order` is that of `low`, their bounds."""
    lines = vectors.term[vectors.start[document] : vectors.start[document + 1]]
    best = np.full(wanted, np.inf)
    who = np.full(wanted, -1, dtype=np.int64)
    for o in order:
        if low[o] > best[-1]:
            break
        other = others[o]
        n = _fill(lines, distances.terms, other, vectors, distances.cost, work)
        most = ANY_COST if best[-1] == np.inf else int(best[-1] * (n * UNIT)) + _ROUNDING
        total = assign(n, 0, most, work)
        counts[0] += 1
        if total == TOO_MUCH:
            continue
        counts[1] += 1
        enter(total / (n * UNIT) if n > 0 else 0.0, other, best, who)
    return who


@jit
def _about(lines: Ints, codes: Codes, others: Ints, vectors: Vectors, cost: Ints) -> Ints:
    """About how far some documents are: the sum of the distances of their terms to the nearest line."""
    near = np.full(codes.shape[1], cost.size - 1, dtype=np.uint16)
    for line in lines:
        for term in range(near.size):
            near[term] = min(near[term], codes[line, term])
    result = np.zeros(others.size, dtype=np.int64)
    for at in range(others.size):
        for e in range(vectors.start[others[at]], vectors.start[others[at] + 1]):
            result[at] += cost[near[vectors.term[e]]]
    return result


@jit
def farthest(
    lines: Ints, codes: Codes, others: Ints, order: Ints, vectors: Vectors, cost: Ints, work: Workspace, counts: Ints
) -> int:
    """The farthest of some documents, which are looked at in an order."""
    best, who = -1.0, -1
    for o in order:
        other = others[o]
        n = _fill(lines, codes, other, vectors, cost, work)
        total = 0 if n == 0 else assign(n, max(0, int(best * (n * UNIT)) - _ROUNDING), ANY_COST, work)
        counts[2] += 1
        if total == TOO_LITTLE:
            continue
        counts[3] += 1
        d = total / (n * UNIT) if n > 0 else 0.0
        if d > best or (d == best and other < who):
            best, who = d, other
    return who


@uncounted
def _add_ties(n: int, m: int, weights: Floats, first: int, vectors: Vectors, work: Workspace) -> None:
    for i in range(n):
        for j in range(m):
            ours, theirs = weights[i], vectors.weight[first + j]
            work.cost[i, j] += int(np.rint(_EPSILON * min(ours, theirs) * abs(ours - theirs)))


@jit
def fold(documents: Ints, vectors: Vectors, distances: Distances, rows: _Rows, work: Workspace) -> Common:
    """What some documents have in common, folded in their order."""
    senses, cost = distances.senses, distances.cost
    starts, nodes = senses.term_start, senses.term_nodes
    first, last = vectors.start[documents[0]], vectors.start[documents[0] + 1]
    node = np.empty(last - first, dtype=np.int64)
    weight = vectors.weight[first:last].copy()
    size = last - first
    if documents.size == 1:
        for i in range(size):
            own = nodes[starts[vectors.term[first + i]] : starts[vectors.term[first + i] + 1]]
            node[i] = common_node(own, own, senses)
    for step in range(1, documents.size):
        start = vectors.start[documents[step]]
        others = vectors.start[documents[step] + 1] - start
        if step == 1:
            n = _fill(vectors.term[first:last], distances.terms, documents[step], vectors, cost, work)
        else:
            _ask_for(node[:size], senses, rows)
            n = _fill(
                rows.place[node[:size]].astype(np.int64), rows.codes, documents[step], vectors, cost, work
            )  # fmt: skip
        _add_ties(size, others, weight, start, vectors, work)
        if n > 0:
            assign(n, 0, ANY_COST, work)
        kept = 0
        for i in range(size):
            j = work.column_of[i]
            if j >= others:
                continue
            term = vectors.term[start + j]
            theirs = nodes[starts[term] : starts[term + 1]]
            if step == 1:
                own = vectors.term[first + i]
                node[kept] = common_node(nodes[starts[own] : starts[own + 1]], theirs, senses)
            else:
                node[kept] = common_node(node[i : i + 1], theirs, senses)
            weight[kept] = (weight[i] * step + vectors.weight[start + j]) / (step + 1)
            kept += 1
        size = kept
    return Common(node[:size].copy(), weight[:size].copy())


@jit
def apart(nodes: Ints, others: Ints, senses: Senses, cost: Ints, work: Workspace) -> float:
    """d of what some documents have in common and what others have."""
    parent, depth = senses.parent, senses.depth
    n: int = max(nodes.size, others.size)
    for i in range(n):
        for j in range(n):
            work.cost[i, j] = UNIT
    for i in range(nodes.size):
        for j in range(others.size):
            a = _meeting(nodes[i], others[j], parent)
            work.cost[i, j] = cost[senses.codes[depth[a], depth[nodes[i]] + depth[others[j]]]]
    return 0.0 if n == 0 else assign(n, 0, ANY_COST, work) / (n * UNIT)


class Folding:
    """Documents with their tables: distances, what several have in common, and groups."""

    def __init__(self, vectors: Vectors, senses: Senses, cost: Ints) -> None:
        self.vectors = vectors
        self.distances = distances_of(vectors, senses, cost)
        self.rows = _rows_of(senses)
        self.work = workspace(max(1, int(np.diff(vectors.start).max())))
        self.counts = np.zeros(4, dtype=np.int64)
        """Pairs that a first bound did not decide, of these assignments made, and assignments for the farthest."""

    def common(self, documents: Ints) -> Common:
        """What some documents have in common, folded in their order."""
        return fold(documents, self.vectors, self.distances, self.rows, self.work)

    def between(self, document: int, others: Ints) -> Floats:
        """d of one document and some others."""
        return self._all(self._lines(document), self.distances.terms, others)

    def to_common(self, common: Common, others: Ints) -> Floats:
        """d of what some documents have in common and some documents."""
        _ask_for(common.node, self.distances.senses, self.rows)
        return self._all(self.rows.place[common.node].astype(np.int64), self.rows.codes, others)

    def apart(self, one: Common, other: Common) -> float:
        """d of what some documents have in common and what others have."""
        return float(apart(one.node, other.node, self.distances.senses, self.distances.cost, self.work))

    def groups(self, k: int, centre: int = 0) -> tuple[Ints, Ints]:
        """MDAV: members of all groups, and where each group starts; each is led by the document it was built around.

        The average of what is left is folded from all of it, or from its first `centre` documents.
        """
        average_of: list[Common] = []

        def average(left: Ints) -> int:
            average_of[:] = [self.common(left[: centre or None])]
            return -1

        def farthest_of(source: int, left: Ints) -> int:
            lines, codes = self._lines(source), self.distances.terms
            if source < 0:
                common = average_of[0]
                _ask_for(common.node, self.distances.senses, self.rows)
                lines, codes = self.rows.place[common.node].astype(np.int64), self.rows.codes
            settings = self.vectors, self.distances.cost
            order = np.argsort(-_about(lines, codes, left, *settings), kind="stable")
            return farthest(lines, codes, left, order, *settings, self.work, self.counts)

        def nearest_of(source: int, left: Ints, count: int) -> Ints:
            others = left[left != source]
            low = below(source, others, self.vectors, self.distances)
            order = np.argsort(low, kind="stable")
            return nearest(
                source, others, order, low, count, self.vectors, self.distances, self.work, self.counts
            )  # fmt: skip

        return partition(self.vectors.start.size - 1, k, average, farthest_of, nearest_of)

    def _lines(self, document: int) -> Ints:
        return self.vectors.term[self.vectors.start[document] : self.vectors.start[document + 1]]

    def _all(self, lines: Ints, codes: Codes, others: Ints) -> Floats:
        settings = self.vectors, self.distances.cost, self.work
        return np.array([distance(lines, codes, other, *settings) for other in others.tolist()])
