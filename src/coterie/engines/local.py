"""The local engine: one block at full polars speed, or many blocks through parquet.

With one block all is as with `Engine` itself (core/run.py), and polars sees the whole pipeline. With many blocks the
rows are split by a hash of their key into files, and each file is worked on alone, so that the memory needed is that of
one block. The answer is the same: blocks are an implementation detail.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

from coterie.core.files import Scratch
from coterie.core.log import Log
from coterie.core.plan import Method, refuse_engine
from coterie.core.run import Engine
from coterie.errors import ParameterError

_HELD_BYTES = 128 << 20  # text of the rows that a method holds in memory at once
_PACKED = 6  # how much smaller compressed text is


def blocks_for(log: Log, holds_rows: bool) -> int:
    """One block if the log fits into memory comfortably, else as many as make a block fit."""
    size = sum(path.stat().st_size * (_PACKED if path.suffix in (".gz", ".zst") else 1) for path in log.sources)
    if holds_rows:
        return max(1, -(-size // _HELD_BYTES))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 8 << 30
    # Distinct (user, query) pairs take up to three times the size of the text.
    return max(1, -(-3 * size // (memory // 2)))


def engine_for(log: Log, method: Method, blocks: int | None) -> Engine:
    """The engine of a log, or this machine; ParameterError where a method cannot run on the engine."""
    if blocks is not None and blocks < 1:
        raise ParameterError(f"--blocks must be a whole number of at least 1. Got {blocks} instead.")
    if log.engine.here:
        return Local(blocks_for(log, method.holds_rows) if blocks is None else blocks)
    refuse_engine(method)
    if blocks is not None:
        raise ParameterError("--blocks cuts the rows of one machine into blocks: leave it out with --engine.")
    return log.engine


class Local(Engine):
    """Runs work on this machine, in `blocks` blocks."""

    def __init__(self, blocks: int = 1) -> None:
        self.number = blocks
        self._scratch: Scratch | None = None
        self._steps = 0

    def __repr__(self) -> str:
        return f"Local(blocks={self.number})"

    def blocks(
        self, table: pl.LazyFrame, work: Callable[..., pl.LazyFrame], by: Sequence[str], *beside: pl.LazyFrame
    ) -> pl.LazyFrame:
        """`work(table, *beside)` over blocks; rows that are equal in `by` arrive together, those of all tables."""
        if self.number == 1:
            return super().blocks(table, work, by, *beside)
        number = pl.struct(by).hash(seed=0) % self.number
        tables = [self._split(each, number) for each in (table, *beside)]
        empty = [each.clear() for each in (table, *beside)]
        at = sorted(set().union(*tables)) or [0]
        cut = [[blocks.get(n, none) for blocks, none in zip(tables, empty, strict=True)] for n in at]
        return self._one_by_one(cut, work)

    def sort(self, table: pl.LazyFrame, by: Sequence[str], done: bool = False) -> pl.LazyFrame:
        """The rows in order (nulls first), computed once; many blocks are ranges of the first key."""
        if self.number == 1:
            return super().sort(table, by, done)
        table = self.keep(table)
        lead, cuts = self._cuts(table, by)
        ranges = self._split(table, pl.lit(cuts).search_sorted(pl.col(lead), side="right"))
        return self._one_by_one([[ranges[n]] for n in sorted(ranges)] or [[table.clear()]], lambda rows: rows.sort(by))

    def keep(self, table: pl.LazyFrame) -> pl.LazyFrame:
        """The rows computed once and for all: in memory, or in a file when there are many blocks."""
        if self.number == 1:
            return super().keep(table)
        target = self._new_folder() / "rows.parquet"
        table.sink_parquet(target, compression="lz4", engine="streaming")
        return pl.scan_parquet(target)

    def _cuts(self, frame: pl.LazyFrame, by: Sequence[str]) -> tuple[str, pl.Series]:
        """The first key that is not null everywhere, and values that cut it into equal parts."""
        counts = frame.select(pl.col(by).count()).collect(engine="streaming").row(0)
        lead = next((name for name, count in zip(by, counts, strict=True) if count), by[0])
        sizes = frame.group_by(lead).len().collect(engine="streaming").drop_nulls().sort(lead)
        part = pl.col("len").cum_sum() * self.number // (pl.col("len").sum() + 1)
        starts = sizes.filter(part.diff().fill_null(0) > 0)
        return lead, starts[lead]

    def _split(self, table: pl.LazyFrame, number: pl.Expr) -> dict[int, pl.LazyFrame]:
        """The rows in files by block number."""
        folder = self._new_folder()
        numbered = table.with_columns(number.cast(pl.UInt32).alias("_block"))
        key = pl.PartitionBy(folder, key="_block", include_key=False)
        numbered.sink_parquet(key, compression="lz4", engine="streaming", mkdir=True)
        return {int(path.name.partition("=")[2]): _scan(path) for path in folder.iterdir()}

    def _one_by_one(self, blocks: list[list[pl.LazyFrame]], work: Callable[..., pl.LazyFrame]) -> pl.LazyFrame:
        """The results of `work` on each block, one after the other, in files."""
        folder = self._new_folder()
        for number, block in enumerate(blocks):
            target = folder / f"{number:06}.parquet"
            work(*block).sink_parquet(target, compression="lz4", engine="streaming")
        return _scan(folder)

    def _new_folder(self) -> Path:
        self._scratch = self._scratch or Scratch()
        path = self._scratch.path / f"{self._steps:06}"
        self._steps += 1
        path.mkdir()
        return path


def _scan(folder: Path) -> pl.LazyFrame:
    """All files of a folder in the order of their names, whatever characters its path has."""
    files = [str(path) for path in sorted(folder.glob("*.parquet"))]
    return pl.scan_parquet(files, glob=False, hive_partitioning=False)
