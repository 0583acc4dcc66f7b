"""A process that writes releases and is stopped between any two file operations. Run by tests/e2e/test_killed.py.

    python -m tests.helpers.stopped_writes states FOLDER     keeps a copy of the folder before each operation
    python -m tests.helpers.stopped_writes kill FOLDER N     ends like after `kill -9` before operation N

What SIGKILL leaves is what is on the disk at that moment, so a copy of the folder shows it as well as a dead process
does, and one run shows all moments. Operations are heard of through the audit events of Python.
"""

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import coterie
from coterie.core.log import Release
from coterie.methods.microaggregate import Microaggregate

_EVENTS = ("open", "os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "os.chmod", "shutil.rmtree")
KINDS = ("tsv", "tsv.gz", "parquet", "jsonl")
PARTS = "parts.tsv"
"""Stands for a folder of parts, called `safe.parts.tsv`."""


class Listener:
    """Calls `act` with a running number before each operation on a file in a folder."""

    def __init__(self, folder: Path, act: Callable[[int], object]) -> None:
        self.folder, self.act, self.count, self.listening = str(folder), act, 0, True
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """What Python calls before whatever it does."""
        if not self.listening or event not in _EVENTS:
            return
        if any(isinstance(each, (str, os.PathLike)) and str(each).startswith(self.folder) for each in arguments):
            self.count += 1
            self.listening = False
            self.act(self.count)
            self.listening = True


def releases() -> tuple[Release, Release]:
    """An older release and the one that replaces it, which has another table in its record."""
    log = coterie.prepare(coterie.read("synth:users=40,seed=7"))
    return coterie.anonymize(log, Microaggregate(k=3), seed=1), coterie.anonymize(log, Microaggregate(k=5), seed=2)


def write(release: Release, folder: Path, kind: str, force: bool) -> None:
    """A release with its record."""
    parts = 3 if kind == PARTS else None
    coterie.write(release, folder / f"safe.{kind}", record=folder / "record", force=force, parts=parts)


def _states(folder: Path) -> None:
    older, newer = releases()
    for kind in (*KINDS, PARTS):
        for replaced in (False, True):
            place = folder / f"{kind}-{'replaced' if replaced else 'new'}"
            out = place / "out"
            out.mkdir(parents=True)
            if replaced:
                write(older, out, kind, False)

            def copy(number: int, out: Path = out, place: Path = place) -> None:
                shutil.copytree(out, place / f"state-{number:03}", symlinks=True)

            copy(0)
            listener = Listener(out, copy)
            write(newer, out, kind, replaced)
            listener.listening = False
            copy(listener.count + 1)


def _kill(folder: Path, number: int) -> None:
    _, newer = releases()

    def stop(count: int) -> None:
        if count == number:
            os.kill(os.getpid(), signal.SIGKILL)

    Listener(folder, stop)
    write(newer, folder, "tsv.gz", True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["states", place]:
            _states(Path(place))
        case ["kill", place, number]:
            _kill(Path(place), int(number))
