"""Release every query as one concept of a taxonomy that enough people's queries share.

Paper: C. Carpineto and G. Romano, "k_θ-affinity privacy" (2015), section 4.4, WNGEN: k-anonymity under WordNet
    generalization (He and Naughton 2009) at the level of single queries.

Symbols: k = smallest number of users (`size = queries`: of distinct queries) behind a released concept; M(c) = queries
    whose way down the tree leads through concept c; left-over of c = members of M(c) that are released as nothing
    below c.

Promise: every released concept stands for queries of at least k different users. With `size = queries`, as in the
    paper, for k different queries, which may be one person's. With `attrs = common` (url, rank, day) is released as far
    as k users share it with the concept. Rows without a user are not counted.

Differs:
    - Users are counted, queries only if asked.
    - Stop words are not terms, unless `paper_compat` ("in" is Indiana there).
    - Queries without a term of the taxonomy are left out, where the paper calls them `entity`.
    - A left-over of fewer than k rises alone to the next concept above, and is left out where even the root has too
      few. Read to the letter, 7.3 keeps all members at that concept: one person's `object` then hides all objects.
    - The concept is released by its label, with a number where several concepts have that label.
    - User numbers are dropped unless asked (`users`). Of url, rank and day as much stays as k users share (`attrs`).

Cost: one pass over the log to find the distinct (user, query) pairs; then the mapping of distinct queries, one pass
    over their terms for each level of the tree, and a count of users from the leaves up. Memory: the pairs, as numbers.

Example:
    >>> import coterie, polars
    >>> typed = [("ann", "violin"), ("bob", "cello"), ("ann", "xyzzy")]
    >>> log = coterie.log(polars.DataFrame(typed, schema=["user", "query"], orient="row"))
    >>> coterie.anonymize(log, Generalize(k=2)).to_polars()["query"].unique().to_list()
    ['bowed stringed instrument']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie import taxonomies
from coterie.core.arrays import Ints, Short, offsets
from coterie.core.log import Log
from coterie.core.params import Choice, File, Flag, Late, Range
from coterie.core.plan import Facts, Plan, enough_subjects
from coterie.core.run import Run
from coterie.core.shapes import REPLACE
from coterie.errors import ParameterError
from coterie.promises.concept_k_anonymity import ConceptKAnonymity
from coterie.releasing.items import SHARED, ReleasesItems
from coterie.releasing.names import ALWAYS, within
from coterie.taxonomies import WORDNET, Taxonomy


@dataclass(frozen=True, kw_only=True)
class Generalize(ReleasesItems):
    """Release each query as the most specific concept that queries of at least k users share."""

    k: Annotated[int, Range(2), Late(), "smallest number of users behind a released concept"] = 5
    taxonomy: Annotated[
        str,
        File(WORDNET),
        "the tree of concepts: wordnet, or a FILE of `coterie taxonomy build`",
    ] = WORDNET
    size: Annotated[
        str,
        Choice("users", "queries"),
        "what k counts: users, or distinct queries as in the paper, which one person can have typed",
    ] = "users"
    paper_compat: Annotated[bool, Flag(), "stop words are terms too, as in the paper"] = False

    shown: ClassVar[str] = f"k taxonomy size paper_compat {SHARED}"
    anywhere: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size == "queries" and self.window != ALWAYS:
            raise ParameterError("A window is one in which users are counted. Use size = users, or leave out window.")

    def promises(self, facts: Facts) -> tuple[ConceptKAnonymity, ...]:
        """At least k users, or queries, behind each released concept."""
        enough_subjects("generalize", self.k, facts)
        promise = ConceptKAnonymity(
            k=self.k,
            size=self.size,
            taxonomy=taxonomies.public_name(self.taxonomy),
            paper_compat=self.paper_compat,
            **self.numbers(facts),
        )
        return (promise,)

    def learn(self, log: Log, run: Run) -> Walked:  # noqa: ARG002 (nothing is drawn at random)
        """Step 1: all queries walk down the tree, which serves every k."""
        return _walk(within(log, self.window), self._tree, self.paper_compat)

    def plan(self, learnt: Walked, log: Log, run: Run) -> Plan:  # noqa: ARG002 (what was learnt is enough)
        """Steps 2-3: the concepts with k users; the deepest of them on each way."""
        tree = self._tree
        crowd = learnt.users if self.size == "users" else learnt.queries
        into = risen(tree, learnt.end, crowd, self.k)
        kept = into >= 0
        columns = {"item": learnt.items.filter(kept), "into": tree.names.gather(into[kept])}
        return Plan(
            table=REPLACE.check(pl.LazyFrame(columns)),
            evidence=taxonomies.own_file(self.taxonomy),
            notes=self._left_out(learnt, kept),
        )

    def _left_out(self, learnt: Walked, kept: NDArray[np.bool_]) -> tuple[str, ...]:
        total, mapped = int(learnt.rows.sum()), learnt.end >= 0
        unmapped, alone = (int(learnt.rows[~kept & each].sum()) for each in (~mapped, mapped))
        reasons = {
            f"without a word that the taxonomy {self._tree.name} knows": unmapped,
            f"that share no concept with those of enough others for k = {self.k}": alone,
        }
        return tuple(
            f"{rows:,} of {total:,} rows are left out: queries {reason}." for reason, rows in reasons.items() if rows
        )

    @property
    def _tree(self) -> Taxonomy:
        return taxonomies.load(self.taxonomy)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Walked:
    """Where the walk took each distinct query."""

    items: pl.Series
    rows: Ints
    end: Short
    """The last concept on the way of each query; -1 without a term."""
    users: tuple[Ints, Ints]
    """(query, user): who asked what, as numbers."""

    @property
    def queries(self) -> tuple[Ints, Ints]:
        """(query, query): each query counts once."""
        number = np.arange(self.end.size)
        return number, number


def _walk(log: Log, tree: Taxonomy, paper_compat: bool) -> Walked:
    """Step 1: all queries go down the tree together, each to the child where most could go."""
    from coterie.algorithms.kernels.tree import walk

    pairs = log.frame.select(pl.col(log.shape.subject).alias("subject"), pl.col(log.shape.item).alias("item"))
    asked = pairs.group_by("subject", "item").len("rows").collect(engine="streaming")
    queries = asked.group_by("item").agg(pl.col("rows").sum()).sort("item").with_row_index("query")
    people = asked.select("subject").drop_nulls().unique().with_row_index("number")
    numbered = asked.lazy().join(people.lazy(), on="subject").join(queries.lazy().select("item", "query"), on="item")
    who = numbered.select(pl.col("query", "number").cast(pl.Int64)).collect(engine="streaming")
    terms = tree.classify(queries["item"], stop_words=not paper_compat).terms
    start = offsets(np.bincount(terms["query"].to_numpy(), minlength=queries.height))
    above = np.stack([tree.ancestor_at(level) for level in range(tree.height + 1)])
    end = walk(start, terms["concept"].to_numpy(), above, tree.depth)
    rows = queries["rows"].to_numpy().astype(np.int64)
    return Walked(items=queries["item"], rows=rows, end=end, users=(who["query"].to_numpy(), who["number"].to_numpy()))


def risen(tree: Taxonomy, end: Short, crowd: tuple[Ints, Ints], k: int) -> Short:
    """The concept each query is released as, -1 for none: left-overs of fewer than k rise until they are k.

    `crowd` says for pairs (query, subject) who stands behind a query.
    """
    mapped = end[crowd[0]] >= 0
    asked, subject = crowd[0][mapped], crowd[1][mapped]
    width = int(subject.max(initial=0)) + 1
    pairs = _distinct(end[asked].astype(np.int64) * width + subject)
    # Concepts are numbered by depth, so the pairs of one depth are together.
    place = np.searchsorted(tree.depth[pairs // width], np.arange(tree.height + 2))
    chosen = np.zeros(len(tree), dtype=np.bool_)
    rest, parent = pairs[:0], tree.parent.astype(np.int64)
    for level in range(tree.height, -1, -1):
        here = _distinct(np.concatenate([pairs[place[level] : place[level + 1]], rest]))
        enough = np.bincount(here // width, minlength=len(tree)) >= k
        chosen |= enough
        few = here[~enough[here // width]]
        rest = parent[few // width] * width + few % width
    return np.where(end >= 0, nearest(tree, chosen)[end], np.int32(-1))


def nearest(tree: Taxonomy, chosen: NDArray[np.bool_]) -> Short:
    """For each concept the deepest chosen one at or above it; -1 where there is none."""
    result = np.where(chosen, np.arange(len(tree)), -1).astype(np.int32)
    for level in range(1, tree.height + 1):
        here = np.flatnonzero((tree.depth == level) & ~chosen)
        result[here] = result[tree.parent[here]]
    return result


def _distinct(keys: Ints) -> Ints:
    """The distinct keys in order. NumPy's `unique` hashes, which takes several times as long here."""
    ordered = np.sort(keys)
    first = np.ones(ordered.size, dtype=np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    distinct: Ints = ordered[first]
    return distinct
