"""count_visits is its plain reference, whatever the order of rows and the blocks; and how it takes odd logs.

Covers: algorithms/walks.py
"""

from datetime import datetime, timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie import api
from coterie.errors import InputError, ParameterError
from coterie.methods.count_visits import CountVisits
from coterie.testing import visits_log
from tests.helpers import visit_counts_reference as reference
from tests.helpers.broken_visits import CHROME, FIREFOX, visited
from tests.helpers.examples import examples
from tests.helpers.random_visits import in_another_order

START = datetime(2020, 2, 3, 22)
ALL = "pages,landing,pairs,referrers,days,browsers,lengths"
BROWSERS = {None: None, FIREFOX.format(1): "firefox", FIREFOX.format(2): "firefox", CHROME.format(3): "chrome"}
HOSTS = {None: None, "http://one.example/a?b": "one.example", "two.example": "two.example", "?": None}
lines = st.tuples(
    st.sampled_from([None, *(f"v{number}" for number in range(6))]),
    st.one_of(st.none(), st.sampled_from([0, 1, 10, 31, 40, 75, 180]).map(lambda n: START + timedelta(minutes=n))),
    st.sampled_from(["/", "/a", "/b", "/c"]),
    st.sampled_from([*HOSTS]),
    st.sampled_from([*BROWSERS]),
)


def log_of(rows):
    schema = {
        "user": pl.String,
        "time": pl.Datetime("us"),
        "path": pl.String,
        "referrer": pl.String,
        "agent": pl.String,
    }
    return coterie.log(pl.DataFrame(rows, schema=schema, orient="row"))


def cells_of(rows, method, blocks=1, steps="none"):
    log = coterie.prepare(log_of(rows), steps)
    release = api.anonymize_prepared(log, method, seed=1, blocks=blocks)
    assert all(check.status == "passed" for check in release.checks)
    return release.to_polars().select("table", "item", "detail", "count").rows()


def plain(rows):
    """The same rows for the reference."""
    return [(visitor, time, path, HOSTS[referrer], BROWSERS[agent]) for visitor, time, path, referrer, agent in rows]


@settings(max_examples=examples(40))
@given(
    st.lists(lines, min_size=1, max_size=60),
    st.integers(2, 4),
    st.sampled_from([ALL, ALL, "pages", "pairs,hours"]),
    st.sampled_from([1, 1, 3]),
    st.sampled_from([30, 30, 10]),
)
def test_it_is_the_plain_reference(rows, k, tables, blocks, minutes):
    rows = [*rows, *((f"v{number}", None, "/", None, None) for number in range(4))]
    steps = "none" if minutes == 30 else f"sessions(minutes={minutes})"
    expected = reference.released(plain(rows), k, tables.split(","), minutes)
    assert cells_of(rows, CountVisits(k=k, tables=tables), blocks, steps) == expected


@settings(max_examples=examples(15))
@given(st.lists(lines, min_size=4, max_size=40), st.randoms())
def test_only_the_order_of_lines_of_one_second_matters(rows, random):
    rows = [*rows, *((f"v{number}", None, "/", None, None) for number in range(4))]
    shuffled = in_another_order(rows, random)
    assert cells_of(shuffled, CountVisits(k=2)) == cells_of(rows, CountVisits(k=2))


def test_pages_of_one_second_are_in_the_order_of_lines():
    rows = [(f"v{n}", START, page, None, None) for n in range(3) for page in ("/b", "/a")]
    found = cells_of(rows, CountVisits(k=3, tables="landing,pairs"))
    assert found == [("landing", "/b", None, 3), ("pairs", "/b", "/a", 3)]


def test_a_worked_example():
    """Three visitors walk from / to /a, one of them twice after an hour; nobody else is left out alone."""
    walk = [("/", 0), ("/", 1), ("/a", 2)]
    rows = [
        (f"v{n}", START + timedelta(minutes=m), page, None, FIREFOX.format(n)) for n in range(3) for page, m in walk
    ]
    rows += [("v0", START + timedelta(minutes=63 + m), page, None, FIREFOX.format(0)) for page, m in walk]
    assert cells_of(rows, CountVisits(k=3, tables="pages,landing,pairs,browsers,lengths")) == [
        ("browsers", "firefox", None, 12),
        ("landing", "/", None, 4),
        ("lengths", "3", None, 4),
        ("pages", "/", None, 8),
        ("pages", "/a", None, 4),
        ("pairs", "/", "/a", 4),
    ]
    assert cells_of(rows, CountVisits(k=3, tables="days")) == [], "v0 alone came again, and the first hour would tell"


@pytest.mark.parametrize("missing", ["agent", "referrer", "time"])
def test_logs_without_a_column(missing):
    log = visits_log()
    without = coterie.log(log.to_polars().drop(missing))
    tables = {"agent": ["browsers"], "referrer": ["referrers"], "time": ["days", "landing", "pairs", "lengths"]}
    release = api.anonymize_prepared(without, CountVisits(k=3), seed=1).to_polars()
    assert release.height > 0
    assert not set(release["table"]) & set(tables[missing])


def test_several_k_count_once(monkeypatch):
    from coterie.algorithms import walks

    calls = []
    original = walks.counted
    monkeypatch.setattr(walks, "counted", lambda *given: calls.append(1) or original(*given))
    log = visits_log()
    learnt = api.learn(log, [CountVisits(k=2), CountVisits(k=3)])
    for k in (2, 3):
        assert api.anonymize_prepared(learnt, CountVisits(k=k)).verdict.largest_k >= k
    assert len(calls) == 1


def test_what_is_refused():
    with pytest.raises(InputError, match="needs at least 7 visitors"):
        api.anonymize_prepared(visits_log(), CountVisits(k=7))
    with pytest.raises(ParameterError, match="'tables' parameter of count_visits must be 'none' or some of 'pages'"):
        CountVisits(tables="pages,users")
    with pytest.raises(ParameterError, match="choose one of days and hours"):
        CountVisits(tables="hours,pages,days")


def test_measures_look_at_the_table_of_pages():
    log = visits_log()
    release = api.anonymize_prepared(log, CountVisits(k=3), seed=1)
    scores = coterie.measure(release, ["release_share"], original=log, seed=1)
    numbers = dict(scores.select("key", "value").iter_rows())
    assert numbers["rows.count"] == release.to_polars().filter(table="pages")["count"].sum()
    assert numbers["rows"] <= 100


@pytest.mark.parametrize("tables", [ALL, "pages,hours"])
def test_analysts_read_the_tables_as_they_are(tables):
    log = visited(400, 30)
    release = api.anonymize_prepared(log, CountVisits(k=2, tables=tables), seed=1)
    scores = dict(coterie.measure(release, ["visit_tables"], original=log, seed=1).select("key", "value").iter_rows())
    assert scores["pages.error"] < 5
    assert scores["hours.error"] < 5
    assert ("paths.kept" in scores) == (tables == ALL)
