"""The decorators of all kernels, defined once: cached on disk, without the interpreter lock."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import event

F = TypeVar("F", bound=Callable[..., Any])
_ALWAYS: dict[str, Any] = {"cache": True, "nogil": True}
_UNCOUNTED: dict[str, Any] = {**_ALWAYS, "_nrt": False}


def jit(function: F) -> F:
    """Compile on first use and keep the result for later runs."""
    return cast(F, numba.njit(**_ALWAYS)(function))


def bare(function: F) -> F:
    """Compile without reference counts, which cost more than the work of small functions; they make no arrays."""
    return cast(F, numba.njit(**_UNCOUNTED)(function))


def leaf(function: F) -> F:
    """The same, compiled into the caller: for innermost functions."""
    return cast(F, numba.njit(forceinline=True, **_UNCOUNTED)(function))


def _forget_stale() -> None:
    """Remove what was compiled from other sources than those of today.

    Numba looks only at the file of a function, not at those of the functions that are compiled into it.
    """
    folder = Path(__file__).parent
    sources = b"".join(path.read_bytes() for path in sorted(folder.glob("*.py")))
    today, mark = hashlib.sha256(sources).hexdigest(), folder / "__pycache__" / "sources.sha256"
    with suppress(OSError):  # a folder that cannot be written to is not one that somebody works on
        if mark.exists() and mark.read_text() == today:
            return
        for compiled in (*mark.parent.glob("*.nbi"), *mark.parent.glob("*.nbc")):
            compiled.unlink(missing_ok=True)
        mark.parent.mkdir(exist_ok=True)
        mark.write_text(today)


class _Notice(event.Listener):
    """Says once that kernels are being compiled; loading compiled ones is no such event."""

    said = False

    def on_start(self, _: event.Event) -> None:
        if not self.said:
            self.said = True
            logging.getLogger("coterie").info("Compiling, on first use only: up to half a minute for some methods.")

    def on_end(self, _: event.Event) -> None:
        pass


_forget_stale()
event.register("numba:compile", _Notice())  # type: ignore[no-untyped-call]
