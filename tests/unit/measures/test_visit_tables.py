"""Worked examples of what analysts read from a release of an access log.

Covers: measures/utility/visit_indicators.py
"""

from dataclasses import replace
from datetime import datetime, timedelta

import polars as pl
import pytest

import coterie
from coterie.core.log import Log, Step
from coterie.core.shapes import VISITS
from coterie.errors import NotApplicableError
from coterie.measures.utility import visit_tables as visits
from coterie.measures.utility.visit_indicators import common_beginning
from coterie.methods.common_visits import CommonVisits
from coterie.methods.count_visits import CountVisits
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing import queries_log

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0"
CHROME = "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36"
START = datetime(2020, 2, 3, 9)
SEARCH, NEWS = "https://search.example/?q=1", "http://news.example/today"


def log_of(rows):
    """(visitor, minutes, path, referrer, agent) as an access log."""
    table = pl.DataFrame(
        [
            (who, f"192.0.2.{ord(who)}", START + timedelta(minutes=at), path, led, agent)
            for who, at, path, led, agent in rows
        ],
        schema={name: VISITS.schema[name] for name in ("user", "address", "time", "path", "referrer", "agent")},
        orient="row",
    ).with_row_index("row")
    missing = [pl.lit(None, VISITS.schema[name]).alias(name) for name in VISITS.released if name not in table.columns]
    frame = table.with_columns(pl.col("row").cast(pl.UInt64), *missing).select("row", *VISITS.released)
    return Log(frame=frame.lazy(), shape=VISITS, history=(Step(name="read"),))


ROWS = [
    ("a", 0, "/tea", SEARCH, FIREFOX), ("a", 1, "/cups", None, FIREFOX), ("a", 2, "/cups", None, FIREFOX),
    ("b", 5, "/tea", SEARCH, FIREFOX), ("b", 6, "/cups", None, FIREFOX), ("b", 120, "/tea", NEWS, FIREFOX),
    ("c", 9, "/tea", SEARCH, CHROME), ("c", 10, "/own", None, CHROME),
]  # fmt: skip


@pytest.fixture(scope="module")
def log():
    return log_of(ROWS)


def scores(log, release, name):
    return dict(coterie.measure(release, [name], original=log, seed=1).select("key", "value").iter_rows())


def release_with(log, level=None, **columns):
    """All rows of a log as a release, with other columns; whose rows they are is known. `level`: of their times."""
    release = coterie.anonymize(log, SuppressRare(k=2, attrs="keep"), seed=1)
    rows = log.frame.with_columns(time_level=level, **columns).sort("row").collect()
    numbers = rows.select("row", released_row=pl.int_range(pl.len(), dtype=pl.UInt32))
    record = replace(release.record, rows=numbers.lazy())
    shape = VISITS if level is None else VISITS.with_levels()
    frame = rows.select(shape.released).lazy()
    return replace(release, log=replace(release.log, frame=frame, shape=shape), record=record)


def test_the_log_itself_has_no_error(log):
    same = scores(log, release_with(log), "visit_tables")
    assert {key: value for key, value in same.items() if key.endswith(".error")} == dict.fromkeys(
        ("pages.error", "referrers.error", "hours.error", "browsers.error", "landing.error", "lengths.error"), 0
    )
    assert same["paths.kept"] == 100
    assert same["pages.top"] == 3
    assert same["referrers.known"] == 50
    assert same["hours.known"] == same["browsers.known"] == 100


def test_sequences_keep_pages_and_paths(log):
    """tea and cups of a and b, tea of b and of c stay; /own goes, and a page that follows itself counts once."""
    found = scores(log, coterie.anonymize(log, CommonVisits(k=2, paths="exact", days=False), seed=1), "visit_tables")
    # before: tea 4, cups 3, own 1 of 8; after: tea 4, cups 2 of 6
    assert found["pages.error"] == pytest.approx(50 * (abs(4 / 8 - 4 / 6) + abs(3 / 8 - 2 / 6) + 1 / 8))
    assert found["paths.kept"] == pytest.approx(100 * 2 / 3), "of tea-cups, tea-cups, tea-own"
    assert found["pages.top"] == 2
    assert set(found) == {"pages.error", "pages.top", "paths.kept"}


def test_pages_of_one_second_are_in_the_order_of_lines():
    log = log_of([(who, 0, path, None, None) for who in "abc" for path in ("/tea", "/cups")])
    release = coterie.anonymize(log, CommonVisits(k=3), seed=1)
    assert scores(log, release, "visit_tables")["paths.kept"] == 100
    landing = visits.session_tables(visits.with_visits(visits.clicks(log), 30))["landing"]
    assert landing.rows() == [("/tea", 3)]


def test_rows_without_names_have_no_sessions(log):
    found = scores(log, release_with(log, user=pl.lit(None, pl.String)), "visit_tables")
    assert "paths.kept" not in found
    assert "lengths.error" not in found
    assert found["pages.error"] == 0


def test_details_that_are_known_are_compared(log):
    """Agents may be labels, referrers hosts, and times hours; nobody knows the hour of a day."""
    browser = pl.when(pl.col("user") == "c").then(None).otherwise(pl.lit("firefox/115 (linux)"))
    host = pl.when(pl.col("referrer") == SEARCH).then(pl.lit("search.example"))
    hour = (
        pl.when(pl.col("user") == "a")
        .then(pl.col("time").dt.truncate("1d"))
        .otherwise(pl.col("time").dt.truncate("1h"))
    )
    level = pl.when(pl.col("user") == "a").then(pl.lit("day")).otherwise(pl.lit("hour"))
    release = release_with(log, level, user=pl.lit(None, pl.String), agent=browser, referrer=host, time=hour)
    found = scores(log, release, "visit_tables")
    assert found["browsers.known"] == pytest.approx(100 * 6 / 8)
    assert found["browsers.error"] == pytest.approx(50 * (2 / 8 + 2 / 8)), "all firefox in place of 6 in 8"
    assert found["referrers.error"] == pytest.approx(50 * (1 / 4 + 1 / 4)), "all search in place of 3 in 4"
    assert found["hours.known"] == pytest.approx(100 * 5 / 8)
    assert found["hours.error"] == pytest.approx(50 * 2 * (1 / 5 - 1 / 8)), "one of five at eleven in place of one in 8"
    bare = scores(log, release_with(log, agent=pl.lit("firefox"), user=pl.lit(None, pl.String)), "visit_tables")
    assert bare["browsers.known"] == 100
    assert bare["browsers.error"] == pytest.approx(25)


def test_lengths_and_paths_of_linked_rows(log):
    """b in two visits, a and c under one name: sessions of 2, 1 and 5 requests in place of 3, 2, 1 and 2."""
    name = (
        pl.when(pl.col("user") != "b")
        .then(pl.lit("x"))
        .when(pl.col("path") == "/own")
        .then(pl.lit("y"))
        .otherwise("user")
    )
    found = scores(log, release_with(log, user=name), "visit_tables")
    assert found["lengths.error"] == pytest.approx(50 * (1 / 4 + abs(2 / 4 - 1 / 3) + abs(1 / 4 - 1 / 3) + 1 / 3))
    days = release_with(log, pl.lit("day"), user=name, time=pl.col("time").dt.truncate("1d"))
    assert "paths.kept" not in scores(log, days, "visit_tables"), "the order within a day is not known"


def test_an_empty_release(log):
    empty = release_with(log)
    empty = replace(empty, log=replace(empty.log, frame=empty.log.frame.clear()))
    assert set(scores(log, empty, "visit_tables").values()) <= {None, 0.0}
    assert set(scores(log, empty, "visit_indicators").values()) <= {None, 0.0}


def test_other_logs():
    log = queries_log()
    release = coterie.anonymize(log, SuppressRare(k=3), seed=1)
    for name in ("visit_tables", "visit_indicators"):
        with pytest.raises(NotApplicableError, match="this log is QUERIES"):
            coterie.measure(release, [name], original=log)


def test_tables_of_counts_are_compared_as_they_are(log):
    """For k = 2 of the pages tea (4) and cups (3) would stay; /own would be left alone, so cups goes with it."""
    release = coterie.anonymize(log, CountVisits(k=2, tables="pages,hours"), seed=1)
    assert release.to_polars()["table", "item", "count"].rows() == [("pages", "/tea", 4)]
    found = scores(log, release, "visit_tables")
    assert found == {"pages.error": pytest.approx(50), "pages.top": 1}, "tea alone, in place of 4 in 8"


def test_counts_of_large_tables_have_no_error():
    """Everybody does the same in each hour: all cells stay."""
    rows = [
        (who, 60 * hour + at, path, SEARCH, FIREFOX)
        for who in "abcd"
        for hour in (0, 1)
        for at, path in enumerate(["/a", "/b"])
    ]
    log = log_of(rows)
    release = coterie.anonymize(log, CountVisits(k=3), seed=1)
    found = scores(log, release, "visit_tables")
    assert found == {
        **dict.fromkeys(
            ("pages.error", "referrers.error", "hours.error", "browsers.error", "landing.error", "lengths.error"), 0
        ),
        "paths.kept": 100,
        "pages.top": 2,
    }
    assert scores(log, release, "visit_indicators") == {"clicks.error": 0}
    nobody = scores(log, release, "two_pages")
    assert nobody["after.singled_out"] == nobody["after.names"] == 0
    with pytest.raises(NotApplicableError, match="no table of browsers"):
        scores(log, coterie.anonymize(log, CountVisits(k=3, tables="pages"), seed=1), "visit_indicators")
    with pytest.raises(NotApplicableError, match="no table of pages"):
        scores(log, _only(release, "nothing"), "visit_tables")


def _only(release, table):
    rows = release.log.frame.filter(pl.col("table") == table)
    return replace(release, log=replace(release.log, frame=rows))


# --- indicators ---------------------------------------------------------------------------------------------


def test_sessions_and_browsers(log):
    same = scores(log, release_with(log), "visit_indicators")
    assert same["clicks.error"] == same["share.error"] == 0
    assert same["sessions.count"] == same["sessions.count.original"] == 4
    assert same["sessions"] == 100
    assert same["share.1"] == same["share.1.original"] == 75
    assert same["share.2"] == same["share.2.original"] == 25
    assert "share.3" not in same
    one = scores(log, release_with(log, user=pl.lit("x"), agent=pl.lit("firefox")), "visit_indicators")
    assert one["sessions.count"] == 2, "an hour and more apart"
    assert one["sessions"] == 50
    assert one["clicks.error"] == one["share.error"] == pytest.approx(25)
    assert one["share.1"] == 100
    assert one["share.2"] == 0


SAFARI = "Mozilla/5.0 (iPhone; CPU iPhone OS 16_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148"


@pytest.mark.parametrize("rest", ["", "/16", " (ios 16.0)", "/16 (ios 16.0)"])
@pytest.mark.parametrize("family", ["mobile safari ui/wkwebview", "firefox", "other"])
def test_a_family_of_browsers_may_have_a_slash(family, rest):
    families = ["firefox", "mobile safari ui/wkwebview", "mobile safari ui"]
    agents = pl.Series("agent", [family + rest, "(ios 16.0)", SAFARI, FIREFOX])
    assert visits._browsers(agents, families).to_list() == [family, None, families[1], families[0]]


def test_a_browser_with_a_slash_is_no_error():
    log = log_of([(who, at, path, led, SAFARI) for who, at, path, led, _ in ROWS])
    label = pl.lit("mobile safari ui/wkwebview (ios 16.0)")
    found = scores(log, release_with(log, agent=label), "visit_indicators")
    assert found["clicks.error"] == found["share.error"] == 0
    assert found["share.1"] == found["share.1.original"] == 100
    assert scores(log, release_with(log, agent=label), "visit_tables")["browsers.error"] == 0


def test_records_of_groups_count_as_if_addresses_were_there(log):
    """Two groups, of the rows of a and b, and of those of c: no names, one agent each."""
    release = release_with(log, user=pl.lit(None, pl.String))
    assert "sessions.count" not in scores(log, release, "visit_indicators")
    groups = log.frame.select("row", group=(pl.col("user") == "c").cast(pl.UInt32))
    known = replace(release, record=replace(release.record, tables={"clusters": groups}))
    found = scores(log, known, "visit_indicators")
    assert found["sessions.count"] == 3, "a and b together until a pause, then b alone, and c"
    alone = log.frame.select("row", group=pl.col("user").rank("dense").cast(pl.UInt32))
    each = replace(release, record=replace(release.record, tables={"clusters": alone}))
    assert scores(log, each, "visit_indicators")["sessions.count"] == 4


@pytest.mark.parametrize(("addresses", "beginning"), [
    (["192.0.2.1"], "192.0.2.1"),
    (["host.example"], "host.example"),
    (["192.0.2.1", "192.0.2.2"], "192.0.2.0/30"),
    (["10.0.0.0", "192.0.2.2"], "0.0.0.0/0"),
    (["192.0.2.1", "host.example"], ""),
    ([], ""),
])  # fmt: skip
def test_beginnings_of_addresses(addresses, beginning):
    assert common_beginning(addresses) == beginning


def test_no_browser_is_no_indicator(log):
    with pytest.raises(NotApplicableError, match="which browser"):
        coterie.measure(coterie.anonymize(log, SuppressRare(k=2), seed=1), ["visit_indicators"], original=log)


def test_errors_of_tables():
    before, after = (visits.counted(pl.DataFrame({"value": list(text)})) for text in ("aabc", "abbd"))
    assert visits.error(before, after) == pytest.approx(50)
    assert visits.kept(before, after) == pytest.approx(50)
    assert visits.error(before, after.clear()) is None
    assert visits.kept(before.clear(), after) is None


def test_sessions_told_by_their_numbers(log):
    """Groups of the rows of a and b, and of those of c: the commonest sessions are those of a and of c."""
    release = release_with(log, user=pl.lit(None, pl.String))
    groups = log.frame.select("row", group=(pl.col("user") == "c").cast(pl.UInt32))
    record = replace(release.record, tables={"clusters": groups})
    assert "sessions.by_id" not in scores(log, replace(release, record=record), "visit_indicators")
    found = scores(log, replace(release, record=record, params={"sessionid": True}), "visit_indicators")
    assert found["sessions.by_id"] == 2
    assert found["share.by_id.error"] == pytest.approx(25), "of four sessions one is another browser's; of two, one"
