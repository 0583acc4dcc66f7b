"""The local engine: one block at full polars speed, or many blocks through parquet.

With one block, `map` is simply `work(frame)`, and polars sees the whole pipeline. With many blocks the rows
are split by a hash of their key into files, and each file is worked on alone, so that the memory needed is that of
one block. The answer is the same: blocks are an implementation detail.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from coterie.core.log import Log
from coterie.core.run import Work
from coterie.core.scratch import Scratch

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


class Local:
    """Runs work on this machine, in `blocks` blocks."""

    def __init__(self, blocks: int = 1) -> None:
        self.blocks = blocks
        self._scratch: Scratch | None = None
        self._steps = 0

    def __repr__(self) -> str:
        return f"Local(blocks={self.blocks})"

    def map(self, frame: pl.LazyFrame, work: Work, by: Sequence[str]) -> pl.LazyFrame:
        """`work` over blocks of rows; rows that are equal in `by` arrive together."""
        if self.blocks == 1:
            return work(frame)
        return self._each(self._split(frame, pl.struct(by).hash(seed=0) % self.blocks), work)

    def collect(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """The rows computed once and for all: in memory, or in a file when there are many blocks."""
        if self.blocks == 1:
            return frame.collect(engine="streaming").lazy()
        target = self._new_folder() / "rows.parquet"
        frame.sink_parquet(target, compression="lz4", engine="streaming")
        return pl.scan_parquet(target)

    def sort(self, frame: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame:
        """The rows in order (nulls first), computed once; many blocks are ranges of the first key."""
        if self.blocks == 1:
            return self.collect(frame.sort(by))
        frame = self.collect(frame)
        lead, cuts = self._cuts(frame, by)
        ranges = self._split(frame, pl.lit(cuts).search_sorted(pl.col(lead), side="right"))
        return self._each(ranges, lambda block: block.sort(by))

    def _cuts(self, frame: pl.LazyFrame, by: Sequence[str]) -> tuple[str, pl.Series]:
        """The first key that is not null everywhere, and values that cut it into equal parts."""
        counts = frame.select(pl.col(by).count()).collect(engine="streaming").row(0)
        lead = next((name for name, count in zip(by, counts, strict=True) if count), by[0])
        sizes = frame.group_by(lead).len().collect(engine="streaming").drop_nulls().sort(lead)
        part = pl.col("len").cum_sum() * self.blocks // (pl.col("len").sum() + 1)
        starts = sizes.filter(part.diff().fill_null(0) > 0)
        return lead, starts[lead]

    def _split(self, frame: pl.LazyFrame, number: pl.Expr) -> list[pl.LazyFrame]:
        """The rows in files by block number, in the order of the numbers."""
        folder = self._new_folder()
        numbered = frame.with_columns(number.cast(pl.UInt32).alias("_block"))
        key = pl.PartitionBy(folder, key="_block", include_key=False)
        numbered.sink_parquet(key, compression="lz4", engine="streaming", mkdir=True)
        folders = sorted(folder.iterdir(), key=lambda path: int(path.name.partition("=")[2]))
        blocks = [_scan(path) for path in folders]
        return blocks or [frame.clear()]

    def _each(self, blocks: list[pl.LazyFrame], work: Work) -> pl.LazyFrame:
        """The results of `work` on each block, one after the other, in files."""
        folder = self._new_folder()
        for number, block in enumerate(blocks):
            target = folder / f"{number:06}.parquet"
            work(block).sink_parquet(target, compression="lz4", engine="streaming")
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
