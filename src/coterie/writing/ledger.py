"""Ledger: what has been spent of the people in a log, in releases with differential privacy.

Entries stand in the private history file of the log, and are there before any noise is drawn: a run that fails, is
killed or is repeated has spent all the same. One run at a time adds to the file, so that two cannot spend the last of a
budget.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import fsum
from pathlib import Path

from coterie.core.declared import Declared
from coterie.errors import ParameterError

try:
    import fcntl
except ImportError:  # a system without these locks
    fcntl = None  # type: ignore[assignment]

_NEARLY = 1 + 1e-9  # budgets are written as decimal numbers


class Spent(Declared, frozen=True, kw_only=True):
    """What one run has spent."""

    log: str
    """The name that its owner gave the log."""
    input_digest: str
    date: str
    method: str
    what: str
    """What was published: queries, words, ..."""
    epsilon: float
    delta: float
    orders: tuple[float, ...]
    """The orders of the Rényi divergences that it was accounted in, one for each part of `what`."""


class Allowance(Declared, frozen=True, kw_only=True):
    """How much may be spent of the people in a log, over all releases."""

    epsilon: float
    delta: float
    log: str = ""
    """The name of the log, where the file keeps it."""
    files: str = ""
    """The digest of its files, so that another name is no other log."""

    @classmethod
    def read(cls, text: str) -> Allowance:
        """Of two numbers with a comma between them."""
        try:
            epsilon, delta = (float(part) for part in text.split(","))
        except ValueError:
            raise ParameterError(f"A budget must be EPSILON,DELTA such as 4,1e-6. Got {text!r} instead.") from None
        if not (0 < epsilon < float("inf") and 0 < delta < 1):
            raise ParameterError("A budget must be a finite epsilon above 0, and a delta above 0 and below 1.")
        return cls(epsilon=epsilon, delta=delta)

    def refuse(self, before: Sequence[Spent], new: Sequence[Spent]) -> None:
        """ParameterError where new entries would cost more than is left."""
        numbers = zip(("epsilon", "delta"), (self.epsilon, self.delta), total(before), total(new), strict=True)
        for (name, allowed, spent, asked), left in zip(numbers, self.left(before), strict=True):
            if spent + asked > allowed * _NEARLY:
                raise ParameterError(
                    f"The budget of this log does not allow it: {name} of {allowed:.4g} in all, {spent:.4g} spent in "
                    f"{len(before)} runs, {left:.4g} left, {asked:.4g} asked for. Nothing was spent. Ask for less."
                )

    def left(self, before: Sequence[Spent]) -> tuple[float, float]:
        """The epsilon and delta that may still be spent."""
        epsilon, delta = total(before)
        return max(0.0, self.epsilon - epsilon), max(0.0, self.delta - delta)


def total(entries: Iterable[Spent]) -> tuple[float, float]:
    """The epsilon and delta of several runs together: they add up."""
    listed = list(entries)
    return fsum(entry.epsilon for entry in listed), fsum(entry.delta for entry in listed)


def cost_of_all(methods: Iterable[str], spent: Sequence[Spent]) -> str:
    """What several releases of one log cost where some of them have differential privacy; empty where none has."""
    private = [method in {entry.method for entry in spent} for method in methods]
    if not any(private):
        return ""
    epsilon, delta = total(spent)
    adds_up = (
        f"Differential privacy adds up: all runs on this log together have epsilon = {epsilon:.4g} and delta = "
        f"{delta:.3g}, as the ledger lists, runs that failed among them."
    )
    if all(private):
        return f"{adds_up} Publish as few as you can."
    return (
        f"{adds_up} The releases by other methods have no epsilon and are not in this sum: whoever has them too is "
        "not bound by it, and can lay them side by side with this one. Publish one of them only."
    )


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Wait until no other run writes to files of this folder; the lock ends with the process, however it ends."""
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def onto_the_disk(path: Path) -> None:
    """Return when the bytes of a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
