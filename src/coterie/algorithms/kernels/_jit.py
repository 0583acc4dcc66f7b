"""The decorators of all kernels, defined once: cached on disk, without the interpreter lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

from coterie.algorithms.kernels._cache import KernelCache

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
    dispatcher._cache = KernelCache(dispatcher.py_func)
    return dispatcher
