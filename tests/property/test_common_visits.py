"""Laws of common_visits: it is its plain reference, whatever the order, the blocks and the threads.

Covers: algorithms/walks.py
"""

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie import api
from coterie.core.log import Log, Step
from coterie.core.shapes import VISITS
from coterie.methods.common_visits import CommonVisits
from coterie.testing.scattered import Scattered
from tests.helpers import sequence_reference as reference
from tests.helpers.examples import examples
from tests.helpers.random_visits import in_another_order

PATHS = ["/", "/a", "/a/b", "/a/c", "/a/b/d", "/a/b?x=1", "/e", "odd", "/*"]
VISITORS = [f"visitor{n}" for n in range(6)]
# Few minutes and few paths, so that there are ties, repeats and common walks; 31 minutes end a visit.
_minutes = st.sampled_from([0, 0, 1, 2, 3, 20, 33, 34, 35, 1438, 1439, 1441, 1442, 3000])
_rows = st.tuples(
    st.one_of(st.none(), st.sampled_from(VISITORS), st.sampled_from(VISITORS), st.sampled_from(VISITORS)),
    st.one_of(st.none(), *[_minutes] * 9),
    st.sampled_from(PATHS),
)


def log_of(rows):
    """An access log of (visitor, time, path)."""
    columns = {"row": range(len(rows)), "user": [row[0] for row in rows], "time": [row[1] for row in rows]}
    table = pl.DataFrame({**columns, "path": [row[2] for row in rows]}, schema_overrides=VISITS.schema)
    missing = [pl.lit(None, VISITS.schema[name]).alias(name) for name in VISITS.released if name not in table.columns]
    return Log(
        frame=table.with_columns(missing).select("row", *VISITS.released).lazy(),
        shape=VISITS,
        history=(Step(name="read"),),
    )


@st.composite
def visits(draw):
    drawn = draw(st.lists(_rows, min_size=1, max_size=60))
    # Walks that several visitors have in common, and at least four visitors.
    walk = draw(st.lists(st.sampled_from(PATHS), min_size=1, max_size=6))
    drawn += [(who, minute, path) for who in VISITORS[:4] for minute, path in enumerate(walk)]
    start = datetime(2020, 2, 3)
    return [(who, None if at is None else start + timedelta(minutes=at), path) for who, at, path in drawn]


def released(release):
    """(visitor, kind, day) of all released sequences, with their visitors from the record."""
    rows = release.to_polars()
    whose = release.record.subjects.collect().drop_nulls("released")
    named = rows.join(whose.rename({"released": "sequence"}), on="sequence", how="left")
    walks = named.sort("sequence", "position").group_by("sequence", maintain_order=True)
    table = walks.agg("path", "position", pl.col("time").first().dt.date(), pl.col("original").first())
    assert all(places == list(range(1, len(places) + 1)) for places in table["position"].to_list())
    return Counter((who, tuple(path), day) for path, day, who in table.select("path", "time", "original").iter_rows())


@settings(max_examples=examples(60))
@given(visits(), st.integers(2, 4), st.sampled_from([1, 2, 30]), st.booleans(), st.sampled_from(["prefix", "exact"]))
def test_it_is_the_plain_reference(rows, k, most, days, paths):
    release = api.anonymize_prepared(log_of(rows), CommonVisits(k=k, max_pages=most, days=days, paths=paths), seed=1)
    assert released(release) == reference.common_visits(rows, k, most, days=days, prefixes=paths == "prefix")


@settings(max_examples=examples(12))
@given(visits(), st.sampled_from([1, 10]))
def test_visits_are_those_of_the_step(rows, minutes):
    log = coterie.prepare(log_of(rows), [f"sessions(minutes={minutes})"])
    timed = [row for row in rows if row[1] is not None]
    log = replace(log, frame=log.frame.filter(pl.col("time").is_not_null()))
    release = api.anonymize_prepared(log, CommonVisits(k=3), seed=1)
    assert released(release) == reference.common_visits(timed, 3, minutes=minutes)


@settings(max_examples=examples(12))
@given(visits(), st.integers(2, 9), st.randoms())
def test_order_and_blocks_do_not_matter(rows, blocks, random):
    log = log_of(rows)
    expected = api.anonymize_prepared(log, CommonVisits(k=2), seed=1).to_polars()
    assert api.anonymize_prepared(log, CommonVisits(k=2), seed=1, blocks=blocks).to_polars().equals(expected)
    shuffled = log_of(in_another_order(rows, random))
    assert api.anonymize_prepared(shuffled, CommonVisits(k=2), seed=1).to_polars().equals(expected)
    rows_elsewhere = log.frame.collect().sample(fraction=1, shuffle=True, seed=1)
    shuffled = replace(log, frame=rows_elsewhere.lazy())
    assert api.anonymize_prepared(shuffled, CommonVisits(k=2), seed=1).to_polars().equals(expected), (
        "lines have numbers"
    )


def test_three_in_line_order_are_not_five():
    """Five ask for /a and /b within one second, three of them for /a first."""
    time = datetime(2020, 1, 1)
    rows = [(f"v{n}", time, path) for n in range(5) for path in (("/a", "/b") if n < 3 else ("/b", "/a"))]
    kinds = Counter(kind for _, kind, _ in released(api.anonymize_prepared(log_of(rows), CommonVisits(k=5), seed=1)))
    assert kinds == {("/a",): 5, ("/b",): 5}
    kinds = Counter(kind for _, kind, _ in released(api.anonymize_prepared(log_of(rows), CommonVisits(k=3), seed=1)))
    assert kinds[("/a", "/b")] == 3


@settings(max_examples=examples(10))
@given(visits(), st.integers(2, 4), st.sampled_from(["prefix", "exact"]), st.booleans())
def test_where_lines_have_no_order_pages_of_one_second_are_visits_of_their_own(rows, k, paths, sessions):
    log = coterie.prepare(log_of(rows), ["sessions"] if sessions else "none")
    engine = Scattered(1)
    there = replace(log, frame=engine.keep(log.frame), engine=engine)
    release = api.anonymize_prepared(there, CommonVisits(k=k, paths=paths), seed=1)
    expected = reference.common_visits(rows, k, prefixes=paths == "prefix", in_lines=False)
    assert released(release) == expected
    assert coterie.verify(release, log).exit_code == 0, "on one machine, too"


@settings(max_examples=examples(12))
@given(visits())
def test_every_name_is_new(rows):
    log = log_of(rows)
    one, other = (
        set(api.anonymize_prepared(log, CommonVisits(k=2), seed=seed).to_polars()["sequence"]) for seed in (1, 2)
    )
    assert not one & other


def test_nothing_is_released_where_nothing_is_common():
    rows = [(who, datetime(2020, 1, 1), f"/{who}") for who in "abc"]
    release = api.anonymize_prepared(log_of(rows), CommonVisits(k=2, paths="exact"), seed=1)
    assert release.to_polars().is_empty()
    assert "nothing is released" in release.warnings[0]
    assert release.record.subjects.collect()["released"].to_list() == [None] * 3


@pytest.mark.parametrize("k", [2, 3])
def test_kinds_that_too_few_keep_are_cut_again(k):
    """a b c is common, but who walks a b c d is cut otherwise, so that too few are left with it."""
    walks = {"abcd": k, "abc": k - 1, "bcd": 1}
    minute = timedelta(minutes=1)
    rows = [
        (f"{walk}{n}", datetime(2020, 1, 1) + place * minute, f"/{page}")
        for walk, people in walks.items()
        for n in range(people)
        for place, page in enumerate(walk)
    ]
    release = api.anonymize_prepared(log_of(rows), CommonVisits(k=k, paths="exact"), seed=1)
    found = released(release)
    assert found == reference.common_visits(rows, k, prefixes=False)
    kinds = {kind for _, kind, _ in found}
    assert ("/a", "/b", "/c", "/d") in kinds
    assert ("/a", "/b", "/c") not in kinds
