"""The judge's own visits, beginnings of paths and cuts, worked out by hand."""

from dataclasses import replace
from datetime import datetime, timedelta

import polars as pl
import pytest

import coterie
from coterie.core.shapes import SEQUENCES
from coterie.promises.sequence_k_anonymity import parts_of, released_kinds

DAY = datetime(2020, 2, 3)


def log_of(rows):
    """(visitor, minutes or None, path)."""
    table = [(who, None if at is None else DAY + timedelta(minutes=at), path) for who, at, path in rows]
    schema = {"user": pl.String, "time": pl.Datetime("us"), "path": pl.String}
    return coterie.log(pl.DataFrame(table, schema=schema, orient="row"))


def release_of(*walks):
    """Walks ("/a /b", day or None) under names of their own."""
    rows = [
        (f"u_{number:03}", place, page, None if day is None else DAY + timedelta(days=day))
        for number, (walk, day) in enumerate(walks)
        for place, page in enumerate(walk.split(), start=1)
    ]
    return pl.DataFrame(rows, schema=SEQUENCES.schema, orient="row").sample(fraction=1, shuffle=True, seed=3).lazy()


def cut(rows, *walks, paths="exact", k=2, minutes=30, by_lines=True, steps=()):
    """(visitor, walk, day) of all parts, by names of visitors in their order."""
    kinds = released_kinds(release_of(*((walk, None) for walk in walks)), SEQUENCES)
    log = log_of(rows)
    log = coterie.prepare(log, list(steps)) if steps else log
    who = sorted({row[0] for row in rows if row[0] is not None})
    names = {int(kind): walk for kind, walk in zip(kinds.of_name, walks, strict=True)}
    parts = parts_of(log, kinds, paths=paths, k=k, minutes=minutes, by_lines=by_lines)
    return [
        (who[v], names[kind], None if day is None else (day - DAY).days)
        for v, day, kind in parts["visitor", "day", "kind"].rows()
    ]


def test_kinds_and_days_of_a_release():
    kinds = released_kinds(release_of(("/a /b", 0), ("/a", None), ("/a /b", 1), ("/b /a", None)), SEQUENCES)
    one, two, again, other = kinds.of_name
    assert one == again
    assert len({one, two, other}) == 3
    assert kinds.day.to_list() == [DAY, None, DAY + timedelta(days=1), None]
    assert kinds.whole.sum() == 3, "/b alone is the beginning of a walk, and none itself"
    assert kinds.whole.size == 4
    empty = released_kinds(release_of().clear(), SEQUENCES)
    assert empty.of_name.size == 0
    assert empty.levels == []


@pytest.mark.parametrize(("visit", "walks", "parts"), [
    ("/a /b /c", ["/a", "/a /b"], ["/a /b"]),  # the longest; /c begins none
    ("/a /b /c", ["/a", "/b /c"], ["/a", "/b /c"]),
    ("/a /b /c", ["/a /b", "/b /c"], ["/a /b"]),  # from the left
    ("/a /b /c", ["/a /b /c", "/a"], ["/a /b /c"]),
    ("/a /b /x", ["/a /b /c", "/a"], ["/a"]),  # a beginning alone is none
    ("/a /b /a /b /a", ["/a /b"], ["/a /b", "/a /b"]),
    ("/a /a /b /b", ["/a /b", "/a /a"], ["/a /b"]),  # a page that follows itself counts once
    ("/x /y", ["/a"], []),
    ("/a /x /a", ["/a", "/a /a"], ["/a", "/a"]),  # what is between them tells them apart
])  # fmt: skip
def test_visits_are_cut_from_the_left(visit, walks, parts):
    rows = [("ann", at, path) for at, path in enumerate(visit.split())]
    assert cut(rows, *walks) == [("ann", part, 0) for part in parts]


def test_a_visit_ends_after_a_pause():
    rows = [("ann", 0, "/a"), ("ann", 30, "/b"), ("ann", 61, "/a"), ("ann", 62, "/b")]
    assert cut(rows, "/a /b") == [("ann", "/a /b", 0), ("ann", "/a /b", 0)]
    assert cut(rows, "/b /a") == []
    assert cut(rows, "/b /a", minutes=31) == [("ann", "/b /a", 0)]
    assert cut(rows, "/a /b", minutes=29) == [("ann", "/a /b", 0)]


def test_a_visit_is_one_persons():
    rows = [("ann", 0, "/a"), ("bob", 1, "/b"), (None, 1, "/b"), ("ann", 2, "/c"), ("bob", 3, "/a")]
    assert cut(rows, "/a /c", "/b /a", "/a /b") == [("ann", "/a /c", 0), ("bob", "/b /a", 0)]


def test_numbered_sessions_are_believed_if_they_are_the_promised_ones():
    rows = [("ann", 0, "/a"), ("ann", 20, "/b")]
    assert cut(rows, "/a /b", steps=["sessions(minutes=10)"], minutes=10) == []
    assert cut(rows, "/a /b", steps=["sessions"]) == [("ann", "/a /b", 0)]
    # A row that was left out after the step had bridged the pause.
    log = coterie.prepare(log_of([("ann", 0, "/a"), ("ann", 20, "/x"), ("ann", 40, "/b")]), ["sessions"])
    log = replace(log, frame=log.frame.filter(pl.col("path") != "/x"))
    kinds = released_kinds(release_of(("/a /b", None)), SEQUENCES)
    assert parts_of(log, kinds, paths="exact", k=2, minutes=30, by_lines=True).height == 1


def test_rows_without_a_time_are_visits_of_their_own():
    rows = [("ann", None, "/a"), ("ann", None, "/b"), ("ann", 0, "/a"), ("ann", 1, "/b"), ("ann", None, "/a")]
    found = cut(rows, "/a /b", "/a", "/b")
    assert sorted(found, key=str) == [
        ("ann", "/a /b", 0),
        ("ann", "/a", None),
        ("ann", "/a", None),
        ("ann", "/b", None),
    ]
    assert sorted(cut(rows, "/a /b", "/a", "/b", steps=["sessions"]), key=str) == sorted(found, key=str)


def test_pages_of_one_second_are_in_the_order_of_lines():
    rows = [("ann", 0, "/b"), ("bob", 0, "/z"), ("ann", 0, "/a"), ("ann", 0, "/c")]
    assert cut(rows, "/b /a /c", "/a /b /c") == [("ann", "/b /a /c", 0)]


@pytest.mark.parametrize("steps", [[], ["sessions"]])
def test_where_lines_have_no_order_pages_of_one_second_are_visits_of_their_own(steps):
    alone, walks = ["/a", "/b", "/c", "/d"], ["/a /b", "/b /a", "/b /c", "/a /c", "/c /d", "/d /d"]
    rows = [("ann", 0, "/b"), ("ann", 0, "/a"), ("ann", 0, "/b"), ("ann", 1, "/c"), ("ann", 2, "/d"), ("ann", 2, "/d")]
    found = [("ann", "/a", 0), ("ann", "/b", 0), ("ann", "/c /d", 0)]
    assert cut(rows, *alone, *walks, by_lines=False, steps=steps) == found
    assert cut(rows[::-1], *alone, *walks, by_lines=False, steps=steps) == found
    rows = [("ann", 0, "/d"), ("ann", 1, "/b"), ("ann", 1, "/a"), ("ann", 1, "/c"), ("bob", 1, "/d"), ("bob", 2, "/a")]
    assert cut(rows, *alone, *walks, "/d /a", by_lines=False, steps=steps) == [
        ("ann", "/d", 0), *(("ann", page, 0) for page in ("/a", "/b", "/c")), ("bob", "/d /a", 0),
    ]  # fmt: skip


def test_the_day_is_that_of_the_first_page():
    rows = [("ann", 1439, "/a"), ("ann", 1441, "/b"), ("ann", 1442, "/a")]
    assert cut(rows, "/a /b", "/a") == [("ann", "/a /b", 0), ("ann", "/a", 1)]


def test_paths_are_cut_to_what_k_visitors_share():
    asked = {
        "ann": ["/a/b?x=1", "/c/1", "/deep/1/2", "/q?1", "odd"],
        "bob": ["/a/b?x=2", "/c/2", "/deep/1/3", "/q", "even"],
        "cyd": ["/a/b?x=2", "/d", "/deep/4", "/q?2", "/q"],
        "dan": ["/e", "/deep/5/6"],
    }
    rows = [(who, 60 * at, path) for who, paths in asked.items() for at, path in enumerate(paths)]
    walks = [
        "/a/b?x=1",
        "/a/b?x=2",
        "/a/b",
        "/c/*",
        "/c/1",
        "/d",
        "/e",
        "/*",
        "/deep/1/*",
        "/deep/*",
        "/q",
        "/q?1",
        "odd",
    ]
    found = {who: [walk for name, walk, _ in cut(rows, *walks, paths="prefix") if name == who] for who in asked}
    assert found == {
        "ann": ["/*", "/c/*", "/deep/1/*", "/q"],  # /a/b alone, and so to the shortest beginning, with /d and /e
        "bob": ["/a/b?x=2", "/c/*", "/deep/1/*", "/q"],
        "cyd": ["/a/b?x=2", "/*", "/deep/*", "/q", "/q"],
        "dan": ["/*", "/deep/*"],
    }
    three = {who: [walk for name, walk, _ in cut(rows, *walks, paths="prefix", k=3) if name == who] for who in asked}
    assert three["ann"] == ["/a/b", "/*", "/deep/*", "/q"]
    assert three["cyd"] == ["/a/b", "/*", "/deep/*", "/q", "/q"]
    assert three["dan"] == ["/*", "/deep/*"]


def test_pages_that_become_one_follow_themselves():
    rows = [(who, at, f"/a/{who}{at}") for who in ("ann", "bob") for at in range(3)]
    assert cut(rows, "/a/*", "/a/* /a/*", paths="prefix") == [("ann", "/a/*", 0), ("bob", "/a/*", 0)]


def test_beginnings_end_at_32_segments():
    long = "/s" * 40
    rows = [
        ("ann", 0, long + "/1"),
        ("bob", 0, long + "/2"),
        ("cyd", 0, "/s" * 31 + "/x"),
        ("dan", 0, "/s" * 31 + "/y"),
    ]
    deepest = "/s" * 31 + "/*"
    assert cut(rows, deepest, paths="prefix") == [(who, deepest, 0) for who in ("ann", "bob", "cyd", "dan")]
    assert cut(rows, long + "/*", paths="prefix") == []
