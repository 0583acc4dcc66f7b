"""Files that are not what they should be, and what messages say about them: never a value."""

import gzip
import io
import os
import random
import subprocess
import sys
import threading

import polars as pl
import pytest
import zstandard

import coterie
from coterie.errors import CoterieError, MissingError, ParameterError, UnknownNameError

AOL = "{user}\t{query}\t2006-03-01 10:00:00\t1\t{url}\n"
FORMATS = {
    "aol": AOL,
    "excite": "{user}\t970916001949\t{query}\n",
    "sogou": "00:00:01\t{user}\t[{query}]\t2 1\t{url}\n",
    "clf": '{user} - {user} [10/Oct/2000:13:55:36 -0700] "GET {query} HTTP/1.0" 200 5 "{url}" "{user}"\n',
    "ubi": '{{"client_id": "{user}", "user_query": "{query}", "timestamp": "2025-01-02T03:04:05Z"}}\n',
    "csv": "{user},{query},2006-03-01 10:00:00,1,{url}\n",
    "tsv": "{user}\t{query}\t2006-03-01 10:00:00\t1\t{url}\n",
    "jsonl": '{{"user": "{user}", "query": "{query}", "rank": 1, "url": "{url}"}}\n',
}
HEADERS = {"csv": "user,query,time,rank,url\n", "tsv": "user\tquery\ttime\trank\turl\n"}
NAMES = ["aol", "excite", "sogou", "clf", "ubi", "table"]
CANARY = "canary"


def lines(kind, count, **values):
    marks = {"user": "CanaryUser", "query": "CanaryQuery", "url": "CanaryUrl", **values}
    return FORMATS[kind].format(**marks) * count


def format_of(kind):
    return kind if kind in NAMES else "table"


def refused(*args, **options):
    """The message of the CoterieError that reading raises, after checking that it is discreet."""
    with pytest.raises(CoterieError) as caught:
        coterie.read(*args, **options)
    assert CANARY not in str(caught.value).lower()
    assert CANARY not in repr(caught.value).lower()
    return str(caught.value)


# Where the input is


@pytest.mark.parametrize("name", [None, *NAMES])
@pytest.mark.parametrize("data", [b"", b"\n", b" \r\n\n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_empty(write, name, data, suffix):
    assert "is empty" in refused(write("x.tsv" + suffix, data), format=name)


def test_several_empty_files(write):
    assert refused([write("a", ""), write("b", "")]) == "2 files are empty: there is no log to read."


@pytest.mark.parametrize("head", [*HEADERS.values(), "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"])
def test_header_only(write, head):
    assert "no log to read" in refused(write("x", head))
    assert "no log to read" in refused(write("x", head.rstrip("\n")))


def test_a_folder(tmp_path):
    assert "is a folder" in refused(tmp_path)


def test_a_missing_file(tmp_path):
    for path in ("no.tsv", "no*.tsv", "x\0y", "x" * 5000, ""):
        with pytest.raises(CoterieError):
            coterie.read(str(tmp_path / path) if path else path)
    with pytest.raises(MissingError, match="no such file"):
        coterie.read(tmp_path / "no.tsv")
    with pytest.raises(MissingError, match="no such file"):
        coterie.read(str(tmp_path / "*.tsv"))


def test_no_file_at_all():
    with pytest.raises(ParameterError, match="No file"):
        coterie.read([])


def test_a_broken_link(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(CoterieError):
        coterie.read(tmp_path / "link")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_forbidden_file(write):
    path = write("x.tsv", "user\tquery\n")
    path.chmod(0)
    assert "cannot be opened" in refused(path)


def test_an_unknown_format(write):
    path = write("x.tsv", lines("aol", 1))
    for name in ("aool", "_read", "", "AOL", "table.py"):
        if name:
            with pytest.raises(UnknownNameError, match="Known: algolia, aol"):
                coterie.read(path, format=name)


def test_a_glob_character_in_a_name(write, rows):
    path = write("log[1].tsv", lines("aol", 1))
    assert len(rows(coterie.read(path))) == 1


def test_a_pipe(tmp_path, rows):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    data = gzip.compress(lines("aol", 3).encode())
    writer = threading.Thread(target=path.write_bytes, args=(data,))
    writer.start()
    try:
        assert len(rows(coterie.read(path))) == 3
    finally:
        writer.join()


def parquet_bytes():
    stream = io.BytesIO()
    pl.DataFrame({"user": ["u"] * 3, "query": ["x"] * 3}).write_parquet(stream)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (lines("aol", 3).encode(), 3),
        (gzip.compress(lines("ubi", 3).encode()), 3),
        (zstandard.compress((HEADERS["csv"] + lines("csv", 3)).encode()), 3),
        (parquet_bytes(), 3),
        (b"", 0),
        (b"CanaryJunk\n", 0),
        (lines("aol", 1).encode() + b"CanaryUser\tCanaryQuery\tCanaryTime\n", 0),
    ],
    ids=["plain", "gz", "zst", "parquet", "empty", "junk", "bad"],
)
def test_standard_input(data, count):
    program = (
        "import coterie, sys\n"
        "try:\n"
        "    print(coterie.read('-').to_polars().height)\n"
        "except coterie.errors.CoterieError as error:\n"
        "    print(0); print(error, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], input=data, capture_output=True, check=True)
    assert int(done.stdout) == count
    assert CANARY not in done.stderr.decode().lower()
    assert count or "standard input" in done.stderr.decode()


# What is in it


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x01\x02\xff\xfe\x80 canary \n" * 50,
        random.Random(7).randbytes(4096),
        b"\x7fELF canary",
        b"PAR1 canary PAR1",
        b"PAR1",
        b"\x1f\x8b canary",
        b"\x1f\x8b",
        b"\x28\xb5\x2f\xfd canary",
        b"{ canary",
        b"[ canary",
        b"{" * 5000,
        b"[" * 100_000,
        b'"canary',
        "user\tquery\ncanary".encode("utf-16"),
        b"\xef\xbb\xbf{canary\t",
        b"canary" * 100_000,
        b'query,"' + b"canary" * 50_000,
        b"query\x00,\x00\n\x00",
    ],
)
def test_junk(write, name, data):
    path = write("x.bin", data)
    for format in (name, None):
        refused(path, format=format)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress], ids=["gz", "zst"])
@pytest.mark.parametrize("keep", [0.3, 0.9, -4])
def test_cut_compression(tmp_path, kind, pack, keep):
    numbered = "".join(lines(kind, 1, query=f"CanaryQuery{i * 7919}") for i in range(2000))
    data = pack((HEADERS.get(kind, "") + numbered).encode())
    path = tmp_path / "x.bin"
    path.write_bytes(data[: keep if keep < 0 else int(len(data) * keep)])
    assert "damaged or cut off" in refused(path, format=format_of(kind))


@pytest.mark.parametrize("kind", FORMATS)
def test_few_damaged_lines_are_left_out(write, rows, kind):
    head = HEADERS.get(kind, "").encode()
    good = lines(kind, 150).encode()
    bad = lines(kind, 1).encode().replace(b"CanaryQuery", b"Canary\xff")
    path = write("x", head + good + b"\n" + bad + good)
    log = coterie.read(path, format=format_of(kind))
    assert log.history[0].counts == {"lines": 301, "bad": 1}
    note, *others = log.history[0].notes
    assert all(other.startswith("Users are told apart by ") for other in others)
    assert f"x line {152 + bool(head)}, " in note
    assert CANARY not in note.lower()
    assert CANARY not in repr(log).lower()
    assert len(rows(log)) == 300


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_many_damaged_lines(write, rows, kind, suffix):
    head = HEADERS.get(kind, "").encode()
    bad = lines(kind, 1).encode().replace(b"CanaryQuery", b"Canary\xff")
    paths = [
        write("a" + suffix, head + lines(kind, 20).encode()),
        write("b" + suffix, head + bad * 3 + lines(kind, 1).encode() + bad * 3),
    ]
    first = 1 + bool(head)
    message = refused(paths, format=format_of(kind))
    assert message.startswith(f"2 files: 6 of 27 lines could not be read as {format_of(kind)}.")
    assert f"The first: b{suffix} line {first}, " in message
    assert f"b{suffix} line {first + 5}, " in message
    assert f"line {first + 6}" not in message  # five are shown
    log = coterie.read(paths, format=format_of(kind), allow_bad=True)
    assert log.history[0].counts == {"lines": 27, "bad": 6}
    assert CANARY not in log.history[0].notes[0].lower()
    assert len(rows(log)) == 21


@pytest.mark.parametrize("kind", FORMATS)
def test_no_line_is_left(write, kind):
    text = HEADERS.get(kind, "") + "CanaryJunk\n" * 3
    message = refused(write("x", text), format=format_of(kind), allow_bad=True)
    assert "No line is left" in message or "none of them called" in message


@pytest.mark.parametrize("kind", FORMATS)
def test_one_percent_is_the_limit(write, kind):
    head = HEADERS.get(kind, "")
    junk = "\n".join(["CanaryJunk"] * 2) + "\n"
    log = coterie.read(write("x", head + lines(kind, 198) + junk), format=format_of(kind))
    assert log.history[0].counts == {"lines": 200, "bad": 2}
    message = refused(write("x", head + lines(kind, 197) + junk), format=format_of(kind))
    assert "2 of 199 lines" in message
    assert "more than 1%" in message
    assert "allow_bad" in message


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", NAMES)
def test_the_wrong_format_says_nothing_of_the_file(write, kind, name):
    text = lines(kind, 3)  # without a header: the first line must not be taken for names to show
    if (name, kind) == ("aol", "tsv"):
        return  # a tsv without a header is an AOL file
    if (name, kind) == ("table", "ubi"):
        return  # its fields have names by which columns are known
    if name != format_of(kind):
        refused(write("x", text), format=name)
    elif kind in HEADERS:
        refused(write("x", text), format="table")
        refused(write("x", text), columns={"query": "nothing"})
    else:
        assert CANARY not in repr(coterie.read(write("x", text), format=name)).lower()


@pytest.mark.parametrize("column", ["user", "query", "url"])
@pytest.mark.parametrize("kind", FORMATS)
def test_odd_values_are_kept(write, rows, kind, column):
    """Separators of other systems, NUL and long values neither split lines nor get lost."""
    value = "a\u2028b\x85c" if kind in ("ubi", "jsonl") else "a\u2028b\x85c\x0bd\x0ce\x00f"
    if kind in ("sogou", "clf") and column != "query":
        value = "x" * 100_000
    marks = {column: value}
    log = coterie.read(write("x", HEADERS.get(kind, "") + lines(kind, 2, **marks)), format=format_of(kind))
    name = "path" if kind == "clf" and column == "query" else column
    name = "referrer" if kind == "clf" and column == "url" else name
    if not (kind in ("excite", "ubi") and column == "url"):
        assert rows(log, name) == [(value,)] * 2


def test_a_long_first_line(write, rows):
    """The format is found though the first line is longer than what is read at first."""
    for kind in FORMATS:
        long = "x" * 300_000
        text = HEADERS.get(kind, "") + lines(kind, 1, query=long, user="0123456789abcdef") + lines(kind, 1)
        log = coterie.read(write("x", text), allow_bad=True)
        item = log.shape.item
        assert rows(log, item)[0] == (long,), kind


def test_temporary_files_go_with_the_log(write, monkeypatch):
    monkeypatch.setattr("coterie.reading.source._SMALL", -1)  # rows of small files stay in memory
    log = coterie.read(write("x.gz", lines("aol", 3)))
    (folder,) = log.resources
    path = folder.path
    assert (path.stat().st_mode & 0o777) == 0o700
    assert list(path.iterdir())
    del log, folder
    assert not path.exists()
