"""The scratch folder is private and never outlives its owner, whenever a signal comes."""

import gc
import stat
from pathlib import Path

import pytest

from coterie.core import scratch
from coterie.core.scratch import Scratch


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(scratch.tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_only_the_owner_may_read_it_and_it_goes_with_its_object(temporary):
    owner = Scratch()
    assert owner.path.parent == temporary
    assert stat.S_IMODE(owner.path.stat().st_mode) == 0o700
    (owner.path / "rows").write_text("a")
    del owner
    gc.collect()
    assert not list(temporary.iterdir())


def test_a_signal_just_after_it_was_made(temporary, monkeypatch):
    class Stopped(BaseException):
        pass

    make = Path.mkdir

    def mkdir(path, mode):
        make(path, mode)
        assert list(temporary.iterdir())
        raise Stopped

    monkeypatch.setattr(Path, "mkdir", mkdir)
    with pytest.raises(Stopped):
        Scratch()
    gc.collect()
    assert not list(temporary.iterdir())


def test_signals_while_it_is_removed(temporary, monkeypatch):
    remove, signals = scratch.shutil.rmtree, [KeyboardInterrupt, KeyboardInterrupt]

    def interrupted(path, ignore_errors):
        if signals:
            raise signals.pop()
        remove(path, ignore_errors)

    monkeypatch.setattr(scratch.shutil, "rmtree", interrupted)
    owner = Scratch()
    (owner.path / "rows").write_text("a")
    del owner
    gc.collect()
    assert not signals
    assert not list(temporary.iterdir())


def test_the_folder_of_somebody_else_stays(temporary, monkeypatch):
    monkeypatch.setattr(scratch.secrets, "token_hex", lambda _: "taken")
    (temporary / "coterie-taken").mkdir()
    with pytest.raises(FileExistsError):
        Scratch()
    gc.collect()
    assert [p.name for p in temporary.iterdir()] == ["coterie-taken"]
