"""Run: what a method may ask for while it works.

A method decides and a release applies the decision; neither opens files, measures anything or looks at the clock. All
they get besides the log is a Run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.core import noise, randomness
from coterie.core.shapes import Shape

Work = Callable[[pl.LazyFrame], pl.LazyFrame]


class Engine(Protocol):
    """Where blocks of rows run. Engine blocks never change the answer."""

    def map(self, frame: pl.LazyFrame, work: Work, by: Sequence[str]) -> pl.LazyFrame:
        """`work` over blocks of rows; rows that are equal in `by` arrive together."""

    def collect(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """The rows, computed once and for all."""

    def sort(self, frame: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame:
        """The rows in order, computed once and for all."""


def _ignore(_: float) -> None: ...


def _unnamed() -> str:
    return ""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run: an engine, a seed, and a listener that is told how far a step is."""

    engine: Engine
    seed: int = field(default_factory=randomness.new_seed, repr=False)
    tell: Callable[[float], None] = field(default=_ignore, repr=False)
    """Takes the share of the current step that is done, from any thread."""
    naming: Callable[[], str] = field(default=_unnamed, repr=False)
    """Tells what names depend on besides the seed; asked only where names are made."""

    words: Callable[[int], noise.Words] = field(default=noise.words, repr=False)
    """Words for noise that carries a promise: of the operating system, never of the seed. Only tests give others."""

    def map(self, frame: pl.LazyFrame, work: Work, by: Sequence[str], out: Shape | None = None) -> pl.LazyFrame:
        """`work` over blocks of rows that share `by`; the result has the shape `out`, if given."""
        result = self.engine.map(frame, work, by)
        return result if out is None else out.check(result)

    def collect(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """The rows, computed once and for all."""
        return self.engine.collect(frame)

    def stream(self, purpose: str, subject: str = "") -> np.random.Generator:
        """Random numbers that belong to a subject, not to a worker."""
        return randomness.stream(self.seed, purpose, subject)

    def keys(self, purpose: str, subjects: pl.Series) -> NDArray[np.uint64]:
        """A random number of 64 bits that belongs to each subject, to break ties with."""
        return randomness.keys(self.seed, purpose, subjects)

    def pseudonyms(self, subjects: pl.Series, taken: pl.Series) -> pl.Series:
        """Fresh names for subjects, none of them in `taken`."""
        return randomness.pseudonyms(self.seed, subjects, taken, self.naming())
