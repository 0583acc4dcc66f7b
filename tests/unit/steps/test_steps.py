"""The small steps: normalize, drop_empty, events, sessions.

Covers: steps/drop_empty.py, steps/events.py, steps/normalize.py, steps/sessions.py
"""

import unicodedata
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated
from unittest import mock

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coterie
from coterie.core import registry
from coterie.core.log import Step
from coterie.core.params import File, Flag, Range, params_of
from coterie.core.shapes import QUERIES
from coterie.errors import InputError, ParameterError, UnknownNameError
from coterie.steps import looks_at, name_in, parse_steps, spelled, step_of
from coterie.steps.default import default_steps
from coterie.steps.drop_empty import DropEmpty
from coterie.steps.events import Events
from coterie.steps.normalize import Normalize
from coterie.steps.sessions import Sessions, session_minutes
from coterie.testing import queries_log, visits_log

FOR_VISITS = {"drop_assets", "drop_bots", "strip_query", "visitors"}
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


def test_sessions_of_other_lengths():
    minutes = [0, 10, 21, 50]
    rows = [("u", START + timedelta(minutes=m), "tea", None, None) for m in minutes]
    for step in ("sessions(minutes=10)", {"name": "sessions", "minutes": 10}, Sessions(minutes=10)):
        log = coterie.prepare(_log(rows), [step])
        assert log.frame.collect().sort("time")["session"].to_list() == [0, 0, 1, 2]
        assert log.steps == ("sessions(minutes=10)",)
        assert session_minutes(log) == 10
    assert session_minutes(_log(rows)) == 30


def test_steps_of_a_command_line():
    assert parse_steps("normalize, events") == (Normalize(), Events())
    assert parse_steps("none") == ()
    assert parse_steps("normalize,sessions(minutes=10),drop_empty") == (
        Normalize(),
        Sessions(minutes=10),
        DropEmpty(),
    )
    assert parse_steps(" sessions ( minutes = 10 ) , ") == (Sessions(minutes=10),)
    assert parse_steps("sessions()") == (Sessions(),)
    with pytest.raises(ParameterError, match="--prepare needs step names"):
        parse_steps(",")
    with pytest.raises(UnknownNameError, match="Did you mean 'normalize'"):
        parse_steps("normalise")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sessions(minute=10)", "has no parameter 'minute'. Did you mean 'minutes'"),
        ("normalize(form=3)", "has no parameters. Write it as normalize"),
        ("sessions(10)", "is not a prepare step. Write it like"),
        ("sessions(minutes=)", "is not a prepare step"),
        ("sessions(minutes=10", "is not a prepare step"),
        ("sessions(minutes=ten)", "must be a whole number between 1 and 1440. Got 'ten' instead"),
        ("sessions(minutes=0)", "Got 0 instead"),
        ("sessions(minutes=1.5)", "Got '1.5' instead"),
    ],
)
def test_what_is_wrong_with_a_step(text, message):
    with pytest.raises(ParameterError, match=message.replace("(", r"\(")):
        parse_steps(text)


@pytest.mark.parametrize("name", registry.names("steps"))
def test_every_step_is_a_value_that_is_spelled_by_its_name(name):
    cls = registry.member("steps", name)
    step = cls()
    assert spelled(step) == name
    assert step_of(name) == step
    assert hash(step) == hash(cls())
    assert cls.__doc__
    assert all(param.doc for param in params_of(cls))
    for log in (queries_log(), visits_log()):
        if name in FOR_VISITS and log.shape is QUERIES:
            with pytest.raises(InputError, match=r"for access logs \(VISITS\), and this log is QUERIES"):
                step(log)
        else:
            assert step(log).steps == (default_steps(log.shape) if name == "default" else (name,))


def _piecewise(step, log, pieces):
    """The rows after a step that sees one piece of the log at a time."""
    frames = [step(replace(log, frame=piece.lazy())).frame.collect() for piece in pieces]
    return pl.concat(frames).sort("row")


@pytest.mark.parametrize("step", [*registry.names("steps"), "drop_bots(robots_txt=false)", "names(found=join)"])
def test_a_step_looks_at_no_more_than_it_says(step):
    """What says "rows" gives the same one row at a time, and what says "subjects" the same one subject at a time."""
    step = step_of(step)
    assert looks_at(step) in ("rows", "subjects", "log")
    made_up = (coterie.read(f"synth:users=12,seed=7,kind={kind}") for kind in ("people", "visits"))
    for log in (queries_log(), visits_log(), *made_up):
        if looks_at(step) == "log" or (name_in(spelled(step)) in FOR_VISITS and log.shape is QUERIES):
            continue
        rows = log.frame.collect().head(600)
        log = replace(log, frame=rows.lazy())
        whole = step(log).frame.collect().sort("row")
        if looks_at(step) == "rows":
            pieces = [*(rows[at] for at in range(min(100, rows.height))), rows[100:]]
        else:
            pieces = rows.partition_by(log.shape.subject)
        assert _piecewise(step, log, [piece for piece in pieces if piece.height]).equals(whole)


@given(st.integers(1, 1440))
def test_spelling_and_reading_are_inverse(minutes):
    step = Sessions(minutes=minutes)
    assert step_of(spelled(step)) == step


@dataclass(frozen=True, kw_only=True)
class Wordy:
    """A step with parameters of every kind, which stands in for one of a third party."""

    text: Annotated[str, File(""), "some text"] = ""
    share: Annotated[float, Range(0, 1), "a share"] = 0.5
    whole: Annotated[bool, Flag(), "yes or no"] = False

    def __call__(self, log):
        return log.then(log.frame, Step(name=spelled(self)))


@given(
    st.text("ab ,()=\"\\'é", max_size=6).filter(lambda text: text == text.strip()),
    st.floats(0, 1),
    st.booleans(),
)
def test_parameters_of_every_kind(text, share, whole):
    step = Wordy(text=text, share=share, whole=whole)
    with mock.patch.object(registry, "member", return_value=Wordy):
        assert step_of(spelled(step)) == step
        assert parse_steps(f"normalize,{spelled(step)}")[-1] == step
