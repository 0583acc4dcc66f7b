"""Friends who submit each other's queries: the protocol, and what friends see."""

import numpy as np
import pytest

from coterie.algorithms.sticky import choose, key_of
from coterie.errors import ParameterError
from coterie.lab.simulate import simulate
from coterie.lab.simulate.protocols.friends import CHOICES, Friends, sticky_topic
from tests.helpers.worlds import scores, synthetic_world, world_of


@pytest.mark.parametrize("rule", ["sticky_query", "sticky_topic"])
def test_the_sticky_choice_is_that_of_peers(rule):
    """Each event goes to whom algorithms/sticky.py chooses among the searcher and their friends, by name."""
    world, by = synthetic_world(), Friends(degree=6, choice=rule, topics=9)
    seen = by.protect(world, 7)
    graph, names, topic = seen.network.graph, world.users.to_list(), world.topics(9)
    for event in range(0, world.n_events, 7):
        u = int(world.author[event])
        members = [u, *graph.friend[graph.start[u] : graph.start[u + 1]].tolist()]
        query = int(world.query[event])
        text = world.queries[query] if rule == "sticky_query" else sticky_topic(topic[query])
        chosen = members[choose(key_of(7, names[u]), text, [names[member] for member in members])]
        assert seen.identity[event] == chosen


@pytest.mark.parametrize("rule", CHOICES)
def test_only_members_of_the_circle_submit(rule):
    world = synthetic_world()
    seen = Friends(degree=6, choice=rule).protect(world, 7)
    graph = seen.network.graph
    circles = [{u, *graph.friend[graph.start[u] : graph.start[u + 1]].tolist()} for u in range(world.n_users)]
    assert all(w in circles[u] for u, w in zip(world.author.tolist(), seen.identity.tolist(), strict=True))
    handed = seen.first >= 0
    assert np.array_equal(graph.friend[seen.first[handed]], seen.identity[handed])
    assert np.array_equal(handed, seen.identity != world.author)
    lonely = np.flatnonzero(seen.network.degrees == 0)
    assert not handed[np.isin(world.author, lonely)].any()


def test_best_fit_never_takes_oneself_and_equal_queries_take_one_way():
    world = synthetic_world()
    seen = Friends(degree=6, choice="best_fit").protect(world, 7)
    with_friends = seen.network.degrees[world.author] > 0
    assert (seen.identity[with_friends] != world.author[with_friends]).all()
    sticky = Friends(degree=6, choice="sticky_query").protect(world, 7)
    pairs = world.pair_keys(world.author)
    assert np.unique(pairs).size == np.unique(np.stack([pairs, sticky.identity]), axis=1).shape[1]


def test_forwarding_goes_further_than_friends():
    world = synthetic_world()
    seen = Friends(topology="ring", degree=2, forward=1.0, hops=2).protect(world, 7)
    graph = seen.network.graph
    near = np.eye(world.n_users, dtype=bool)
    for _ in range(3):
        assert not near[world.author, seen.identity].all()
        person = np.repeat(np.arange(world.n_users), np.diff(graph.start))
        further = near.copy()
        np.logical_or.at(further, person, near[graph.friend])
        near = further
    assert near[world.author, seen.identity].all()
    assert seen.hops.max() == 3
    assert np.array_equal(seen.messages, 2.0 * (seen.hops + seen.refusals))


def test_behaviours_are_shares():
    seen = Friends(degree=6, selfish=0.1, free_riders=0.2, colluding=0.3).protect(synthetic_world(), 7)
    assert np.bincount(seen.behaviour, minlength=5).tolist() == [24, 6, 12, 0, 18]
    more = Friends(degree=6, selfish=0.2).protect(synthetic_world(), 7)
    assert set(np.flatnonzero(seen.behaviour == 1)) < set(np.flatnonzero(more.behaviour == 1))


def test_what_never_leaves_is_never_seen():
    world = synthetic_world()
    seen = Friends(degree=6, answer_repeats=True).protect(world, 7)
    assert np.array_equal(seen.identity == -2, world.repeats)
    assert not seen.messages[world.repeats].any()
    assert (seen.first[world.repeats] == -1).all()


@pytest.mark.parametrize(
    "params",
    [
        {"selfish": 0.7, "curious": 0.4},
        {"forward": 0.5},
        {"hops": 1},
        {"choice": "nobody"},
        {"credit": 0},
        {"credit": "much"},
        {"selfish": 1.5},
        {"topology": "no such file"},
        {"degree": 0},
    ],
)
def test_parameters_that_cannot_be(params):
    with pytest.raises(ParameterError):
        Friends(**params)


def test_what_friends_see_of_two_people():
    """Two people who know each other: what a does not submit, b sees, and nobody else."""
    rows = [("a", i, f"word{i}", None) for i in range(50)] + [("b", i, f"other{i}", None) for i in range(50)]
    world = world_of(*rows)
    done = simulate(world, Friends(topology="er", degree=1, choice="uniform"), measures=["friends", "exposure"], seed=7)
    found = scores(done)
    seen = done.seen
    shares = [np.mean(seen.identity[world.author == u] != u) for u in (0, 1)]
    assert found["friends", "together.mean"] == pytest.approx(100 * np.mean(shares))
    assert found["friends", "worst.mean"] == pytest.approx(100 * np.mean(shares))
    assert found["friends", "worst.events"] == pytest.approx(100 * np.mean(shares))
    assert found["exposure", "exposed.mean"] == pytest.approx(100 - 100 * np.mean(shares))


def test_colluding_friends_tell_what_they_got():
    world = synthetic_world()
    done = simulate(world, Friends(degree=6, colluding=0.5), measures=["exposure", "friends"], seed=7)
    found = scores(done)
    assert found["exposure", "told.mean"] > 2 * found["exposure", "exposed.mean"]
    assert 0 < found["friends", "curious.mean"] < found["friends", "together.mean"]
