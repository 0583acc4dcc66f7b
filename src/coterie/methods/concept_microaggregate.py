"""Give every user the same published profile as at least k - 1 others who searched for things of similar meaning.

Paper: B. Sirisha and N. Krishnaiah, "Dynamic approach for confidentiality protection in web search" (paper 002),
    section 4, an outline of M. Batet, A. Erola, D. Sánchez and J. Castellà-Roca, "Utility preserving query log
    anonymization via semantic microaggregation" (2013), of which only the first pages were available.

Symbols: k = smallest size of a group; A(c) = a concept and all above it in the taxonomy, without the root; d = distance
    of two concepts or queries, log2(1 + (|A1 u A2| - |A1 n A2|) / |A1 u A2|); D = distance of two users, the mean over
    all their queries of d to the nearest query of the other one; C = the common concepts of several users; x̄ = C of the
    users that are not grouped yet.

Promise: every released profile, that is everything published under one name, is shared by at least k users. With
    `synthetic = query` it is made of queries that members of the group typed, word for word: a query that names a
    person by itself is released when it is chosen (the prepare step `scrub` removes those it recognizes). With
    `synthetic = label` it is made of labels of the taxonomy in place of what was typed. Times, ranks and pages are
    never released, nor are rows without a user.
    With `publish = phrases` a profile is made of phrases in place of queries, and every phrase in it stands, word for
    word, in queries of at least `phrase_users` different users of the log.

Differs:
    - MDAV is that of `microaggregate`.
    - d is the group's usual measure. D, C and the choice of queries are reconstructions, as the outline has none.
    - A query may mean up to `categories` concepts: d takes the nearest ones, C the likeliest.
    - C has as many slots as the rounded mean of queries (half up). They go down the taxonomy by largest remainders
      until one is left for a concept with all below it; it gets the concept of one of the queries there, the one whose
      distances to the others have the least sum. Ties are broken by random keys.
    - A concept is released as the query, of those that most likely mean it, that most members of the group typed, as
      often as the concept has slots.
    - D does not look at how many queries users have, which costs more than meaning gains where that differs much: see
      `docs/papers/002.md`.
    - A query that the taxonomy does not know is a category of its own: at distance 1 from all but the same query,
      chosen like any other, released as it is or, with `synthetic = label`, as the label of the root. Their share is a
      warning of every release.
    - `publish = phrases` is our own (`docs/phrases.md`): who knows five queries of a person can then tell a further one
      far less often than from whole queries, which are the paper's rule and the default here.
    - Above 2,000 users MDAV runs within blocks of about 200 users of similar size and with common words
      (`block_users`).

Cost: exact MDAV needs about n² / k distances of users for a block of n, each in as many steps as the concepts of both
    users are deep. Memory: the rows of one engine block, and some tens of megabytes for each thread.

Example:
    >>> import coterie, polars
    >>> typed = [("ann", "dog"), ("bob", "wolf"), ("cyd", "piano"), ("dan", "violin")]
    >>> log = coterie.log(polars.DataFrame(typed, schema=["user", "query"], orient="row"))
    >>> release = coterie.anonymize(log, ConceptMicroaggregate(k=2), seed=7)
    >>> release.record.subjects.collect().group_by("group").agg("original").sort("original")["original"].to_list()
    [['ann', 'bob'], ['cyd', 'dan']]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
import polars as pl

from coterie import taxonomies
from coterie.core.arrays import Ints
from coterie.core.log import Log
from coterie.core.params import Choice, File, Late, Range
from coterie.core.plan import Draft, Plan
from coterie.core.run import Run
from coterie.core.shapes import QUERIES
from coterie.errors import ParameterError
from coterie.promises.user_k_anonymity import UserKAnonymity
from coterie.releasing.profiles import (
    PHRASES,
    BlockUsers,
    PublishesProfiles,
    release_phrases,
    release_texts,
    share_profiles,
    typed_alone,
)
from coterie.taxonomies import WORDNET, Taxonomy
from coterie.text.words import digest_of

if TYPE_CHECKING:
    from coterie.algorithms.events import Keys

_PROFILE: dict[str, pl.DataType | type[pl.DataType]] = {
    "group": pl.UInt32,
    "text": pl.List(pl.String),
    "alone": pl.UInt32,
    "events": pl.UInt32,
    "unmapped": pl.UInt32,
}


@dataclass(frozen=True, kw_only=True)
class ConceptMicroaggregate(PublishesProfiles):
    """Give every user the same published profile as at least k - 1 users with searches of similar meaning."""

    k: Annotated[int, Range(2), Late(), "smallest number of users that share a released profile"] = 5
    synthetic: Annotated[
        str,
        Choice("query", "label"),
        "what is released of a common concept: a query of the group that means it, or its label",
    ] = "query"
    taxonomy: Annotated[
        str,
        File(WORDNET),
        "where concepts come from: 'wordnet', or a FILE that `coterie taxonomy build` made",
    ] = WORDNET
    categories: Annotated[int, Range(1), "most concepts of one query, the likeliest first"] = 5
    block_users: BlockUsers = 0
    partition: Annotated[
        str,
        Choice("mdav", "random"),
        "groups of similar users, or random ones to compare with",
    ] = "mdav"

    shown: ClassVar[str] = "k synthetic taxonomy publish phrase_users language categories block_users partition"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.publish == PHRASES and self.synthetic == "label":
            raise ParameterError("Labels are not phrases: say synthetic = query, or leave out publish = phrases.")

    @property
    def _of_profiles(self) -> UserKAnonymity:
        """That labels are released where they are."""
        if self.synthetic == "query":
            return super()._of_profiles
        return UserKAnonymity(k=self.k, labels=WORDNET if self.taxonomy == WORDNET else digest_of(self._tree.labels))

    def plan(self, learnt: None, log: Log, run: Run) -> Plan:  # noqa: ARG002 (it learns nothing)
        """Steps 1 and 2: who is grouped with whom; groups have k to 2k - 1 members."""
        return Plan(table=self._groups(log, run), evidence=self._evidence)

    def regroup(self, groups: pl.LazyFrame, learnt: None, log: Log, run: Run) -> Plan:  # noqa: ARG002 (not needed)
        """Steps 1 and 2 on earlier groups: the same, or unions of them, in random order."""
        from coterie.algorithms.groups import united

        return Plan(table=united(groups, self.k, run), evidence=self._evidence)

    def release(self, log: Log, plan: Plan, run: Run) -> Draft:
        """Step 3: the synthetic queries of each group, under a fresh name for each member."""
        if self.publish == PHRASES:
            return release_phrases(log, plan, run, self)
        tree, labels, keys = self._tree_anywhere(), self.synthetic == "label", run.keys
        subjects, common = share_profiles(
            log, plan.table, run, lambda rows: synthetic_queries(rows, tree(), self.categories, labels, keys)
        )
        texts = run.each(common, lambda some: some.select("group", "text").explode("text"))
        return Draft(
            frame=release_texts(subjects, texts, log.shape, run),
            subjects=subjects,
            warnings=self._warnings(common, run),
            in_order=True,
        )

    def _groups(self, log: Log, run: Run) -> pl.LazyFrame:
        from coterie.algorithms.concepts import encode
        from coterie.algorithms.groups import groups_in_blocks, random_groups
        from coterie.algorithms.kernels.concept_sets import mdav

        if self.partition == "random":
            return random_groups(log, run, self.k)
        tree, keys = self._tree_anywhere(), run.keys

        def group(block: pl.DataFrame) -> tuple[pl.Series, Ints, Ints]:
            meanings = encode(block, tree(), self.categories, keys)
            return meanings.users, *mdav(self.k, meanings.sets)

        return groups_in_blocks(log, run, self.k, self.block_users, group)

    @property
    def _evidence(self) -> Mapping[str, pl.LazyFrame]:
        return taxonomies.own_file(self.taxonomy) if self.synthetic == "label" else {}

    @property
    def _tree(self) -> Taxonomy:
        return taxonomies.load(self.taxonomy)

    def _tree_anywhere(self) -> Callable[[], Taxonomy]:
        """The taxonomy where work runs: one that comes with the package is loaded there, another one travels."""
        if self.taxonomy == WORDNET:
            return partial(taxonomies.load, WORDNET)
        tree = self._tree
        return lambda: tree

    def _warnings(self, common: pl.LazyFrame, run: Run) -> tuple[str, ...]:
        numbers = [pl.col("text").list.len().sum(), pl.col("alone", "events", "unmapped").sum()]
        total, alone, events, unmapped = run.total(common, lambda some: some.select(numbers)).row(0)
        label = self.synthetic == "label"
        became = "the label of the root stands for them" if label else "they are released as they were typed"
        warnings = [
            f"{unmapped:,} of {events:,} searches ({100 * unmapped / events:.1f} %) have no concept in the "
            f"taxonomy: they are like nothing but the same query, and where they are chosen {became}."
        ]
        if alone and label:
            warnings.append(
                f"{alone:,} of {total:,} chosen labels stand for what one user of the group alone searched for."
            )
        elif alone:
            warnings.append(typed_alone(alone, total))
        return tuple(warnings)


def synthetic_queries(rows: pl.DataFrame, tree: Taxonomy, categories: int, labels: bool, keys: Keys) -> pl.DataFrame:
    """One line for each group: its synthetic queries, how many of them one user alone stands behind, its events, and
    how many of these have no concept.

    `rows` has group and the columns of QUERIES for user and query, sorted by group and user.
    """
    from coterie.algorithms.concepts import encode
    from coterie.algorithms.kernels.concept_sets import centroid

    if rows.is_empty():
        return pl.DataFrame(schema=_PROFILE)
    meanings = encode(rows, tree, categories, keys)
    members = rows.select("group", QUERIES.subject).unique(maintain_order=True)["group"].rle()
    groups, sizes = members.struct.field("value"), members.struct.field("len").to_numpy()
    ends = np.cumsum(sizes, dtype=np.int64)
    chosen = [centroid(np.arange(end - n, end), meanings.sets) for end, n in zip(ends, sizes, strict=True)]
    slots = pl.DataFrame({
        "group": groups.gather(np.repeat(np.arange(len(groups)), [nodes.size for nodes in chosen])),
        "node": np.concatenate(chosen),
    })  # fmt: skip
    typed = rows.select("group", subject=QUERIES.subject, text=QUERIES.item).with_columns(
        node=meanings.node, unmapped=meanings.unmapped
    )
    text_of_node = _labelled(typed, tree, meanings.concept) if labels else _best_queries(typed, keys)
    profiles = (
        slots.join(text_of_node, on=["group", "node"], maintain_order="left")
        .group_by("group")
        .agg("text", (pl.col("users") == 1).sum().alias("alone"))
    )
    counted = typed.group_by("group").agg(pl.len().alias("events"), pl.col("unmapped").sum())
    return profiles.join(counted, on="group").select(pl.col(name).cast(dtype) for name, dtype in _PROFILE.items())


def _best_queries(typed: pl.DataFrame, keys: Keys) -> pl.DataFrame:
    """group, node, text, users: of the queries of a group that mean a node the one that most users typed."""
    counted = typed.group_by("group", "node", "text").agg(pl.col("subject").n_unique().alias("users"))
    order = counted.select(pl.col("text").unique()).with_columns(
        pl.col("text").map_batches(lambda texts: pl.Series(keys("choice of a query", texts)), pl.UInt64).alias("key")
    )
    ranked = counted.join(order, on="text").sort("group", "node", -pl.col("users").cast(pl.Int64), "key", "text")
    return ranked.unique(["group", "node"], keep="first").select("group", "node", "text", "users")


def _labelled(typed: pl.DataFrame, tree: Taxonomy, concept: Ints) -> pl.DataFrame:
    """group, node, text, users: the label of a node and how many users of the group mean it, null where the label is
    that of the root because a query has no concept."""
    users = pl.col("subject").n_unique().alias("users")
    counted = typed.group_by("group", "node").agg(pl.when(~pl.col("unmapped").any()).then(users).alias("users"))
    return counted.with_columns(tree.labels.gather(np.maximum(concept, 0)[counted["node"].to_numpy()]).alias("text"))
