"""A search log as arrays, as simulations replay it: who searched for what, in the order of time.

An event is what somebody searched for at one time; several clicks belong to one event. Events of one user are ordered
as everywhere (core/log.py), those of different users by time, then by user. In a log without times everybody searches
from its beginning to its end, and which of their queries come first is drawn, because the order of rows says nothing.
The first two thirds of a user's events are their past, which an adversary may know; the rest is what is attacked and
personalized.

Users have numbers in the byte order of their names, queries and pages likewise. What is only needed by some rules and
measures is computed when it is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.algorithms.kernels.lsa import Sparse, centres_of, directions, nearest, project, sums_by
from coterie.algorithms.lsa import idf, tfidf, unit_rows
from coterie.core import randomness
from coterie.core.arrays import Flags, Ints, Short, offsets
from coterie.core.log import Log, in_time
from coterie.core.shapes import QUERIES
from coterie.errors import InputError
from coterie.lab.simulate.kernels import Known, Sets
from coterie.text.language import ENGLISH, language

Singles = NDArray[np.float32]
_DIRECTIONS = 64
_SPARE = 16
_SAMPLE = 5_000  # users whose profiles the directions are taken from
_TOPIC_SAMPLE, _TOPIC_ROUNDS = 20_000, 15


@dataclass(frozen=True, eq=False, kw_only=True)
class World:
    """The events of a log in the order of time, as numbers."""

    users: pl.Series = field(repr=False)
    queries: pl.Series = field(repr=False)
    author: Short = field(repr=False)
    query: Short = field(repr=False)
    late: Flags = field(repr=False)
    """Whether it is in the last third of what its author searched for."""
    click_event: Ints = field(repr=False)
    click_page: Ints = field(repr=False)
    words: Sets = field(repr=False)
    """The keywords of each query."""
    vocabulary: int
    without_user: int = 0
    like: World | None = field(default=None, repr=False)
    """The world whose users these are, where their queries are made up."""

    @classmethod
    def of(cls, log: Log, *, language_name: str = ENGLISH, users: int | None = None, seed: int = 0) -> World:
        """The events of a log; with `users`, those of so many users drawn by the seed."""
        if log.shape.name != QUERIES.name:
            raise InputError(
                f"A simulation replays a search log, and this is one of {log.shape.name.lower()}. Read an access log "
                f"as one with --query-param."
            )
        shape = log.shape
        parts = {"user": shape.subject, "query": shape.item, "time": shape.time, "url": shape.page}
        rows = log.frame.select(**{name: pl.col(column) for name, column in parts.items()}).collect(engine="streaming")
        with_user = rows.drop_nulls(["user", "query"])
        without_user = rows.height - with_user.height
        if users is not None:
            names = with_user["user"].unique().sort()
            drawn = np.argsort(randomness.keys(seed, "users of a simulation", names), kind="stable")[:users]
            with_user = with_user.filter(pl.col("user").is_in(names[np.sort(drawn)].implode()))
        if not with_user.height:
            raise InputError("The log has no rows with a user and a query. Nobody's searches can be replayed.")
        events, clicks = _in_order(with_user)
        names, queries = events["user"].unique().sort(), events["query"].unique().sort()
        numbers = events.with_columns(
            pl.col("user").replace_strict(names, np.arange(names.len()), return_dtype=pl.Int32),
            pl.col("query").replace_strict(queries, np.arange(queries.len()), return_dtype=pl.Int32),
        )
        words, vocabulary = _keywords(queries, language_name)
        return cls(
            users=names,
            queries=queries,
            author=numbers["user"].to_numpy(),
            query=numbers["query"].to_numpy(),
            late=events["late"].to_numpy(),
            click_event=clicks["event"].to_numpy(),
            click_page=clicks["page"].to_numpy(),
            words=words,
            vocabulary=vocabulary,
            without_user=without_user,
        )

    def repeating(self, times: int, seed: int) -> World:
        """The same users, each with one query that nobody else has, which they search for so many times."""
        everybody = np.tile(np.arange(self.n_users, dtype=np.int32), times)
        author = randomness.stream(seed, "equal queries").permutation(everybody)
        here = np.arange(self.n_users)
        return World(
            users=self.users,
            queries=pl.Series(here.astype(str)),
            author=author,
            query=author,
            late=np.zeros(author.size, dtype=np.bool_),
            click_event=np.zeros(0, dtype=np.int64),
            click_page=np.zeros(0, dtype=np.int64),
            words=Sets(np.arange(self.n_users + 1), here.astype(np.int32)),
            vocabulary=self.n_users,
            like=self,
        )

    @cached_property
    def first_queries(self) -> Ints:
        """The number of the first query of each user."""
        _, first = np.unique(self.author, return_index=True)
        return self.query[first].astype(np.int64)

    @property
    def n_users(self) -> int:
        """How many users there are."""
        return self.users.len()

    @property
    def n_events(self) -> int:
        """How many events there are."""
        return self.author.size

    @cached_property
    def repeats(self) -> Flags:
        """Whether the author of an event searched for the same before."""
        order = np.argsort(self.pair_keys(self.author), kind="stable")
        keys = self.pair_keys(self.author)[order]
        again = np.concatenate([[False], keys[1:] == keys[:-1]])
        result = np.empty(self.n_events, dtype=np.bool_)
        result[order] = again
        return result

    def pair_keys(self, who: Short | Ints) -> Ints:
        """who * queries + query for each event."""
        return np.asarray(who, dtype=np.int64) * self.queries.len() + self.query

    @cached_property
    def asked(self) -> tuple[Ints, Ints]:
        """The profiles of all users: author * queries + query, ascending, and how often."""
        return np.unique(self.pair_keys(self.author), return_counts=True)

    def known(self, who: Short, *, more: Sets | None = None, more_of: Short | None = None) -> Known:
        """Past queries by whom they are taken to be of; entries below 0 are nobody's. `more` are sets of words of
        `more_of`, beside them."""
        theirs = (who >= 0) & ~self.late
        keys, times = np.unique(self.pair_keys(np.where(theirs, who, 0))[theirs], return_counts=True)
        owner, query = np.divmod(keys, self.queries.len())
        sets = self.sets_of(query)
        if more is not None and more_of is not None:
            owner, times = (
                np.concatenate([owner, more_of]),
                np.concatenate([times, np.ones(more_of.size, dtype=np.int64)]),
            )
            sets = Sets(np.concatenate([sets.start, sets.start[-1] + more.start[1:]]), np.append(sets.word, more.word))
            order = np.argsort(owner, kind="stable")
            owner, times, sets = owner[order], times[order], _some_sets(sets, order)
        sizes = np.diff(sets.start)
        entry = np.repeat(np.arange(owner.size), sizes)
        order = np.argsort(sets.word, kind="stable")
        total = np.bincount(owner, weights=times, minlength=self.n_users).astype(np.int64)
        start = offsets(np.bincount(sets.word, minlength=self.vocabulary))
        short = [each.astype(np.int32) for each in (owner, sizes, times, entry[order])]
        return Known(short[0], short[1], short[2], total, start, short[3])

    @cached_property
    def true_past(self) -> Known:
        """What everybody searched for in the past."""
        return self.known(self.author)

    def sets_of(self, queries: Short | Ints) -> Sets:
        """The keywords of some queries."""
        return _some_sets(self.words, queries)

    # --- interests -------------------------------------------------------------------------------

    @cached_property
    def vectors(self) -> Singles:
        """Each query by 64 directions along which the pasts of users differ most (LSA), length 1 or 0."""
        if self.like is not None:  # each user has one query, which is as near to others as one of theirs
            return np.ascontiguousarray(self.like.vectors[self.like.first_queries])
        if not self.vocabulary:  # stop words only, or another alphabet
            return np.zeros((self.queries.len(), 1), dtype=np.float32)
        early = ~self.late
        sizes = np.diff(self.words.start)[self.query[early]]
        author = np.repeat(self.author[early].astype(np.int64), sizes)
        keys, times = np.unique(author * self.vocabulary + self.sets_of(self.query[early]).word, return_counts=True)
        user, word = np.divmod(keys, max(self.vocabulary, 1))
        counts = Sparse(
            offsets(np.bincount(user, minlength=self.n_users)),
            word.astype(np.int32),
            times.astype(np.float32),
            self.vocabulary,
        )
        rows = unit_rows(tfidf(counts))
        sample = np.sort(_drawn(self.n_users, _SAMPLE, "users of directions"))
        rows = _some_rows(rows, sample)
        wanted = min(_DIRECTIONS, sample.size, self.vocabulary)
        tried = min(wanted + _SPARE, sample.size, self.vocabulary)
        begin = randomness.stream(0, "directions of interests").standard_normal((sample.size, tried))
        found = directions(rows, begin)[:, :wanted].astype(np.float32)
        weight = idf(counts)[self.words.word].astype(np.float32)
        queries = Sparse(self.words.start, self.words.word, weight, self.vocabulary)
        return project(queries, found, np.array([wanted]))

    @cached_property
    def interests(self) -> Singles:
        """The sum of the vectors of what each user searched for in the past, length 1 or 0."""
        if self.like is not None:
            return self.like.interests
        return self.profiles(np.where(self.late, -1, self.author))

    def profiles(self, who: Short | Ints) -> Singles:
        """The sum of vectors of the events of each person, length 1 or 0; events below 0 are nobody's."""
        return sums_by(self.vectors, self.query, np.asarray(who, dtype=np.int32), self.n_users)

    def topics(self, n: int) -> Short:
        """The topic of each query, of at most `n`: spherical k-means of their vectors."""
        drawn = _drawn(self.queries.len(), _TOPIC_SAMPLE, "queries of topics")
        sample = self.vectors[drawn]
        sample = np.ascontiguousarray(sample[sample.any(axis=1)])
        if not sample.shape[0]:
            return np.zeros(self.queries.len(), dtype=np.int32)
        return nearest(self.vectors, centres_of(sample, sample[:n], _TOPIC_ROUNDS))


def _in_order(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """user, query, late of each event in the order of time; and event, page of each click."""
    ordered = in_time(rows, "user", "query", "time")
    again = pl.all_horizontal(pl.col(name).eq_missing(pl.col(name).shift()) for name in ("user", "query", "time"))
    timed = rows["time"].null_count() < rows.height
    new = ~(again.fill_null(False) & pl.col("time").is_not_null())  # of searches without a time nothing is known
    marked = ordered.with_columns(_event=new.cast(pl.UInt32).cum_sum())
    place, n = pl.int_range(pl.len()).over("user"), pl.len().over("user")
    events = (
        marked.group_by("_event", maintain_order=True)
        .agg(pl.col("user", "query", "time").first())
        .with_columns(late=3 * (place + 1) > 2 * n, place=(2 * place + 1) / (2 * n))
        .sort("time" if timed else "place", "_event", nulls_last=True)
        .with_row_index("event")
    )
    clicks = marked.select("_event", "url").drop_nulls().join(events.select("_event", "event"), on="_event")
    pages = clicks["url"].unique().sort()
    page = pl.col("url").replace_strict(pages, np.arange(pages.len()), return_dtype=pl.Int64)
    clicks = clicks.select(pl.col("event").cast(pl.Int64), page.alias("page")).unique().sort("event", "page")
    return events, clicks


def _keywords(queries: pl.Series, language_name: str) -> tuple[Sets, int]:
    """The keywords of each query as numbers, ascending, and how many different ones there are."""
    spoken = language(language_name)
    lists = queries.to_frame("query").select(spoken.keywords(pl.col("query")).list.sort()).to_series()
    flat = lists.explode().drop_nulls()
    words = flat.unique().sort()
    numbers = flat.replace_strict(words, np.arange(words.len()), return_dtype=pl.Int32) if words.len() else flat
    number = numbers.to_numpy().astype(np.int32) if words.len() else np.zeros(0, dtype=np.int32)
    return Sets(offsets(lists.list.len().to_numpy()), number), words.len()


def _drawn(n: int, most: int, purpose: str) -> Ints:
    return randomness.stream(0, purpose).permutation(n)[:most]


def _some_rows(matrix: Sparse, rows: Ints) -> Sparse:
    sizes = (matrix.start[rows + 1] - matrix.start[rows]).astype(np.int64)
    start = offsets(sizes)
    at = np.repeat(matrix.start[rows] - start[:-1], sizes) + np.arange(start[-1])
    return Sparse(start, matrix.column[at], matrix.value[at], matrix.width)


def _some_sets(sets: Sets, some: Short | Ints) -> Sets:
    sizes = np.diff(sets.start)[some]
    start = offsets(sizes)
    return Sets(start, sets.word[np.repeat(sets.start[some] - start[:-1], sizes) + np.arange(start[-1])])
