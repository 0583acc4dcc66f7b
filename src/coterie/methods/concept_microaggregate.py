"""Give every user the same published profile as at least k - 1 others who searched for things of similar meaning.

Paper: B. Sirisha and N. Krishnaiah, "Dynamic approach for confidentiality protection in web search" (paper 002),
    section 4, an outline of M. Batet, A. Erola, D. Sánchez and J. Castellà-Roca, "Utility preserving query log
    anonymization via semantic microaggregation" (2013), of which only the first pages were available; SPEC 3 and 11.

Symbols: k = smallest size of a group; A(c) = a concept and all above it in the taxonomy, without the root; d = distance
    of two concepts or queries, log2(1 + (|A1 u A2| - |A1 n A2|) / |A1 u A2|); D = distance of two users, the mean over
    all their queries of d to the nearest query of the other one; C = the common concepts of several users; x̄ = C of the
    users that are not grouped yet.

Promise: every released profile, that is everything published under one name, is shared by at least k users. With
    `synthetic = query` it is made of queries that members of the group typed, word for word: a query that names a
    person by itself is released when it is chosen (the prepare step `scrub` removes those it recognizes). With
    `synthetic = label` it is made of labels of the taxonomy in place of what was typed. Times, ranks and pages are
    never released, nor are rows without a user.

Differs: d is the group's usual measure; D, C and the choice of queries are reconstructions, as the outline has none. A
    query may mean up to `categories` concepts: d takes the nearest ones, C the likeliest. E-002-1 (MDAV of SPEC 3).
    Slots of C, the rounded mean of queries (half up), go down the taxonomy by largest remainders until one is left for
    a concept with all below it; it gets the concept of one of the queries there whose distances to them have the least
    sum. Ties are broken by random keys. A concept is released as the query, of those that most likely mean it, that
    most members of the group typed, as often as the concept has slots. Nothing in D is about how many queries users
    have, which costs more than meaning gains where they differ much: see `docs/papers/002.md`. A query that the
    taxonomy does not know is a category of its own: at distance 1 from all but the same query, chosen like any other,
    released as it is or, with `synthetic = label`, as the label of the root. Their share is a warning of every release.
    Above 2,000 users MDAV runs within blocks of about 200 users of similar size and with common words (`block_users`).

Cost: exact MDAV needs about n² / k distances of users for a block of n, each in as many steps as the concepts of both
    users are deep. Memory: the rows of one engine block, and some tens of megabytes for each thread.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
import polars as pl

from coterie import taxonomies
from coterie.concept_sets import Ints, Keys, encode, load_kernels
from coterie.groups import groups_in_blocks, random_groups, share_profiles, typed_alone
from coterie.kernels.concept_sets import centroid, mdav
from coterie.log import Log
from coterie.params import Choice, File, Range, check_params
from coterie.promises import UserKAnonymity
from coterie.run import Draft, Run, enough_subjects
from coterie.shapes import QUERIES, Shape
from coterie.taxonomies import WORDNET, Taxonomy
from coterie.text import digest_of

_PROFILE: dict[str, pl.DataType | type[pl.DataType]] = {
    "group": pl.UInt32,
    "query": pl.List(pl.String),
    "alone": pl.UInt32,
    "events": pl.UInt32,
    "unmapped": pl.UInt32,
}


@dataclass(frozen=True, kw_only=True)
class ConceptMicroaggregate:
    """Give every user the same published profile as at least k - 1 users with searches of similar meaning."""

    k: Annotated[int, Range(2)] = 5
    synthetic: Annotated[str, Choice("query", "label")] = "query"
    taxonomy: Annotated[str, File(WORDNET)] = WORDNET
    categories: Annotated[int, Range(1)] = 5
    block_users: Annotated[int, Range(0)] = 0
    partition: Annotated[str, Choice("mdav", "random")] = "mdav"

    accepts: ClassVar[tuple[Shape, ...]] = (QUERIES,)
    status: ClassVar[str] = "experimental"
    holds_rows: ClassVar[bool] = True
    param_docs: ClassVar[dict[str, str]] = {
        "k": "smallest number of users that share a released profile",
        "synthetic": "what is released of a common concept: a query of the group that means it, or its label",
        "taxonomy": "where concepts come from: 'wordnet', or a FILE that `coterie taxonomy build` made",
        "categories": "most concepts of one query, the likeliest first",
        "block_users": "users compared with each other, at least 2k; 0: all up to 2000 users, blocks of 200 above",
        "partition": "groups of similar users, or random ones to compare with",
    }

    def __post_init__(self) -> None:
        check_params(self, "concept_microaggregate")

    def promise(self, n_subjects: int) -> UserKAnonymity:
        """At least k users behind each released profile, and labels where these are released."""
        enough_subjects("concept_microaggregate", self.k, n_subjects)
        if self.synthetic == "query":
            return UserKAnonymity(k=self.k)
        labels = WORDNET if self.taxonomy == WORDNET else digest_of(self._tree.labels)
        return UserKAnonymity(k=self.k, labels=labels)

    def baseline(self) -> ConceptMicroaggregate | None:
        """The same with random groups."""
        return None if self.partition == "random" else replace(self, partition="random")

    def plan(self, log: Log, run: Run) -> pl.LazyFrame:
        """Steps 1 and 2: who is grouped with whom; groups have k to 2k - 1 members."""
        if self.partition == "random":
            return random_groups(log, run, self.k)
        tree = self._tree
        load_kernels(tree)

        def group(block: pl.DataFrame) -> tuple[pl.Series, Ints, Ints]:
            meanings = encode(block, tree, self.categories, run.keys)
            return meanings.users, *mdav(self.k, meanings.sets)

        return groups_in_blocks(log, run, self.k, self.block_users, group)

    def release(self, log: Log, plan: pl.LazyFrame, run: Run) -> Draft:
        """Step 3: the synthetic queries of each group, under a fresh name for each member."""
        tree, labels = self._tree, self.synthetic == "label"
        load_kernels(tree)
        members, common = share_profiles(
            log, plan, run, lambda rows: synthetic_queries(rows, tree, self.categories, labels, run.keys)
        )
        named = members.select(pl.col("released").alias("user"), "group")
        rows = named.join(common.select("group", "query"), on="group").explode("query")
        empty = [pl.lit(None, dtype=QUERIES.schema[name]).alias(name) for name in ("time", "rank", "url")]
        own = {"labels": tree.labels.unique().sort().alias("label").to_frame().lazy()}
        return Draft(
            frame=rows.with_columns(empty).select(QUERIES.released),
            subjects=members,
            warnings=self._warnings(common),
            tables=own if labels and self.taxonomy != WORDNET else {},
        )

    @property
    def _tree(self) -> Taxonomy:
        return taxonomies.load(self.taxonomy)

    def _warnings(self, common: pl.LazyFrame) -> tuple[str, ...]:
        numbers = common.select(pl.col("query").list.len().sum(), pl.col("alone", "events", "unmapped").sum())
        total, alone, events, unmapped = numbers.collect(engine="streaming").row(0)
        label = self.synthetic == "label"
        became = "the label of the root stands for them" if label else "they are released as they were typed"
        found = [
            f"{unmapped:,} of {events:,} searches ({100 * unmapped / events:.1f} %) have no concept in the "
            f"taxonomy: they are like nothing but the same query, and where they are chosen {became}."
        ]
        if alone and label:
            found.append(
                f"{alone:,} of {total:,} chosen labels stand for what one user of the group alone searched for."
            )
        elif alone:
            found.append(typed_alone(alone, total))
        return tuple(found)


def synthetic_queries(rows: pl.DataFrame, tree: Taxonomy, categories: int, labels: bool, keys: Keys) -> pl.DataFrame:
    """One line for each group: its synthetic queries, how many of them one user alone stands behind, its events, and
    how many of these have no concept.

    `rows` has group, user and query, sorted by group and user.
    """
    if rows.is_empty():
        return pl.DataFrame(schema=_PROFILE)
    meanings = encode(rows, tree, categories, keys)
    members = rows.select("group", "user").unique(maintain_order=True)["group"].rle()
    groups, sizes = members.struct.field("value"), members.struct.field("len").to_numpy()
    ends = np.cumsum(sizes, dtype=np.int64)
    chosen = [centroid(np.arange(end - n, end), meanings.sets) for end, n in zip(ends, sizes, strict=True)]
    slots = pl.DataFrame({
        "group": groups.gather(np.repeat(np.arange(len(groups)), [nodes.size for nodes in chosen])),
        "node": np.concatenate(chosen),
    })  # fmt: skip
    typed = rows.select("group", "user", "query").with_columns(node=meanings.node, unmapped=meanings.unmapped)
    behind = _labelled(typed, tree, meanings.concept) if labels else _best_queries(typed, keys)
    profiles = (
        slots.join(behind, on=["group", "node"], maintain_order="left")
        .group_by("group")
        .agg("query", (pl.col("users") == 1).sum().alias("alone"))
    )
    counted = typed.group_by("group").agg(pl.len().alias("events"), pl.col("unmapped").sum())
    return profiles.join(counted, on="group").select(pl.col(name).cast(dtype) for name, dtype in _PROFILE.items())


def _best_queries(typed: pl.DataFrame, keys: Keys) -> pl.DataFrame:
    """group, node, query, users: of the queries of a group that mean a node the one that most users typed."""
    found = typed.group_by("group", "node", "query").agg(pl.col("user").n_unique().alias("users"))
    order = found.select(pl.col("query").unique()).with_columns(
        pl.col("query").map_batches(lambda some: pl.Series(keys("choice of a query", some)), pl.UInt64).alias("key")
    )
    ranked = found.join(order, on="query").sort("group", "node", -pl.col("users").cast(pl.Int64), "key", "query")
    return ranked.unique(["group", "node"], keep="first").select("group", "node", "query", "users")


def _labelled(typed: pl.DataFrame, tree: Taxonomy, concept: Ints) -> pl.DataFrame:
    """group, node, query, users: the label of a node and how many users of the group mean it, null where the label is
    that of the root for want of a concept."""
    users = pl.col("user").n_unique().alias("users")
    found = typed.group_by("group", "node").agg(pl.when(~pl.col("unmapped").any()).then(users).alias("users"))
    return found.with_columns(tree.labels.gather(np.maximum(concept, 0)[found["node"].to_numpy()]).alias("query"))
