"""Which files may be written, and how a finished file gets its name."""

import errno
import os
import re
from pathlib import Path

import polars as pl
import pytest

from coterie.errors import InputError, MissingError, ParameterError
from coterie.writing.targets import is_same_file, placed, refuse_output, refuse_record, temporary


def _write(target, force=False, inputs=(), meanwhile=lambda: None):
    with placed(target, force, inputs) as part:
        part.write_text("ours")
        meanwhile()


def test_a_finished_file_gets_its_name(tmp_path):
    with placed(tmp_path / "a.txt", force=False) as part:
        part.write_text("whole")
        assert not (tmp_path / "a.txt").exists()
        assert part.suffix == ".txt"
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.txt": "whole"}


def test_an_unfinished_file_is_gone(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(ZeroDivisionError):
        _write(tmp_path / "a.txt", force=True, meanwhile=lambda: 1 / 0)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.txt": "old"}


@pytest.mark.parametrize("force", [True, False])
def test_what_came_meanwhile_stays(tmp_path, force):
    with pytest.raises(ParameterError, match="only regular files"):
        _write(tmp_path / "a.txt", force, meanwhile=lambda: os.mkfifo(tmp_path / "a.txt"))
    assert (tmp_path / "a.txt").is_fifo()
    assert len(list(tmp_path.iterdir())) == 1


def test_a_file_that_came_meanwhile_stays_unless_forced(tmp_path):
    def meanwhile():
        (tmp_path / "a.txt").write_text("theirs")

    with pytest.raises(ParameterError, match="exists"):
        _write(tmp_path / "a.txt", meanwhile=meanwhile)
    assert (tmp_path / "a.txt").read_text() == "theirs"
    _write(tmp_path / "a.txt", force=True, meanwhile=meanwhile)
    assert (tmp_path / "a.txt").read_text() == "ours"


def test_an_input_that_got_the_name_meanwhile_stays(tmp_path):
    log = tmp_path / "log.txt"
    log.write_text("log")
    with pytest.raises(ParameterError, match="inputs"):
        _write(tmp_path / "a.txt", True, [log], meanwhile=lambda: (tmp_path / "a.txt").hardlink_to(log))
    assert (tmp_path / "a.txt").read_text() == log.read_text() == "log"


def test_the_same_file(tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    (tmp_path / "also").symlink_to("folder")
    monkeypatch.chdir(tmp_path)
    assert is_same_file(tmp_path / "folder" / "a", tmp_path / "also" / "a")  # not there yet
    assert not is_same_file(tmp_path / "folder" / "a", tmp_path / "a")
    (tmp_path / "a").write_text("")
    assert is_same_file(tmp_path / "a", tmp_path / "folder" / ".." / "a")
    assert is_same_file(tmp_path / "a", Path("a"))


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(MissingError, match="Make it first"):
        refuse_output(tmp_path / "no" / "a.txt", force=True)


def test_a_folder_that_is_closed_is_said_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != tmp_path)
    asked = (
        lambda: refuse_output(tmp_path / "a.txt", force=True),
        lambda: refuse_record(tmp_path / "new" / "record", ["run.json"], force=False),
        lambda: temporary(tmp_path, "x").__enter__(),
    )
    for ask in asked:
        with pytest.raises(InputError, match=f"^{re.escape(str(tmp_path))}: nothing can be written to this folder.$"):
            ask()


@pytest.mark.parametrize(("number", "says"), [
    (errno.ENOSPC, "is full. Make room"), (errno.EDQUOT, "is full: the quota"), (errno.EFBIG, "takes no file of that"),
])  # fmt: skip
def test_a_full_disk_is_said(tmp_path, number, says):
    for error in (OSError(number, os.strerror(number)), pl.exceptions.ComputeError(f"parquet: x (os error {number})")):
        with pytest.raises(InputError, match=f"disk of {re.escape(str(tmp_path))} {says}"), temporary(tmp_path, "x"):
            raise error
    with pytest.raises(PermissionError), temporary(tmp_path, "x"):
        raise PermissionError(13, os.strerror(13))
