"""Canonical bytes: what our writer writes passes, in every kind, and nothing else does."""

import csv
import gzip
import json
import os
import subprocess
import sys

import polars as pl
import pytest
import zstandard

import coterie
from coterie.core.shapes import QUERIES
from coterie.errors import ParameterError
from coterie.methods.suppress_rare import SuppressRare
from coterie.reading.logs import read_release
from coterie.testing import queries_log, visits_log
from coterie.writing.canonical import _sink, canonical
from coterie.writing.target import kind_of

KINDS = ["tsv", "csv", "parquet", "jsonl", "tsv.gz", "csv.gz", "jsonl.gz", "tsv.zst", "csv.zst", "jsonl.zst"]
FORMULAS = ["=1+1", "+1", "-1", "@x", "'quoted", "''", "'=1", "plain = 1", "it's"]


def _rows(count):
    numbers = pl.DataFrame({"n": range(count)})
    return numbers.select(
        pl.lit(None, pl.String).alias("user"),
        (pl.datetime(2006, 3, 1) + pl.duration(days=pl.col("n") % 90)).cast(QUERIES.schema["time"]).alias("time"),
        pl.format("query {}", pl.col("n") // 7).alias("query"),
        pl.when(pl.col("n") % 3 == 0).then(pl.col("n") % 10).cast(pl.Int32).alias("rank"),
        pl.when(pl.col("n") % 3 == 0).then(pl.format('http://{}.example/"a,b"', pl.col("n") % 100)).alias("url"),
    ).sort(QUERIES.order)  # fmt: skip


def _judged(path, csv_safe=False):
    frame, shape, _, _resources = read_release(path, QUERIES, csv_safe=csv_safe)
    return canonical(path, frame.drop("bad"), shape, csv_safe)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [0, 1, 5000])
def test_what_we_write(tmp_path, kind, count):
    path = tmp_path / f"safe.{kind}"
    _sink(_rows(count).lazy(), path, *kind_of(path))
    check = _judged(path)
    assert check.status == "passed"
    assert check.text.endswith(f"({path.stat().st_size:,} bytes)")


@pytest.mark.parametrize("kind", ["tsv", "csv", "parquet", "jsonl", "tsv.gz", "csv.zst"])
def test_many_rows_and_other_pieces(tmp_path, kind):
    """More rows than a row group of Parquet has, and a chunk of text."""
    path, rows = tmp_path / f"safe.{kind}", _rows(600_000)
    pieces = pl.concat([rows[at : at + 7777] for at in range(0, rows.height, 7777)], rechunk=False)
    _sink(pieces.lazy(), path, *kind_of(path))
    assert _judged(path).status == "passed"


@pytest.mark.parametrize("kind", ["parquet", "tsv.gz", "csv.zst"])
def test_any_number_of_threads(tmp_path, kind):
    path = tmp_path / f"safe.{kind}"
    log = coterie.prepare(coterie.read("synth:users=1000,seed=7"))
    coterie.write(coterie.anonymize(log, SuppressRare(k=2), seed=1, blocks=7), path)
    code = "import sys, coterie; print([c.status for c in coterie.verify(sys.argv[1]).checks if c.name == 'canonical'])"
    for threads in ("1", "2", "5"):
        env = {**os.environ, "POLARS_MAX_THREADS": threads}
        told = subprocess.run([sys.executable, "-c", code, path], env=env, check=True, capture_output=True, text=True)
        assert told.stdout == "['passed']\n"


@pytest.mark.parametrize("kind", ["tsv", "parquet"])
def test_access_logs(tmp_path, kind):
    path = tmp_path / f"safe.{kind}"
    coterie.write(coterie.anonymize(visits_log(), SuppressRare(k=3), seed=1), path)
    assert not coterie.verify(path).broken


def test_a_name_that_says_nothing_about_the_kind(tmp_path):
    path = tmp_path / "release"
    coterie.write(coterie.anonymize(queries_log(), SuppressRare(k=3), seed=1), path, kind="csv.gz")
    assert not coterie.verify(path).broken


def test_where_it_differs_is_said_in_numbers_alone(tmp_path):
    path = tmp_path / "safe.tsv"
    _sink(_rows(20).lazy(), path, "tsv", None)
    path.write_bytes(path.read_bytes().replace(b"query 0", b"query 0", 1).replace(b"00:00:00", b"00:00:00.0", 1))
    check = _judged(path)
    assert (check.status, check.broken) == ("failed", 1)
    assert "difference in the text, from byte " in check.text
    assert "query 0" not in check.text


def test_other_bytes_of_the_same_compression_are_looked_at_again(tmp_path):
    path = tmp_path / "safe.tsv.gz"
    _sink(_rows(500).lazy(), path, "tsv", "gz")
    text = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress(text, compresslevel=1, mtime=0))
    assert _judged(path).status == "passed", "another version may pack it otherwise"
    path.write_bytes(gzip.compress(text, compresslevel=1, mtime=1))
    assert "header of gzip" in _judged(path).text


# What another version of a library may have packed: each is read to its end, and nothing may hide in it.


def _zstd(descriptor, *blocks, magic=b"\x28\xb5\x2f\xfd"):
    """A frame with four bytes for its size, and blocks of (kind, length as it is said, bytes)."""
    size = sum(length for kind, length, _ in blocks)
    heads = [
        (length << 3 | kind << 1 | (place == len(blocks))).to_bytes(3, "little")
        for place, (kind, length, _) in enumerate(blocks, start=1)
    ]
    body = b"".join(head + data for head, (_, _, data) in zip(heads, blocks, strict=True))
    return magic + bytes([descriptor]) + size.to_bytes(4, "little") + body


@pytest.fixture
def packed(tmp_path):
    path = tmp_path / "safe.tsv.zst"
    _sink(_rows(500).lazy(), path, "tsv", "zst")
    return path


def test_other_bytes_of_zstd_are_looked_at_again(packed):
    text = zstandard.ZstdDecompressor().stream_reader(packed.read_bytes()).read()
    for checksum in (False, True):
        made = zstandard.ZstdCompressor(level=19, write_checksum=checksum).compress(text)
        assert made != packed.read_bytes()
        packed.write_bytes(made)
        assert _judged(packed).status == "passed", "another version may pack it otherwise"
    packed.write_bytes(made + b"\x50\x2a\x4d\x18\x04\x00\x00\x00note")  # a frame that readers skip
    assert "beside the compressed rows" in _judged(packed).text


def test_blocks_of_zstd_are_what_a_writer_makes(packed):
    text = zstandard.ZstdDecompressor().stream_reader(packed.read_bytes()).read()
    at = text.index(b"00")
    plain, run = (0, len(text), text), [(0, at, text[:at]), (1, 2, b"0"), (0, len(text) - at - 2, text[at + 2 :])]
    for blocks in ([plain], run):
        packed.write_bytes(_zstd(0b1010_0000, *blocks))
        assert _judged(packed).status == "passed"
    packed.write_bytes(_zstd(0b1010_0000, (0, 0, b""), plain))
    assert "beside the compressed rows" in _judged(packed).text, "how many empty blocks there are could be a message"
    packed.write_bytes(_zstd(0b1011_0000, plain))
    assert "beside the compressed rows" in _judged(packed).text, "and so could a bit that nobody uses"


def test_bytes_behind_gzip(tmp_path):
    path = tmp_path / "safe.tsv.gz"
    _sink(_rows(50).lazy(), path, "tsv", "gz")
    path.write_bytes(path.read_bytes() + gzip.compress(b"", mtime=0))
    assert "thing behind the compressed rows" in _judged(path).text


def _by_another_version(path):
    """The file as if another version of polars had written it: the same number of bytes, other digits."""
    data = path.read_bytes()
    version = f"version {pl.__version__}".encode()
    assert data.count(version) == 1
    path.write_bytes(data.replace(version, version[:-1] + (b"8" if version.endswith(b"9") else b"9")))


@pytest.mark.parametrize(
    ("how", "what"),
    [
        ({}, ""),
        ({"row_group_size": 100}, "what a Parquet file has: row groups"),
        ({"compression": "snappy"}, "what a Parquet file has: compression and indexes"),
        ({"statistics": {"min": True, "max": True, "null_count": False}}, "what a Parquet file has: statistics"),
        ({"metadata": {"note": "n"}}, "what a Parquet file has: notes"),
    ],
)
def test_another_version_of_polars_may_pack_parquet_otherwise_and_say_nothing_else(tmp_path, how, what):
    path = tmp_path / "safe.parquet"
    rows = _rows(500)
    rows.lazy().sink_parquet(path, **{"row_group_size": 250_000, "maintain_order": True, **how})
    _by_another_version(path)
    check = _judged(path)
    assert check.status == ("failed" if what else "passed")
    assert what in check.text


def test_what_this_version_of_polars_writes_has_one_spelling(tmp_path):
    path = tmp_path / "safe.parquet"
    _rows(500).lazy().sink_parquet(path, compression_level=9)
    assert "this version of polars would have written otherwise" in _judged(path).text


def test_a_gap_before_the_footer_of_parquet(tmp_path):
    path = tmp_path / "safe.parquet"
    _sink(_rows(500).lazy(), path, "parquet", None)
    _by_another_version(path)
    assert _judged(path).status == "passed"
    data = path.read_bytes()
    footer = int.from_bytes(data[-8:-4], "little") + 8
    path.write_bytes(data[:-footer] + bytes(40) + data[-footer:])
    assert "gap in a Parquet file" in _judged(path).text


# --- spreadsheets --------------------------------------------------------------------------------


@pytest.fixture
def formulas():
    rows = [{"user": str(user), "query": query} for user in range(3) for query in FORMULAS]
    return coterie.anonymize(coterie.log(pl.DataFrame(rows)), SuppressRare(k=3), seed=1)


@pytest.mark.parametrize("kind", ["csv", "tsv", "csv.gz", "tsv.zst"])
def test_no_formula_reaches_a_spreadsheet_and_every_value_comes_back(tmp_path, formulas, kind):
    path = tmp_path / f"safe.{kind}"
    coterie.write(formulas, path, csv_safe=True)
    assert json.loads(path.with_name(path.name + ".json").read_text())["csv_safe"] is True
    assert coterie.load_release(path).to_polars().equals(formulas.to_polars())
    assert sorted(set(formulas.to_polars()["query"])) == sorted(FORMULAS)
    assert not coterie.verify(path).broken


def test_what_stands_in_the_file(tmp_path, formulas):
    path = tmp_path / "safe.csv"
    coterie.write(formulas, path, csv_safe=True)
    with path.open(newline="") as stream:
        seen = {row["query"] for row in csv.DictReader(stream)}
    assert seen == {"'=1+1", "'+1", "'-1", "'@x", "''quoted", "'''", "''=1", "plain = 1", "it's"}
    plain = tmp_path / "plain.csv"
    coterie.write(formulas, plain)
    with plain.open(newline="") as stream:
        assert {row["query"] for row in csv.DictReader(stream)} == set(FORMULAS)


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "jsonl.gz"])
def test_other_kinds_hold_values_as_they_are(tmp_path, formulas, kind):
    with pytest.raises(ParameterError, match="csv_safe is for csv and tsv"):
        coterie.write(formulas, tmp_path / f"safe.{kind}", csv_safe=True)
    assert not list(tmp_path.iterdir())
