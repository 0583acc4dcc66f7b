"""The decorators of all kernels, defined once: cached on disk, without the interpreter lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first use and keep the result for later runs."""
    compiled: Callable[..., Any] = numba.njit(cache=True, nogil=True)(function)
    return compiled
