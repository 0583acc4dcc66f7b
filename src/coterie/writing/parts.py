"""Parts: the rows of a release -> a folder of files of even size, one after the other.

Rows come as a lazy frame, or piece by piece from an engine that has them elsewhere: frames of any size, in the order of
the release. They are cut anew, so that the same rows in as many parts are the same bytes, whoever made them, and
nothing can be told by where a file ends. One part and one frame are in memory at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from coterie.core.log import Release, sha256_of
from coterie.core.parts import MOST_PARTS, Part, even_sizes, part_name
from coterie.errors import BrokenPromiseError, ParameterError

Sink = Callable[[pl.LazyFrame, Path, bool], object]
"""Writes rows to a file, with a header or without."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Pieces:
    """The rows of a release that live elsewhere, as they arrive."""

    frames: Iterable[pl.DataFrame]
    """In the order of the release; each has the released columns."""
    rows: int
    """How many there are in all."""


def refuse_number_of_parts(parts: int) -> None:
    """Raise ParameterError where a release cannot have so many parts."""
    if isinstance(parts, bool) or not isinstance(parts, int) or not 1 <= parts <= MOST_PARTS:
        raise ParameterError(f"--parts must be a whole number from 1 to {MOST_PARTS:,}.")


def write_parts(
    release: Release, pieces: Pieces | None, parts: int, folder: Path, ending: str, sink: Sink
) -> tuple[Part, ...]:
    """Write the rows of a release, which may come in pieces, to a new folder; returns what was written.

    A log of few rows has as many parts as rows, and one without rows has one part.
    """
    sizes = even_sizes(release.rows if pieces is None else pieces.rows, parts)
    frames = _slices(release.log.frame, sizes) if pieces is None else recut(pieces.frames, sizes)
    folder.mkdir()
    written = []
    for number, (rows, size) in enumerate(zip(frames, sizes, strict=True)):
        name = part_name(number, ending)
        sink(rows, folder / name, number == 0)
        (digest,) = sha256_of([folder / name])
        written.append(Part(name=name, rows=size, sha256=digest))
    return tuple(written)


def _slices(frame: pl.LazyFrame, sizes: Iterable[int]) -> Iterator[pl.LazyFrame]:
    start = 0
    for size in sizes:
        yield frame.slice(start, size)
        start += size


def recut(frames: Iterable[pl.DataFrame], sizes: Iterable[int]) -> Iterator[pl.LazyFrame]:
    """The same rows in frames of the given sizes; BrokenPromiseError where there are fewer rows, or more."""
    coming = iter(frames)
    have = next(coming, None)
    if have is None:
        raise BrokenPromiseError("There are no rows to write, not even without any row, so nothing was written.")
    waiting, count = [have], have.height
    for size in sizes:
        while count < size and (more := next(coming, None)) is not None:
            waiting.append(more)
            count += more.height
        if count < size:
            break
        have = pl.concat(waiting, rechunk=True)
        yield have.head(size).rechunk().lazy()
        waiting, count = [have.slice(size)], count - size
    else:
        if not count and not any(more.height for more in coming):
            return
    raise BrokenPromiseError("There are not as many rows to write as were verified, so nothing was written.")
