"""What accompanies an item, level by level."""

from dataclasses import replace
from datetime import datetime, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.core.run import Run
from coterie.core.shapes import QUERIES, VISITS
from coterie.errors import ParameterError
from coterie.releasing.details import common_details, refuse_exact, without_details, without_identifiers
from tests.helpers import reference
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
        (1, {0: ("x", 1), 1: ("x", 2), 2: ("y", 3), 3: ("y", 4), 5: ("x", 6), 6: (None, 7)}),
        (2, {0: ("x", None), 1: ("x", None)}),  # two users share the page, and neither rank
        (3, {}),
    ],
)
def test_the_rank_goes_before_the_page(k, kept, blocks):
    run = a_run(blocks=blocks)  # blocks are in files that go with the run
    released, _ = common_details(CLICKS, k, run)
    assert rows_of(released, "url", "rank") == [kept.get(row, (None, None)) for row in range(8)]
    assert rows_of(released, "user", "query") == rows_of(CLICKS, "user", "query")
    assert dict(released.frame.collect_schema()) == dict(CLICKS.frame.collect_schema()) | {"time_level": pl.String}
    assert released.shape is QUERIES.with_levels()
    assert released.history == CLICKS.history


def test_rows_of_nobody_go_with_their_tuple():
    """At whatever level k users share it; alone they share nothing."""
    day = datetime(2006, 3, 6)
    clicks = [("a", 0), ("b", 1), (None, 2), ("a", 40), ("b", 40), (None, 40), (None, 80)]
    log = log_of(
        ("user", "query", "url", "time"), *((user, "tea", "x", day + timedelta(days=late)) for user, late in clicks)
    )
    released, _ = common_details(log, 2, a_run())
    later = day + timedelta(days=40)
    assert rows_of(released, "url", "time") == [("x", day)] * 3 + [("x", later)] * 3 + [(None, None)]


def test_details_of_visits_go_from_the_last():
    """A missing value is a value like any other: two visitors without a method share that."""
    visits = log_of(
        ("user", "path", "method", "status", "bytes"),
        ("a", "/", "GET", 200, 10),
        ("b", "/", "GET", 200, 10),
        ("c", "/", "GET", 200, 20),
        ("d", "/", "GET", 200, 30),
        ("e", "/", "GET", 404, 10),
        ("f", "/", "GET", 500, 10),
        ("g", "/", "PUT", 200, 10),
        ("h", "/", None, 200, 10),
        ("i", "/", None, 200, 10),
        ("c", "/b", "GET", 500, 20),
        shape=VISITS,
    )
    expected = [("GET", 200, 10)] * 2 + [("GET", 200, None)] * 2 + [("GET", None, None)] * 2 + [(None, None, None)]
    expected += [(None, 200, 10)] * 2 + [(None, None, None)]
    released, note = common_details(visits, 2, a_run())
    assert rows_of(released, "method", "status", "bytes") == expected
    assert note == (
        "Released rows that keep what accompanies the page, of 10: the day 0.0%, the week 0.0%, the month 0.0%, "
        "method 60.0%, status 60.0%, bytes 40.0%."
    )


MONDAY = datetime(2006, 3, 6)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ((MONDAY + timedelta(hours=9), MONDAY + timedelta(hours=10)), (MONDAY, "day")),
        ((MONDAY + timedelta(days=2), MONDAY + timedelta(days=6)), (MONDAY, "week")),
        ((MONDAY + timedelta(days=2), MONDAY + timedelta(days=7)), (datetime(2006, 3, 1), "month")),
        ((MONDAY, MONDAY + timedelta(days=40)), (None, None)),
        ((MONDAY, None), (None, None)),
        ((None, None), (None, None)),
        ((datetime(1969, 12, 31, 5), datetime(1970, 1, 1)), (datetime(1969, 12, 29), "week")),
    ],
    ids=["day", "week", "month", "no time", "one without", "both without", "before 1970"],
)
def test_times_become_coarser_until_enough_share_them(times, expected):
    log = log_of(("user", "query", "time"), *(("ab"[at], "tea", time) for at, time in enumerate(times)))
    assert rows_of(common_details(log, 2, a_run())[0], "time", "time_level") == [expected] * 2


def test_what_a_finer_level_took_is_not_counted_again():
    """Two share the day; the third is alone in that week, though three searched in it."""
    days = [MONDAY, MONDAY, MONDAY + timedelta(days=1)]
    log = log_of(("user", "query", "time"), *(("abc"[at], "tea", time) for at, time in enumerate(days)))
    released, note = common_details(log, 2, a_run())
    assert rows_of(released, "time", "time_level") == [(MONDAY, "day"), (MONDAY, "day"), (None, None)]
    assert note.startswith("Released rows that keep what accompanies the query, of 3: the day 66.7%, the week 0.0%")


DAYS = st.one_of(st.none(), st.integers(0, 80).map(lambda n: datetime(2019, 12, 20) + timedelta(days=n, hours=n % 5)))
ROWS = st.tuples(
    st.sampled_from([None, *"abcd"]),
    st.sampled_from(["tea", "rum"]),
    st.tuples(st.sampled_from([None, "x", "y"]), st.sampled_from([None, 1, 2])),
    st.one_of(DAYS, st.sampled_from([datetime(2020, 1, 6, 3), datetime(2020, 1, 1), datetime(2020, 1, 7)])),
)


TIMES = st.sampled_from(["drop", "quarter", "month", "week", "day", "hour"])


@given(st.lists(ROWS, max_size=60), st.integers(1, 4), st.sampled_from([1, 3]), TIMES)
def test_it_is_the_plain_rule(rows, k, blocks, times):
    log = log_of(("user", "query", "url", "rank", "time"), *((u, q, *click, time) for u, q, click, time in rows))
    run = a_run(blocks=blocks)
    level = [] if times == "drop" else ["time_level"]
    released = rows_of(common_details(log, k, run, times)[0], "query", "url", "rank", "time", *level)
    expected = reference.common_details(rows, k, times)
    assert released == [(item, *details, *when[: 1 + len(level)]) for item, details, *when in expected]


def test_what_is_kept_is_told_by_the_levels_there_are():
    days = [MONDAY, MONDAY + timedelta(hours=3)]
    log = log_of(("user", "query", "time"), *(("ab"[at], "tea", time) for at, time in enumerate(days)))
    told = {times: common_details(log, 2, a_run(), times)[1].partition("of 2: ")[2] for times in ("hour", "quarter")}
    assert told["hour"].startswith("the hour 0.0%, the day 100.0%, the week 0.0%, the month 0.0%, url")
    assert told["quarter"].startswith("the quarter 100.0%, url")


def test_exact_times_cannot_be_coarse():
    with pytest.raises(ParameterError, match="attrs = keep keeps times as they were logged, so times = month"):
        refuse_exact("keep", "month")
    refuse_exact("keep", "day")
    refuse_exact("common", "month")


def test_a_shape_without_times():
    log = log_of(("user", "query", "url", "rank"), ("a", "tea", "x", 1), ("b", "tea", "x", 1), shape=TIMELESS)
    released, note = common_details(log, 2, a_run())
    assert rows_of(released) == rows_of(log)
    assert note.endswith("of 2: url 100.0%, rank 100.0%.")


def test_rows_are_computed_once():
    engine = Listener()
    common_details(CLICKS, 2, Run(engine=engine, seed=1))[0].frame.collect()
    assert (engine.keys, engine.collected) == ([["query"]], 1)


VISIT = log_of(
    ("user", "address", "time", "method", "path", "status", "bytes", "referrer", "agent"),
    ("a", "10.0.0.1", NOON, "GET", "/", 200, 7, "/from", "browser"),
    shape=VISITS,
)


def test_without_details_only_subject_and_item_are_left():
    bare = without_details(VISIT, a_run())
    assert rows_of(bare) == [(0, "a", None, None, None, "/", None, None, None, None)]
    assert dict(bare.frame.collect_schema()) == dict(VISIT.frame.collect_schema())


def test_without_identifiers_the_rest_is_left():
    rest = without_identifiers(VISIT, a_run())
    assert rows_of(rest) == [(0, "a", None, NOON, "GET", "/", 200, 7, None, None)]
    assert dict(rest.frame.collect_schema()) == dict(VISIT.frame.collect_schema())
    assert rows_of(without_identifiers(CLICKS, a_run())) == rows_of(CLICKS)


def test_nothing_to_look_at():
    nothing = log_of(("user", "query"))
    assert common_details(nothing, 2, a_run())[0].frame.collect().height == 0
    assert isinstance(without_details(nothing, a_run()).frame, pl.LazyFrame)


def test_a_missing_detail_is_shared_like_any_other():
    """Two visitors without a method share the status; their sizes differ, and go."""
    shared = log_of(
        ("user", "path", "method", "status", "bytes"),
        ("a", "/", None, 200, 1),
        ("b", "/", None, 200, 2),
        ("c", "/", "GET", 200, 3),
        shape=VISITS,
    )
    released, _ = common_details(shared, 2, a_run())
    assert rows_of(released, "method", "status", "bytes") == [(None, 200, None), (None, 200, None), (None, None, None)]
