"""The decorators of all kernels, defined once: cached on disk, without the interpreter lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first use and keep the result for later runs."""
    compiled: Callable[..., Any] = numba.njit(cache=True, nogil=True)(function)
    return compiled


def leaf(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile into the caller, for innermost functions. They may not make arrays: reference counts are off."""
    compiled: Callable[..., Any] = numba.njit(cache=True, nogil=True, forceinline=True, _nrt=False)(function)
    return compiled


def bare(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile without reference counts, for functions that are called often and make no arrays."""
    compiled: Callable[..., Any] = numba.njit(cache=True, nogil=True, _nrt=False)(function)
    return compiled
