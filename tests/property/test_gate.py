"""Laws of the gate: it gives what batch methods give within each window, in whatever order and pieces rows come."""

import random
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie import api
from coterie.errors import InputError
from coterie.methods.suppress_rare import SuppressRare
from coterie.methods.windowed_counts import WindowedCounts
from tests.helpers.examples import examples
from tests.helpers.gates import lines_of_gate, rows_of, totals

_ROW = st.tuples(
    st.sampled_from([None, *"abcdef"]),
    st.sampled_from(["tea", "maps", "a b", "10:x", "1", "é"]),
    st.floats(0, 71.9, allow_nan=False).map(lambda hours: round(hours, 2)),
    st.sampled_from([None, "http://a", "0:x"]),
)
_K = st.integers(2, 5)
_LOGS = st.lists(_ROW, max_size=60).map(lambda rows: rows_of(*sorted(rows, key=lambda row: row[2])))


def _lines(frame, **given):
    with TemporaryDirectory() as folder:
        lines = lines_of_gate(Path(folder), frame, **given)
    return lines.sort("part", "table", "item", "detail")


def _batch(frame, k, window):
    """(start of the window, query, count) by suppress_rare within each window."""
    found = []
    for (start,), rows in frame.group_by(pl.col("time").dt.truncate(window), maintain_order=True):
        try:
            released = api.anonymize_prepared(coterie.log(rows), SuppressRare(k=k), seed=1).to_polars()
        except InputError:  # fewer than k people
            continue
        counted = released.group_by("query").len()
        found += [(f"{start:%Y-%m-%d}", query, count) for query, count in counted.rows()]
    return sorted(found)


@settings(max_examples=examples(10))
@given(_LOGS, _K, st.sampled_from(["window", "part"]))
def test_it_is_suppress_rare_within_each_window(log, k, rest):
    assert totals(_lines([log], k=k, rest=rest)) == _batch(log, k, "1d")


def _shuffled_within_windows(log, seed):
    """The rows of each window in another order; windows stay in theirs."""
    windows = log.group_by(pl.col("time").dt.truncate("1d"), maintain_order=True)
    return pl.concat([log.clear(), *(rows.sample(fraction=1, shuffle=True, seed=seed) for _, rows in windows)])


def _chunks(log, draw):
    chunks, at = [], 0
    while at < log.height:
        step = draw.randint(1, log.height)
        chunks.append(log.slice(at, step))
        at += step
    return chunks


@settings(max_examples=examples(15))
@given(_LOGS, _K, st.integers(0, 10**6), st.sampled_from(["1h", "6h", "1d"]))
def test_order_and_chunks_do_not_matter(log, k, seed, flush):
    whole = _lines([log], k=k, flush=flush)
    chunks = _chunks(_shuffled_within_windows(log, seed), random.Random(seed))
    assert totals(_lines(chunks, k=k, flush=flush)) == totals(whole)
    assert _lines(_chunks(log, random.Random(seed)), k=k, flush=flush).equals(whole), "chunks change nothing at all"


@settings(max_examples=examples(10))
@given(_LOGS, _K)
def test_one_part_for_each_window_is_windowed_counts(log, k):
    given = _lines([log], k=k, flush="1d").drop("part").sort("table", "item", "detail")
    try:
        expected = api.anonymize_prepared(coterie.log(log), WindowedCounts(k=k, window="1d"), seed=1).to_polars()
    except InputError:  # fewer than k people
        assert given.height == 0
        return
    assert given.rows() == expected.select("table", "item", "detail", "count").sort("table", "item", "detail").rows()


@settings(max_examples=examples(10))
@given(_LOGS, _K)
def test_every_row_of_a_part_has_k_people_but_for_rests(log, k):
    lines = _lines([log], k=k, flush="1h")
    sums = lines.filter(~pl.col("table").str.contains("rest")).group_by("part", "table", "item").agg(
        pl.col("count").sum()
    )  # fmt: skip
    assert (sums.filter(pl.col("table").str.starts_with("queries"))["count"] >= k).all()
    assert lines.group_by("part", "table", "item", "detail").len()["len"].max() in (None, 1), "each line once"
