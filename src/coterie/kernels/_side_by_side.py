"""How kernels that can work in parts are given threads: they know none themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

SideBySide = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]
"""Runs work on each of some parts, in their order or in threads; the results are in the order of the parts."""


def one_after_the_other(work: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
    """Without threads."""
    return [work(part) for part in parts]
