"""One record in place of several visits."""

from datetime import datetime

import polars as pl
import pytest

from coterie.core.shapes import VISITS
from coterie.lab.microaggregate_visits.release import average_records
from tests.helpers.hand_made import log_of
from tests.helpers.random_visits import AGENTS


def average(*visits, several=True):
    """The average of visits; what they do not say is the same for all."""
    rows = [{"user": f"v{n}", "path": "/", "method": "GET", **visit} for n, visit in enumerate(visits)]
    frame = log_of(rows, VISITS).frame.collect().with_columns(pl.lit(0, pl.UInt32).alias("group"))
    (record,) = average_records(frame, "group", several=several).iter_rows(named=True)
    return record


def test_paths_and_referrers_are_what_all_have_in_common():
    record = average(
        {"path": "/tea/green/1?token=7", "referrer": "http://www.shop.example/a/b"},
        {"path": "/tea/green/2", "referrer": "https://shop.example/a/c?token=8"},
        {"path": "/tea/greens", "referrer": "http://mail.shop.example/a"},
    )
    assert record["path"] == "/tea/*"
    assert record["referrer"] == "*.shop.example/a/*"


def test_equal_ones_stay_as_they_are():
    record = average(*[{"path": "/tea?x", "referrer": "http://a.example/b#c"}] * 2)
    assert (record["path"], record["referrer"]) == ("/tea", "a.example/b")


@pytest.mark.parametrize(
    "referrers", [(None, "http://a.example/"), (None, None), ("http://a.example", "http://b.test/c")]
)
def test_no_common_referrer(referrers):
    assert average(*({"referrer": referrer} for referrer in referrers))["referrer"] is None


def test_an_address_is_never_released():
    assert average({"address": "10.0.0.1"}, {"address": "10.0.0.1"}, several=False)["address"] is None


def test_times_and_sizes_are_means_of_those_that_are_there():
    times = [datetime(2026, 3, 1, 0, 0, 1), datetime(2026, 3, 1, 0, 0, 4), None]
    record = average(*({"time": time, "bytes": size} for time, size in zip(times, [None, 10, 13], strict=True)))
    assert record["time"] == datetime(2026, 3, 1, 0, 0, 2)
    assert record["bytes"] == 11
    nothing = average({}, {})
    assert (nothing["time"], nothing["bytes"]) == (None, None)


def test_the_commonest_values_and_the_smallest_of_several():
    answers = [("PUT", 404), ("GET", 404), ("PUT", 200), ("GET", None)]
    record = average(*({"method": method, "status": status} for method, status in answers))
    assert (record["method"], record["status"]) == ("GET", 404)


def test_a_commonest_value_of_one_visitor_goes():
    visits = [{"user": "a", "status": 404}, {"user": "a", "status": 404}, {"user": "b", "status": 200}]
    assert average(*visits)["status"] is None
    assert average(*visits, several=False)["status"] == 404


@pytest.mark.parametrize(("agents", "expected"), [
    ((0, 0), "firefox/120 (windows 10)"),
    ((0, 0, 2, 2, 2), "firefox/120 (linux)"),
    ((0, 1), "firefox (windows 10)"),  # each has a version of its own
    ((0, 0, 3, 3, 5), "chrome/120 (windows 10)"),  # a mixture that nobody has: parts are chosen one by one
    ((5, 5), None),
])  # fmt: skip
def test_agents_are_put_together_from_parts(agents, expected):
    assert average(*({"agent": AGENTS[agent]} for agent in agents))["agent"] == expected


def test_columns_are_those_of_a_release():
    record = average({}, {})
    assert list(record) == ["group", *(name for name in VISITS.released if name != VISITS.subject)]
