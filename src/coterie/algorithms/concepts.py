"""Users as sets of concepts: what rows of a log mean in a taxonomy, as arrays for `kernels.concept_sets` (paper 002).

A query as a whole has up to `categories` concepts, the likeliest first; without stop words, and with words stripped
from the left until the rest is known. A query that the taxonomy does not know is a category of its own below the root:
at distance 1 from everything but the same query. So is the root, which has nothing in common with what is below it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from coterie.algorithms.events import QUERY, USER, Keys
from coterie.algorithms.kernels.concept_sets import ConceptSets, ancestors, gaps_of
from coterie.core.arrays import Flags, Ints, offsets
from coterie.taxonomies import Taxonomy

UNKNOWN = -1


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Meanings:
    """Users and what they searched for as arrays, and what the numbers in them stand for."""

    sets: ConceptSets
    users: pl.Series
    node: Ints
    """The likeliest node of each row."""
    concept: Ints
    """The concept of each node, UNKNOWN for a query that has none."""

    @property
    def unmapped(self) -> Flags:
        """Which rows have a query without a concept."""
        unknown: Flags = self.concept[self.node] == UNKNOWN
        return unknown


def encode(rows: pl.DataFrame, tree: Taxonomy, categories: int, keys: Keys) -> Meanings:
    """Rows (user, query), those of a user together, as arrays."""
    owner = rows[USER].rle_id().cast(pl.Int64).to_numpy()
    users = rows[USER].gather(np.flatnonzero(np.diff(owner, prepend=-1)))
    queries = rows[QUERY].unique().sort()
    query = rows[QUERY].rank("dense").cast(pl.Int64).to_numpy() - 1
    classified = tree.classify(queries, unit="query", categories=categories)
    concepts = classified.terms["concept"].to_numpy().astype(np.int64)
    nodes, path_start, path = _paths(tree, concepts)
    unmapped = np.flatnonzero(~classified.mapped)
    concept = np.concatenate([nodes, [0], np.full(unmapped.size, UNKNOWN)])
    # The root and unknown queries are nodes at the end, each below nothing.
    alone = np.arange(nodes.size, concept.size)
    path_start = np.concatenate([path_start, path_start[-1] + 1 + np.arange(alone.size)])
    path = np.concatenate([path, alone])
    terms = pl.DataFrame({
        "number": np.concatenate([classified.query, unmapped]),
        "node": np.concatenate([_places(concepts, nodes), alone[1:]]),
    })  # fmt: skip
    kind, kind_start, kind_nodes = _kinds(terms, concept.size)
    pairs, counts = np.unique(owner * np.int64(kind_start.size) + kind[query], return_counts=True)
    user_start = np.searchsorted(pairs // kind_start.size, np.arange(len(users) + 1))
    kinds = pairs % kind_start.size
    above_start, above, lowest = ancestors(path_start, path, kind_start, kind_nodes, user_start, kinds)
    sets = ConceptSets(
        path_start=path_start,
        path=path,
        place=_tie_order(concept[: nodes.size + 1], queries.gather(unmapped), keys),
        kind_start=kind_start,
        kind_nodes=kind_nodes,
        user_start=user_start,
        kinds=kinds,
        counts=counts,
        sizes=np.bincount(owner),
        above_start=above_start,
        above=above,
        lowest=lowest,
        gaps=gaps_of(int(np.diff(path_start).max())),
    )
    return Meanings(sets=sets, users=users, node=kind_nodes[kind_start[kind]][query], concept=concept)


def _paths(tree: Taxonomy, concepts: Ints) -> tuple[Ints, Ints, Ints]:
    """Concepts with all above them but the root, each followed by those below it; and the path to each as places."""
    nodes, more = np.empty(0, dtype=np.int64), np.unique(concepts)
    while (more := more[more > 0]).size:
        nodes = np.union1d(nodes, more)
        more = np.unique(tree.parent[more])
    depth = tree.depth[nodes].astype(np.int64)
    paths = np.full((int(depth.max(initial=1)), nodes.size), -1, dtype=np.int64)
    here, level, column = nodes.copy(), depth.copy(), np.arange(nodes.size)
    while (inside := level > 0).any():
        here, level, column = here[inside], level[inside] - 1, column[inside]
        paths[level, column] = here
        here = tree.parent[here].astype(np.int64)
    order = np.lexsort(paths[::-1])
    nodes, paths = nodes[order], paths[:, order].T
    return nodes, offsets(depth[order]), _places(paths[paths >= 0], nodes)


def _places(concepts: Ints, nodes: Ints) -> Ints:
    """The node of each concept; the root comes after all others."""
    sorter = np.argsort(nodes, kind="stable")
    places = np.append(sorter, nodes.size)[np.searchsorted(nodes, concepts, sorter=sorter)]
    return np.where(concepts == 0, nodes.size, places)


def _kinds(terms: pl.DataFrame, n_nodes: int) -> tuple[Ints, Ints, Ints]:
    """The kind of each query, and the nodes of each kind; queries that mean the same are of one kind."""
    means = terms.group_by("number", maintain_order=True).agg("node").sort("number")
    several = means.filter(pl.col("node").list.len() > 1)
    distinct = several.select(pl.col("node").unique(maintain_order=True)).with_row_index("kind", offset=n_nodes)
    numbered = means.join(distinct, on="node", how="left", maintain_order="left")
    kind = numbered.select(pl.col("kind").cast(pl.Int64).fill_null(pl.col("node").list.first())).to_series()
    sizes = np.concatenate([np.ones(n_nodes, dtype=np.int64), distinct["node"].list.len().to_numpy()])
    nodes = np.concatenate([np.arange(n_nodes), distinct["node"].explode().to_numpy()]).astype(np.int64)
    return kind.to_numpy(), offsets(sizes), nodes


def _tie_order(concepts: Ints, queries: pl.Series, keys: Keys) -> Ints:
    """The place of each node by its key: that of the concept, or of the query that has none."""
    drawn = [keys("tie between concepts", pl.Series(concepts).cast(pl.String)), keys("tie between queries", queries)]
    place = np.empty(concepts.size + len(queries), dtype=np.int64)
    place[np.argsort(np.concatenate(drawn), kind="stable")] = np.arange(place.size)
    return place
