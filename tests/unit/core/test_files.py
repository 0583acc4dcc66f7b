"""Files that are read; compressed ones that unpack to too much are in tests/unit/formats/test_bombs.py."""

import gzip
import os

import pytest
import zstandard

from coterie.core import files
from coterie.errors import InputError, MissingError, ParameterError


def test_paths_and_globs_in_byte_order(tmp_path):
    for name in ("b.txt", "a.txt", "c.md", "a.txt.history.json"):
        (tmp_path / name).write_text("x")
    found = files.expand([f"{tmp_path}/*.txt", tmp_path / "c.md", tmp_path / "a.txt", "-"])
    assert [path.name for path in found] == ["a.txt", "b.txt", "c.md", "-"]
    assert "a.txt.history.json" not in [path.name for path in files.expand([f"{tmp_path}/*"])]


@pytest.mark.parametrize(
    ("patterns", "error"), [([], ParameterError), (["nowhere*"], MissingError), ([os.curdir], InputError)]
)
def test_what_is_no_file_is_refused(patterns, error):
    with pytest.raises(error):
        files.expand(patterns)


@pytest.mark.parametrize(
    ("pack", "kind"), [(bytes, None), (gzip.compress, "gz"), (zstandard.compress, "zst")], ids=["plain", "gz", "zst"]
)
def test_lines_of_packed_and_plain_files(tmp_path, pack, kind):
    path = tmp_path / "log"
    path.write_bytes(pack("\ufeffone\n\ntwo\r\nthree".encode()))
    assert files.compression(path) == kind
    assert files.head(path) == ["one", "two", "three"]
    assert list(files.byte_lines(path)) == [(1, b"one\n"), (2, b"\n"), (3, b"two\r\n"), (4, b"three")]
    assert files.count_lines(path) == 4
    assert files.Opening(path).has_bom
    assert files.Opening(path).compression == kind
    with files.open_bytes(path) as stream:
        assert len(stream.read()) == 18


def test_a_packed_file_that_is_cut_off_is_said_to_be(tmp_path):
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(os.urandom(10_000))[:5_000])
    with pytest.raises(InputError, match=r"log\.gz: the gz compression is damaged or cut off"):
        list(files.byte_lines(path))


def test_a_line_that_no_log_has_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LONGEST_LINE", 8)
    file = tmp_path / "log.txt"
    file.write_bytes(b"short\nfar too long\n")
    lines = files.byte_lines(file)
    assert next(lines) == (1, b"short\n")
    with pytest.raises(InputError, match=r"log.txt has a line of more than .* so it cannot be read as a log\. Check"):
        next(lines)


def test_a_damaged_packed_file_is_named(tmp_path):
    file = tmp_path / "log.txt.gz"
    file.write_bytes(gzip.compress(b"line\n" * 1000)[:-20])
    with pytest.raises(InputError, match=r"log.txt.gz: the gz compression is damaged or cut off"):
        files.count_lines(file)


def test_the_files_of_a_folder_stand_in_its_place(tmp_path):
    (tmp_path / "folder" / "deep").mkdir(parents=True)
    for name in ("b.txt", "folder/c.txt", "folder/deep/d.txt"):
        (tmp_path / name).write_text("x")
    given = [str(tmp_path / "b.txt"), str(tmp_path / "folder")]
    assert [path.name for path in files.every_file(given)] == ["b.txt", "c.txt", "d.txt"]
