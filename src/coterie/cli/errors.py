"""How the command line ends: errors become sentences and exit codes, signals become errors."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

import click

from coterie.cli.console import say
from coterie.errors import CoterieError, InputError, InternalError, on_command_line

_STOPS = ("SIGTERM", "SIGHUP", "SIGQUIT", "SIGXCPU")  # what ends a process unless it says otherwise


class StoppedError(BaseException):
    """The process was asked to end; what it holds on disk is cleaned up on the way out."""

    says = "Stopped. Nothing was written."
    """What whoever asked is told; a command that may have written something says otherwise on the way out."""


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
        if signals.received is not None:  # also where a library wrapped the stop in an error of its own
            return _fail(getattr(error, "says", StoppedError.says), 128 + signals.received)
        return _code_of(error)
    return result if isinstance(result, int) else 0


def reader_left() -> int:
    """The exit code where nobody reads standard output any more, as after `| head`; what is left of it goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 2


def _code_of(error: BaseException) -> int:
    """Say what went wrong; the exit code for it."""
    match error:
        case click.exceptions.Exit():
            return error.exit_code
        case KeyboardInterrupt() | click.exceptions.Abort():
            said = error.__cause__ or error  # click puts its own error in place of Ctrl-C
            return _fail(getattr(said, "says", "Interrupted. Nothing was written."), 130)
        case click.ClickException():
            error.show()
            return 2
        case CoterieError():
            return _fail(f"Error: {on_command_line(str(error))}", error.exit_code)
    return _unexpected(error)


def _unexpected(error: BaseException) -> int:
    """Errors that are not ours: those of the system are told apart, and no message is passed on as it is."""
    if os.environ.get("COTERIE_DEBUG"):
        raise error
    from coterie.core.scratch import disk_is_full

    if isinstance(error, MemoryError):
        return _fail("Error: out of memory. Use --blocks 8 or more to work on disk.", 2)
    if disk_is_full(error):
        return _fail("Error: the disk is full. Nothing was written; make room and try again.", 2)
    if isinstance(error, OSError) and not error.strerror:
        return _fail(f"Error: a file could not be read or written ({type(error).__name__}).", InputError.exit_code)
    if isinstance(error, OSError):
        named = f"{error.filename}: " if error.filename else ""
        return _fail(f"Error: {named}{error.strerror}.", InputError.exit_code)
    return _fail(
        f"Internal error ({type(error).__name__}). Nothing was written. Please report it with the output of "
        f"'coterie doctor'; COTERIE_DEBUG=1 shows where it happened, and may show values of the log.",
        InternalError.exit_code,
    )


def _fail(message: str, code: int) -> int:
    say(message, style="red")
    return code
