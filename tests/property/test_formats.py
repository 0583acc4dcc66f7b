"""Laws of the readers: any bytes give a log or a CoterieError; tables come back as they were."""

from __future__ import annotations

import tempfile
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import coterie
from coterie.errors import CoterieError
from tests.helpers.examples import examples

NAMES = ("aol", "excite", "sogou", "clf", "ubi", "table")
CANARY = "zqcanaryqz"
HEADER = "user\ttime\tquery\trank\turl"
ROW = f"u{CANARY}\t2006-03-01 10:00:00\tq{CANARY}\t1\thttp://{CANARY}.example"
VALID = {
    "aol": [ROW.replace("\t2006-03-01 10:00:00\tq" + CANARY, f"\tq{CANARY}\t2006-03-01 10:00:00")] * 4,
    "excite": [f"0123456789abcdef\t970916001949\t{CANARY}"] * 4,
    "sogou": [f"00:00:01\t{CANARY}\t[{CANARY} 红]\t2 1\twww.{CANARY}.example/"] * 4,
    "clf": [
        f'10.0.0.1 - {CANARY} [10/Oct/2000:13:55:36 -0700] "GET /{CANARY} HTTP/1.0" 200 5 "-" "{CANARY}"'
    ] * 4,
    "ubi": [
        '{"index": {"_index": "ubi_queries"}}',
        f'{{"query_id": "1", "client_id": "{CANARY}", "user_query": "{CANARY}", "timestamp": "2025-01-02T03:04:05Z"}}',
        f'{{"action_name": "click", "query_id": "1", "event_attributes": {{"object": {{"object_id": "{CANARY}"}}}}}}',
        f'{{"query_id": "2", "client_id": "{CANARY}", "user_query": "{CANARY}"}}',
    ],
    "tsv": [HEADER, *[ROW] * 3],
    "csv": [HEADER.replace("\t", ","), *[ROW.replace("\t", ",")] * 2, ROW.replace("\t", '","').join('""')],
    "jsonl": [f'{{"user": "{CANARY}", "query": "{CANARY}", "rank": 3, "time": "2006-03-01"}}'] * 4,
}  # fmt: skip


def survives(data: bytes, format: str | None) -> None:
    """Reading gives a log or a CoterieError that holds no value."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(data)
        try:
            log = coterie.read(path, format=format, allow_bad=True)
        except CoterieError as error:
            message = str(error)
        else:
            message = " ".join(log.history[0].notes)
            check_log(log)
    assert CANARY not in message


def check_log(log) -> None:
    """The counts are right, `row` is a key, and no value would break a line of a tsv file."""
    frame = log.frame.collect()
    counts = log.history[0].counts
    assert frame.height == counts["lines"] - counts["bad"]
    assert frame["row"].n_unique() == frame.height
    assert frame[log.shape.item].null_count() == 0
    assert not any(frame.select(pl.col(pl.String).str.contains(r"[\t\r\n]").any()).row(0))


interesting = st.sampled_from(
    [b"\n", b"\r", b"\t", b",", b'"', b"\\", b"{", b"}", b"[", b"]", b" ", b"\0", b"\xff", b"\xef\xbb\xbf",
     b"\xe2\x80\xa8", b"null", b"-1", b"1e9", b"9" * 12, b'""', b"\r\n", b"PAR1", b"\x1f\x8b", b"},{"]
)  # fmt: skip


@settings(max_examples=examples(100))
@given(
    data=st.one_of(
        st.binary(max_size=300),
        st.lists(st.one_of(interesting, st.binary(max_size=4)), max_size=40).map(b"".join),
    ),
    format=st.sampled_from((*NAMES, None)),
)
def test_any_bytes(data, format):
    survives(data, format)


@settings(max_examples=examples(40))
@given(head=st.sampled_from([b"PAR1", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b'{"query":', b"[{", b"query\t"]),
       data=st.binary(max_size=200), format=st.sampled_from((None, "table", "ubi")))  # fmt: skip
def test_any_bytes_after_a_promising_start(head, data, format):
    survives(head + data, format)


@pytest.mark.parametrize("kind", VALID)
@settings(max_examples=examples(40))
@given(edits=st.data())
def test_mutated_files(kind, edits):
    lines = [line.encode() for line in VALID[kind]]
    for _ in range(edits.draw(st.integers(1, 3))):
        at = edits.draw(st.integers(0, len(lines) - 1))
        line = lines[at]
        start = edits.draw(st.integers(0, len(line)))
        end = edits.draw(st.integers(start, min(len(line), start + 12)))
        new = edits.draw(st.one_of(interesting, st.binary(max_size=3), st.just(b"")))
        lines[at] = line[:start] + new + line[end:]
    data = edits.draw(st.sampled_from([b"\n", b"\r\n"])).join(lines)
    format = kind if kind in NAMES else "table"
    survives(data, edits.draw(st.sampled_from([format, None])))


text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff\U0010ffff"), max_size=12)
awkward = st.sampled_from(
    ["", " ", "nan", "null", "NA", "true", "1e5", "007", "#", '"', '""', "a,b", '"a"', "a\tb", "a\r\nb", "\n",
     "\u2028", "\x85", "\x0b\x0c", "\0", "\ufffd", "{}", "a'b", "-", "=1+1", "\\", "\\n"]
)  # fmt: skip
value = st.one_of(text, awkward)
times = st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)).map(lambda t: t.replace(microsecond=0))
row = st.tuples(
    st.none() | value, st.none() | times, value, st.none() | st.integers(-(2**31), 2**31 - 1), st.none() | value
)
SCHEMA = {"user": pl.String, "time": pl.Datetime("us"), "query": pl.String, "rank": pl.Int32, "url": pl.String}


def write_as(frame: pl.DataFrame, kind: str, path: Path) -> None:
    """With the writers of Polars, in the way releases are written."""
    texts = frame.with_columns(pl.col("time").dt.strftime("%Y-%m-%d %H:%M:%S"))
    if kind == "parquet":
        frame.write_parquet(path)
    elif kind == "jsonl":
        texts.write_ndjson(path)
    elif kind == "csv":
        texts.write_csv(path)
    else:
        texts.write_csv(path, separator="\t", quote_style="never")


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "jsonl"])
@settings(max_examples=examples(40))
@given(rows=st.lists(row, min_size=1, max_size=6))
@example(rows=[(None, None, "", None, None)])
@example(rows=[(None, None, " ", None, None), ("", None, "\r", 0, "\n")])
@example(rows=[("user", None, "query", None, "url"), ("#", None, '"', None, "'")])
def test_round_trip(kind, rows):
    log = coterie.log(pl.DataFrame(rows, schema=SCHEMA, orient="row"))
    frame = log.to_polars()
    assert frame.height == len(rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x.{kind}"
        write_as(frame, kind, path)
        again = coterie.read(path)
        assert again.history[0].counts == {"lines": len(rows), "bad": 0}
        assert again.to_polars().equals(frame)
        assert coterie.log(frame).to_polars().equals(frame)


@settings(max_examples=examples(40))
@given(rows=st.lists(row, min_size=1, max_size=6), order=st.permutations(list(SCHEMA)))
def test_column_order_and_names_do_not_matter(rows, order):
    frame = coterie.log(pl.DataFrame(rows, schema=SCHEMA, orient="row")).to_polars()
    renamed = frame.select(order).rename({name: f"c_{name}" for name in order})
    columns = {name: f"c_{name}" for name in order}
    assert coterie.log(renamed, columns=columns).to_polars().equals(frame)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        renamed.write_csv(path)
        log = coterie.read(path, columns=columns)
        assert log.to_polars().equals(frame)


@settings(max_examples=examples(40))
@given(query=text, user=text, damaged=st.booleans())
def test_the_slow_way_of_csv_reads_what_the_fast_way_reads(query, user, damaged):
    """One damaged line sends a file the other way; the rest of it must not change."""
    assume(query.strip(" \r\n\t") and "\n" not in query + user)
    frame = pl.DataFrame({"user": [user] * 3, "query": [query] * 3})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.csv"
        frame.write_csv(path)
        if damaged:
            path.write_bytes(path.read_bytes() + b"\xff,x\n")
        log = coterie.read(path, allow_bad=True)
        assert log.history[0].counts == {"lines": 3 + damaged, "bad": int(damaged)}
        assert log.to_polars().select("user", "query").equals(coterie.log(frame).to_polars().select("user", "query"))
