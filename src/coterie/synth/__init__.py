"""Synthetic search logs with the statistics of a real one, and no real person in them.

Why: the AOL log may not be passed on, and its lines are personal data. Demos, tests and benchmarks use these logs
instead. No row, word list or user of a real log went into them. There are two kinds:

    topics    clear-cut interests; lengths, repeats and clicks of the AOL log as a whole (`synth/topics.py`)
    people    interests that overlap and change: grouping users is about as hard as with people (`synth/people.py`)

The bytes depend on kind, users, seed and NumPy's random streams; never on batches or threads.
"""

import gzip
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, cast

import polars as pl

from coterie.synth import people, topics
from coterie.synth._events import BLOCK_USERS, DAYS, LINES_MEAN, RANK_MAX

__all__ = ["DAYS", "KINDS", "LINES_MEAN", "RANK_MAX", "batches", "synthesize", "write_aol"]

_BLOCKS = {"topics": topics.blocks, "people": people.blocks}
KINDS = tuple(_BLOCKS)


def batches(users: int, seed: int, kind: str = "topics", *, users_per_batch: int = 20_000) -> Iterator[pl.DataFrame]:
    """Rows of a synthetic log, batch by batch, sorted by user (as a number), then time.

    Columns: user str, time datetime[us], query str, rank i32 or null, url str or null. A batch
    holds whole blocks: `users_per_batch` is rounded up to a multiple of BLOCK_USERS. It has no
    influence on the rows.
    """
    if users < 1:
        raise ValueError(f"users must be at least 1. Got {users!r} instead.")
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}. Got {kind!r} instead.")
    rows = _BLOCKS[kind](users, seed)
    blocks = range(-(-users // BLOCK_USERS))
    step = max(1, -(-users_per_batch // BLOCK_USERS))
    return (pl.concat([rows(block) for block in blocks[start : start + step]]) for start in blocks[::step])


def synthesize(users: int, seed: int = 7, kind: str = "topics") -> pl.DataFrame:
    """A synthetic log in memory; for small logs and tests."""
    return pl.concat(batches(users, seed, kind), rechunk=True)


def write_aol(
    path: Path, users: int, seed: int, progress: Callable[[int], None] | None = None, *, kind: str = "topics"
) -> int:
    """Write a synthetic log in the layout of AOL and return its number of rows.

    A path that ends in .gz or .zst is compressed. `progress` is called with the rows written so far.
    """
    rows = 0
    parts = batches(users, seed, kind)  # before the file is opened: it refuses wrong arguments
    with ExitStack() as stack:
        file = _open(path, stack)
        file.write(b"AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n")
        for batch in parts:
            batch.select("user", "query", "time", "rank", "url").write_csv(
                file,
                include_header=False,
                separator="\t",
                quote_style="never",
                datetime_format="%Y-%m-%d %H:%M:%S",
            )
            rows += batch.height
            if progress is not None:
                progress(rows)
    return rows


def _open(path: Path, stack: ExitStack) -> IO[bytes]:
    if path.suffix == ".zst":
        import pyarrow as pa  # slow to load, and only needed here

        return cast(IO[bytes], stack.enter_context(pa.output_stream(path, compression="zstd")))
    file = stack.enter_context(path.open("wb"))
    if path.suffix != ".gz":
        return file
    # No name and no date inside: equal logs are equal bytes.
    packed = gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0)
    return cast(IO[bytes], stack.enter_context(packed))
