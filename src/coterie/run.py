"""Run: what a method may ask for while it works, and what a method is.

A method decides (`plan`) and a release applies the decision (`release`); neither opens files, measures
anything or looks at the clock. All they get beside the log is a Run.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie import randomness
from coterie.engines.local import Local
from coterie.errors import InputError
from coterie.log import Log
from coterie.promises import Promise
from coterie.shapes import Shape

Work = Callable[[pl.LazyFrame], pl.LazyFrame]
T = TypeVar("T")


class Engine(Protocol):
    """Where blocks of rows run. Engine blocks never change the answer."""

    def map(self, frame: pl.LazyFrame, work: Work, by: Sequence[str]) -> pl.LazyFrame:
        """`work` over blocks of rows; rows that are equal in `by` arrive together."""

    def collect(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """The rows, computed once and for all."""

    def sort(self, frame: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame:
        """The rows in order, computed once and for all."""


def _nobody_listens(_: float) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run: an engine, a seed, and somebody who may be told how far a step is."""

    seed: int = field(default_factory=randomness.new_seed, repr=False)
    engine: Engine = field(default_factory=Local)
    known: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)
    """What `once` keeps."""
    tell: Callable[[float], None] = field(default=_nobody_listens, repr=False)
    """Takes the share of the current step that is done, from any thread."""

    def map(self, frame: pl.LazyFrame, work: Work, by: Sequence[str], out: Shape | None = None) -> pl.LazyFrame:
        """`work` over blocks of rows that share `by`; the result has the shape `out`, if given."""
        result = self.engine.map(frame, work, by)
        return result if out is None else out.check(result)

    def collect(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """The rows, computed once and for all."""
        return self.engine.collect(frame)

    def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What `compute` gives, kept under a key that says all it depends on: `plan` and `release` may share it."""
        if key not in self.known:
            self.known[key] = compute()
        found: T = self.known[key]
        return found

    def stream(self, purpose: str, subject: str = "") -> np.random.Generator:
        """Random numbers that belong to a subject, not to a worker."""
        return randomness.stream(self.seed, purpose, subject)

    def keys(self, purpose: str, subjects: pl.Series) -> NDArray[np.uint64]:
        """A random number of 64 bits that belongs to each subject, to break ties with."""
        return randomness.keys(self.seed, purpose, subjects)

    def pseudonyms(self, subjects: pl.Series, taken: pl.Series) -> pl.Series:
        """Fresh names for subjects, none of them in `taken`."""
        return randomness.pseudonyms(self.seed, subjects, taken)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Draft:
    """What a method hands over: rows that nobody has checked yet, and who became whom.

    `frame` has the released columns and, for methods that keep rows, `row`, the original row each one came
    from; it moves into the private record. `subjects` has original, released and group. `tables` are further tables for
    the private record, by the names that `log.Record` knows.
    """

    frame: pl.LazyFrame
    subjects: pl.LazyFrame
    warnings: tuple[str, ...] = ()
    tables: Mapping[str, pl.LazyFrame] = field(default_factory=dict)


class Method(Protocol):
    """An anonymizer: a frozen dataclass whose fields are the parameters of its paper.

    With `holds_rows = True` it says that it works on rows in memory rather than through polars: a large log is then
    read once and cut into engine blocks.

    A method that groups users also has `baseline(self) -> Method | None`: the same method with random groups of the
    same size, or None where its groups are random already. Reports and studies show it beside the method.
    """

    accepts: ClassVar[tuple[Shape, ...]]
    status: ClassVar[str]

    def promise(self, n_subjects: int) -> Promise:
        """What a release for so many subjects promises; an error where it cannot."""

    def plan(self, log: Log, run: Run) -> pl.LazyFrame:
        """Decide: a small table of the shape GROUPS, KEEP, REPLACE or COUNTS."""

    def release(self, log: Log, plan: pl.LazyFrame, run: Run) -> Draft:
        """Apply the decision to all rows."""


def baseline_of(method: Method) -> Method | None:
    """The same method with random groups; None for a method that groups nobody, or at random."""
    make = getattr(method, "baseline", None)
    return None if make is None else make()


def enough_subjects(owner: str, k: int, n_subjects: int) -> None:
    """Raise InputError where there are fewer users than k: nobody can be hidden among too few."""
    if n_subjects < k:
        raise InputError(
            f"{owner} with k = {k} needs at least {k} users, and the log has {n_subjects}. "
            f"Use a smaller k (at least 2) or a larger log."
        )
