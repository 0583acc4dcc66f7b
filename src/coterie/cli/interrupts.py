"""Interrupts: Ctrl-C is heard at once, and the process ends within seconds, wherever it is.

Python raises KeyboardInterrupt between two of its own instructions, and a kernel or a query over millions of rows is
one instruction that can last for minutes. So a thread beside the job is woken by the signal itself. It says that it was
heard, waits for the job to end in the usual way and, where that takes too long, removes temporary files and ends the
process. Nothing half-written stays: files get their names by renaming, which takes no time to speak of, so a process
that still has not reacted is not in the middle of that. A second Ctrl-C does not wait.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

PATIENCE = 6.0
"""Seconds that a job has to end by itself."""
HEARD = "Stopping ..."
ENDED = "Interrupted. Nothing unfinished was written."


@contextmanager
def answered(quiet: bool = False, patience: float = PATIENCE) -> Iterator[None]:
    """Answer Ctrl-C while a job works; `quiet` says nothing."""
    if threading.current_thread() is not threading.main_thread():  # where signals do not arrive
        yield
        return
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    done = threading.Event()
    before = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    watcher = threading.Thread(target=_watch, args=(ours, done, quiet, patience), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        signal.set_wakeup_fd(before)
        theirs.close()  # which wakes the watcher
        watcher.join()
        ours.close()


def _watch(ours: socket.socket, done: threading.Event, quiet: bool, patience: float) -> None:
    while arrived := ours.recv(1):
        if arrived[0] != signal.SIGINT:
            continue
        if not quiet:
            _say(HEARD)
        ours.settimeout(patience)
        with suppress(TimeoutError):
            while (again := ours.recv(1)) and again[0] != signal.SIGINT:  # nothing: the job has ended
                pass
            if not again:
                return
        if not done.is_set():
            _end()


def _end() -> None:
    from coterie.core.scratch import remove_all

    remove_all()
    _say(ENDED)
    os._exit(130)


def _say(text: str) -> None:
    """On standard error, below whatever bar is drawn there."""
    with suppress(OSError):
        os.write(2, f"\n{text}\n".encode())
