"""A synthetic log of clear-cut interests, with the statistics of the AOL log as a whole.

Model
    Shared queries come from a pool of lists: one general list ("weather") and one per topic. The
    position in a list follows Zipf-Mandelbrot, P(r) ~ (r + b)^-s with s = 1. Lists grow with the
    number of users, and b is solved so that the top query keeps its share at every size.
    Personal queries are written for one event: a rare word, or words around a shared head Q in the
    shapes Q+R, R+Q, R+Q+R, or words without a head. Modifiers R are not queries on their own.
    A user has 1 to 4 topics, a session has one: nine of ten times a topic of the user, the first one
    more often than the others. These are the interests by which users can be grouped: a topic has
    queries and modifiers of its own, and none is closer to another. An event is a new query, a next
    page (the query just before, later) or a return to an earlier query of the same user.
    A few personal queries look like personal data and are fake on their face: telephone numbers
    555-01xx, addresses at example.com, streets with made-up names.

Calibration (published counts of the AOL log; paper 001, Table 1); the tests hold the tolerances
    lines per user        log-normal, mean 55.7, median 20
    lines per event       36.39 / 28.90; an event is a distinct (user, query, time)
    words, distinct       26.64 20.22 20.56 14.56 17.99 % of queries have 1, 2, 3, 4, 5+ words
    words, events         41.21 24.53 15.69  8.88  9.66 %
    single-user queries   about 90 % of distinct queries
    repeats by the user   30 to 40 % of events: 1 - distinct (user, query) / events
    events with a click   about half
    refinements Q+R       about 40 % of distinct queries of several words: a proper prefix of whole
                          words is itself a query of two or more users
    top query             1 % of events

Shares released from this log by any method are properties of the generator, not results about AOL.
Limits: one language model for all users, no weekly rhythm, no trends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from coterie.core.arrays import Floats, Ints
from coterie.synth import _kit as kit

TOPICS_PER_USER, TOPIC_EXPONENT = 4, 0.5
FAVOURITE = 1.5  # above 1: the first topic of a user gets more sessions than the others
OFF_TOPIC_SESSIONS = 0.1
RETURN = 0.09  # chance to repeat any earlier query of the user
HOST_SKEW = 2.0  # above 1: popular hosts of a topic answer more queries

# Queries. The two length tables were fitted so that the log as a whole meets paper 001 Table 1.
POOL_SHARE = 0.53  # of new queries
GENERAL_SHARE = 0.35  # of pool queries
GENERAL_HEADS = 0.2  # of the heads inside personal queries
TOP_SHARE = 0.01  # of events
POOL_PER_USER, GENERAL_PER_POOL = 2.0, 0.25
TOPIC_QUERIES_MIN = 20  # shorter lists would make users of small logs repeat themselves too often
TOPIC_TOP_SHARE = 0.1  # of the draws from a topic's list
ONE_WORD_HEADS = 8  # the first queries of the general list
POOL_LENGTHS = (0.570, 0.272, 0.111, 0.035, 0.012)
PERSONAL_LENGTHS = (0.231, 0.209, 0.214, 0.154, 0.192)
POOL_WIDTH, PERSONAL_WIDTH = 5, 12
LONG_STOP = 0.43  # chance to end from the fifth word on: 5+ has 6.3 words (paper 001 Table 2)
SHAPES = (0.40, 0.20, 0.12, 0.28)  # Q+R, R+Q, R+Q+R, no head
ENTITY_SHARE = 0.3  # of pool queries of several words: words that occur only together
MODIFIERS_AT_1000 = 20  # a topic's own, in a log of 1,000 users
HEAPS_EXPONENT = 0.35  # how they grow with the users
MODIFIER_EXPONENT = 0.6
EVERYDAY_MODIFIERS = 0.3  # of modifiers; the others belong to the topic
RARE_WORDS = (1.0, 0.25, 0.10, 0.06, 0.05)  # chance per modifier, by length of the query

HASH_WEIGHTS = 3**31 * np.arange(1, PERSONAL_WIDTH + 1) + 1  # tell the order of words apart

THEMES = kit.split(kit.WORDS["themes"])
TOPICS = len(THEMES)


@dataclass(frozen=True)
class _Vocabulary:
    """What all users share. `words` are the modifiers, then the heads in the order of the pool."""

    words: pl.Series
    hosts: pl.Series  # one per pool query
    queries: pl.Series  # the pool as text
    parts: Ints  # the pool as rows of `words`: pool x POOL_WIDTH, -1 beyond the length
    lengths: Ints
    parents: Ints  # a one-word pool query of the same list, at least as popular
    general: int  # size of the general list; then come the topics, interleaved by position
    general_cdf: Floats
    topic_cdf: Floats
    own_modifiers: int  # per topic

    def draw(self, rng: np.random.Generator, topics: Ints, general_share: float) -> Ints:
        """One pool query for each entry of `topics`."""
        own = self.general + kit.pick(rng, self.topic_cdf, len(topics)) * TOPICS + topics
        common = kit.pick(rng, self.general_cdf, len(topics))
        return np.where(rng.random(len(topics)) < general_share, common, own)


def _vocabulary(users: int, seed: int) -> _Vocabulary:
    rng = kit.stream(seed, "vocabulary")
    pool = POOL_PER_USER * users
    general = max(2 * len(kit.HEADS), round(pool * GENERAL_PER_POOL))
    rows = max(TOPIC_QUERIES_MIN, round(pool * (1 - GENERAL_PER_POOL) / TOPICS))
    size = general + rows * TOPICS
    own_modifiers = round(MODIFIERS_AT_1000 * max(1.0, users / 1000) ** HEAPS_EXPONENT)
    first_head = len(kit.MODIFIERS) + own_modifiers * (TOPICS + 1)

    words = kit.table_of_words(first_head + 2 * size, rng)
    topic_heads = first_head + general
    for start, given in ((0, kit.MODIFIERS), (first_head, kit.HEADS), (topic_heads, THEMES + kit.FOREIGN)):
        words.scatter(np.arange(start, start + len(given)), given)
    top = TOP_SHARE / (POOL_SHARE * GENERAL_SHARE)
    general_cdf = kit.zipf_with_top(general, top)
    topic_cdf = kit.zipf_with_top(rows, TOPIC_TOP_SHARE)
    plans = (_plan(rng, general_cdf, 1, ONE_WORD_HEADS), _plan(rng, topic_cdf, TOPICS, 1))
    lengths = np.concatenate([plans[0][0], plans[1][0]])
    parents = np.concatenate([plans[0][1], plans[1][1] + general])
    topics = np.concatenate([np.full(general, TOPICS), np.tile(np.arange(TOPICS), rows)])
    parts = _modifiers(rng, topics, POOL_WIDTH, own_modifiers)
    _write_pool(rng, parts, lengths, parents, first_head)
    return _Vocabulary(
        words=words,
        hosts=kit.as_hosts(words.slice(first_head, size)),
        queries=kit.join(parts, words),
        parts=parts,
        lengths=lengths,
        parents=parents,
        general=general,
        general_cdf=general_cdf,
        topic_cdf=topic_cdf,
        own_modifiers=own_modifiers,
    )


def _plan(rng: np.random.Generator, cdf: Floats, lists: int, one_word: int) -> tuple[Ints, Ints]:
    """Lengths and parents of `lists` interleaved lists; the first `one_word` queries have one word.

    The others have fewer single words in return, so that draws from the lists keep POOL_LENGTHS.
    """
    rows = len(cdf)
    shares = np.array(POOL_LENGTHS)
    shares[0] = max(0.0, (shares[0] - cdf[one_word - 1]) / (1 - cdf[one_word - 1]))
    shares[1:] *= (1 - shares[0]) / shares[1:].sum()
    lengths = 1 + kit.pick(rng, kit.cumulative(shares), (rows, lists))
    lengths[:one_word] = 1
    row = np.arange(rows)[:, None]
    nearest = np.maximum.accumulate(np.where(lengths == 1, row, 0), axis=0)
    above = (row * rng.random((rows, lists)) ** 2).astype(np.int64)
    parents = np.take_along_axis(nearest, above, axis=0) * lists + np.arange(lists)
    return lengths.ravel(), parents.ravel()


def _modifiers(rng: np.random.Generator, topics: Ints, width: int, own_modifiers: int) -> Ints:
    """Words that go around a head: everyday ones, or ones of the topic."""
    shape = (len(topics), width)
    everyday = kit.pick(rng, kit.zipf(len(kit.MODIFIERS), MODIFIER_EXPONENT), shape)
    own = kit.pick(rng, kit.zipf(own_modifiers, MODIFIER_EXPONENT), shape)
    own += len(kit.MODIFIERS) + topics[:, None] * own_modifiers
    return np.where(rng.random(shape) < EVERYDAY_MODIFIERS, everyday, own)


def _write_pool(rng: np.random.Generator, parts: Ints, lengths: Ints, parents: Ints, first_head: int) -> None:
    """Put heads among the modifiers in `parts`: a query's own, an entity, or its parent refined."""
    size = len(lengths)
    row = np.arange(size)
    shape = kit.pick(rng, kit.cumulative(SHAPES[:3]), size)
    at = np.choose(shape, (0 * row, lengths - 1, np.minimum(1, lengths - 1)))
    parts[row, at] = first_head + parents
    entity = rng.random(size) < ENTITY_SHARE
    parts[row[entity], lengths[entity] - 1] = first_head + size + row[entity]
    own = entity | (lengths == 1)
    parts[own, 0] = first_head + row[own]
    parts[np.arange(POOL_WIDTH) >= lengths[:, None]] = -1


def _new_queries(rng: np.random.Generator, topics: Ints, shared: _Vocabulary) -> tuple[pl.Series, Ints, Ints]:
    """Texts; keys, equal for equal queries; and sites, the pool query whose host comes first."""
    from_pool = rng.random(len(topics)) < POOL_SHARE
    drawn = shared.draw(rng, topics[from_pool], GENERAL_SHARE)
    parts, lengths = _personal(rng, topics[~from_pool], shared)
    personal = kit.decorate(rng, kit.join(parts, shared.words), lengths)
    order = np.argsort(np.argsort(~from_pool, kind="stable"))  # pool first -> order of events
    texts = pl.concat([shared.queries.gather(drawn), personal], rechunk=True).gather(order)
    keys = np.concatenate([drawn, parts @ HASH_WEIGHTS])[order]
    sites = np.where(shared.lengths[drawn] == 1, drawn, -1)
    return texts, keys, np.concatenate([sites, np.full(len(parts), -1)])[order]


def _personal(rng: np.random.Generator, topics: Ints, shared: _Vocabulary) -> tuple[Ints, Ints]:
    """Words and lengths of queries written for one event."""
    size = len(topics)
    lengths = 1 + kit.pick(rng, kit.cumulative(PERSONAL_LENGTHS), size)
    longer = np.minimum(5 + rng.geometric(LONG_STOP, size) - 1, PERSONAL_WIDTH)
    lengths = np.where(lengths == 5, longer, lengths)
    parts = _modifiers(rng, topics, PERSONAL_WIDTH, shared.own_modifiers)
    rare = rng.random(parts.shape) < np.array(RARE_WORDS)[np.minimum(lengths, 5) - 1][:, None]
    space = len(kit.SYLLABLES) ** kit.RARE_SYLLABLES
    parts[rare] = len(shared.words) + rng.integers(space, size=np.count_nonzero(rare))

    heads = shared.draw(rng, topics, GENERAL_HEADS)
    heads = np.where(shared.lengths[heads] >= lengths, shared.parents[heads], heads)
    shape = kit.pick(rng, kit.cumulative(SHAPES), size)
    taken = np.where((shape == 3) | (lengths == 1), 0, shared.lengths[heads])
    rest = lengths - taken
    at = np.choose(shape, (0 * rest, rest, np.minimum(1, rest), 0 * rest))
    for i in range(POOL_WIDTH):
        rows = np.flatnonzero(taken > i)
        parts[rows, at[rows] + i] = shared.parts[heads[rows], i]
    parts[np.arange(PERSONAL_WIDTH) >= lengths[:, None]] = -1
    return parts, lengths


def _topics(rng: np.random.Generator, events: kit.Schedule, users: int) -> Ints:
    """The topic of each event: nearly always one of the user's own, the same within a session."""
    popularity = kit.zipf(TOPICS, TOPIC_EXPONENT)
    own = kit.pick(rng, popularity, (users, TOPICS_PER_USER))
    number = rng.integers(1, TOPICS_PER_USER + 1, size=users)
    sessions = int(events.session.max()) + 1
    user = np.empty(sessions, np.int64)
    user[events.session] = events.user
    chosen = own[user, (number[user] * rng.random(sessions) ** FAVOURITE).astype(np.int64)]
    other = kit.pick(rng, popularity, sessions)
    topic = np.where(rng.random(sessions) < OFF_TOPIC_SESSIONS, other, chosen)
    return topic[events.session]


def blocks(users: int, seed: int) -> Callable[[int], pl.DataFrame]:
    """The rows of each block of users, by its number."""
    shared = _vocabulary(users, seed)

    def rows(block: int) -> pl.DataFrame:
        rng, users_of = kit.begin(kit.stream(seed, "users", block), block, users)
        events = kit.schedule(rng, kit.activity(rng, len(users_of)))
        topics = _topics(rng, events, len(users_of))
        origins = kit.first_typed(rng, events, RETURN)
        typed = np.flatnonzero(origins == np.arange(len(origins)))
        texts, keys, sites = _new_queries(rng, topics[typed], shared)
        asked = np.searchsorted(typed, origins)

        def hosts(event: Ints, rank: Ints) -> pl.Series:
            query = asked[event]
            return shared.hosts.gather(_results(keys[query], sites[query], rank, topics[typed][query], shared))

        return kit.lines(rng, users_of, events, texts.gather(asked), hosts)

    return rows


def _results(key: Ints, site: Ints, rank: Ints, topics: Ints, shared: _Vocabulary) -> Ints:
    """The host at a rank: fixed for a query, mostly a popular host of its topic."""
    bits = (key.astype(np.uint64) + np.uint64(1)) * kit.MIX + rank.astype(np.uint64)
    bits = (bits ^ (bits >> np.uint64(29))) * kit.MIX
    part = (bits >> np.uint64(11)) / 2.0**53
    row = (len(shared.topic_cdf) * part**HOST_SKEW).astype(np.int64)
    return np.where((rank == 1) & (site >= 0), site, shared.general + row * TOPICS + topics)
