"""How the command line ends: errors become sentences and exit codes, and signals become errors.

Ctrl-C is heard at once, and the process ends within seconds, wherever it is.

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
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import click

from coterie.cli.console import say
from coterie.errors import CoterieError, InputError, InternalError, on_command_line

_SIGPIPE = 13  # which Python has no name for on Windows
_STOPS = ("SIGTERM", "SIGHUP", "SIGQUIT", "SIGXCPU")  # what ends a process unless it says otherwise


class StoppedError(BaseException):
    """The process was asked to end; what it holds on disk is cleaned up on the way out."""

    says: str
    """What whoever asked is told, where a command knows better than this module; it is set on the way out."""


class Signals:
    """Turns the signals that end a process into an error, and remembers which one came."""

    def __init__(self) -> None:
        self.received: int | None = None
        """The number of the signal that came, if any."""
        self._numbers: list[int] = []

    def listen(self) -> None:
        """Raise an error from now on when one of the signals comes; those that are ignored stay so, as nohup wants."""
        here = [getattr(signal, name) for name in _STOPS if hasattr(signal, name)]
        self._numbers = [number for number in here if signal.getsignal(number) is not signal.SIG_IGN]
        for number in self._numbers:
            signal.signal(number, self.stop)

    def ignore(self) -> None:
        """Ignore them, and Ctrl-C, from now on."""
        for number in (*self._numbers, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)

    def stop(self, number: int, frame: object) -> None:  # noqa: ARG002 (the signature of a handler)
        """What happens when a signal comes."""
        signal.signal(number, signal.SIG_IGN)  # once is enough
        self.received = number
        raise StoppedError


def exit_code(invoke: Callable[[], object], signals: Signals) -> int:
    """The exit code of a command: what it returns, or what its error stands for."""
    try:
        result = invoke()
    except SystemExit:
        raise
    except BaseException as error:
        said = error.__cause__ or error  # click puts its own error in place of Ctrl-C
        written = getattr(error, "written", ()) or getattr(said, "written", ())
        if written:  # by a job that was to write more
            say(f"Already written: {', '.join(written)}.")
        nothing = f"Nothing {'unfinished ' if written else ''}was written."
        if signals.received is not None:  # also where a library wrapped the stop in an error of its own
            return _fail(getattr(error, "says", f"Stopped. {nothing}"), 128 + signals.received)
        if isinstance(error, KeyboardInterrupt | click.exceptions.Abort):
            return _fail(getattr(said, "says", f"Interrupted. {nothing}"), 130)
        return _code_of(error, nothing)
    return result if isinstance(result, int) else 0


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """Where nobody reads standard output any more, as after `| head`, what is left of it goes nowhere.

    Click would end with 1, which means a broken promise here. This is what a shell says of other programs then.
    """
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.exceptions.Exit(128 + _SIGPIPE) from None


def _code_of(error: BaseException, nothing: str) -> int:
    """Say what went wrong; the exit code for it. `nothing` says whether anything was written."""
    match error:
        case click.exceptions.Exit():
            return error.exit_code
        case click.ClickException():
            error.show()
            return 2
        case CoterieError():
            return _fail(f"Error: {on_command_line(str(error))}", error.exit_code)
    return _unexpected(error, nothing)


def _unexpected(error: BaseException, nothing: str) -> int:
    """Errors that are not ours: those of the system are told apart, and no message is passed on as it is."""
    if os.environ.get("COTERIE_DEBUG"):
        raise error
    from tempfile import gettempdir

    from coterie.core.files import disk_is_full

    if isinstance(error, MemoryError):
        return _fail("Error: out of memory. Use --blocks 8 or more to work on disk.", 2)
    if how := disk_is_full(error):
        name = getattr(error, "filename", None)
        if getattr(error, "errno", None) is None:  # of polars, in whose hands only temporary files fail up to here
            name = f"{gettempdir()} (set TMPDIR to use another one)"
        return _fail(f"Error: the disk{f' of {name}' if name else ''} {how}. {nothing} Make room and try again.", 2)
    if isinstance(error, OSError) and not error.strerror:
        return _fail(f"Error: a file could not be read or written ({type(error).__name__}).", InputError.exit_code)
    if isinstance(error, OSError):
        named = f"{error.filename}: " if error.filename else ""
        return _fail(f"Error: {named}{error.strerror}.", InputError.exit_code)
    return _fail(
        f"Internal error ({type(error).__name__}). {nothing} Please report it with the output of "
        f"'coterie doctor'; COTERIE_DEBUG=1 shows where it happened, and may show values of the log.",
        InternalError.exit_code,
    )


def _fail(message: str, code: int) -> int:
    say(message, style="red")
    return code


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
    from coterie.core.files import remove_all

    remove_all()
    _say(ENDED)
    os._exit(130)


def _say(text: str) -> None:
    """On standard error, below whatever bar is drawn there."""
    with suppress(OSError):
        os.write(2, f"\n{text}\n".encode())
