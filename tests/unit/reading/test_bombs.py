"""Small files that unpack to more than any memory, endless lines, endless headers: a sentence, and little memory."""

import gzip
import json
import subprocess
import sys
import zipfile

import polars as pl
import pytest
import zstandard

import coterie
from coterie.core import files
from coterie.errors import InputError
from coterie.measures.inputs import read_labels
from coterie.reading.formats import _json, table
from coterie.taxonomies import load
from coterie.taxonomies.build import text_lines

LIMIT = 3 << 30  # bytes of addresses that a child may have; the bombs unpack to more
CHILD = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (MOST, MOST))
sys.argv = ["coterie", *sys.argv[1:]]
from coterie.cli.main import main
main()
"""
LINE = b"17\tblue teapot\t2020-02-03 09:00:00\t\t\n"


def _refused(*words):
    done = subprocess.run(
        [sys.executable, "-c", CHILD.replace("MOST", str(LIMIT)), *map(str, words)],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    message = " ".join(done.stderr.split())
    assert done.returncode == 2, (done.returncode, message[-500:])
    assert "out of memory" not in message
    return message


def _bomb(path, block):
    """A compressed file of some gigabytes; gzip files may have several members."""
    times = (LIMIT + (1 << 29)) // len(block)
    if path.suffix == ".gz":
        member = gzip.compress(block, 6)
        with path.open("wb") as out:
            for _ in range(times):
                out.write(member)
    else:
        with path.open("wb") as out, zstandard.ZstdCompressor(level=1).stream_writer(out) as packed:
            for _ in range(times):
                packed.write(block)
    return path


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_a_compressed_line_without_end(tmp_path, suffix):
    path = _bomb(tmp_path / f"log.tsv.{suffix}", b"a" * (1 << 24))
    assert "has a line of more than 16 MB" in _refused("inspect", path, "--format", "aol")


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_a_compressed_file_that_unpacks_too_much(tmp_path, suffix):
    """Short lines, ever the same: 10,000 times the size of the file."""
    path = _bomb(tmp_path / f"log.tsv.{suffix}", LINE * (1 << 19))
    message = _refused("inspect", path)
    assert "unpacks to more than 1 GB and 300 times its size" in message


def test_a_line_of_100_megabytes(tmp_path):
    path = tmp_path / "log.tsv"
    with path.open("wb") as out:
        out.write(LINE * 1_000_000)
        out.write(b"18\t" + b"a" * 100_000_000 + b"\n")
    assert "has a line of more than 16 MB" in _refused("inspect", path)


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl"])
def test_200_000_columns(tmp_path, kind):
    path = tmp_path / f"log.{kind}"
    names = ["user", "query", *(f"column{i}" for i in range(200_000))]
    separator = "\t" if kind == "tsv" else ","
    row = separator.join(map(str, range(len(names))))
    text = json.dumps(dict.fromkeys(names, "1")) if kind == "jsonl" else f"{separator.join(names)}\n{row}"
    path.write_text(text + "\n")
    assert "more than 10,000 columns" in _refused("inspect", path)


def test_a_taxonomy_of_many_labels(tmp_path):
    path = tmp_path / "tree.npz"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file,
        file.open("labels.npy", "w", force_zip64=True) as out,
    ):
        for _ in range((LIMIT + (1 << 29)) >> 24):
            out.write(b"\n" * (1 << 24))
    assert "is not a packed taxonomy: its arrays would take" in _refused("taxonomy", "show", path)


# --- the same limits, made small ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["log.tsv", "log.tsv.gz", "log.tsv.zst"])
@pytest.mark.parametrize("before", [0, 1, 50, 1000])
def test_the_limit_of_a_line_is_exact(write, monkeypatch, name, before):
    monkeypatch.setattr(files, "LONGEST_LINE", 4096)
    monkeypatch.setattr(files, "HEAD_BYTES", 64)
    monkeypatch.setattr(files, "CHUNK", 512)
    for extra in (0, 1):
        line = LINE.replace(b"teapot", b"t" * (4096 + extra - len(LINE) + len(b"teapot") + 1))
        assert len(line) == 4096 + extra + 1
        path = write(name, LINE * before + line + LINE * 7)
        if extra:
            with pytest.raises(InputError, match="has a line of more than"):
                coterie.read(path, format="aol")
        else:
            assert coterie.read(path, format="aol").history[0].counts["lines"] == before + 8


def test_lines_of_a_taxonomy_and_labels_have_the_same_limits(write, monkeypatch):
    monkeypatch.setattr(files, "LONGEST_LINE", 4096)
    monkeypatch.setattr(files, "CHUNK", 1024)
    long = "query\tlabel\n" + "a" * 5000 + "\tyes\n"
    with pytest.raises(InputError, match="has a line of more than"):
        list(text_lines(write("tree.tsv", long), "utf-8"))
    with pytest.raises(InputError, match="has a line of more than"):
        read_labels(write("labels.tsv.gz", long))
    monkeypatch.setattr(files, "MOST_UNPACKED", 4096)
    monkeypatch.setattr(files, "MOST_TIMES", 10)
    many = "query\tlabel\n" + "tea\tyes\n" * 5000
    with pytest.raises(InputError, match="unpacks to more than"):
        list(text_lines(write("tree.tsv.zst", many), "utf-8"))
    with pytest.raises(InputError, match="unpacks to more than"):
        read_labels(write("labels.tsv.gz", many))
    assert read_labels(write("labels.tsv", many)).height == 5000


def test_fields_of_late_lines_count_as_columns(write, monkeypatch):
    monkeypatch.setattr(table, "MOST_COLUMNS", 50)
    lines = [json.dumps({"user": "1", "query": "tea", f"f{i}": 1}) for i in range(49)]
    with pytest.raises(InputError, match="more than 50 columns"):
        coterie.read(write("log.jsonl", "\n".join(lines)))
    assert coterie.read(write("few.jsonl", "\n".join(lines[:48]))).history[0].counts["lines"] == 48


def test_wide_parquet(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "MOST_COLUMNS", 50)
    path = tmp_path / "log.parquet"
    pl.DataFrame({"user": ["1"], "query": ["tea"], **{f"f{i}": [i] for i in range(49)}}).write_parquet(path)
    with pytest.raises(InputError, match="more than 50 columns"):
        coterie.read(path)


def test_json_over_several_lines_is_read_at_once_only_where_it_is_small(write, monkeypatch):
    text = "[\n" + ",\n".join('{"query_id": "1", "client_id": "1", "user_query": "tea"}' for _ in range(100)) + "\n]\n"
    assert coterie.read(write("log.json.gz", text)).history[0].counts["lines"] == 100
    monkeypatch.setattr(_json, "MOST_AT_ONCE", 1000)
    with pytest.raises(InputError, match=r"^log\.json\.gz holds JSON over several lines"):
        coterie.read(write("log.json.gz", text))


def test_a_file_that_is_no_archive_is_no_taxonomy(write):
    with pytest.raises(InputError, match="is not a packed taxonomy"):
        load(write("tree.npz", b"\x93NUMPY\x01\x00"))


def test_unpacked_copies_go_once_the_rows_are_read(write):
    log = coterie.read(write("log.tsv.gz", LINE * 3))
    (folder,) = log.resources
    assert not [path.name for path in folder.path.iterdir() if path.name.startswith("unpacked")]
    assert [path.name for path in log.sources] == ["log.tsv.gz"]
    assert log.to_polars().height == 3
