"""The kernels of user microaggregation are their plain versions, to the last bit.

Covers: algorithms/kernels/hausdorff.py, algorithms/kernels/mdav.py, algorithms/events.py, algorithms/profiles.py
"""

from datetime import timedelta
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.algorithms import events as aggregate
from coterie.algorithms import profiles
from coterie.algorithms.kernels import hausdorff, mdav
from coterie.core.shapes import QUERIES
from coterie.core.threads import in_threads
from tests.helpers import reference
from tests.helpers.examples import examples
from tests.helpers.microaggregation import (
    START,
    URLS,
    WORDS,
    encoded,
    frame_of,
    keys,
    people,
    priority,
    scales_of,
    users_of,
)


@given(st.lists(st.one_of(st.sampled_from(["", *WORDS]), st.text(max_size=80)), min_size=1, max_size=6))
def test_levenshtein(found):
    start = np.concatenate([[0], np.cumsum([len(w) for w in found])]).astype(np.int64)
    chars = np.array([ord(c) for w in found for c in w], dtype=np.int64)
    points, chars = np.unique(chars, return_inverse=True)
    chars, masks, row = chars.astype(np.int64), np.zeros(points.size, np.int64), np.zeros(chars.size + 1, np.int64)
    for a, m, one in zip(start, np.diff(start), found, strict=False):
        for b, n, other in zip(start, np.diff(start), found, strict=False):
            assert hausdorff.levenshtein(chars, a, m, b, n, masks, row) == reference.levenshtein(one, other)
            assert not masks.any()


@settings(max_examples=examples(30))
@given(people(most=6), st.sampled_from(["text", "printed"]), st.sampled_from([0, 3, hausdorff.BUSY]))
def test_distances(rows, eq1, busy):
    frame = frame_of(rows)
    users = users_of(frame)
    scale = reference.scales(users)
    events = encoded(frame, eq1, busy).events
    workspace = hausdorff.new_workspace(events, 4)  # so small that pairs push each other out
    everything = [event for _, found in users for event in found]
    for a in range(len(everything)):
        for b in range(len(everything)):
            p, q = events.query[a], events.query[b]
            code = 0 if p == q else hausdorff.query_code(p, q, 0, events.fractions.size - 1, events, workspace)
            others = hausdorff.others_distance(a, b, events)
            length = hausdorff.length_distance(a, b, events)
            got = hausdorff.event_value(others, length, events.fractions[code], events.widths)
            assert got == reference.event_distance(everything[a], everything[b], scale, eq1)
    for a, (_, x) in enumerate(users):
        for b, (_, y) in enumerate(users):
            expected = reference.user_distance(x, y, scale, eq1)
            assert hausdorff.user_distance_below(a, b, expected, events, workspace) == expected
            assert hausdorff.user_distance_above(a, b, expected, events, workspace) == expected
            assert hausdorff.user_distance_below(a, b, expected - 0.01, events, workspace) >= expected
            assert hausdorff.user_distance_above(a, b, expected + 0.01, events, workspace) in (-1.0, expected)


@pytest.mark.parametrize("seed", range(10))
def test_distances_of_busy_users(seed):
    """Bundles of alike events leave the distances of users as they are, and there are fewer of them than events."""
    rng = np.random.default_rng(seed)
    hosts = [None, None, "www.x.org", "y.org", "a.b.z.com", "x.com", "7.7.7.7"]
    rows = []
    for user, size in enumerate([400, 300, 250, 40, 7, 1]):
        late = int(rng.integers(0, 10**6))
        for _ in range(size):
            words = " ".join(rng.choice(WORDS, rng.integers(1, 4)))
            when = START + timedelta(seconds=late + int(rng.integers(0, 10**6)))
            host = hosts[rng.integers(0, len(hosts) - user % 3)]
            rows.append((f"u{user}", when, words, None if host is None else int(rng.integers(1, 12)), host))
    frame = frame_of(rows)
    plain, bundled = encoded(frame, busy=10**6).events, encoded(frame, busy=100).events
    assert np.diff(plain.user_bundles).tolist() == [0] * 7
    assert [n > 0 for n in np.diff(bundled.user_bundles)] == [True] * 3 + [False] * 4
    assert bundled.bundle_start.size < 0.8 * bundled.bundle_events.size
    assert sorted(bundled.bundle_events) == list(range(950))
    workspace = hausdorff.new_workspace(plain), hausdorff.new_workspace(bundled)
    for a in range(6):
        for b in range(6):
            expected = hausdorff.user_distance_above(a, b, -1.0, plain, workspace[0])
            for bound in (expected, expected - 0.05, expected + 0.05):
                for distance in (hausdorff.user_distance_above, hausdorff.user_distance_below):
                    assert distance(a, b, bound, bundled, workspace[1]) == distance(a, b, bound, plain, workspace[0])


@given(
    people(),
    st.sampled_from(["text", "printed"]),
    st.sampled_from(["nearest", "same_string", "drop"]),
    st.sampled_from([1.0, 0.6, 0.3, 0.29, 0.0]),
    st.sampled_from(["shares", "herding"]),
    st.sampled_from(["exact", "hour", "day", "week", "month", "quarter"]),
)
def test_centroid(rows, eq1, attrs, max_share, choice, times):
    frame = frame_of(rows)
    users = users_of(frame)
    scales = reference.scales(users)
    how = {"max_share": max_share, "choice": choice, "finest": times}
    expected, alone = reference.centroid(users, scales, priority, eq1, attrs, **how)
    grouped = frame.with_columns(pl.lit(7, pl.UInt32).alias("group"))
    rule = profiles.QueryRule(max_share=max_share, herding=choice == "herding")
    got = profiles.centroids(grouped, scales_of(frame), keys, eq1, attrs, rule, times)
    found = [event for _, event in users_of(got.select("group", *aggregate.EVENT))]
    assert found == [expected]
    assert got["alone"].sum() == alone
    assert got["group"].unique().to_list() == [7]


@settings(max_examples=examples(100))
@given(
    people(most=17),
    st.integers(2, 5),
    st.sampled_from(["text", "printed"]),
    st.sampled_from([10**6, 40]),
    st.sampled_from([0, hausdorff.BUSY]),
    st.integers(1, 3),
)
def test_the_same_partition_cluster_by_cluster(rows, k, eq1, pairs, busy, parts):
    frame = frame_of(rows)
    users = users_of(frame)
    k = min(k, len(users))
    profiles = encoded(frame, eq1, busy)
    workspace, *more = (hausdorff.new_workspace(profiles.events, 64) for _ in range(parts))
    members, start = mdav.mdav(k, profiles.events, profiles.strings, workspace, pairs, more, in_threads)
    got = [members[a:b].tolist() for a, b in pairwise(start)]
    assert got == reference.microaggregate(users, k, priority, eq1, pairs)


@pytest.mark.parametrize("seed", range(20))
def test_the_same_partition_where_the_average_record_shrinks(seed):
    """Large users are far from the rest and leave first, so that each average record has fewer events."""
    draw = np.random.default_rng(seed)
    rows = [
        (f"u{user:02}", START + timedelta(hours=int(draw.integers(2000))), f"{draw.choice(WORDS)} {draw.choice(WORDS)}",
         int(draw.integers(1, 99)), str(draw.choice(URLS)))
        for user in range(26) for _ in range(2 + max(0, 18 - 2 * user))
    ]  # fmt: skip
    frame = frame_of(rows)
    profiles = encoded(frame)
    members, start = mdav.mdav(2, profiles.events, profiles.strings, hausdorff.new_workspace(profiles.events), 10**6)
    got = [members[a:b].tolist() for a, b in pairwise(start)]
    assert got == reference.microaggregate(users_of(frame), 2, priority, "text", 10**6)


@pytest.mark.parametrize("k", [2, 3])
def test_the_same_partition_on_a_synthetic_log(k):
    from coterie import api

    log = api.prepare(api.read("synth:users=30,seed=3"))
    frame = log.frame.select(QUERIES.released).collect().sort("user", *aggregate.EVENT_ORDER)
    frame = frame.filter(pl.int_range(pl.len()).over("user") < 12)
    users = users_of(frame)
    profiles = encoded(frame)
    members, start = mdav.mdav(k, profiles.events, profiles.strings, hausdorff.new_workspace(profiles.events))
    got = [members[a:b].tolist() for a, b in pairwise(start)]
    assert got == reference.microaggregate(users, k, priority)
