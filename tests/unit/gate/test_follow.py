"""Lines of files that grow, are rotated and cut; no line twice, none lost."""

import gzip
import os

import pytest

from coterie.core import files
from coterie.errors import InputError
from coterie.gate import follow
from coterie.gate.follow import FileLines, StreamLines, is_stream, is_whole, wait


def _mark(data):
    return f"mark of {len(data)} {data[:2]!r}"


def _read(lines, idle=1):
    """What comes until there was nothing new so many times."""
    found = []
    for chunk in lines:
        if chunk is None:
            idle -= 1
            if not idle:
                break
        else:
            found.append(chunk)
    return found


def _text(chunks):
    return b"".join(chunk.data for chunk in chunks)


def test_a_file_is_read_once(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\nthr")
    lines = FileLines(path, None, None, follow=False)
    assert _text(_read(lines)) == b"one\ntwo\nthr"
    place = lines.marks(_mark)[str(path)]
    assert _read(FileLines(path, place, _mark, follow=False)) == []
    path.write_bytes(b"one\ntwo\nthree\nfour\n")
    assert _text(_read(FileLines(path, place, _mark, follow=False))) == b"ee\nfour\n"


def test_a_growing_file_gives_whole_lines(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"one\ntw")
    lines = FileLines(path, None, None, follow=True)
    seen = iter(lines)
    assert next(seen).data == b"one\n"
    assert next(seen) is None
    with path.open("ab") as out:
        out.write(b"o\nthree\n")
    assert next(seen).data == b"two\nthree\n"
    assert lines.marks(_mark) == {str(path): {**next(iter(lines.marks(_mark).values())), "offset": 14}}


def test_rotation_and_cuts_while_it_reads(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    seen = iter(FileLines(path, None, None, follow=True))
    assert next(seen).data == b"one\n"
    path.rename(tmp_path / "log.1")
    with (tmp_path / "log.1").open("ab") as out:  # the server writes to the old file for a while
        out.write(b"two\n")
    path.write_bytes(b"three\n")
    text = b""
    while b"three" not in text:
        chunk = next(seen)
        text += b"" if chunk is None else chunk.data
    assert text == b"two\nthree\n"
    path.write_bytes(b"4\n")  # cut, and written anew
    while not text.endswith(b"4\n"):
        chunk = next(seen)
        text += b"" if chunk is None else chunk.data


def test_rotated_while_nobody_read(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    before = FileLines(path, None, None, follow=False)
    _read(before)
    place = before.marks(_mark)[str(path)]
    with path.open("ab") as out:
        out.write(b"two\n")
    path.rename(tmp_path / "log.2")
    (tmp_path / "log.1").write_bytes(b"three\n")
    os.utime(tmp_path / "log.2", ns=(10**18, 10**18))
    (tmp_path / "log.0.gz").write_bytes(gzip.compress(b"old\n"))
    path.write_bytes(b"four\n")
    lines = FileLines(path, place, _mark, follow=False)
    assert _text(_read(lines)) == b"two\nthree\nfour\n"
    assert not lines.lost
    (tmp_path / "log.2").unlink()
    gone = FileLines(path, place, _mark, follow=False)
    assert gone.lost
    assert _text(_read(gone)) == b"four\n"


def test_what_lies_beside_a_log_and_was_not_rotated_is_not_read(tmp_path):
    """Such as the list of releases that `coterie anonymize` keeps beside its log, or the log of somebody else."""
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    lines = FileLines(path, None, None, follow=False)
    _read(lines)
    place = lines.marks(_mark)[str(path)]
    path.rename(tmp_path / "log.3")
    for number, name in enumerate(("log.2", "log-20240308", "log.history.json", "log~", "log_errors", "log.1"), 2):
        (tmp_path / name).write_bytes(f"{name}\n".encode())
        os.utime(tmp_path / name, ns=(number * 10**18, number * 10**18))
    os.utime(tmp_path / "log.3", ns=(10**18, 10**18))
    path.write_bytes(b"last\n")
    found = _text(_read(FileLines(path, place, _mark, follow=False)))
    assert found == b"log.2\nlog-20240308\nlog.1\nlast\n"


def test_a_file_that_was_cut_and_has_grown_again(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\n")
    lines = FileLines(path, None, None, follow=False)
    _read(lines)
    place = lines.marks(_mark)[str(path)]
    with path.open("r+b") as out:
        out.truncate()
        out.write(b"other first line\nand more\n")
    assert _text(_read(FileLines(path, place, _mark, follow=False))) == b"other first line\nand more\n"
    with path.open("r+b") as out:
        out.truncate(3)
    assert _text(_read(FileLines(path, place, _mark, follow=False))) == b"oth"


def test_a_file_that_is_cut_and_grows_between_two_looks(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\n")
    seen = iter(FileLines(path, None, None, follow=True))
    assert next(seen).data == b"one\ntwo\n"
    assert next(seen) is None
    path.write_bytes(b"other lines\nand more of them\n")
    assert next(seen).data == b"other lines\nand more of them\n"
    assert next(seen) is None


def test_a_rotated_file_whose_number_another_one_got(tmp_path):
    """Systems give the number of a removed file to the next new one; it is then read from its beginning."""
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\n")
    lines = FileLines(path, None, None, follow=False)
    _read(lines)
    place = lines.marks(_mark)[str(path)]
    with path.open("r+b") as out:
        out.write(b"another file, and longer\n")
    path.rename(tmp_path / "log.1")
    path.write_bytes(b"three\n")
    again = FileLines(path, place, _mark, follow=False)
    assert _text(_read(again)) == b"another file, and longer\nthree\n"


def test_where_nobody_can_tell_it_begins_at_the_beginning(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\n")
    lines = FileLines(path, None, None, follow=False)
    _read(lines)
    place = lines.marks(_mark)[str(path)]
    for known, mark, unsure in ((place, _mark, False), ({**place, "mark": None}, _mark, True), (place, None, True)):
        again = FileLines(path, known, mark, follow=False)
        assert (again.unsure, _text(_read(again))) == (unsure, b"one\ntwo\n" if unsure else b"")
    opened = FileLines(path, {**place, "offset": 0, "mark": None}, None, follow=False)
    assert (opened.unsure, _text(_read(opened))) == (False, b"one\ntwo\n")


def test_headers_and_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(follow, "CHUNK", 8)
    path = tmp_path / "log"
    path.write_bytes(b"header\na\nb\nc\na long line\nd\n")
    chunks = _read(FileLines(path, None, None, follow=False))
    assert len(chunks) > 2
    assert {chunk.header for chunk in chunks} == {b"header\n"}
    assert _text(chunks) == path.read_bytes()
    assert all(chunk.data.endswith(b"\n") for chunk in chunks)


def test_lines_without_an_end(tmp_path, monkeypatch):
    monkeypatch.setattr(follow, "LONGEST_LINE", 100)
    (tmp_path / "log").write_bytes(b"x" * 200)
    with pytest.raises(InputError, match="has a line of more than"):
        _read(FileLines(tmp_path / "log", None, None, follow=True))
    assert files.LONGEST_LINE > 100


def test_streams(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert is_stream("-")
    assert is_stream(str(tmp_path / "pipe"))
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(tmp_path / "pipe", os.O_WRONLY)
    os.write(writer, b"one\ntw")
    lines = StreamLines(str(tmp_path / "pipe"))
    os.close(reader)
    seen = iter(lines)
    assert next(seen).data == b"one\n"
    os.write(writer, b"o\nthree")
    assert next(seen).data == b"two\n"
    os.close(writer)
    last = next(seen)
    assert (last.data, last.position) == (b"three", {"stream": 13})
    assert next(seen, "end") == "end"


def test_files_that_are_read_as_a_whole(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"one\n"))
    (tmp_path / "b.json").write_bytes(b'  [{"query": 1}]')
    (tmp_path / "c.tsv").write_bytes(b"one\n")
    (tmp_path / "empty").touch()
    assert [is_whole(tmp_path / name) for name in ("a.gz", "b.json", "c.tsv", "empty")] == [True, True, False, False]
    assert wait() > 0
