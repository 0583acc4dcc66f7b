"""Work in threads, and how much of it is done. Kernels run without the interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


def in_threads(work: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """`work` on each part, in the order of the parts."""
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        return list(pool.map(work, parts))


class DoneSoFar:
    """Adds up rows from several threads and tells what share of all rows is done."""

    def __init__(self, total: int, tell: Callable[[float], None]) -> None:
        self._total, self._done, self._tell, self._lock = total, 0, tell, Lock()

    def add(self, rows: int) -> None:
        """Count more rows as done."""
        with self._lock:
            self._done += rows
            self._tell(self._done / self._total)
