"""Work in threads, and how much of it is done. Kernels run without the interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


_granted: int | None = None  # threads that a worker of a cluster may use; None: as many as there are processors


def use_threads(number: int) -> None:
    """Use so many threads from now on: a task of a cluster has its share of a machine, not all of it."""
    global _granted
    _granted = number


def thread_count() -> int:
    """How many threads work may use."""
    return _granted or os.cpu_count() or 1


def in_threads(work: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """`work` on each part, in the order of the parts."""
    with ThreadPoolExecutor(max_workers=thread_count()) as pool:
        return list(pool.map(work, parts))


class DoneSoFar:
    """Adds up rows from several threads and tells what share of all rows is done."""

    def __init__(self, total: int, tell: Callable[[float], None]) -> None:
        self._total, self._done, self._tell, self._lock = total, 0, tell, Lock()

    def __reduce__(self) -> tuple[type[DoneSoFar], tuple[int, Callable[[float], None]]]:
        """Elsewhere nobody listens: progress is told where a run was begun."""
        return DoneSoFar, (self._total, _unheard)

    def add(self, rows: int) -> None:
        """Count more rows as done."""
        with self._lock:
            self._done += rows
            self._tell(self._done / self._total)


def _unheard(_: float) -> None: ...
