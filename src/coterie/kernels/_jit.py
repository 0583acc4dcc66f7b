"""The decorators of all kernels, defined once: cached on disk, without the interpreter lock."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import FunctionCache

F = TypeVar("F", bound=Callable[..., Any])
_ALWAYS: dict[str, Any] = {"nogil": True}
_UNCOUNTED: dict[str, Any] = {**_ALWAYS, "_nrt": False}


def jit(function: F) -> F:
    """Compile on first use and keep the result for later runs."""
    return cast(F, _kept(numba.njit(**_ALWAYS)(function)))


def uncounted(function: F) -> F:
    """Compile without reference counts, which cost more than the work of small functions; they make no arrays."""
    return cast(F, _kept(numba.njit(**_UNCOUNTED)(function)))


def inlined(function: F) -> F:
    """The same, compiled into the caller: for innermost functions."""
    return cast(F, _kept(numba.njit(forceinline=True, **_UNCOUNTED)(function)))


def _kept(dispatcher: Any) -> Any:
    dispatcher._cache = _KernelCache(dispatcher.py_func)
    return dispatcher


class _KernelCache(FunctionCache):
    """Numba's cache on disk, for functions that have others compiled into them.

    Numba looks only at the file of a function to see whether what it kept is stale. Here any change of any kernel makes
    it stale. It is also the place that knows when something is compiled rather than loaded, and says so once.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._cache_file._source_stamp = (self._cache_file._source_stamp, _digest_of_kernels())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled earlier, or None."""
        try:
            loaded = super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception:  # an earlier version kept types under names that are gone
            self.flush()  # type: ignore[no-untyped-call]
            loaded = None
        if loaded is None:
            _say_that_it_takes_time()
        return loaded


@cache
def _digest_of_kernels() -> str:
    sources = (path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    return hashlib.sha256(b"".join(sources)).hexdigest()


@cache  # once is enough
def _say_that_it_takes_time() -> None:
    logging.getLogger("coterie").info("Compiling, on first use only: up to half a minute for some methods.")
