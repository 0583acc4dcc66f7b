"""Documents as arrays: what their terms mean in a tree (paper 004), what they are about (LSA), and groups of them.

Rows come with the column names of TERMS. A term means all senses that the tree has for it; of several words the longest
end that is known counts. Terms without a meaning are left out, and counted.

What a document is about is its tf-idf vector by LSA (`lsa.py`), where a term is there w / w_min times, w_min the
smallest weight in the document: for weights that are shares of all terms, about as often as it was counted.

Where documents have owners, a group needs k of these. Documents are dealt out in rounds, one of each owner in a round,
in random order; each round is grouped on its own, so that no group has two of one owner. Rounds of fewer than 2k
documents, after the first, are not: their documents join the group whose documents are most like them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.algorithms.groups import numbered
from coterie.algorithms.kernels import grouping
from coterie.algorithms.kernels.assignment import MOST_ROWS
from coterie.algorithms.kernels.lsa import Sparse
from coterie.algorithms.kernels.term_vectors import Folding, Senses, Vectors, codes_of, costs_of
from coterie.algorithms.kernels.tree import preorder
from coterie.algorithms.lsa import lsa_vectors, tfidf, unit_rows
from coterie.core.arrays import Flags, Ints, Masks, offsets
from coterie.core.log import Log
from coterie.core.run import Run
from coterie.core.shapes import TERMS, sum_in_order
from coterie.core.threads import Counted, in_threads
from coterie.errors import InputError, InternalError

if TYPE_CHECKING:
    from coterie.algorithms.kernels.term_vectors import Common
    from coterie.taxonomies import Taxonomy

DOC, TERM, WEIGHT, OWNER = TERMS.subject, TERMS.item, TERMS.weight, TERMS.owner
SAMPLE_DOCUMENTS = 50_000
Group = Callable[[Ints], list[Ints]]
"""From the numbers of some documents, at least k, to groups of at least k of them."""
_ALL_SENSES = 2**31 - 1
_UNBLOCKED, _BLOCK = 2_000, 1_000
_AT_ONCE = 1_000  # documents that are compared with all groups


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Meanings:
    """Documents in the order of their names, as far as a tree knows their terms."""

    names: pl.Series
    folding: Folding
    concept: Ints
    """The concept of each node."""
    tree: Taxonomy
    top: float
    """What weights were divided by, so that none is above 1."""

    def described(self, commons: Sequence[Common]) -> pl.DataFrame:
        """number, term, weight: what several groups have in common, by the names of concepts; equal ones as one."""
        nodes = np.concatenate([common.node for common in commons])
        weights = np.concatenate([common.weight for common in commons]) * self.top
        number = np.repeat(np.arange(len(commons)), [common.node.size for common in commons])
        names = self.tree.names.gather(self.concept[nodes]).alias(TERM)
        table = pl.DataFrame([pl.Series("number", number), names, pl.Series(WEIGHT, weights)])
        return table.group_by("number", TERM).agg(sum_in_order(WEIGHT)).sort("number", -pl.col(WEIGHT), TERM)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Documents:
    """Documents in the order of their names."""

    names: pl.Series
    owner: Ints
    """The number of the owner of each; of a document without one, a number that no other has."""
    vectors: grouping.Vectors | None = None
    """What each is about, where that is asked for."""

    @property
    def owned(self) -> bool:
        """Whether some have the same owner."""
        return bool(self.owner.size) and int(self.owner.max()) < self.owner.size - 1


def term_rows(log: Log) -> pl.LazyFrame:
    """The terms of documents: doc, term, weight, owner. A document without an owner is its own."""
    shape = log.shape
    columns = {DOC: shape.subject, TERM: shape.item, WEIGHT: shape.weight}
    whose = pl.lit("\0") + pl.col(shape.subject)  # as no name of an owner begins
    if shape.owner in log.frame.collect_schema():
        whose = pl.coalesce(shape.owner, whose)
    return log.frame.select(*(pl.col(column).alias(name) for name, column in columns.items()), whose.alias(OWNER))


def documents(log: Log) -> Documents:
    """The documents of a log, without what they are about."""
    table = term_rows(log).select(DOC, OWNER).unique(DOC).collect(engine="streaming").sort(DOC)
    return Documents(names=table[DOC], owner=table[OWNER].rank("dense").cast(pl.Int64).to_numpy() - 1)


def about(log: Log, run: Run, dimensions: int) -> Documents:
    """The documents of a log, and what they are about."""
    found = documents(log)
    names = found.names.to_frame().with_row_index("place")
    rows = term_rows(log).join(names.lazy(), on=DOC).select("place", TERM, WEIGHT)
    n = len(found.names)
    sample = np.sort(np.argsort(run.keys("documents", found.names), kind="stable")[:SAMPLE_DOCUMENTS])
    chosen = rows.join(pl.LazyFrame({"place": sample}, schema={"place": pl.UInt32}), on="place", how="semi")
    common = chosen.group_by(TERM).len("documents").filter(pl.col("documents") > 1).select(TERM).sort(TERM)
    columns = common.with_row_index("column").collect(engine="streaming")
    times = (pl.col(WEIGHT) / pl.col(WEIGHT).min().over("place")).cast(pl.Float32).alias("times")
    placed = rows.with_columns(times).join(columns.lazy(), on=TERM).select("place", "column", "times")
    entries = placed.collect(engine="streaming").sort("place", "column")
    run.tell(Counted(1, 2))
    start = offsets(np.bincount(entries["place"].to_numpy(), minlength=n))
    column = entries["column"].to_numpy().astype(np.int32)
    counts = Sparse(start, column, entries["times"].to_numpy(), columns.height)
    begin = run.stream("directions of documents").standard_normal
    vectors = lsa_vectors(unit_rows(tfidf(counts)), sample, dimensions, begin)
    run.tell(Counted(2, 2))
    if not vectors.shape[1]:  # no two documents share a term
        vectors = np.zeros((n, 1), dtype=np.float32)
    whole = np.rint(vectors * grouping.UNIT).astype(np.int16)
    return Documents(names=found.names, owner=found.owner, vectors=whole)


def groups_of_owners(found: Documents, k: int, run: Run, group: Group) -> list[Ints]:
    """Groups of documents of at least k owners: `group` makes them of documents that all have different ones."""
    keys = run.keys("rounds of documents", found.names)
    order = np.lexsort((keys, found.owner))
    start = np.flatnonzero(np.diff(found.owner[order], prepend=-1))
    sizes = np.diff(np.append(start, order.size))
    deal = np.empty(order.size, dtype=np.int64)
    deal[order] = np.arange(order.size) - np.repeat(start, sizes)
    large = np.bincount(deal) >= 2 * k
    large[0] = True
    groups: list[Ints] = []
    for number in np.flatnonzero(large):
        groups += group(np.flatnonzero(deal == number))
    rest = np.flatnonzero(~large[deal])
    if found.vectors is None:
        joined = (keys[rest] % np.uint64(len(groups))).astype(np.int64)
    else:
        joined = _most_alike(found.vectors[rest].astype(np.float64), groups, found.vectors)
    return [np.append(members, rest[joined == number]) for number, members in enumerate(groups)]


def group_table(found: Documents, groups: Sequence[Ints]) -> pl.DataFrame:
    """subject, group: a plan of groups, in the order of documents."""
    number = np.repeat(np.arange(len(groups)), [members.size for members in groups])
    names = found.names.gather(np.concatenate(groups)).alias("subject")
    return numbered(pl.DataFrame([names, pl.Series("group", number, dtype=pl.UInt32)]))


def united(groups: pl.LazyFrame, found: Documents, k: int, run: Run) -> pl.DataFrame:
    """Earlier groups (subject, group) of documents of at least k owners, and unions of those that have fewer.

    The smallest group is joined with the one that is most like it, or with a random one where nothing is known.
    """
    places = pl.DataFrame([found.names.alias("subject"), pl.Series("place", np.arange(len(found.names)))])
    table = groups.collect(engine="streaming").join(places, on="subject").sort("place")
    parts = [part["place"].to_numpy() for (_,), part in table.group_by("group", maintain_order=True)]
    if np.unique(found.owner[table["place"].to_numpy()]).size < k:
        raise InputError(
            f"The groups that are to be used again have documents of fewer than {k} owners. Use a smaller k, or groups "
            "of its own."
        )
    keys = run.keys("unions of documents", found.names)
    owners = [np.unique(found.owner[members]).size for members in parts]
    while min(owners) < k:
        few = int(np.argmin(owners))
        members, _ = parts.pop(few), owners.pop(few)
        if found.vectors is None:
            into = int(keys[members[0]] % np.uint64(len(parts)))
        else:
            mean = np.rint(found.vectors[members].mean(axis=0, dtype=np.float64))
            into = int(_most_alike(mean[None, :], parts, found.vectors)[0])
        parts[into] = np.append(parts[into], members)
        owners[into] = np.unique(found.owner[parts[into]]).size
    return group_table(found, parts)


def _most_alike(rows: NDArray[np.float64], groups: Sequence[Ints], vectors: grouping.Vectors) -> Ints:
    """The group that each of some vectors is most like; of equal ones the first."""
    # Sums of products of whole numbers this small are exact.
    means = np.stack([np.rint(vectors[members].mean(axis=0, dtype=np.float64)) for members in groups]).T
    parts = [rows[at : at + _AT_ONCE] for at in range(0, max(len(rows), 1), _AT_ONCE)]
    return np.concatenate([np.argmax(part @ means, axis=1) for part in parts])


def random_groups(some: Ints, k: int, keys: Masks) -> list[Ints]:
    """Groups of k documents at random, the last of up to 2k - 1."""
    order = some[np.argsort(keys[some], kind="stable")]
    return np.split(order, np.arange(1, some.size // k) * k)


def interest_groups(some: Ints, k: int, found: Documents, seed: int) -> list[Ints]:
    """Groups of k to 2k - 1 documents about similar things."""
    if found.vectors is None:
        raise InternalError("What documents are about was not asked for.")
    group = grouping.similar_groups(k, found.vectors[some], seed, in_threads)
    order = np.argsort(group, kind="stable")
    return np.split(some[order], np.cumsum(np.bincount(group))[:-1])


def needs_blocks(count: int, wanted: int) -> bool:
    """Whether so many documents are compared in blocks."""
    return count > (wanted or _UNBLOCKED)


def wordnet_groups(
    some: Ints, k: int, found: Documents, folding: Callable[[pl.Series], Folding], *, block: int, centre: int, seed: int
) -> list[Ints]:
    """Groups of documents whose terms have similar meanings (MDAV), each led by the document it was built around.

    `folding` makes the vectors of some documents, given by their names in order. More than `block` (0: 2,000) documents
    are compared in blocks of at most that many (0: 1,000) similar ones.
    """
    blocks = [some]
    if needs_blocks(some.size, block) and found.vectors is not None:
        most = max(block or _BLOCK, 2 * k)
        order, start = grouping.tree(found.vectors[some], most, (most + 1) // 2, seed)
        blocks = [np.sort(some[order[a:b]]) for a, b in pairwise(start)]

    def grouped(part: Ints) -> list[Ints]:
        members, start = folding(found.names.gather(part)).groups(k, centre)
        return [part[members[a:b]] for a, b in pairwise(start)]

    return [members for part in in_threads(grouped, blocks) for members in part]


def folding_of(rows: pl.DataFrame, tree: Taxonomy, names: pl.Series) -> Folding:
    """The vectors of some documents, from the rows (doc, term, weight) of all."""
    return meanings(rows.join(names.to_frame(), on=DOC, how="semi"), tree).folding


def without_meaning(log: Log, tree: Taxonomy) -> tuple[int, int]:
    """How many rows have a term that a tree does not know, and how many rows there are."""
    counts = term_rows(log).group_by(TERM).len("rows").collect(engine="streaming")
    known = tree.classify(counts[TERM], unit="query", stop_words=False).mapped
    return int(counts["rows"].filter(pl.Series(~known)).sum()), int(counts["rows"].sum())


def meanings(rows: pl.DataFrame, tree: Taxonomy) -> Meanings:
    """Rows (doc, term, weight) as vectors of what terms mean. A document without a known term has an empty vector."""
    names = rows[DOC].unique().sort()
    terms = rows[TERM].unique().sort()
    senses, known, concept = _senses(terms, tree)
    number = pl.DataFrame([terms.filter(pl.Series(known)), pl.Series("number", np.arange(known.sum()))])
    places = names.to_frame().with_row_index("place")
    heaviest_first = [pl.col("place"), -pl.col(WEIGHT), pl.col(TERM)]
    entries = rows.join(number, on=TERM).join(places, on=DOC).sort(heaviest_first)
    start = offsets(np.bincount(entries["place"].to_numpy(), minlength=len(names)))
    if np.diff(start).max(initial=0) > MOST_ROWS:
        raise InputError(f"A document has more than {MOST_ROWS:,} terms. Read documents with fewer: --terms 100.")
    top = max(1.0, float(entries[WEIGHT].max() or 0.0))  # type: ignore[arg-type]
    vectors = Vectors(start, entries["number"].to_numpy().astype(np.int64), entries[WEIGHT].to_numpy() / top)
    return Meanings(
        names=names,
        folding=Folding(vectors, senses, costs_of(int(tree.height) + 1)),
        concept=concept,
        tree=tree,
        top=top,
    )


def _senses(terms: pl.Series, tree: Taxonomy) -> tuple[Senses, Flags, Ints]:
    """What distinct terms mean, which of them mean something, and the concept of each node."""
    found = tree.classify(terms, unit="query", categories=_ALL_SENSES, stop_words=False)
    concepts = found.terms["concept"].to_numpy().astype(np.int64)
    nodes, more = np.empty(0, dtype=np.int64), np.unique(concepts)
    while (more := more[more >= 0]).size:
        nodes = np.union1d(nodes, more)
        more = np.unique(tree.parent[more])
    place, _ = preorder(tree.parent)
    nodes = nodes[np.argsort(place[nodes])]
    number = np.full(len(tree) + 1, -1, dtype=np.int64)
    number[nodes] = np.arange(nodes.size)
    size = np.bincount(found.query, minlength=len(terms))
    senses = Senses(
        parent=number[tree.parent[nodes]],
        depth=tree.depth[nodes].astype(np.int64) + 1,
        concept=nodes,
        term_start=offsets(size[size > 0]),
        term_nodes=number[concepts],
        codes=codes_of(int(tree.height) + 1),
    )
    return senses, size > 0, nodes
