"""Queries, the concepts in them, and which queries are affine (paper 001): from a log to anonymity degrees.

The steps, each of which works on distinct queries only:
    1. gather: the distinct queries in byte order, with their users and their number of events.
    2. mine: n-grams of one to three words with enough users, their weights, and the vectors of queries; queries with
       equal vectors become one vertex.
    3. connect: the pairs of vertices with cosine >= θ.
    4. degrees: generalized cores; degree = core + 1.
Queries, users and words are told apart by their bytes, never by a hash alone. Numbers follow the byte order of queries
and users, so that nothing depends on the order of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from coterie.algorithms.kernels import grams
from coterie.algorithms.kernels._arrays import Lists, places_by
from coterie.core.arrays import Flags, Floats, Ints, Short, bytes_of, offsets
from coterie.core.log import Log
from coterie.core.run import Run
from coterie.core.threads import in_threads
from coterie.errors import InputError
from coterie.methods.affinity import kernels as cores
from coterie.methods.affinity import kernels as cosine_join
from coterie.text.language import ENGLISH, language

TOLERANCE = 1e-9
"""Two queries are affine if their cosine is at least θ minus this."""
UNIT = 2.0**32
"""Squared weights are whole multiples of 1 / UNIT, so that sums are exact."""
_MOST = 2**31 - 1
_PARTS = 64  # of the join, for the threads; without effect on the result


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Queries:
    """The distinct queries of a log in byte order. Rows without a user are left out."""

    names: pl.Series
    people: pl.Series
    """The users in byte order."""
    events: Ints
    """Distinct (user, time) of each query."""
    users: Lists
    """Distinct users of each query."""

    @property
    def crowd(self) -> Ints:
        """The number of users of each query."""
        return np.diff(self.users.start)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Vertices:
    """Vertices: distinct sets of concepts, each with the queries that have it."""

    tau: int
    """The number of users from which an n-gram is a concept."""
    rare: Flags
    """Queries with a word of too few users; they have no vertex."""
    vertex: Short
    """The vertex of each query, or -1."""
    start: Ints
    features: Short
    """Concepts of vertex v, ascending: features[start[v]:start[v + 1]]; numbered from frequent to rare."""
    mass: Ints
    """The squared weight of each concept, in units."""
    length: Short
    """The number of words of each concept."""
    members: Lists
    """The queries of each vertex."""
    users: Lists
    """The users of each vertex."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AffinityGraph:
    """The graph of affine queries of a log, and the anonymity degree of each query."""

    queries: Queries
    vertices: Vertices
    neighbours: Lists
    """Vertices affine to each vertex."""
    core: Short
    degree: Ints
    max_degree: int
    """Degrees are exact up to this number."""


@dataclass(frozen=True, kw_only=True)
class AffinitySettings:
    """What degrees depend on besides the log; the names are those of the method's parameters."""

    theta: float = 0.9
    min_users: int = 0
    min_term_users: int = 2
    strict: bool = False
    max_degree: int = 1000
    function_words: frozenset[str] = language(ENGLISH).function_words
    v_max: int | None = None
    """With a number, the approximate procedure of paper 001, section 3.4, instead of exact cores."""


def affinity(log: Log, run: Run, settings: AffinitySettings) -> AffinityGraph:
    """Steps 1 to 4."""
    queries = gather(log, run)
    vertices = mine(queries, settings)
    neighbours = connect(vertices, settings.theta)
    n = neighbours.start.size - 1
    n_users = len(queries.people)
    levels = max(min(settings.max_degree, n_users), 2) - 1  # no query has a degree above the number of users
    shape = (neighbours, vertices.users, n_users)
    core = cores.cores(*shape, np.full(n, levels, dtype=np.int32), levels)
    if settings.v_max is not None:
        # A query leaves the levels that those who cover it left: covers must be inside the release.
        v_max = min(settings.v_max, max(n, 1))
        core = cores.cores(*shape, cores.local_cores(*shape, core, levels, v_max), levels)
    degree = queries.crowd
    inside = vertices.vertex >= 0
    degree[inside] = np.maximum(degree[inside], core[vertices.vertex[inside]] + 1)
    if settings.strict:
        degree[vertices.rare] = 0
    return AffinityGraph(
        queries=queries,
        vertices=vertices,
        neighbours=neighbours,
        core=core,
        degree=degree,
        max_degree=settings.max_degree,
    )


def gather(log: Log, run: Run) -> Queries:
    """Step 1: distinct queries with their users and events."""
    shape = log.shape
    time = pl.col(shape.time).to_physical().fill_null(grams.NO_TIME).alias("moment")
    rows = log.frame.select(pl.col(shape.subject).alias("subject"), pl.col(shape.item).alias("item"), time)
    rows = rows.drop_nulls("subject")
    people = rows.select("subject").unique().collect(engine="streaming")["subject"].sort()
    numbered = pl.DataFrame({"subject": people, "number": np.arange(len(people), dtype=np.int32)})
    rows = rows.join(numbered.lazy(), on="subject").select("item", "number", "moment")
    grouped = run.blocks(rows, lambda frame: frame.group_by("item").agg("number", "moment"), by=["item"])
    table = grouped.collect(engine="streaming").sort("item")
    start = offsets(table["number"].list.len().to_numpy())
    if max(start[-1], len(table)) > _MOST:
        raise InputError("affinity works on logs of up to 2,147,483,647 rows: anonymize parts of this one.")
    numbers, times = (table[name].explode(empty_as_null=False).to_numpy(writable=True) for name in ("number", "moment"))
    names = table["item"]
    del table, grouped
    events, user_start, users = grams.people(start, numbers, times)
    return Queries(names=names, people=people, events=events, users=Lists(user_start, users))


def mine(queries: Queries, settings: AffinitySettings) -> Vertices:
    """Step 2: concepts, weights and vectors."""
    n_users = len(queries.people)
    # More than all users is the same as one more: nothing is a concept.
    tau = min(settings.min_users or max(2, n_users // 10_000), n_users + 1)
    min_term_users = min(settings.min_term_users, n_users + 1)
    token_start, tokens, function = _tokens(queries.names, settings.function_words)
    words = _count(queries, token_start, tokens, function.size, max(tau, min_term_users))
    rare_before = offsets(words.owners[tokens] < min_term_users)
    rare = rare_before[token_start[1:]] > rare_before[token_start[:-1]]
    orders = _orders(queries, token_start, tokens, function, words, tau)
    feature, weight, length = _features(orders)
    places = (_renumbered(numbers, order.at) for numbers, order in zip(feature, orders, strict=True))
    first, second, third = places
    vertex, start, features = cosine_join.collapse(token_start, first, second, third, ~rare)
    members = places_by(vertex, start.size - 1)
    return Vertices(
        tau=tau,
        rare=rare,
        vertex=vertex,
        start=start,
        features=features,
        mass=np.rint(weight * weight * UNIT).astype(np.int64),
        length=length,
        members=members,
        users=cosine_join.union(members, queries.users, n_users),
    )


def connect(vertices: Vertices, theta: float) -> Lists:
    """Step 3: the neighbours of each vertex."""
    least = theta - TOLERANCE
    vectors = cosine_join.vectors_of(vertices.start, vertices.features, vertices.mass)
    entries = cosine_join.lists(vectors, np.argsort(vectors.norm, kind="stable"), least)
    # Long lists cost more than their length says.
    cost = np.cumsum(np.diff(entries.begin).astype(np.float64) ** 1.5)
    cuts = np.searchsorted(cost, np.linspace(0, cost[-1] if cost.size else 0, _PARTS + 1))
    cuts[0], cuts[-1] = 0, vertices.mass.size

    def part(i: int) -> tuple[Short, Short]:
        return cosine_join.join(cuts[i], cuts[i + 1], entries, vectors, least, cosine_join.SPLIT)

    edges = in_threads(part, range(_PARTS))
    left, right = (np.concatenate(side) for side in zip(*edges, strict=True))
    del edges
    return cosine_join.adjacency(left, right, vertices.start.size - 1)


def certificate(graph: AffinityGraph, kept: pl.Series, k: int) -> pl.DataFrame:
    """Who covers whom if the queries `kept` are released: item, by, user; for each rare item enough to make k users.

    `by` is a released query affine to the item and `user` one of its users who did not ask the item; without a user,
    `by` has k users itself.
    """
    queries, vertices = graph.queries, graph.vertices
    released = queries.names.is_in(kept.implode()).to_numpy()
    wanted = np.flatnonzero(released & (queries.crowd < k) & (vertices.vertex >= 0)).astype(np.int32)
    item, by, user = cores.covers(
        wanted, k, vertices.vertex, vertices.members, graph.neighbours, released, queries.users, len(queries.people)
    )
    covering = pl.DataFrame({"name": queries.people.gather(np.maximum(user, 0)), "named": user >= 0})
    return pl.DataFrame({
        "item": queries.names.gather(item),
        "by": queries.names.gather(by),
        "user": covering.select(pl.when("named").then("name")).to_series(),
    })  # fmt: skip


class _Counts(NamedTuple):
    """Numbers about n-grams of one order."""

    owners: Short
    """Distinct users, up to the number that is enough."""
    occurrences: Ints
    containing: Ints
    """Events that contain it."""
    queries: Short

    def of(self, kept: Flags) -> _Counts:
        """The numbers about some of them."""
        return _Counts(self.owners[kept], self.occurrences[kept], self.containing[kept], self.queries[kept])


class _Order(NamedTuple):
    """Frequent n-grams of one order: which begins at each position, what they weigh, and which are concepts."""

    at: Short
    weight: Floats
    queries: Short
    concept: Flags


def _tokens(names: pl.Series, function_words: frozenset[str]) -> tuple[Ints, Short, Flags]:
    """Where the tokens of each query begin, the words they are, and which words are function words."""
    # Function words get their numbers in one pass with the others, as a last query that nobody asked.
    last = pl.Series(names.name, [" ".join(sorted(function_words))])
    text, text_start = bytes_of(pl.concat([names, last]))
    token_start, tokens, n_words = grams.words(text, text_start)
    end = token_start[-2]
    function = np.zeros(n_words, dtype=np.bool_)
    function[tokens[end:]] = True
    return token_start[:-1], tokens[:end], function


def _count(queries: Queries, token_start: Ints, at: Short, n_grams: int, enough: int) -> _Counts:
    people = (queries.events, queries.users, len(queries.people))
    return _Counts(*grams.tally(token_start, at, n_grams, *people, enough))


def _orders(
    queries: Queries, token_start: Ints, tokens: Short, function: Flags, words: _Counts, tau: int
) -> tuple[_Order, _Order, _Order]:
    """Frequent n-grams of one, two and three words.

    Those of two words are pairs of frequent words, and those of three are pairs of frequent pairs: an n-gram has at
    most the users of its parts.
    """
    lengths = np.diff(token_start)
    totals = [float((queries.events * np.maximum(lengths - i, 0)).sum()) for i in range(3)]

    frequent = words.owners >= tau
    at, words, function = _numbered(frequent)[tokens], words.of(frequent), function[frequent]
    p_word = words.occurrences / totals[0]
    first = _Order(at, np.log2(words.containing + 1.0), words.queries, ~function)

    at, x, y, pairs = _pairs(queries, token_start, at, function.size, tau)
    p_pair = pairs.occurrences / totals[1]
    weight = np.log2(p_pair / (p_word[x] * p_word[y]) + 1)
    second = _Order(at, weight, pairs.queries, ~(function[x] & function[y]))

    at, left, right, triples = _pairs(queries, token_start, at, x.size, tau)
    a, b, c = x[left], y[left], y[right]
    chance = p_word[a] * p_word[b] * p_word[c] + p_word[a] * p_pair[right] + p_pair[left] * p_word[c]
    weight = np.log2(triples.occurrences / totals[2] / chance + 1)
    return first, second, _Order(at, weight, triples.queries, ~(function[a] & function[b] & function[c]))


def _pairs(
    queries: Queries, token_start: Ints, part: Short, n_parts: int, tau: int
) -> tuple[Short, Ints, Ints, _Counts]:
    """Frequent n-grams of two neighbouring parts: which begins where, their left and right parts, their numbers."""
    at, key = grams.pairs(token_start, part, n_parts)
    counts = _count(queries, token_start, at, key.size, tau)
    frequent = counts.owners >= tau
    left, right = np.divmod(key[frequent], max(n_parts, 1))
    return _renumbered(_numbered(frequent), at), left, right, counts.of(frequent)


def _features(orders: Sequence[_Order]) -> tuple[list[Short], Floats, Short]:
    """The feature of each frequent n-gram (or -1), numbered from frequent to rare; weights and words of features."""
    concept = np.concatenate([each.concept for each in orders])
    queries = np.concatenate([each.queries for each in orders])
    weight = np.concatenate([each.weight for each in orders])
    length = np.repeat(np.arange(1, len(orders) + 1, dtype=np.int32), [each.concept.size for each in orders])
    kept = np.flatnonzero(concept)
    kept = kept[np.argsort(-queries[kept].astype(np.int64), kind="stable")]
    feature = np.full(concept.size, -1, dtype=np.int32)
    feature[kept] = np.arange(kept.size, dtype=np.int32)
    return np.split(feature, np.cumsum([each.concept.size for each in orders])[:-1]), weight[kept], length[kept]


def _numbered(kept: Flags) -> Short:
    """Running numbers for what is kept, -1 for the rest."""
    return np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)


def _renumbered(numbers: Short, at: Short) -> Short:
    """The new numbers at all positions; none where there was none."""
    return np.append(numbers, np.int32(-1))[at]
