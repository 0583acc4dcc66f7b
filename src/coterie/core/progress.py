"""Progress: what a task tells while it works, and what can be known about how long it still takes.

A task tells the name of each stage and, while it lasts, how far it is: a share of its work, from which the remaining
time follows, or `Counted` things, of which nobody knows how long the next one takes. What is after a colon is a part
of a stage: `read: unpack`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


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
