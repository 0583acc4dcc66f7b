"""Groups of users who exchange their queries."""

import numpy as np
import pytest

from coterie.errors import ParameterError
from coterie.lab.simulate.protocols.uup import Uup, groups_in_time, messages_of, rounds_of
from tests.helpers.worlds import synthetic_world, world_of


def test_groups_have_different_members():
    author = np.array([0, 0, 1, 2, 0, 1, 2], dtype=np.int32)
    group = groups_in_time(author, 3)
    assert group.tolist() == [0, 1, 0, 0, -1, 1, 1]


def _plain(author, n):
    """Each event joins the first group that waits for somebody and has not its author."""
    group, waiting = [-1] * len(author), {}
    for place, who in enumerate(author):
        number = next((own for own, members in waiting.items() if who not in members), place)
        waiting.setdefault(number, {})[who] = place
        if len(waiting[number]) == n:
            for event in waiting.pop(number).values():
                group[event] = number
    return group


@pytest.mark.parametrize("seed", range(8))
def test_groups_are_those_of_the_plain_rule(seed):
    stream = np.random.default_rng(seed)
    often = np.minimum(stream.geometric(0.4, 300) - 1, 6).astype(np.int32)  # some search much more than others
    for n in (2, 3, 5):
        assert groups_in_time(often, n).tolist() == _plain(often.tolist(), n)


def test_one_who_searches_much_is_no_obstacle():
    """With groups looked at anew for each event this would take hours."""
    author = np.zeros(300_000, dtype=np.int32)
    author[-2:] = 1, 2
    assert np.flatnonzero(groups_in_time(author, 3) >= 0).tolist() == [0, 299_998, 299_999]


def test_messages_of_an_exchange_of_two_counted_by_hand():
    """Two key shares, one query to the first, one hand, the list to one, two shares of the decryption, two answers."""
    assert messages_of(2) == 2 + 1 + 1 + 1 + 2 + 2
    assert rounds_of(2) == 6


def test_members_submit_each_others_queries():
    world = synthetic_world()
    seen = Uup(group=4).protect(world, 7)
    group = groups_in_time(world.author, 4)
    for number in np.unique(group[group >= 0])[:50]:
        events = np.flatnonzero(group == number)
        assert sorted(seen.identity[events].tolist()) == sorted(world.author[events].tolist())
        start, people = seen.candidates
        assert sorted(people[start[events[0]] : start[events[0] + 1]].tolist()) == sorted(world.author[events].tolist())
    alone = group < 0
    assert np.array_equal(seen.identity[alone], world.author[alone])
    own = (seen.identity == world.author)[~alone].mean()
    assert 0.2 < own < 0.3
    assert seen.messages[~alone].max() == (3 * 4 * 3 + 3 * 3) / 4


def test_a_group_larger_than_the_log():
    with pytest.raises(ParameterError, match="cannot be made of the 1"):
        Uup(group=3).protect(world_of(("a", 1, "x", None)), 7)
