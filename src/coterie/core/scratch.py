"""Scratch: a private folder for rows on disk, swept by the next run if its process was killed; knowing a full disk.

The name of a folder says which process made it: its number, when it started, and on which machine. Whoever makes a
folder first removes those beside it whose process is gone, so that nothing of a log stays for ever after SIGKILL or a
power cut. Left alone are folders of a living process, of another user and of another machine, links, and whatever has
another name. A lock on the folder, which the system releases with its process, also tells processes that we cannot
see, in another container, from dead ones. Without /proc (macOS) a process counts as living while its number is in use;
on Windows nothing is swept. Within `in_memory` new folders are in memory, where the system has a place for that.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import tempfile
import threading
import weakref
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_ATTEMPTS = 100  # signals that may come while a folder is removed
_NAME = re.compile(r"\.?coterie-([0-9]+)-([0-9]+)-([0-9a-f]{8})-[0-9a-f]{16}")
_UNKNOWN = "0"  # a start time, where the system does not tell it
_GONE = ("Z", "X")  # states of a process that has ended and whose parent has not asked yet
_FULL = {
    errno.ENOSPC: "is full",
    errno.EDQUOT: "is full: the quota is used up",
    errno.EFBIG: "takes no file of that size (see ulimit -f)",
}
_MEMORY = Path("/dev/shm")  # noqa: S108 (folders in it are private)
_stops: list[BaseException] = []
_living: weakref.WeakSet[Scratch] = weakref.WeakSet()
_parent: ContextVar[Path | None] = ContextVar("parent of new folders", default=None)


class Scratch:
    """A folder that only its owner may read, removed with this object or at the end of the process.

    It is in the system's folder for temporary files, or hidden in `beside`.
    """

    def __init__(self, beside: Path | None = None) -> None:
        parent = beside or _parent.get() or Path(tempfile.gettempdir()).absolute()
        sweep(parent)
        pid = os.getpid()
        process = f"{pid}-{_start_of(pid) or _UNKNOWN}-{_machine()}"
        hidden = "" if beside is None else "."
        self.path = parent / f"{hidden}coterie-{process}-{secrets.token_hex(8)}"
        held: list[int] = []
        # Before the folder is there, so that a signal in between cannot leave it behind.
        self._cleaning = weakref.finalize(self, _remove, self.path, held)
        try:
            self.path.mkdir(mode=0o700)
        except FileExistsError:
            self._cleaning.detach()  # somebody else's
            raise
        _living.add(self)
        if (lock := _lock(self.path)) is not None:
            held.append(lock)

    def remove(self) -> None:
        """Remove the folder now."""
        self._cleaning()


def remove_all() -> None:
    """Remove all folders of this process: for whoever has to end it on the spot."""
    for scratch in list(_living):
        scratch.remove()


@contextmanager
def in_memory() -> Iterator[None]:
    """Meanwhile, folders for temporary files are on no disk; where the system has none such, they are as usual."""
    before = _parent.set(_MEMORY if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK | os.X_OK) else None)
    try:
        yield
    finally:
        _parent.reset(before)


def sweep(parent: Path) -> None:
    """Remove the folders that dead processes of the same user left in `parent`."""
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            named = _NAME.fullmatch(entry.name)
            if named is not None and _is_left_behind(entry, int(named[1]), named[2], named[3]):
                _remove(Path(entry.path), [])


def _is_left_behind(entry: os.DirEntry[str], pid: int, started: str, machine: str) -> bool:
    if fcntl is None or machine != _machine() or _is_living(pid, started):
        return False
    if not entry.is_dir(follow_symlinks=False) or entry.stat(follow_symlinks=False).st_uid != os.getuid():
        return False
    lock = _lock(Path(entry.path))
    if lock is not None:
        os.close(lock)
    return lock is not None


def _is_living(pid: int, started: str) -> bool:
    """Whether the process with that number is the one that started then."""
    if started != _UNKNOWN and Path("/proc/self/stat").exists():
        return _start_of(pid) == started
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it is there, and somebody else's
        return True
    return True


def _start_of(pid: int) -> str | None:
    """When a process started, in ticks since the machine did; None for one that is gone, or where nobody tells."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    state, *rest = stat.rpartition(")")[2].split()  # the name before it may hold anything
    return None if state in _GONE else rest[18]


def _machine() -> str:
    name = os.uname().nodename if hasattr(os, "uname") else ""
    return f"{zlib.crc32(name.encode(errors='replace')):08x}"


def _lock(folder: Path) -> int | None:
    """A lock that the system gives back when the process ends; None where another process has it, or there are none."""
    if fcntl is None:
        return None
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _remove(folder: Path, held: list[int]) -> None:
    """Remove a folder, to the end: somebody who presses Ctrl-C twice must not leave rows behind.

    What is raised here is lost where nobody called, as at the end of an object; and it would come at a moment at which
    a file is in place and nobody has said so yet. So a stop is kept for `stop_if_asked`.
    """
    for _attempt in range(_ATTEMPTS):
        try:
            with suppress(Exception):
                shutil.rmtree(folder, ignore_errors=True)
                while held:
                    os.close(held.pop())
                return
        except BaseException as stop:
            _stops.append(stop)


def stop_if_asked() -> None:
    """Raise the stop that came while a folder was removed; called where a job can end."""
    if _stops and threading.current_thread() is threading.main_thread():  # as signals do
        stop = _stops[0]
        _stops.clear()
        raise stop


def disk_is_full(error: BaseException) -> str:
    """What an error of the system or of polars says of a disk that takes no more: it "is full"; nothing of others."""
    named = re.search(r"\(os error (\d+)\)", str(error))
    return _FULL.get(getattr(error, "errno", None) or (int(named[1]) if named else 0), "")
