"""The scratch folder is private and never outlives its owner, whenever a signal comes."""

import gc
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from coterie.core import files as scratch
from coterie.core.files import Scratch


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


def test_in_memory(temporary, tmp_path, monkeypatch):
    memory = tmp_path / "memory"
    monkeypatch.setattr(scratch, "_MEMORY", memory)
    with scratch.in_memory():
        assert Scratch().path.parent == temporary, "where there is no such place"
        memory.mkdir()
    with scratch.in_memory():
        assert Scratch().path.parent == memory
        assert Scratch(beside=temporary).path.parent == temporary
    assert Scratch().path.parent == temporary


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
    with pytest.raises(KeyboardInterrupt):
        scratch.stop_if_asked()
    scratch.stop_if_asked()  # once is enough


@pytest.mark.parametrize("by", ["its owner", "nobody"])
def test_a_stop_while_it_is_removed_is_not_lost(temporary, monkeypatch, by):
    """It is raised where the job says that it can end, and never between a file and who tells of it."""
    remove = scratch.shutil.rmtree

    def rmtree(path, ignore_errors):
        remove(path, ignore_errors)
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(scratch.shutil, "rmtree", rmtree)
    monkeypatch.setattr(scratch, "_ATTEMPTS", 1)
    owner = Scratch()
    try:
        if by == "its owner":
            owner.remove()
        del owner
        gc.collect()
        assert not list(temporary.iterdir())
        with pytest.raises(KeyboardInterrupt):
            scratch.stop_if_asked()
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_folder_of_somebody_else_stays(temporary, monkeypatch):
    monkeypatch.setattr(scratch.secrets, "token_hex", lambda _: "taken")
    taken = temporary / f"coterie-{_process(os.getpid())}-taken"
    taken.mkdir()
    with pytest.raises(FileExistsError):
        Scratch()
    gc.collect()
    assert [p.name for p in temporary.iterdir()] == [taken.name]


def _process(pid):
    return f"{pid}-{scratch._start_of(pid) or 0}-{scratch._machine()}"


def _child(code, folder):
    """A process that has made a scratch folder and waits."""
    imports = "from coterie.core.files import Scratch\nfrom pathlib import Path\n"
    code = f"{imports}{code}\nprint(s.path, flush=True)\ninput()"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "TMPDIR": str(folder)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return process, Path(process.stdout.readline().strip())


@pytest.fixture
def children():
    started = []
    yield started
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("code", ["s = Scratch()", "s = Scratch(Path(FOLDER))"], ids=["temporary", "beside"])
def test_what_a_killed_process_left_is_swept_by_the_next(temporary, children, code):
    process, left = _child(code.replace("FOLDER", repr(str(temporary))), temporary)
    children.append(process)
    (left / "rows.parquet").write_text("a")
    Scratch()
    assert left.is_dir()  # it lives
    process.kill()
    process.communicate()
    assert left.is_dir()
    owner = Scratch()
    assert list(temporary.iterdir()) == [owner.path]


def test_a_process_that_nobody_has_asked_about_is_dead(temporary, children):
    process, left = _child("s = Scratch()", temporary)
    children.append(process)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    Scratch()
    assert not left.exists()


def test_only_own_folders_of_dead_processes_are_swept(temporary, monkeypatch):
    gone, token = 2**22 + 1, "0" * 16  # more than any process has
    machine = scratch._machine()
    stay = [
        f"coterie-{token}",  # of a version that did not say whose it is
        f"coterie-{gone}-5-{int(machine, 16) ^ 1:08x}-{token}",  # of another machine
        f"coterie-{_process(os.getpid())}-{token}",
        f"coterie-{_process(os.getppid())}-{token}",
        f"coterie-{gone}-5-{machine}-{token}x",
        f"mycoterie-{gone}-5-{machine}-{token}",
    ]
    go = [f"coterie-{gone}-5-{machine}-{token}", f".coterie-{os.getpid()}-5-{machine}-{token}"]  # another start
    for name in [*stay, *go]:
        (temporary / name).mkdir()
        (temporary / name / "rows").write_text("a")
    link = temporary / f"coterie-{gone}-5-{machine}-{'1' * 16}"
    link.symlink_to(temporary / stay[0])
    file = temporary / f"coterie-{gone}-5-{machine}-{'2' * 16}"
    file.write_text("a")
    scratch.sweep(temporary)
    left = {path.name for path in temporary.iterdir()}
    assert left == {*stay, link.name, file.name}
    assert all((temporary / name / "rows").exists() for name in stay)


def test_folders_of_others_and_locked_ones_stay(temporary, monkeypatch):
    name = f"coterie-{2**22 + 1}-5-{scratch._machine()}-{'0' * 16}"
    (temporary / name).mkdir()
    with monkeypatch.context() as other:
        other.setattr(scratch.os, "getuid", lambda: 12345)
        scratch.sweep(temporary)
        assert (temporary / name).is_dir()
    lock = scratch._lock(temporary / name)  # a living process in another container
    scratch.sweep(temporary)
    assert (temporary / name).is_dir()
    os.close(lock)
    scratch.sweep(temporary)
    assert not (temporary / name).exists()


def test_without_proc_a_number_in_use_is_a_living_process(temporary, monkeypatch):
    monkeypatch.setattr(scratch, "_start_of", lambda _: None)
    owner = Scratch()
    assert owner.path.name.startswith(f"coterie-{os.getpid()}-0-")
    dead = temporary / f"coterie-{2**22 + 1}-0-{scratch._machine()}-{'0' * 16}"
    dead.mkdir()
    living = temporary / f"coterie-{os.getppid()}-0-{scratch._machine()}-{'0' * 16}"
    living.mkdir()
    scratch.sweep(temporary)
    assert not dead.exists()
    assert living.exists()
    assert owner.path.exists()


def test_a_folder_that_cannot_be_listed_is_no_reason_to_fail(tmp_path):
    scratch.sweep(tmp_path / "absent")
