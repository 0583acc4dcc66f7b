"""The kernel of visits against its plain version, and the vectors of paper 004."""

from dataclasses import replace

import numpy as np
import pytest

from coterie.core.run import Run
from coterie.core.shapes import VISITS
from coterie.engines.local import Local
from coterie.lab.microaggregate_visits import kernels as kernel
from coterie.lab.microaggregate_visits import model
from tests.helpers import visit_records_reference as plain
from tests.helpers.hand_made import log_of
from tests.helpers.random_visits import AGENTS, plain_records, random_visits

UNIT = kernel.UNIT
RUN = Run(engine=Local(), seed=1)


def weights_of(**given):
    """Weights in quarters, as the kernel has them; what is not given has none."""
    return np.array([round(4 * given.get(name, 0)) for name in plain.FIELDS])


def distance(a, b, part, weight=1):
    """The distance of two visits by one part of them, in parts of UNIT; whichever is the source."""
    log = log_of([{"user": "u", "path": "/", **a}, {"user": "u", "path": "/", **b}], VISITS)
    records = model.encode(log, sessionid=False)
    columns, _, tables = model._local(records.columns, records.tables)
    weights = weights_of(**{part: weight})
    rows, distances = kernel.new_rows(tables), kernel.path_distances()
    common = kernel.commons(tables.paths), kernel.commons(tables.referrer_paths)
    found = []
    for source, other in ((0, 1), (1, 0)):
        kernel.from_record(columns[source], weights, tables, common, distances, rows)
        found.append(kernel.record_distance(columns[other], columns[source], weights, rows) / (4 * weight))
        assert kernel.record_distance(columns[source], columns[source], weights, rows) == 0
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize(("a", "b", "expected"), [
    ("/a/b/c", "/a/b/d", 1 / 7), ("/a", "/a/b", 1 / 3), ("/", "/a", 1), ("/x/b/c", "/a/b/c", 1), ("/", "/", 0),
    ("/a/b?q=1", "/a/b?q=2", 0), ("/a", "/a/", 1 / 3), ("a/b", "/a/b", 1), ("", "/", 0),
])  # fmt: skip
def test_paths(a, b, expected):
    assert distance({"path": a}, {"path": b}, "request") == UNIT * expected // 1
    assert plain.path_distance(a.partition("?")[0], b.partition("?")[0]) == UNIT * expected // 1


@pytest.mark.parametrize(("a", "b", "expected"), [
    ("10.0.0.1", "10.0.0.2", 2 / 32), ("10.0.0.1", "10.0.0.1, 192.0.2.1", 0), ("10.0.0.1", "192.0.0.1", 1),
    ("2001:db8::1", "2001:db8::2", 2 / 128), ("2001:db8::1", "2001:DB8:0::1", 0), ("10.0.0.1", "2001:db8::1", 1),
    ("2001:db8::1", "2001:db8:8000::1", 96 / 128), ("a.example.com", "example.com", 1 / 7), ("x.org", "y.com", 1),
    ("a.example.com", "b.example.com", 1 / 7), ("com", "com", 0), ("10.0.0.1", "a.example", 1), (None, "10.0.0.1", 1),
    (None, None, 0), ("10.0.0.x", "10.0.1.x", 4 / 15),
])  # fmt: skip
def test_addresses(a, b, expected):
    assert distance({"address": a}, {"address": b}, "address") == UNIT * expected // 1


@pytest.mark.parametrize(("a", "b", "expected"), [
    ("http://www.greatseats.com/a", "http://www.bankofamerica.com/a", 1 / 7), (None, None, 0),
    (None, "http://shop.example/", 1), ("http://shop.example/a", "https://shop.example:80/a?b=c", 0),
    ("http://shop.example/a", "http://shop.example/b", 1 / 2), ("http://shop.example", "http://shop.example/", 0),
])  # fmt: skip
def test_referrers_are_half_host_and_half_path(a, b, expected):
    host = expected if expected in (0, 1, 1 / 2) else (2 * UNIT * expected // 1) / 2 / UNIT
    assert distance({"referrer": a}, {"referrer": b}, "referrer") == UNIT * host


@pytest.mark.parametrize(("a", "b", "parts"), [(0, 1, 1), (0, 2, 2), (0, 3, 3), (0, 4, 4), (0, 5, 4), (5, 5, 0)])
def test_agents_by_quarters(a, b, parts):
    assert distance({"agent": AGENTS[a]}, {"agent": AGENTS[b]}, "agent", weight=0.5) == UNIT * parts / 4


def test_method_status_and_size():
    a, b = {"method": "GET", "status": 200, "bytes": 0}, {"method": "POST", "status": None, "bytes": 99}
    assert distance(a, b, "rest", weight=0.5) == 3 * UNIT
    assert distance(a, {**a, "bytes": None}, "rest") == UNIT
    assert distance({**a, "bytes": None}, {**a, "bytes": None}, "rest") == 0


def groups_of(records, k, weights, **how):
    found = model.clusters(records, k, [weights[name] for name in plain.FIELDS], RUN, block=0, **how)
    return dict(found.table.collect().iter_rows())


@pytest.mark.parametrize("visitors", [False, True])
@pytest.mark.parametrize("sessionid", [False, True])
@pytest.mark.parametrize("k", [2, 3, 7])
def test_groups_are_those_of_the_plain_version(k, sessionid, visitors):
    log = random_visits(60, seed=7 * k + sessionid)
    records = model.encode(log, sessionid=sessionid)
    weights = plain.WEIGHTS | {"session": 3 if sessionid else 0}
    expected, rows = plain_records(log, records, sessionid=sessionid)
    for join in (True, False) if visitors else (True,):
        found = groups_of(records, k, weights, visitors=visitors, join=join)
        assert [found.get(row) for row in rows] == plain.mdav(expected, k, weights, visitors, join)


def test_groups_with_other_weights():
    log = random_visits(50, seed=5)
    records = model.encode(log, sessionid=False)
    weights = dict(zip(plain.FIELDS, (0.5, 1.5, 0, 4, 7, 0, 0), strict=True))
    expected, rows = plain_records(log, records, sessionid=False)
    found = groups_of(records, 4, weights, visitors=False, join=True)
    assert [found.get(row) for row in rows] == plain.mdav(expected, 4, weights)


def test_few_records_are_one_group():
    log = random_visits(5, seed=2)
    log = replace(log, frame=log.frame.drop_nulls("user"))
    records = model.encode(log, sessionid=False)
    assert set(groups_of(records, 3, plain.WEIGHTS, visitors=False, join=True).values()) == {0}
