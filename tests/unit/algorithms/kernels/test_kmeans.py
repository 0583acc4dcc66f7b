"""κ-means of users is its plain version, user by user."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.algorithms.kernels import hausdorff, kmeans
from tests.helpers import reference
from tests.helpers.examples import examples
from tests.helpers.microaggregation import encoded, frame_of, people, priority, users_of


def same_profile(users):
    """For each user the first one with the same events."""
    profiles = [events for _, events in users]
    return np.array([profiles.index(events) for events in profiles])


@settings(max_examples=examples(60))
@given(people(), st.data())
def test_the_same_clusters(rows, data):
    frame = frame_of(rows)
    users = users_of(frame)
    start = data.draw(st.permutations(range(len(users))))[: data.draw(st.integers(1, len(users)))]
    profiles = encoded(frame)
    got = kmeans.kmeans(np.array(start), same_profile(users), profiles.events, profiles.strings)
    assert got.tolist() == reference.kmeans(users, start, priority)


@settings(max_examples=examples(20))
@given(people(), st.integers(1, 3))
def test_it_stops_after_some_rounds(rows, rounds):
    frame = frame_of(rows)
    users = users_of(frame)
    start = list(range(min(3, len(users))))
    profiles = encoded(frame)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kmeans, "ROUNDS", rounds)
        got = kmeans.kmeans(np.array(start), same_profile(users), profiles.events, profiles.strings)
    assert got.tolist() == reference.kmeans(users, start, priority, rounds=rounds)


@pytest.mark.parametrize("seed", range(40))
def test_many_rounds_and_ties(seed):
    """Few words and no times: equal distances are frequent, and users keep moving."""
    draw = random.Random(seed)
    rows = [
        (f"u{user:02}", None, draw.choice(["maps", "map", "tea", "tea pot", "rain", "train"]), None, None)
        for user in range(16)
        for _ in range(draw.randint(1, 4))
    ]
    frame = frame_of(rows)
    users = users_of(frame)
    start = draw.sample(range(16), draw.randint(2, 6))
    profiles = encoded(frame)
    got = kmeans.kmeans(np.array(start), same_profile(users), profiles.events, profiles.strings)
    assert got.tolist() == reference.kmeans(users, start, priority)


def test_a_cluster_without_users_starts_again():
    """Two starting users are alike, so one cluster stays empty and goes to the user who is far from everybody."""
    rows = [(user, None, query, None, None) for user, query in (("a", "maps"), ("b", "maps"), ("c", "xyzzy"))]
    frame = frame_of(rows)
    profiles = encoded(frame)
    got = kmeans.kmeans(np.array([0, 1]), same_profile(users_of(frame)), profiles.events, profiles.strings)
    assert got.tolist() == [0, 0, 1]


@settings(max_examples=examples(20))
@given(people(most=6))
def test_distances_of_pairs(rows):
    frame = frame_of(rows)
    users = users_of(frame)
    scale = reference.scales(users)
    events = encoded(frame).events
    ones, others = (a.ravel() for a in np.meshgrid(np.arange(len(users)), np.arange(len(users))))
    got = kmeans.distances(ones, others, events, hausdorff.new_workspace(events))
    expected = [reference.user_distance(users[a][1], users[b][1], scale) for a, b in zip(ones, others, strict=True)]
    assert got.tolist() == expected
