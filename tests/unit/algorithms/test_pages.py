"""Prefixes of paths and details that k visitors share, on hand-made visits and beside the plain reference."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.algorithms.pages import INTO, ITEM, VISITOR, kept_details, shared_prefixes, stays
from coterie.core.run import Run
from coterie.engines.local import Local
from tests.helpers import visits_reference as reference
from tests.helpers.examples import examples

DETAILS = {"host": pl.String, "family": pl.String, "hour": pl.Int64, "day": pl.Int64}
INSTEAD = {"day": "hour"}
VISITORS = [None, *(f"v{number}" for number in range(7))]


def became(visits, k, blocks=1):
    """What paths become; `visits` says who requested what."""
    rows = [(visitor, path) for path, visitors in visits.items() for visitor in visitors]
    frame = pl.LazyFrame(rows, schema={VISITOR: pl.String, ITEM: pl.String}, orient="row")
    return dict(shared_prefixes(frame, k, Run(engine=Local(blocks), seed=1)).collect().iter_rows())


def released(rows, k, blocks=1):
    """Rows (visitor, path, *details) as they come out; None for one that is left out."""
    run = Run(engine=Local(blocks), seed=1)
    schema = {VISITOR: pl.String, ITEM: pl.String, **DETAILS}
    frame = pl.DataFrame(rows, schema=schema, orient="row").with_row_index()
    visits = frame.join(shared_prefixes(frame.lazy(), k, run).collect(), on=ITEM, how="left")
    kept = kept_details(visits.drop_nulls(INTO).lazy(), list(DETAILS), k, run, INSTEAD).collect()
    told = visits.join(kept, on=[INTO, *DETAILS], how="left", nulls_equal=True).sort("index")
    assert told.height == frame.height, "each kind of visit has one line in the plan"
    shown = [pl.when(stays(detail)).then(detail).alias(detail) for detail in DETAILS]
    return [None if row[0] is None else row for row in told.select(INTO, *shown).iter_rows()]


@pytest.mark.parametrize("blocks", [1, 3])
def test_a_path_is_cut_by_segments_until_enough_visitors_share_it(blocks):
    assert became({"/a/b": "xyz", "/a/c": "x", "/a/d": "yz", "/e/f": "x"}, 3, blocks) == {
        "/a/b": "/a/b", "/a/c": "/a/*", "/a/d": "/a/*"
    }  # fmt: skip
    assert became({"/ab": "x", "/ac": "y"}, 2) == {"/ab": "/*", "/ac": "/*"}


def test_what_is_left_in_a_folder_is_enough_visitors_or_goes_on():
    visits = {"/a/b": "xyz", "/a/c": "x", "/d": "yz"}
    assert became(visits, 3) == {"/a/b": "/a/b", "/a/c": "/*", "/d": "/*"}
    assert became({"/a/b": "xyz", "/a/c": "xy"}, 3) == {"/a/b": "/a/b"}, "nothing is left for the others"


def test_what_follows_the_question_mark_goes_first():
    assert became({"/a?b=1": "xy", "/a?b=2": "x", "/a": "y"}, 2) == {"/a?b=1": "/a?b=1", "/a?b=2": "/a", "/a": "/a"}
    assert became({"/a?b=/c/d": "x", "/a?b=/c/e": "y"}, 2) == {"/a?b=/c/d": "/a", "/a?b=/c/e": "/a"}


def test_nobody_is_not_a_visitor_and_comes_along():
    assert became({"/a": ["x", "y", None]}, 3) == {}
    assert became({"/a/b": ["x", "y"], "/a/c": [None], "/a/d": ["x"], "/a/e": ["y"]}, 2) == {
        "/a/b": "/a/b", "/a/c": "/a/*", "/a/d": "/a/*", "/a/e": "/a/*"
    }  # fmt: skip


def test_paths_that_are_none():
    assert became({"*": "xy", "x": "x", "": "y", "http://h/a": "x", "http://h/b": "y", "//": "z"}, 2) == {
        "*": "*", "http://h/a": "http://h/*", "http://h/b": "http://h/*"
    }  # fmt: skip


def test_very_deep_paths_are_cut_at_once():
    deep = "/".join(map(str, range(5_000)))
    into = became({f"/{deep}/x": "x", f"/{deep}/y": "y"}, 2)
    assert set(into.values()) == {"/" + "/".join(map(str, range(31))) + "/*"}


def test_the_smallest_value_is_given_up_for_those_who_are_left():
    rows = [
        *((f"v{n}", "/a", "one.example", None, None, None) for n in range(3)),
        *((f"v{n}", "/a", "two.example", None, None, None) for n in range(2)),
        ("v5", "/a", "three.example", None, None, None),
    ]
    hosts = [row[1] for row in released(rows, 2)]
    assert hosts == ["one.example"] * 3 + [None] * 3
    assert [row[1] for row in released(rows[:-1], 2)] == ["one.example"] * 3 + ["two.example"] * 2


def test_details_are_counted_together_with_those_before_them():
    one, two = ("one.example", "two.example")
    rows = [("v1", "/a", one, "f", None, None), ("v2", "/a", one, "s", None, None)]
    rows += [("v3", "/a", two, "f", None, None), ("v4", "/a", two, "s", None, None)]
    assert {row[1:3] for row in released(rows, 2)} == {(one, None), (two, None)}


def test_the_day_stands_where_the_hour_does_not():
    hours = [("v1", 1), ("v2", 1), ("v3", 2), ("v4", 3)]
    rows = [(visitor, "/a", None, None, hour, 7) for visitor, hour in hours]
    assert [row[3:] for row in released(rows, 2)] == [(1, None)] * 2 + [(None, 7)] * 2


segments = st.sampled_from(["a", "b", "", "*", "c?x=1", "d?y/z", "ä"])
paths = st.builds(
    lambda begin, rest: begin + "/".join(rest),
    st.sampled_from(["/", "", "x", "http://h"]),
    st.lists(segments, max_size=4),
)
visits = st.tuples(
    st.sampled_from(VISITORS),
    paths,
    st.sampled_from([None, "g", "h", "i"]),
    st.sampled_from([None, "f", "s"]),
    st.sampled_from([None, 1, 2, 3]),
).map(lambda row: (*row, None if row[4] is None else row[4] // 2))


@settings(max_examples=examples(60))
@given(st.lists(visits, min_size=1, max_size=60), st.integers(2, 4), st.sampled_from([1, 1, 1, 3]))
def test_it_is_the_plain_reference(rows, k, blocks):
    expected = reference.generalize(rows, k, {5: 4})
    assert released(rows, k, blocks) == expected
    assert all(crowd >= k for crowd in reference.crowds(rows, expected).values())
