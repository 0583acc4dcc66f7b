"""The small steps: normalize, drop_empty, events, sessions."""

import unicodedata
from dataclasses import replace
from datetime import datetime, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coterie
from coterie.errors import ParameterError, UnknownNameError
from coterie.steps import parse_steps
from coterie.testing import queries_log, visits_log

START = datetime(2020, 2, 3, 9)


def _log(rows):
    frame = pl.DataFrame(
        rows,
        schema={
            "user": pl.String,
            "time": pl.Datetime("us"),
            "query": pl.String,
            "rank": pl.Int32,
            "url": pl.String,
        },
        orient="row",
    )
    return coterie.log(frame)


def _queries(texts, steps):
    frame = pl.DataFrame({"query": pl.Series(texts, dtype=pl.String)})
    return coterie.prepare(coterie.log(frame), steps).to_polars()["query"].to_list()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  Blue   Teapot ", "blue teapot"),
        ("ＴＥＡ　ｐｏｔ", "tea pot"),  # full width, ideographic space
        ("ﬁne caﬀe", "fine caffe"),
        ("Bausch & Lomb 2.0 co-op", "bausch & lomb 2.0 co-op"),
        ("ÄRGER", "ärger"),
        ("a\u00a0\u2003b", "a b"),
        ("İstanbul", unicodedata.normalize("NFKC", "İstanbul".lower())),
        ("", ""),
    ],
)
def test_normalize(text, expected):
    assert _queries([text], ["normalize"]) == [expected]


@given(st.text(max_size=12))
def test_normalize_twice_is_once(text):
    once = _queries([text], ["normalize"])
    assert _queries(once, ["normalize"]) == once


def test_paths_keep_their_case():
    log = visits_log()
    upper = replace(log, frame=log.frame.with_columns(pl.lit(" /A/b ").alias("path")))
    assert set(coterie.prepare(upper, ["normalize"]).to_polars()["path"]) == {"/A/b"}


def test_drop_empty():
    assert _queries(["-", "", "--", "a"], ["drop_empty"]) == ["--", "a"]
    assert _queries([" ", " - ", "a"], ["normalize", "drop_empty"]) == ["a"]


def test_events_keep_the_best_click():
    rows = [
        ("u", START, "tea", 3, "http://c"),
        ("u", START, "tea", 1, "http://b"),
        ("u", START, "tea", 1, "http://a"),
        ("u", START, "tea", None, None),
        ("u", START + timedelta(seconds=1), "tea", None, None),
        ("v", START, "tea", None, None),
        ("v", None, "tea", None, None),
        ("v", None, "tea", None, None),
    ]
    kept = coterie.prepare(_log(rows), ["events"]).to_polars().sort("user", "time").rows()
    assert kept == [
        ("u", START, "tea", 1, "http://a"),
        ("u", START + timedelta(seconds=1), "tea", None, None),
        ("v", None, "tea", None, None),
        ("v", None, "tea", None, None),
        ("v", START, "tea", None, None),
    ]


def test_sessions_end_after_half_an_hour():
    minutes = [0, 30, 61, 62, 200]
    rows = [("u", START + timedelta(minutes=m), "tea", None, None) for m in minutes]
    rows += [("v", START + timedelta(minutes=5), "tea", None, None), ("v", None, "tea", None, None)]
    rows += [(None, START, "tea", None, None)]
    frame = coterie.prepare(_log(rows[::-1]), ["sessions"]).frame.collect().sort("user", "time", nulls_last=True)
    assert frame["session"].to_list() == [0, 0, 1, 1, 2, 0, 0, None]


def test_steps_are_remembered():
    log = coterie.prepare(queries_log(), ["normalize", "drop_empty", "sessions", "scrub"])
    assert log.steps == ("normalize", "drop_empty", "sessions", "scrub")


def test_scrub_counts_what_it_removes():
    texts = ["mail kim@example.com", "mail kim@example.com", "tea", "call 202 555 0143"]
    log = coterie.prepare(coterie.log(pl.DataFrame({"query": texts})), ["scrub"])
    assert log.to_polars()["query"].to_list() == ["tea"]
    assert log.history[-1].counts == {"email": 2, "phone": 1}


def test_names_of_steps():
    assert parse_steps("normalize, events") == ("normalize", "events")
    assert parse_steps("none") == ()
    with pytest.raises(ParameterError):
        parse_steps(",")
    with pytest.raises(UnknownNameError, match="Did you mean 'normalize'"):
        parse_steps("normalise")
