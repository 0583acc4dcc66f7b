"""Fake queries, as sets of words: what protocols send beside what somebody means.

    dictionary   as many words as the real query, each drawn among the 50 of most similar frequency on either side
    others       a query that another user searches for in the last third, which the adversary does not know
    walk         as many words as the real query: a word by its frequency, then words that stand in a past query with
                 the one before
    past         a query that another user searched for in the past

Draws belong to the purpose and the seed; the same events get the same fakes.
"""

from __future__ import annotations

import numpy as np

from coterie.core import randomness
from coterie.core.arrays import Ints, offsets
from coterie.errors import NotApplicableError
from coterie.kernels.simattack import Sets, by_frequency, drawn_of_others, walks
from coterie.simulate.seen import Fakes
from coterie.simulate.world import World

WINDOW = 50


def made_up(world: World, fakes: Fakes, events: Ints, seed: int, purpose: str = "") -> Sets:
    """`fakes.n` sets of words for each event, one after the other."""
    key = np.uint64(randomness.stream(seed, f"fakes {fakes.kind} {purpose}").integers(0, 2**64, dtype=np.uint64))
    of = np.repeat(events, fakes.n)
    early = np.flatnonzero(~world.late)
    nothing = not early.size or not np.diff(world.words.start)[world.query[early]].any()
    if fakes.kind in ("past", "walk") and nothing:
        raise NotApplicableError("fake queries come from the past, which has no words in this log")
    if fakes.kind in ("others", "past"):
        pool = early if fakes.kind == "past" else np.flatnonzero(world.late)
        chosen = drawn_of_others(world.author[of], world.author[pool], key)
        return world.sets_of(world.query[pool[chosen]])
    sizes = np.diff(world.words.start)[world.query[of]]
    real = world.sets_of(world.query[of])
    past = world.sets_of(world.query[early])
    frequency = np.bincount(past.word, minlength=world.vocabulary)
    if fakes.kind == "dictionary":
        order = np.argsort(-frequency, kind="stable").astype(np.int32)
        return _distinct(real.start, by_frequency(real, order, key, WINDOW))
    by_word = np.argsort(past.word, kind="stable")
    place = np.repeat(np.arange(early.size), np.diff(past.start))[by_word]
    start = offsets(frequency)
    return _distinct(offsets(sizes), walks(sizes, past, start, place.astype(np.int32), key))


def _distinct(start: Ints, word: np.ndarray) -> Sets:
    """Sets without words that stand in them twice."""
    sizes = np.diff(start)
    of = np.repeat(np.arange(sizes.size, dtype=np.int64), sizes)
    keys = np.unique((of << 32) | word.astype(np.int64))
    return Sets(offsets(np.bincount(keys >> 32, minlength=sizes.size)), (keys & 0xFFFFFFFF).astype(np.int32))
