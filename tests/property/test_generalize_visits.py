"""generalize_visits is its plain reference, whatever the order of rows and the blocks; and how it takes odd logs."""

from dataclasses import replace
from datetime import datetime, timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import api
from coterie.core.log import Log, Step
from coterie.core.shapes import VISITS
from coterie.errors import InputError, ParameterError
from coterie.methods.generalize_visits import GeneralizeVisits
from coterie.testing import visits_log
from coterie.text.agents import parse_agents
from coterie.text.hosts import host_of
from tests.helpers import visits_reference as reference
from tests.helpers.broken_visits import CHROME, FIREFOX
from tests.helpers.examples import examples

START = datetime(2020, 2, 3, 22)
COLUMNS = {"referrer": "referrer", "browser": "agent", "hour": "time", "day": "time", "status": "status"}
CHOICES = ["referrer,browser,hour,day", "hour,day,referrer", "browser,hour", "day", "status,referrer", "none"]
lines = st.tuples(
    st.sampled_from([None, *(f"v{number}" for number in range(6))]),
    st.one_of(st.none(), st.integers(0, 240).map(lambda minutes: START + timedelta(minutes=minutes))),
    st.sampled_from(["/", "/a", "/a/b", "/a/c", "/a/b?c", "/a/b?d", "/d/e/f", "/d/e/g", "/d/h", "*", "x", "/a/*"]),
    st.sampled_from([None, 200, 304]),
    st.sampled_from([None, "http://one.example/a", "https://ONE.example/b", "two.example", "-", "?"]),
    st.sampled_from([None, FIREFOX.format(1), FIREFOX.format(2), CHROME.format(1), "nobody knows"]),
)


def log_of(rows):
    """Rows (user, time, path, status, referrer, agent) as a log; some columns of it are of no use here."""
    table = pl.DataFrame(rows, schema=["user", "time", "path", "status", "referrer", "agent"], orient="row")
    others = {"row": pl.int_range(pl.len()), "address": pl.lit("10.0.0.1"), "method": pl.lit("GET"), "bytes": pl.lit(7)}
    frame = table.with_columns(**others).select(
        pl.col(name).cast(VISITS.schema[name]) for name in ("row", *VISITS.released)
    )
    return Log(frame=frame.lazy(), shape=VISITS, history=(Step(name="read"),))


def expected(rows, k, details):
    """What the plain reference releases, as rows of the shape."""
    shape = VISITS.with_levels() if {"hour", "day"} & set(details.split(",")) else VISITS
    names = [] if details == "none" else details.split(",")

    def values(row):
        _, time, _, status, referrer, agent = row
        hour = None if time is None else time.replace(minute=0, second=0)
        day = None if time is None else hour.replace(hour=0)
        told = {"referrer": host_of(referrer or "") or None, "hour": hour, "day": day, "status": status,
                "browser": parse_agents(pl.Series([agent], dtype=pl.String))["browser"].item()}  # fmt: skip
        return [told[name] for name in names]

    given_rows = [(row[0], row[2], *values(row)) for row in rows]
    instead = {2 + names.index("day"): 2 + names.index("hour")} if {"hour", "day"} <= set(names) else None
    released = []
    for path, *kept in filter(None, reference.generalize(given_rows, k, instead)):
        row = dict.fromkeys(shape.released) | {"path": path}
        for name, value in zip(names, kept, strict=True):
            if name in ("hour", "day") and value is not None:
                row["time_level"] = row["time_level"] or name
            row[COLUMNS[name]] = row[COLUMNS[name]] or value
        released.append(tuple(row.values()))
    return pl.DataFrame(released, {name: shape.schema[name] for name in shape.released}, orient="row").sort(shape.order)


@settings(max_examples=examples(40))
@given(
    st.lists(lines, min_size=1, max_size=50), st.integers(2, 4), st.sampled_from(CHOICES), st.sampled_from([1, 1, 3])
)
def test_it_is_the_plain_reference(rows, k, details, blocks):
    rows = [*rows, *((f"v{number}", None, "/", None, None, None) for number in range(4))]
    release = api.anonymize_prepared(log_of(rows), GeneralizeVisits(k=k, details=details), seed=1, blocks=blocks)
    assert release.to_polars().equals(expected(rows, k, details))
    assert release.verdict.largest_k >= k


@settings(max_examples=examples(15))
@given(st.lists(lines, min_size=4, max_size=40), st.randoms())
def test_the_order_of_rows_does_not_matter(rows, random):
    rows = [*rows, *((f"v{number}", None, "/", None, None, None) for number in range(4))]
    release = api.anonymize_prepared(log_of(rows), GeneralizeVisits(k=3), seed=1).to_polars()
    shuffled = random.sample(rows, len(rows))
    assert api.anonymize_prepared(log_of(shuffled), GeneralizeVisits(k=3), seed=2).to_polars().equals(release)


def test_a_worked_example():
    """The hour after midnight is one like others, and whoever is alone with an hour is seen on a day."""
    night = START + timedelta(hours=2, minutes=5)
    rows = [(f"v{n}", START, "/a/b", 200, "http://one.example/x", FIREFOX.format(n)) for n in range(3)]
    rows += [(f"v{n}", night, "/a/b", 200, "http://one.example/y", FIREFOX.format(n)) for n in range(3)]
    rows += [(f"v{n}", night + timedelta(hours=n), "/a/c", 200, None, CHROME.format(n)) for n in range(3)]
    kept = api.anonymize_prepared(log_of(rows), GeneralizeVisits(k=3), seed=1)
    seen = (
        kept.to_polars().select("path", "referrer", "agent", "time", "time_level").unique().sort("path", "time").rows()
    )
    midnight = datetime(2020, 2, 4)
    assert seen == [
        ("/a/b", "one.example", "firefox", START, "hour"),
        ("/a/b", "one.example", "firefox", midnight, "hour"),
        ("/a/c", None, "chrome", midnight, "day"),
    ]
    assert kept.warnings == (
        "Released rows keep, of 9: the whole path 100.0%, the referrer 66.7%, the browser 100.0%, the hour 66.7%, "
        "the day 33.3%.",
    )


@pytest.mark.parametrize("missing", ["agent", "referrer", "time", "address"])
def test_logs_without_a_column(missing):
    log = visits_log()
    bare = replace(log, frame=log.frame.with_columns(pl.lit(None, VISITS.schema[missing]).alias(missing)))
    release = api.anonymize_prepared(bare, GeneralizeVisits(k=3), seed=1)
    assert release.to_polars()[missing].null_count() == release.to_polars().height > 0


def test_paths_that_share_nothing_are_left_out():
    rows = [(f"v{n}", None, f"page{n}", None, None, None) for n in range(5)]
    release = api.anonymize_prepared(log_of(rows), GeneralizeVisits(k=3), seed=1)
    assert release.to_polars().is_empty()
    assert release.warnings == ()


def test_too_few_visitors():
    rows = [("v", None, "/", None, None, None), (None, None, "/", None, None, None)]
    with pytest.raises(InputError, match="the log has 1"):
        api.anonymize_prepared(log_of(rows), GeneralizeVisits(k=2))


def test_the_hour_stands_before_the_day():
    with pytest.raises(ParameterError, match="write hour before day"):
        GeneralizeVisits(details="day,hour")
    with pytest.raises(ParameterError, match="some of 'referrer', 'browser', 'hour'"):
        GeneralizeVisits(details="referrer,address")


def test_a_run_without_a_record_is_judged_as_well():
    release = api.anonymize_prepared(visits_log(), GeneralizeVisits(k=3), seed=1, record=False)
    assert "crowd.row" in {check.name for check in release.checks if check.status == "passed"}
