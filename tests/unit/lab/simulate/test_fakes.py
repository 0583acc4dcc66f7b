"""Queries that nobody means."""

import numpy as np
import pytest

from coterie.lab.simulate.measures.simattack import made_up
from coterie.lab.simulate.protection import Fakes
from tests.helpers.worlds import synthetic_world


@pytest.mark.parametrize("kind", ["dictionary", "others", "walk", "past"])
def test_each_event_has_its_fakes(kind):
    world = synthetic_world()
    events = np.flatnonzero(world.late)[:50]
    fakes = Fakes(kind=kind, n=3)
    one, same, other = (made_up(world, fakes, events, seed) for seed in (7, 7, 8))
    assert one.start.size == 151
    assert np.array_equal(one.word, same.word)
    assert not np.array_equal(one.word, other.word)
    assert one.word.max() < world.vocabulary
    for i in range(150):
        words = one.word[one.start[i] : one.start[i + 1]].tolist()
        assert words == sorted(set(words))


@pytest.mark.parametrize(("kind", "late"), [("others", True), ("past", False)])
def test_queries_of_others_are_of_the_time_they_should_be(kind, late):
    world = synthetic_world()
    events = np.flatnonzero(world.late)
    sets = made_up(world, Fakes(kind=kind, n=1), events, 7)
    allowed = {tuple(_words(world, q)) for q in np.unique(world.query[world.late == late])}
    assert {tuple(sets.word[sets.start[i] : sets.start[i + 1]].tolist()) for i in range(events.size)} <= allowed


def _words(world, query):
    return world.words.word[world.words.start[query] : world.words.start[query + 1]].tolist()
