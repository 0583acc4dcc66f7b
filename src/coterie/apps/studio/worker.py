"""The worker: a process that holds the log, does one task after the other, and ends with the server.

It says what came of a task, or in one sentence why nothing did: our own errors as they are, because no message of ours
holds a value of the log, and those of others by their kind alone, because theirs may.
"""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from contextlib import suppress
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from coterie.core.files import disk_is_full, remove_all
from coterie.errors import CoterieError, on_command_line


def run(connection: Connection, folder: Path) -> None:
    """Take tasks until the other end hangs up; whatever goes to disk goes below `folder`."""
    os.environ["TMPDIR"] = os.environ["POLARS_TEMP_DIR"] = tempfile.tempdir = str(folder)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    serve(connection, folder)


def _end_with(sentinel: int) -> None:
    """End when the server does, even in the middle of a task: nobody would hear of it. Nothing half-written stays."""
    wait([sentinel])
    remove_all()
    with suppress(OSError, AttributeError):
        if os.getpgrp() == os.getpid():  # the queue gave us a group of our own
            os.killpg(0, signal.SIGKILL)  # with whatever was started here
    os._exit(1)


def serve(connection: Connection, folder: Path) -> None:
    """Take tasks until the other end hangs up."""
    from coterie.apps.studio.tasks import TASKS, Bench

    bench = Bench(folder)
    while True:
        try:
            name, arguments = connection.recv()
        except (EOFError, OSError):
            return
        told = _Told(connection)
        try:
            result: Any = TASKS[name](bench, told, **arguments)
            message: tuple[str, Any] = ("done", result)
        except Exception as error:  # whatever it is: its message may hold a value, and must not be shown
            message = ("failed", sentence_of(error))
        try:
            connection.send(message)
        except OSError:
            return


class _Told:
    """Hears the stages of a task and sends them on; not more often than anybody can see."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._last = connection, ("", -1.0)
        self._lock = threading.Lock()

    def __call__(self, stage: str, share: float | None = None) -> None:
        with self._lock:  # shares come from any thread
            said, before = self._last
            if stage == said and share is not None and share - before < 0.01:
                return
            self._last = (stage, -1.0 if share is None else share)
            self._connection.send(("progress", stage, share))


def sentence_of(error: Exception) -> str:
    """What to tell people about an error."""
    if isinstance(error, CoterieError):
        return on_command_line(str(error))
    if isinstance(error, MemoryError):
        return "There was not enough memory for this. Use a smaller log, or the command line with --blocks 8."
    if disk_is_full(error):
        return "The disk is full. Make room and try again."
    if isinstance(error, OSError) and error.strerror:
        named = f"{error.filename}: " if isinstance(error.filename, str) else ""
        return f"{named}{error.strerror}."
    return (
        f"This is a mistake of Coterie ({type(error).__name__}). Nothing was written. Please report it with the output "
        f"of 'coterie doctor'."
    )
