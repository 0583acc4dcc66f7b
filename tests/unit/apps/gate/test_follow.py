"""Lines of files that grow, are rotated and cut; no line twice, none lost."""

import gzip
import os

import pytest

from coterie.apps.gate import follow
from coterie.apps.gate.follow import FileLines, StreamLines, is_stream, is_whole, wait
from coterie.core import files
from coterie.errors import InputError


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
    os.utime(tmp_path / "log.0.gz", ns=(10**17, 10**17))
    path.write_bytes(b"four\n")
    lines = FileLines(path, place, _mark, follow=False)
    assert _text(_read(lines)) == b"two\nthree\nfour\n"
    assert not lines.lost
    (tmp_path / "log.2").unlink()
    gone = FileLines(path, place, _mark, follow=False)
    assert gone.lost
    assert _text(_read(gone)) == b"three\nfour\n", "what was rotated after it is there, and was never read"


def _rotate(path, keep=3):
    """As logrotate with delaycompress: the newest rotated file is not compressed, and no number is kept in use."""
    for number in range(keep, 0, -1):
        old, new = path.with_name(f"{path.name}.{number}"), path.with_name(f"{path.name}.{number + 1}.gz")
        if old.with_name(f"{old.name}.gz").exists():
            old.with_name(f"{old.name}.gz").rename(new)
        if old.exists():
            stat = old.stat()
            new.write_bytes(gzip.compress(old.read_bytes()))
            os.utime(new, ns=(stat.st_atime_ns, stat.st_mtime_ns))
            old.unlink()
    path.rename(path.with_name(f"{path.name}.1"))


@pytest.mark.parametrize("same_number", [True, False])
def test_rotated_twice_while_nobody_read(tmp_path, same_number):
    """The file that was read is compressed; the one after it is not, also where the system gave its number again."""
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    before = FileLines(path, None, None, follow=False)
    _read(before)
    place = before.marks(_mark)[str(path)]
    with path.open("ab") as out:
        out.write(b"two\n")
    _rotate(path)
    path.write_bytes(b"three\n")
    _rotate(path)
    path.write_bytes(b"four\n")
    if same_number:
        place = {**place, "file": follow._number(path)}
    again = FileLines(path, place, _mark, follow=False)
    assert again.lost, "the second line is in log.2.gz"
    assert _text(_read(again)) == b"three\nfour\n"


def test_compressed_files_that_were_rotated_later_are_told_of(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    before = FileLines(path, None, None, follow=False)
    _read(before)
    place = before.marks(_mark)[str(path)]
    path.rename(tmp_path / "log.2")
    os.utime(tmp_path / "log.2", ns=(10**18, 10**18))
    for name in ("log.1.gz", "log-20240307.xz"):
        (tmp_path / name).write_bytes(b"packed\n")
        path.write_bytes(b"three\n")
        again = FileLines(path, place, _mark, follow=False)
        assert (again.lost, _text(_read(again))) == (True, b"three\n")
        (tmp_path / name).unlink()
    assert not FileLines(path, place, _mark, follow=False).lost


@pytest.mark.parametrize("running", [False, True])
def test_a_file_that_was_copied_and_cut(tmp_path, running):
    """As copytruncate does: what came before the cut is in the copy."""
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    lines = FileLines(path, None, None, follow=True)
    seen = iter(lines)
    assert next(seen).data == b"one\n"
    assert next(seen) is None
    place = lines.marks(_mark)[str(path)]
    (tmp_path / "log.2").write_bytes(b"one\n")  # a copy of before, with nothing new in it
    os.utime(tmp_path / "log.2", ns=(10**18, 10**18))
    with path.open("ab") as out:
        out.write(b"two\n")
    (tmp_path / "log.1").write_bytes(path.read_bytes())
    path.write_bytes(b"3\n")
    if not running:
        lines = FileLines(path, place, _mark, follow=True)
        seen = iter(lines)
    assert [next(seen).data, next(seen).data] == [b"two\n", b"3\n"]
    assert not lines.lost
    path.write_bytes(b"")
    assert [next(seen), next(seen)] == [None, None]
    assert lines.lost, "nobody has a copy"


def test_lines_that_come_late_to_a_rotated_file_do_not_make_it_new(tmp_path):
    """A server may write to the old file for minutes; a gate that is killed then reads no line of it twice."""
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    lines = FileLines(path, None, None, follow=True)
    seen = iter(lines)
    assert next(seen).data == b"one\n"
    path.rename(tmp_path / "log.1")
    path.write_bytes(b"two\n")
    assert next(seen).data == b"two\n"
    place = lines.marks(_mark)[str(path)]
    with (tmp_path / "log.1").open("ab") as out:
        out.write(b"late\n")
    os.utime(tmp_path / "log.1", ns=(2 * 10**18, 2 * 10**18))
    path.write_bytes(b"3\n")
    again = FileLines(path, place, _mark, follow=False)
    assert _text(_read(again)) == b"late\n3\n"
    (tmp_path / "log.1").rename(tmp_path / "log.2")
    assert _text(_read(FileLines(path, place, _mark, follow=False))) == b"late\n3\n"


def test_a_file_that_is_opened_is_known_before_it_is_read(tmp_path):
    """Also one without a line, and one that is not there yet; another file in its place is seen by the time."""
    path, heard = tmp_path / "log", []
    lines = FileLines(path, None, None, True, heard.append)
    seen = iter(lines)
    assert (next(seen), heard) == (None, [])
    path.touch()
    assert next(seen) is None
    (place,) = heard[0].values()
    assert place["offset"] == 0
    path.write_bytes(b"one\n")
    path.rename(tmp_path / "log.1")
    path.write_bytes(b"two\n")
    assert _text(_read(FileLines(path, place, None, follow=False))) == b"one\ntwo\n"
    reused = {**place, "file": follow._number(path)}
    assert _text(_read(FileLines(path, reused, None, follow=False))) == b"one\ntwo\n"
    assert next(seen).data == b"one\n"
    assert len(heard) == 1


def test_a_rotated_file_that_goes_at_this_moment_is_told_of(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    lines = FileLines(path, None, None, follow=False)
    _read(lines)
    place = lines.marks(_mark)[str(path)]
    path.rename(tmp_path / "log.1")
    path.write_bytes(b"two\n")
    again = FileLines(path, place, _mark, follow=True)
    (tmp_path / "log.1").unlink()
    assert _text(_read(again)) == b"two\n"
    assert again.lost


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
