"""Give every user the same published profile as at least k - 1 others who search for the same kinds of things.

Paper: A. Erola, J. Castellà-Roca, G. Navarro-Arribas and V. Torra, "Semantic microaggregation for the anonymization of
    query logs using the open directory project", SORT special issue (2011).

Symbols: k = smallest size of a group; L = `levels`, the depth down to which categories count; `categories` = how many
    categories of a term count; M_l(i, c) = how often the terms of user i have a category at or below category c of
    level l; ODPsim(i, j) = Σ_{l=1..L} Σ_c min(M_l(i, c), M_l(j, c)); Q_i = the queries of user i, with repetitions.

Promise: every released profile, that is everything published under one name, is shared by at least k users. A profile
    is made of queries that members of the group typed, word for word: a query that names a person by itself is
    released when it is chosen (the prepare step `scrub` removes those it recognizes). With `attrs = drop` the
    release says how many one member alone typed. Rows without a user are not released; with `leftovers = suppress`
    up to k - 1 users are not released either, and the release says how many.
    With `publish = phrases` a profile is made of phrases in place of queries, and every phrase in it stands, word for
    word, in queries of at least `phrase_users` different users of the log.

Differs:
    - Similarity is the sum of the smaller counts.
    - Nobody is their own neighbour.
    - Groups are made while 2k users are left; the last has k to 2k - 1.
    - Quotas are whole numbers and are reached: after three passes the rest is drawn at random.
    - A merged user has the sum of both rows.
    - Categories come from a taxonomy in a file, WordNet's nouns unless another is given, in place of the Open
      Directory's search.
    - Times, ranks and pages, of which the paper says nothing, are dropped unless `attrs` asks for them. Times are
      then averages, cut to the month (`times`). With a finer `times` the month still stands where one member alone
      typed the query, or alone has its time, rank or page.
    - With `choice = herding` each member gives as many queries, and those are chosen whose words, strings and hosts
      together are nearest to those of the whole group. With `max_share` what is above it is given to the others.
    - With `leftovers = nearest` groups have k members, and each user left over joins the group most similar to them.
    - Users without any category have nothing in common with anybody and come last, those whose queries share words
      next to each other. A log without any category is grouped by that alone, and the release says so.
    - `publish = phrases` is our own (`docs/phrases.md`): who knows five queries of a person can then tell a further one
      far less often than from whole queries, which are the paper's rule and the default here.
    - Above 4,000 users groups are made within blocks of about 2,000 users of similar size and main category
      (`block_users`), with all similarities of a block rather than a list of the most similar users of each. What that
      costs is measured in `docs/benchmarks.md`.

Cost: n² / 2 similarities for a block of n users, each a walk over the categories of one; 8 n² bytes for each thread.
    The distinct queries and the categories of all users are in memory.

Example:
    >>> import coterie, polars
    >>> typed = [("ann", "dog"), ("bob", "wolf"), ("cyd", "piano"), ("dan", "violin")]
    >>> log = coterie.log(polars.DataFrame(typed, schema=["user", "query"], orient="row"))
    >>> release = coterie.anonymize(log, SemanticMicroaggregate(k=2), seed=7)
    >>> release.record.subjects.collect().group_by("group").agg("original").sort("original")["original"].to_list()
    [['ann', 'bob'], ['cyd', 'dan']]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, ClassVar, cast

import numpy as np
import polars as pl

from coterie import taxonomies
from coterie.core.arrays import Floats, Ints, Short, offsets
from coterie.core.log import Log
from coterie.core.params import Choice, File, Late, Range
from coterie.core.plan import Draft, Plan
from coterie.core.run import Run
from coterie.core.shapes import GROUPS, QUERIES
from coterie.core.threads import DoneSoFar, in_threads
from coterie.releasing.profiles import PublishesEvents, release_profiles
from coterie.taxonomies import Taxonomy
from coterie.taxonomies.lexicon import Unit

USER, QUERY = QUERIES.subject, QUERIES.item
_NOBODY = -1  # the group of a user who is in none
_UNBLOCKED_USERS = 4_000
_BLOCK_USERS = 2_000


@dataclass(frozen=True, kw_only=True)
class SemanticMicroaggregate(PublishesEvents):
    """Give every user the same published profile as at least k - 1 users with similar interests."""

    k: Annotated[int, Range(2), Late(), "smallest number of users that share a released profile"] = 5
    taxonomy: Annotated[
        str,
        File("wordnet"),
        "where categories come from: WordNet's nouns, or a file made by `coterie taxonomy build`",
    ] = "wordnet"
    unit: Annotated[
        str,
        Choice("term", "query"),
        "what has categories: each term of a query, or the query as a whole",
    ] = "term"
    categories: Annotated[int, Range(1), "how many categories of a term count, the likeliest first"] = 5
    levels: Annotated[int, Range(1), "down to which level of the taxonomy categories count"] = 5
    normalize: Annotated[
        str,
        Choice("none", "cosine"),
        "similarity as it is, which puts active users together first, or divided by their activity",
    ] = "none"
    leftovers: Annotated[
        str,
        Choice("merge", "nearest", "suppress"),
        "users left over, fewer than k: with the last group, each with the nearest, or not released",
    ] = "merge"
    attrs: Annotated[
        str,
        Choice("drop", "nearest", "same_string"),
        "times, ranks, hosts: none, averaged over the nearest queries, or over the same query",
    ] = "drop"
    block_users: Annotated[
        int,
        Range(0),
        "users compared with each other, at least 2k; 0: all up to 4000 users, blocks of 2000 above",
    ] = 0
    partition: Annotated[
        str,
        Choice("linkage", "random"),
        "groups of similar users, or random ones to compare with",
    ] = "linkage"

    shown: ClassVar[str] = (
        "k taxonomy unit categories levels normalize leftovers attrs times publish phrase_users "
        "language choice max_share block_users partition"
    )

    def learn(self, log: Log, run: Run) -> _Users | None:  # noqa: ARG002 (nothing is drawn at random)
        """Algorithm 1: the categories of users; and of a small log all similarities. Random groups need none."""
        if self.partition == "random":
            return None
        users = _users(log, self)
        everybody = np.arange(len(users.names))
        return replace(users, similar=self._compare(users, everybody)) if self._size(users) == 0 else users

    def plan(self, learnt: _Users | None, log: Log, run: Run) -> Plan:
        """Algorithms 2 to 4: who is grouped with whom; groups have k to 2k - 1 members."""
        from coterie.algorithms.groups import numbered, random_groups

        if learnt is None:
            groups = random_groups(log, run, self.k)
            place = pl.col("subject").rank("ordinal").over("group")
            return Plan(table=groups.filter(place <= self.k) if self.leftovers == "suppress" else groups)
        users = learnt
        blocks = self._blocks(users)
        done = DoneSoFar(len(users.names), run.tell)

        def group(block: Ints) -> Ints:
            numbers = self._groups(users, block)
            done.add(block.size)
            return numbers

        grouped = in_threads(group, blocks)
        first = offsets(np.array([block.size for block in blocks]))[:-1]  # so that numbers differ between blocks
        group_of = [np.where(g == _NOBODY, _NOBODY, g + at) for g, at in zip(grouped, first, strict=True)]
        columns = {"subject": users.names.gather(np.concatenate(blocks)), "group": np.concatenate(group_of)}
        members = pl.DataFrame(columns).filter(pl.col("group") != _NOBODY).with_columns(pl.col("group").cast(pl.UInt32))
        return Plan(table=GROUPS.check(numbered(members).lazy()), notes=users.notes)

    def release(self, log: Log, plan: Plan, run: Run) -> Draft:
        """Algorithm 5: the common profile of each group, under a fresh name for each member."""
        from coterie.algorithms.kernels.choosing import choose_by_quota

        draft = release_profiles(log, plan, run, self, shares=choose_by_quota)
        return replace(draft, warnings=(*draft.warnings, *self._left_out(draft.subjects)))

    def _left_out(self, subjects: pl.LazyFrame) -> tuple[str, ...]:
        left_out, total = subjects.select(pl.col("released").null_count(), pl.len().alias("all")).collect().row(0)
        return (f"{left_out:,} of {total:,} users were left over and are not released.",) if left_out else ()

    def _size(self, users: _Users) -> int:
        """How many users are compared with each other; 0 for all of them."""
        n = len(users.names)
        wanted = self.block_users or (_BLOCK_USERS if n > _UNBLOCKED_USERS else n)
        return 0 if wanted >= n else wanted

    def _blocks(self, users: _Users) -> list[Ints]:
        """The users of each block, in their order; all blocks but the last have a multiple of k of them."""
        n = len(users.names)
        size = max(self._size(users) or n, 2 * self.k) // self.k * self.k
        cuts = [*range(0, max(1, n - size + 1), size), n]
        return [np.sort(users.neighbours[a:b]) for a, b in pairwise(cuts)]

    def _groups(self, users: _Users, block: Ints) -> Ints:
        """Algorithms 2 to 4: the group of each user of a block."""
        from coterie.methods.semantic_microaggregate import kernels as linkage

        similar = self._compare(users, block) if users.similar is None else users.similar
        if self.leftovers == "merge":
            group, number = linkage.sum_linkage(similar, self.k, 2 * self.k)
            return np.where(group == _NOBODY, number, group)
        group, number = linkage.sum_linkage(similar, self.k, self.k)
        return linkage.most_similar_groups(similar, group, number) if self.leftovers == "nearest" else group

    def _compare(self, users: _Users, block: Ints) -> Floats:
        from coterie.methods.semantic_microaggregate.kernels import similarities

        return similarities(
            block, users.start, users.category, users.count, users.n_categories, self.normalize == "cosine"
        )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class _Users:
    """Users and how often they have each category of all levels. First those that have any, by name."""

    names: pl.Series
    start: Ints
    category: Short
    count: Ints
    n_categories: int
    neighbours: Ints
    """All users, similar ones near each other."""
    notes: tuple[str, ...]
    similar: Floats | None = None
    """The similarity of each two users, where the log is so small that all are compared."""


def _users(log: Log, method: SemanticMicroaggregate) -> _Users:
    from coterie.algorithms.groups import user_rows
    from coterie.algorithms.kernels._arrays import taken
    from coterie.algorithms.kernels.bags import Bags, Parts, columns_of_owners

    tree = taxonomies.load(method.taxonomy)
    counts = user_rows(log).group_by(USER, QUERY).agg(pl.len().cast(pl.Int32).alias("rows"))
    pairs = counts.collect(engine="streaming").sort(USER, QUERY)
    queries = pairs[QUERY].unique().sort()
    query = (pairs[QUERY].rank("dense").cast(pl.Int32) - 1).to_numpy(writable=True)
    rows = pairs["rows"].to_numpy(writable=True)
    classified = tree.classify(queries, unit=cast(Unit, method.unit), categories=method.categories)
    numbers = classified.terms["query"].to_numpy(), classified.terms["concept"].to_numpy()
    query_start, paths, nodes = _paths(tree, *numbers, len(queries), method.levels)
    pair_start = offsets(pairs[USER].rle().struct.field("len").to_numpy())
    asked, parts = Bags(pair_start, query, rows), Parts(query_start, paths)
    sizes, category, count = columns_of_owners(
        0, pair_start.size - 1, asked, parts, np.arange(nodes.size, dtype=np.int32), nodes.size
    )
    names = pairs[USER].gather(pair_start[:-1])
    order = _order(names, pairs, sizes)
    start, place = taken(offsets(sizes), order)
    category, count = category[place], count[place]
    events = np.bincount(query, rows, minlength=len(queries)).astype(np.int64)
    shares = classified.unmapped_share(events), classified.unmapped_share()
    return _Users(
        names=names.gather(order),
        start=start,
        category=category,
        count=count,
        n_categories=nodes.size,
        neighbours=_neighbours(tree, method.levels, start, nodes[category], count),
        notes=_notes(tree.name, *shares, int((np.diff(start) == 0).sum()), len(names)),
    )


def _paths(tree: Taxonomy, query: Short, concept: Short, n_queries: int, levels: int) -> tuple[Ints, Short, Short]:
    """The categories of each query at all levels (start, category), as small numbers, and their concepts."""
    above = np.stack([tree.ancestor_at(level) for level in range(1, min(levels, tree.height) + 1)], axis=1)[concept]
    there = above >= 0
    start = offsets(np.bincount(query, weights=there.sum(axis=1), minlength=n_queries).astype(np.int64))
    nodes, category = np.unique(above[there], return_inverse=True)
    return start, category.astype(np.int32), nodes


def _order(names: pl.Series, pairs: pl.DataFrame, sizes: Ints) -> Ints:
    """Users with categories by name; then those without, users of the same words next to each other."""
    from coterie.algorithms.words import word_hashes

    words = pairs.select(USER, word_hashes(pairs[QUERY]).alias("word")).group_by(USER).agg(pl.col("word").min())
    users = pl.DataFrame({USER: names, "bare": sizes == 0}).with_row_index("number").join(words, on=USER)
    word = pl.when("bare").then("word")
    return users.sort("bare", word, USER)["number"].to_numpy().astype(np.int64)


def _neighbours(tree: Taxonomy, levels: int, start: Ints, concept: Short, count: Ints) -> Ints:
    """Users by size class (half octaves of the sum of their counts), then by the path to their main category.

    The main category is the one in which a user exceeds the average user most.
    """
    n = start.size - 1
    owner = np.repeat(np.arange(n), np.diff(start))
    total = np.bincount(owner, count, minlength=n)
    everybody = np.bincount(concept, count, minlength=len(tree))
    excess = count / np.maximum(total[owner], 1) - everybody[concept] / max(everybody.sum(), 1)
    by_excess = np.lexsort((concept, -excess, owner))
    main = np.zeros(n, dtype=np.int64)
    has_any = np.diff(start) > 0
    main[has_any] = concept[by_excess[start[:-1][has_any]]]
    size_class = -np.floor(2 * np.log2(np.maximum(total, 1)))
    path = [tree.ancestor_at(level)[main] for level in range(min(levels, tree.height), 0, -1)]
    return np.lexsort((np.arange(n), *path, size_class))


def _notes(taxonomy: str, of_rows: float, of_queries: float, bare: int, users: int) -> tuple[str, ...]:
    """What was not grouped by meaning; always said, in numbers."""
    if bare == users:
        return (
            f"No query has a category in the taxonomy {taxonomy}, so users were put together by common words alone. A "
            "taxonomy in the language of the log (coterie taxonomy build), or microaggregate, groups them better.",
        )
    share = (
        f"{100 * of_rows:.1f} % of the rows ({100 * of_queries:.1f} % of the different queries) have no category in "
        f"the taxonomy {taxonomy} and did not count in who is grouped with whom."
    )
    few = f"{bare:,} of {users:,} users have no category at all and were put together by common words."
    return (share, few) if bare else (share,)
