"""Worked examples for paper 000: distances and MDAV, on the plain version and on the kernels."""

from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from coterie.algorithms import events as aggregate
from coterie.algorithms.kernels import hausdorff, mdav
from coterie.core import randomness
from coterie.core.shapes import QUERIES
from tests.helpers import reference
from tests.helpers.microaggregation import scales_of
from tests.helpers.reference import Scales

DOMAINS = [
    ("www.greatseats.com", "www.bankofamerica.com", 2 / 7),
    ("a.example.com", "example.com", 1 / 7),
    ("x.org", "y.com", 1.0),
    ("com", "com", 0.0),
    ("http://WWW.Example.com:80/path?x#y", "www.example.com", 0.0),
    (None, "example.com", 1.0),
    (None, None, 0.0),
]
SCALES = Scales(time=100, rank=9, words=9, size=10)


@pytest.mark.parametrize(("a", "b", "expected"), DOMAINS)
def test_domain_distance(a, b, expected):
    assert reference.domain_distance(a, b) == pytest.approx(expected)
    assert reference.domain_distance(b, a) == pytest.approx(expected)


def test_word_distance():
    assert reference.word_distance("flights", "flight") == pytest.approx(1 / 7)
    # Normalised Levenshtein is not a metric, so nothing may be pruned with the triangle inequality.
    assert reference.word_distance("ab", "ba") > reference.word_distance("ab", "aba") + reference.word_distance(
        "aba", "ba"
    )


def test_query_distance():
    a, b = "cheap flights", "cheap flight paris"
    found = reference.hausdorff(set(a.split()), set(b.split()), reference.word_distance)
    assert found == pytest.approx(6 / 7)
    assert reference.query_distance(a, b, SCALES) == pytest.approx(0.6085, abs=5e-5)
    assert reference.query_distance(a, b, SCALES, "printed") == pytest.approx(0.3598, abs=5e-5)


def test_mdav_on_numbers():
    numbers = [1, 2, 3, 10, 11, 12, 20, 21, 22]
    clusters = reference.mdav(numbers, 3, lambda a, b: abs(a - b), lambda some: sum(some) / len(some))
    assert [{numbers[i] for i in cluster} for cluster in clusters] == [{20, 21, 22}, {1, 2, 3}, {10, 11, 12}]


def test_single_queries_weigh_one_one_one_three():
    # Time 1, rank 1 and domain 1 apart, same words: (1 + 1 + 1 + 0) / 6.
    a, b = (0, "x", 1, "x.org"), (100, "x", 10, "y.com")
    assert reference.event_distance(a, b, SCALES) == pytest.approx(0.5)
    assert reference.user_distance([a], [b, a], SCALES) == pytest.approx((1 / 10 + 0.5) / 2)


def test_quotas_sum_to_the_size():
    apportion = partial(reference.apportion, priorities=[3, 2, 1])
    assert apportion(3, [5, 3, 1]) == [2, 1, 0]
    assert apportion(1, [1, 1, 1]) == [1, 0, 0]
    assert sum(apportion(7, [9, 1, 4])) == 7


def test_a_centroid():
    users = [
        ("a", [(0, "maps", 1, "http://www.x.org"), (10, "maps", 2, None)]),
        ("b", [(20, "maps", 4, "http://x.org"), (86500, "rain", None, "y.org")]),
    ]
    rank = {("a", "maps"): 1, ("b", "maps"): 1, ("b", "rain"): 2}
    found, alone = reference.centroid(users, reference.scales(users), lambda u, q: rank.get((u, q), 0))
    # Two of four events: one of each user. `rain` stands for b alone, so it loses its time of day and its page.
    assert found == [(10, "maps", 2, "x.org"), (86400, "rain", None, None)]
    assert alone == 1


# --- the same vectors on the kernels --------------------------------------------------------------


def arrays(*queries_and_urls, eq1="text"):
    """One event each, at one time, with scales chosen by hand."""
    rows = [("u", None, query, None, url) for query, url in queries_and_urls]
    frame = pl.DataFrame(rows, schema={name: QUERIES.schema[name] for name in QUERIES.released}, orient="row")
    scales = aggregate.Scales(time=100, rank=9, words=9, size=10)
    return aggregate.encode(frame, scales, lambda _, subjects: np.arange(len(subjects), dtype=np.uint64), eq1).events


@pytest.mark.parametrize(("a", "b", "expected"), DOMAINS)
def test_domain_distance_of_the_kernels(a, b, expected):
    assert hausdorff.others_distance(0, 1, arrays(("x", a), ("x", b))) == pytest.approx(expected)


@pytest.mark.parametrize(("eq1", "expected"), [("text", 0.6085), ("printed", 0.3598)])
def test_query_distance_of_the_kernels(eq1, expected):
    events = arrays(("cheap flight paris", None), ("cheap flights", None), eq1=eq1)
    code = hausdorff.query_code(0, 1, 0, events.fractions.size - 1, events, hausdorff.new_workspace(events))
    assert events.fractions[code] == pytest.approx(6 / 7)
    found = hausdorff.event_value(0.0, hausdorff.length_distance(0, 1, events), events.fractions[code], events.widths)
    assert found == pytest.approx(expected / 2, abs=3e-5)  # an event is queries for a half


def test_mdav_of_the_kernels_on_numbers():
    """Numbers as times: users with one event each."""
    numbers = [1, 2, 3, 10, 11, 12, 20, 21, 22]
    times = [datetime(2006, 3, 1) + timedelta(seconds=n) for n in numbers]
    rows = [(f"u{i}", time, "x", None, None) for i, time in enumerate(times)]
    frame = pl.DataFrame(rows, schema={name: QUERIES.schema[name] for name in QUERIES.released}, orient="row")
    scales = scales_of(frame)
    keys = partial(randomness.keys, 1)
    profiles = aggregate.encode(frame, scales, keys)
    members, start = mdav.mdav(3, profiles.events, profiles.strings, hausdorff.new_workspace(profiles.events))
    groups = [{numbers[i] for i in members[a:b]} for a, b in pairwise(start)]
    assert groups == [{20, 21, 22}, {1, 2, 3}, {10, 11, 12}]
