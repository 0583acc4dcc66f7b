"""Work in threads, and how much of it is done. Kernels run without the interpreter lock.

Progress: what a task tells while it works, and what can be known about how long it still takes.

A task tells the name of each stage and, while it lasts, how far it is: a share of its work, from which the remaining
time follows, or `Counted` things, of which nobody knows how long the next one takes. What is after a colon is a part
of a stage: `read: unpack`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import NamedTuple, TypeVar

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


class Counted(NamedTuple):
    """So many things are done, of how many where that is known. No time follows from it: they are not equally long."""

    done: int
    of: int | None = None
    what: str = "steps"

    def __str__(self) -> str:
        known = self.of is not None and self.done <= self.of
        return f"{self.done:,}/{self.of:,} {self.what}" if known else f"{self.done:,} {self.what}"


Told = float | Counted
"""How far a stage is."""
Progress = Callable[..., None]
"""Called with the name of a stage and, while it lasts, with how far it is (`Told`)."""


def share_of(told: Told | None) -> float | None:
    """The share of a stage that is done; None where nobody knows it."""
    return None if isinstance(told, Counted) else told


def stage_of(name: str) -> str:
    """The stage that something is a part of."""
    return name.partition(":")[0]


class Stages:
    """Numbers the stages of a task of which it is known how many there will be: `3/6 plan`."""

    def __init__(self, of: int, progress: Progress) -> None:
        self._of, self._progress = of, progress
        self._number, self._stage = 0, ""

    def __call__(self, name: str, told: Told | None = None) -> None:
        """Hand on what is told; another stage has the next number."""
        stage = stage_of(name)
        if stage != self._stage:
            self._number, self._stage = self._number + 1, stage
        self._progress(f"{self._number}/{self._of} {name}", told)
