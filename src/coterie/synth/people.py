"""A synthetic log whose users are about as hard to group as people are.

Model
    There are 38 fields of everyday nouns (`_kit.py`), in a ring of related ones, and a few topics in each, more in
    larger logs. A topic has a list of words: most from its own field, some from the two beside it, some from anywhere,
    and made-up names of its own. So topics of a field share many words, and topics of related fields some.
    A user has 1 to 4 lasting interests and a passing one, which gives way to another after eight sessions. A session is
    about a lasting interest, the passing one, or anything.
    Within a session users pursue errands: a subject of two words of the topic, the first of which all queries of the
    errand have while the words around it change (a refinement). Three of four errands are about one of the few
    subjects that the user cares for within that topic, so that they come back in other sessions.
    Words around a subject are linking and everyday ones, others of the topic or its field, the user's own town, or a
    rare word that hardly anybody else types. Now and then a query names a site; each user has a few that they go to.
    Some events repeat the query just before. How often users return to a query of long ago differs much among them.

Calibration
    By users with 84 rows and more, their first 56 rows and their next 56, beside people of the AOL log who click on
    results: docs/interests.md has the figures. How many rows users have, times, ranks and clicks are those of `topics`.

Limits: one language model for all users, no weekly rhythm, no trends, no misspellings. The nouns are 1,081 and their
plurals: people have more, so that rare words of a meaning are missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from coterie.core.arrays import Floats, Ints
from coterie.synth import _kit as kit

# Words.
HEAPS_EXPONENT = 0.35  # how what people search for grows with their number; sizes are those of 1,000 users
TOPICS_AT_1000 = 6  # in each field
LIST_AT_1000 = 48  # words of a topic
LIST_EXPONENT = 0.8
FIELD_EXPONENT = 0.2  # in a field the general words are in more topics
SOURCES = (0.50, 0.18, 0.10, 0.22)  # words of a topic: its field, the fields beside it, anywhere, names of its own
PLURAL = 0.4  # of the nouns of a topic
LINKING = kit.split("the of in for and how to a on with what from by at is where my can your does")
EVERYDAY = [word for word in kit.MODIFIERS if word not in LINKING]
LINKING_EXPONENT, EVERYDAY_EXPONENT = 0.7, 0.3
TOWNS_AT_1000, TOWN_EXPONENT = 150, 0.7
SITES_AT_1000, SITE_EXPONENT = 400, 1.0

# Users.
LASTING_MIN, LASTING_MAX = 1, 4
FAVOURITE = 1.5  # above 1: the first interests and subjects of a user come more often than the others
TOPIC_EXPONENT = 0.5
SESSIONS = (0.61, 0.29, 0.10)  # about a lasting interest, the passing one, anything
PASSING_SESSIONS = 8  # as long as a passing interest lasts
SUBJECTS = 3  # that a user cares for, within an interest
SITES_OF_A_USER = 4

# Queries.
NEW_ERRAND = 0.55  # chance after the first event of a session
OWN_SUBJECT = 0.75  # of errands
NAVIGATION = 0.09  # of new queries: the name of a site
OWN_SITE = 0.5  # of these
RETURN, RETURN_SKEW = 0.9, 3.5  # chance to repeat an earlier query: at most; above 1: few users do so often
HABIT = 4.0  # above 1: rather one of long ago, so that few queries are repeated often
LENGTHS = (0.10, 0.26, 0.26, 0.18, 0.20)
LONG_STOP = 0.5  # chance to end from the fifth word on
WIDTH = 10
SECOND = 0.6  # of the queries of an errand have the second word of its subject, too
AROUND = (0.20, 0.14, 0.28, 0.10, 0.08, 0.20)  # linking, everyday, of the topic, of its field, the town, rare
SUBJECT_LAST = 0.3  # of errands: words go before the subject
RARE_HOSTS = 0.4

RARE = len(kit.SYLLABLES) ** kit.RARE_SYLLABLES
_HASH_WEIGHTS = 3**31 * np.arange(1, WIDTH + 1) + 1  # tell the order of words apart


@dataclass(frozen=True)
class _World:
    """What all users share. `words` are linking and everyday ones, nouns, names of topics, towns; rare words follow."""

    salt: int
    words: pl.Series
    hosts: pl.Series  # one per word
    sites: pl.Series  # queries that name a site
    siblings: int  # topics of a field; those of a field stand together
    lists: Ints  # topics x words of a topic
    by_popularity: Ints  # topics, of all fields alike
    first_town: int
    topic_cdf: Floats
    list_cdf: Floats
    town_cdf: Floats
    site_cdf: Floats


def _dice(salt: int, *numbers: Ints | int) -> Floats:
    """A number in [0, 1) for each tuple of numbers, always the same one."""
    bits = np.array([salt], np.uint64)
    for number in numbers:
        bits = (bits ^ np.asarray(number).astype(np.uint64)) * kit.MIX
        bits = bits ^ (bits >> np.uint64(29))
    bits = bits * kit.MIX
    return (bits >> np.uint64(11)) / 2.0**53


def _at(cdf: Floats, dice: Floats) -> Ints:
    """Positions of a cumulative distribution that these numbers in [0, 1) stand for."""
    return np.minimum(np.searchsorted(cdf, dice, side="right"), len(cdf) - 1)


def _world(users: int, seed: int) -> _World:
    rng = kit.stream(seed, "people")
    growth = max(1.0, users / 1000)
    siblings, size, towns = (
        round(number * growth**HEAPS_EXPONENT) for number in (TOPICS_AT_1000, LIST_AT_1000, TOWNS_AT_1000)
    )
    topics, sites = siblings * len(kit.FIELDS), round(SITES_AT_1000 * growth)
    first_name = len(LINKING) + len(EVERYDAY) + 2 * len(kit.NOUNS)
    first_town = first_name + topics * size
    made_up = kit.table_of_words(first_town - first_name + towns + sites, rng)
    words = pl.concat(
        [pl.Series(LINKING + EVERYDAY + kit.NOUNS + kit.PLURALS), made_up.head(len(made_up) - sites)], rechunk=True
    )
    return _World(
        salt=int(rng.integers(2**63)),
        words=words,
        hosts=kit.as_hosts(words),
        sites=_sites(rng, pl.concat([pl.Series(kit.HEADS), made_up.tail(sites - len(kit.HEADS))], rechunk=True)),
        siblings=siblings,
        lists=_lists(rng, siblings, size, first_name),
        by_popularity=rng.permutation(topics),
        first_town=first_town,
        topic_cdf=kit.zipf(topics, TOPIC_EXPONENT),
        list_cdf=kit.zipf(size, LIST_EXPONENT),
        town_cdf=kit.zipf(towns, TOWN_EXPONENT),
        site_cdf=kit.zipf(sites, SITE_EXPONENT),
    )


def _lists(rng: np.random.Generator, siblings: int, size: int, first_name: int) -> Ints:
    """The words of each topic, the most frequent first."""
    shape = (siblings * len(kit.FIELDS), size)
    own = np.arange(shape[0])[:, None] // siblings
    neighbour = own + rng.choice([-1, 1], shape)
    anywhere = rng.integers(len(kit.FIELDS), size=shape)
    names = first_name + np.arange(shape[0] * size).reshape(shape)
    source = kit.pick(rng, kit.cumulative(SOURCES), shape)
    source[:, LIST_AT_1000:] = len(SOURCES) - 1  # fields are small: what a larger log adds are names
    nouns = _of_field(rng, np.choose(np.minimum(source, 2), (own, neighbour, anywhere)) % len(kit.FIELDS))
    return np.where(source == len(SOURCES) - 1, names, nouns)


def _of_field(rng: np.random.Generator, fields: Ints) -> Ints:
    """A noun of each field, in the singular or in the plural."""
    number = {noun: place for place, noun in enumerate(kit.NOUNS, start=len(LINKING) + len(EVERYDAY))}
    members = [[number[noun] for noun in field] for field in kit.FIELDS.values()]
    tables = [kit.zipf(len(field), FIELD_EXPONENT) for field in kit.FIELDS.values()]
    drawn = np.empty(fields.shape, np.int64)
    for field, (nouns, table) in enumerate(zip(members, tables, strict=True)):
        here = fields == field
        drawn[here] = np.array(nouns)[kit.pick(rng, table, int(here.sum()))]
    return drawn + len(kit.NOUNS) * (rng.random(fields.shape) < PLURAL)


def _sites(rng: np.random.Generator, names: pl.Series) -> pl.Series:
    dice = pl.Series(rng.random(len(names)))
    return kit.as_sites(names, dice < 0.25, dice < 0.5)


def _topics(rng: np.random.Generator, events: kit.Schedule, users: int, people: Ints, world: _World) -> Ints:
    """The topic of each session."""
    _, first = np.unique(events.session, return_index=True)  # sessions are numbered without gaps, but not by time
    user = events.user[first]
    sessions = len(first)
    by_time = np.empty(sessions, np.int64)
    by_time[np.argsort(first)] = np.arange(sessions)
    nth = by_time - np.minimum.reduceat(by_time, np.flatnonzero(np.diff(user, prepend=-1)))[user]

    number = rng.integers(LASTING_MIN, LASTING_MAX + 1, size=users)
    lasting = (number[user] * rng.random(sessions) ** FAVOURITE).astype(np.int64)
    phase = (nth + (rng.random(users) * PASSING_SESSIONS).astype(np.int64)[user]) // PASSING_SESSIONS
    about = kit.pick(rng, kit.cumulative(SESSIONS), sessions)
    dice = np.choose(
        about,
        (_dice(world.salt, 1, people[user], lasting), _dice(world.salt, 2, people[user], phase), rng.random(sessions)),
    )
    return world.by_popularity[_at(world.topic_cdf, dice)]


def _subjects(rng: np.random.Generator, user: Ints, topic: Ints, world: _World) -> tuple[Ints, Ints]:
    """The two words that an errand is about."""
    size = len(topic)
    which = (SUBJECTS * rng.random(size) ** FAVOURITE).astype(np.int64)
    own = rng.random(size) < OWN_SUBJECT
    first, second = (
        world.lists[
            topic, _at(world.list_cdf, np.where(own, _dice(world.salt, word, user, topic, which), rng.random(size)))
        ]
        for word in (3, 4)
    )
    return first, second


def _texts(rng: np.random.Generator, user: Ints, topic: Ints, errand: Ints, world: _World) -> tuple[pl.Series, Ints]:
    """New queries, and keys that are equal for equal ones. Events of one errand stand together."""
    size = len(user)
    begins = np.flatnonzero(np.diff(errand, prepend=-1))
    place = np.cumsum(np.diff(errand, prepend=-1) != 0) - 1
    first, second = _subjects(rng, user[begins], topic[begins], world)
    last = rng.random(len(begins)) < SUBJECT_LAST

    lengths = 1 + kit.pick(rng, kit.cumulative(LENGTHS), size)
    lengths = np.where(lengths == 5, np.minimum(4 + rng.geometric(LONG_STOP, size), WIDTH), lengths)
    parts = _around(rng, user, topic, world)
    parts[:, 0] = first[place]
    both = rng.random(size) < SECOND
    parts[both, 1] = second[place][both]
    parts[:, 1:][parts[:, 1:] == parts[:, :1]] = -1  # nobody types the subject twice
    column = np.arange(WIDTH)
    turned = np.where(last[place][:, None], lengths[:, None] - 1 - column, column)
    parts = np.take_along_axis(parts, turned % WIDTH, axis=1)
    parts[column >= lengths[:, None]] = -1
    texts = kit.with_fakes(rng, kit.join(parts, world.words), lengths)

    site = np.flatnonzero(rng.random(size) < NAVIGATION)
    nth = (SITES_OF_A_USER * rng.random(len(site)) ** FAVOURITE).astype(np.int64)
    own = rng.random(len(site)) < OWN_SITE
    chosen = _at(world.site_cdf, np.where(own, _dice(world.salt, 5, user[site], nth), rng.random(len(site))))
    keys = parts @ _HASH_WEIGHTS
    keys[site] = chosen
    return texts.scatter(site, world.sites.gather(chosen)), keys


def _around(rng: np.random.Generator, user: Ints, topic: Ints, world: _World) -> Ints:
    """Words that go around a subject."""
    shape = (len(user), WIDTH)
    kind = kit.pick(rng, kit.cumulative(AROUND), shape)
    linking = kit.pick(rng, kit.zipf(len(LINKING), LINKING_EXPONENT), shape)
    everyday = len(LINKING) + kit.pick(rng, kit.zipf(len(EVERYDAY), EVERYDAY_EXPONENT), shape)
    sibling = topic[:, None] // world.siblings * world.siblings + rng.integers(world.siblings, size=shape)
    place = kit.pick(rng, world.list_cdf, shape)
    town = world.first_town + _at(world.town_cdf, _dice(world.salt, 6, user))[:, None]
    rare = len(world.words) + rng.integers(RARE, size=shape)
    of_topic, of_field = world.lists[topic[:, None], place], world.lists[sibling, place]
    return np.choose(kind, (linking, everyday, of_topic, of_field, town, rare))


def blocks(users: int, seed: int) -> Callable[[int], pl.DataFrame]:
    """The rows of each block of users, by its number."""
    world = _world(users, seed)

    def rows(block: int) -> pl.DataFrame:
        rng, ids = kit.begin(kit.stream(seed, "people", 1 + block), block, users)
        people = block * kit.BLOCK_USERS + np.arange(len(ids))
        events = kit.schedule(rng, kit.activity(rng, len(ids)))
        topics = _topics(rng, events, len(ids), people, world)[events.session]
        begins = (np.diff(events.session, prepend=-1) != 0) | (rng.random(len(topics)) < NEW_ERRAND)
        returns = RETURN * rng.random(len(ids)) ** RETURN_SKEW
        origins = kit.first_typed(rng, events, returns[events.user], HABIT)
        typed = np.flatnonzero(origins == np.arange(len(origins)))
        texts, keys = _texts(rng, people[events.user[typed]], topics[typed], np.cumsum(begins)[typed], world)
        asked = np.searchsorted(typed, origins)

        def hosts(event: Ints, rank: Ints) -> pl.Series:
            query = asked[event]
            dice = _dice(world.salt, 7, keys[query], rank)
            word = world.lists[topics[typed][query], _at(world.list_cdf, _dice(world.salt, 8, keys[query], rank))]
            rare = kit.as_hosts(kit.spell((dice * RARE).astype(np.int64), kit.RARE_SYLLABLES))
            return pl.select(
                pl.when(pl.Series(dice < RARE_HOSTS)).then(rare).otherwise(world.hosts.gather(word))
            ).to_series()

        return kit.lines(rng, ids, events, texts.gather(asked), hosts)

    return rows
