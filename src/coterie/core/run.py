"""Run: what a method may ask for while it works, and Engine: where rows live.

A method decides and a release applies the decision; neither opens files, measures anything or looks at the clock. All
they get besides the log is a Run.

Rows live on an engine, and work on them is a function from polars lazy frames to polars lazy frames, whatever the
engine. Four rules make engines interchangeable: work does not depend on the order of rows or on how they are cut;
sums of floats never cross blocks; a piece of work carries a seed, never a run, because it may run elsewhere; and it is
pure, because it may run twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.core import randomness
from coterie.core.shapes import Shape
from coterie.core.threads import Told

if TYPE_CHECKING:
    from coterie.core.log import Log
    from coterie.core.promise import Case, Check

Work = Callable[[pl.LazyFrame], pl.LazyFrame]
Judge: TypeAlias = "Callable[[Case], Iterable[Check]]"
How = Literal["inner", "left", "semi", "anti"]
SMALL = 20_000_000
"""Rows that a table may have which comes to one machine as a whole."""


def sums(rows: pl.LazyFrame) -> pl.LazyFrame:
    """The sum of each column."""
    return rows.select(pl.all().sum())


class Engine:
    """Where rows live and work runs: here, where work sees all rows at once. It never changes the answer.

    A table is a lazy frame. Those of an engine whose rows are elsewhere are known to it by themselves, and nothing but
    these verbs moves work to where the rows are: whatever polars makes of such a frame by itself reads its rows here.
    Such an engine has each of them in its own way (engines/remote.py).
    """

    here: ClassVar[bool] = True
    """Whether rows are on this machine. Nobody but engines asks."""
    in_lines: ClassVar[bool] = True
    """Whether the numbers of rows follow the order of lines, so that rows can be looked up by them."""

    def require_local(self, sentence: str) -> None:
        """ParameterError with this sentence where rows are on a cluster."""

    def hold(self, table: pl.LazyFrame, what: object) -> pl.LazyFrame:
        """The same rows; `what` lives as long as they, or any rows made of them."""
        # A plan of polars keeps the objects in it, and never computes a column that nobody asks for.
        held = "_held"
        return table.with_columns(pl.lit(what, dtype=pl.Object).alias(held)).select(pl.exclude(held))

    def again(self, table: pl.LazyFrame) -> pl.LazyFrame:
        """The rows, which will be asked for several times: kept, where they would have to be computed each time."""
        return table

    def each(self, table: pl.LazyFrame, work: Work) -> pl.LazyFrame:
        """`work` row by row: on any rows, whatever others arrive with them. The order of rows stays."""
        return work(table)

    def blocks(
        self, table: pl.LazyFrame, work: Callable[..., pl.LazyFrame], by: Sequence[str], *beside: pl.LazyFrame
    ) -> pl.LazyFrame:
        """`work(table, *beside)` over blocks; rows that are equal in `by` arrive together, those of all tables."""
        return work(table, *beside)

    def crowds(self, table: pl.LazyFrame, by: Sequence[str], subject: str, name: str) -> pl.LazyFrame:
        """The number of distinct subjects of each key (`by`, none of it null), as UInt32 in a column `name`."""
        pairs = table.select(*by, subject)
        return self.blocks(pairs, lambda rows: rows.drop_nulls().unique().group_by(by).len(name=name), by)

    def join(self, table: pl.LazyFrame, other: pl.LazyFrame, on: Sequence[str], how: How = "inner") -> pl.LazyFrame:
        """Rows of two tables that are equal in `on`; nulls join nothing."""
        return table.join(other, on=list(on), how=how)

    def sort(self, table: pl.LazyFrame, by: Sequence[str], done: bool = False) -> pl.LazyFrame:
        """The rows in order (nulls first), computed once and for all; `done`: they are where work sees all at once."""
        return self.keep(table if done else table.sort(by))

    def numbered(self, table: pl.LazyFrame, by: Sequence[str], name: str) -> pl.LazyFrame:
        """The rows in order, with their places from 0 (UInt32) in front; no two rows are equal in `by`."""
        return self.sort(table, by).with_row_index(name)

    def total(self, table: pl.LazyFrame, work: Work, merge: Work | None = None) -> pl.DataFrame:
        """What `merge` makes of the few rows that `work` makes of each part, in the order of parts; else their sums."""
        return (merge or sums)(work(table)).collect(engine="streaming")

    def keep(self, table: pl.LazyFrame) -> pl.LazyFrame:
        """The rows, computed once and for all."""
        return table.collect(engine="streaming").lazy()

    def small(self, table: pl.LazyFrame, limit: int = SMALL) -> pl.DataFrame:
        """A small table as a whole, here; InputError where it is larger than `limit` on an engine of many machines."""
        return table.collect(engine="streaming")

    def small_blocks(self, table: pl.LazyFrame, work: Work, by: Sequence[str]) -> pl.DataFrame:
        """What `work` makes of blocks where that is small, as a whole, here: the rows of all blocks, in no order."""
        return self.small(work(table))

    def fetch(self, table: pl.LazyFrame) -> pl.LazyFrame:
        """The rows on this machine, computed once, to be asked for several times."""
        return self.keep(table)

    def shortened(self, table: pl.LazyFrame, column: str) -> pl.LazyFrame:
        """The rows with numbers in place of the names in a column, as far as all can be held; null stays null."""
        names = table.select(column).drop_nulls().unique().collect(engine="streaming").with_row_index("_number")
        short = pl.col("_number").cast(pl.String).alias(column)
        return self.keep(table.join(names.lazy(), on=column, how="left").with_columns(short).drop("_number"))

    def parts(self, table: pl.LazyFrame) -> Iterator[pl.DataFrame]:
        """The rows here, one part after the other, in order."""
        yield table.collect(engine="streaming")

    def slices(self, table: pl.LazyFrame, sizes: Sequence[int]) -> Iterator[pl.LazyFrame]:
        """The rows here, in order, in frames of these sizes: a release that is written, for instance."""
        ends = accumulate(sizes)
        return (table.slice(end - size, size) for end, size in zip(ends, sizes, strict=True))

    def bring(self, rows: pl.LazyFrame, files: Sequence[Path], columns: Sequence[str]) -> pl.LazyFrame:
        """Rows of files, which are read here, in order, where those of logs are.

        InputError where files there have other values in `columns`.
        """
        return rows

    def stepped(self, log: Log, step: Callable[[Log], Log], by: Sequence[str]) -> Log:
        """The log after a prepare step that looks at rows that are equal in `by`; at each alone where that is empty."""
        return step(log)

    def judged(
        self, case: Case, judge: Judge, by: tuple[str, str] | None = None, apart: Judge | None = None
    ) -> Iterable[Check]:
        """The checks of a judge.

        `by` names the columns of the release and of the original whose equal values it compares; without it, it looks
        at released rows one by one, and at nothing else. Where cases are judged in parts, `apart` is asked for what no
        part can tell.
        """
        return judge(case)


HERE = Engine()
"""Where rows are unless somebody says otherwise."""


def _ignore(_: Told) -> None: ...


def _unnamed() -> str:
    return ""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run: an engine, a seed, and a listener that is told how far a step is."""

    engine: Engine
    seed: int = field(default_factory=randomness.new_seed, repr=False)
    tell: Callable[[Told], None] = field(default=_ignore, repr=False)
    """Takes how far the current step is, from any thread: a share, or what is counted."""
    naming: Callable[[], str] = field(default=_unnamed, repr=False)
    """Tells what names depend on besides the seed; asked only where names are made."""

    words: Callable[[int], randomness.Words] = field(default=randomness.words, repr=False)
    """Words for noise that carries a promise: of the operating system, never of the seed. Only tests give others."""

    def __reduce__(self) -> Any:
        raise TypeError("A run stays where it was begun: work carries what it needs of it, such as run.keys.")

    def each(self, table: pl.LazyFrame, work: Work) -> pl.LazyFrame:
        """`work` row by row."""
        return self.engine.each(table, work)

    def blocks(
        self,
        table: pl.LazyFrame,
        work: Callable[..., pl.LazyFrame],
        by: Sequence[str],
        *beside: pl.LazyFrame,
        out: Shape | None = None,
    ) -> pl.LazyFrame:
        """`work` over blocks of rows that share `by`; the result has the shape `out`, if given."""
        result = self.engine.blocks(table, work, by, *beside)
        return result if out is None else out.check(result)

    def crowds(self, table: pl.LazyFrame, by: Sequence[str], subject: str, name: str) -> pl.LazyFrame:
        """The number of distinct subjects of each key."""
        return self.engine.crowds(table, by, subject, name)

    def join(self, table: pl.LazyFrame, other: pl.LazyFrame, on: Sequence[str], how: How = "inner") -> pl.LazyFrame:
        """Rows of two tables that are equal in `on`; nulls join nothing."""
        return self.engine.join(table, other, on, how)

    def total(self, table: pl.LazyFrame, work: Work, merge: Work | None = None) -> pl.DataFrame:
        """What `merge` makes of the few rows that `work` makes of each part; else their sums."""
        return self.engine.total(table, work, merge)

    def keep(self, table: pl.LazyFrame) -> pl.LazyFrame:
        """The rows, computed once and for all."""
        return self.engine.keep(table)

    def small(self, table: pl.LazyFrame) -> pl.DataFrame:
        """A small table as a whole, here."""
        return self.engine.small(table)

    def small_blocks(self, table: pl.LazyFrame, work: Work, by: Sequence[str]) -> pl.DataFrame:
        """What `work` makes of blocks where that is small, as a whole, here."""
        return self.engine.small_blocks(table, work, by)

    def stream(self, purpose: str, subject: str = "") -> np.random.Generator:
        """Random numbers that belong to a subject, not to a worker."""
        return randomness.stream(self.seed, purpose, subject)

    @property
    def keys(self) -> Callable[[str, pl.Series], NDArray[np.uint64]]:
        """From a purpose and subjects to a random number of 64 bits that belongs to each, to break ties with."""
        return partial(randomness.keys, self.seed)

    def pseudonyms(self, subjects: pl.Series, taken: pl.Series) -> pl.Series:
        """Fresh names for subjects, none of them in `taken`."""
        return randomness.pseudonyms(self.seed, subjects, taken, self.naming())
