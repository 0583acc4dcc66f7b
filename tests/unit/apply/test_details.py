"""What accompanies an item, level by level."""

from dataclasses import replace
from datetime import datetime, timedelta

import polars as pl
import pytest

from coterie.apply.details import common_details, without_details, without_identifiers
from coterie.core.run import Run
from coterie.core.shapes import QUERIES, VISITS
from tests.helpers.hand_made_logs import NOON, Listener, log_of, rows_of
from tests.helpers.runs import a_run

TIMELESS = replace(
    QUERIES, columns=tuple(column for column in QUERIES.columns if column.name != "time"), name="TIMELESS", time=""
)
CLICKS = log_of(
    ("user", "query", "url", "rank"),
    ("a", "tea", "x", 1),
    ("b", "tea", "x", 2),
    ("c", "tea", "y", 3),
    ("c", "tea", "y", 4),
    (None, "tea", "y", 5),
    ("d", "rum", "x", 6),
    ("a", "tea", None, 7),
    ("b", "tea", None, None),
)


@pytest.mark.parametrize("blocks", [1, 3])
@pytest.mark.parametrize(
    ("k", "kept"),
    [
        (1, {0: ("x", 1), 1: ("x", 2), 2: ("y", 3), 3: ("y", 4), 4: ("y", 5), 5: ("x", 6)}),
        (2, {0: ("x", 1), 1: ("x", 2)}),  # exactly two users; the page of one user, twice, and of nobody goes
        (3, {}),
    ],
)
def test_a_page_stays_with_its_rank_where_k_users_share_query_and_page(k, kept, blocks):
    run = a_run(blocks=blocks)  # blocks are in files that go with the run
    released = common_details(CLICKS, k, run)
    assert rows_of(released, "url", "rank") == [kept.get(row, (None, None)) for row in range(8)]
    assert rows_of(released, "user", "query") == rows_of(CLICKS, "user", "query")
    assert dict(released.frame.collect_schema()) == dict(CLICKS.frame.collect_schema())
    assert released.history == CLICKS.history


def test_details_go_level_by_level():
    """A detail needs k users who share the item, it and all before it."""
    visits = log_of(
        ("user", "path", "method", "status", "bytes"),
        ("a", "/", "GET", 200, 10),
        ("b", "/", "GET", 200, 10),
        ("c", "/", "GET", 200, 20),
        ("d", "/", "GET", 404, 10),
        ("e", "/", "PUT", 200, 10),
        ("f", "/", None, 200, 10),
        ("g", "/", None, 200, 10),
        ("a", "/b", "GET", None, 10),
        ("b", "/b", "GET", None, 10),
        ("c", "/b", "GET", 500, 20),
        shape=VISITS,
    )
    assert rows_of(common_details(visits, 2, a_run()), "method", "status", "bytes") == [
        ("GET", 200, 10),
        ("GET", 200, 10),
        ("GET", 200, None),
        ("GET", None, None),
        (None, None, None),
        (None, None, None),
        (None, None, None),
        ("GET", None, None),
        ("GET", None, None),
        ("GET", None, None),
    ]
    assert rows_of(common_details(visits, 3, a_run()), "method", "status", "bytes")[:3] == [("GET", 200, None)] * 3


def test_times_become_days():
    times = [
        NOON,
        datetime(2006, 3, 1),
        datetime(2006, 3, 2) - timedelta(microseconds=1),
        None,
        datetime(1969, 12, 31, 5),
    ]
    log = log_of(("user", "query", "time"), *(("a", "tea", time) for time in times))
    days = [datetime(2006, 3, 1)] * 3 + [None, datetime(1969, 12, 31)]
    assert rows_of(common_details(log, 2, a_run()), "time") == [(day,) for day in days]


def test_a_shape_without_times():
    log = log_of(("user", "query", "url", "rank"), ("a", "tea", "x", 1), ("b", "tea", "x", 2), shape=TIMELESS)
    assert rows_of(common_details(log, 2, a_run())) == rows_of(log)


def test_rows_are_computed_once_where_several_details_need_them():
    for log, collected in ((CLICKS, 0), (log_of(("user", "path"), ("a", "/"), shape=VISITS), 1)):
        engine = Listener()
        common_details(log, 2, Run(engine=engine, seed=1)).frame.collect()
        assert (engine.keys, engine.collected) == ([[log.shape.item]], collected)


VISIT = log_of(
    ("user", "address", "time", "method", "path", "status", "bytes", "referrer", "agent"),
    ("a", "10.0.0.1", NOON, "GET", "/", 200, 7, "/from", "browser"),
    shape=VISITS,
)


def test_without_details_only_subject_and_item_are_left():
    bare = without_details(VISIT)
    assert rows_of(bare) == [(0, "a", None, None, None, "/", None, None, None, None)]
    assert dict(bare.frame.collect_schema()) == dict(VISIT.frame.collect_schema())


def test_without_identifiers_the_rest_is_left():
    rest = without_identifiers(VISIT)
    assert rows_of(rest) == [(0, "a", None, NOON, "GET", "/", 200, 7, None, None)]
    assert dict(rest.frame.collect_schema()) == dict(VISIT.frame.collect_schema())
    assert rows_of(without_identifiers(CLICKS)) == rows_of(CLICKS)


def test_nothing_to_look_at():
    nothing = log_of(("user", "query"))
    assert common_details(nothing, 2, a_run()).frame.collect().height == 0
    assert isinstance(without_details(nothing).frame, pl.LazyFrame)
