"""Parts: the rows of a release -> a folder of files of even size, one after the other.

Rows come from the engine that has them, in the order of the release. They are cut anew, so that the same rows in as
many parts are the same bytes, whoever made them, and nothing can be told by where a file ends. One part and one frame
are in memory at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl

from coterie.core.log import Release, sha256_of
from coterie.core.parts import Part, even_sizes, part_name

Sink = Callable[[pl.LazyFrame, Path, bool], object]
"""Writes rows to a file, with a header or without."""


def write_parts(release: Release, parts: int, folder: Path, ending: str, sink: Sink) -> tuple[Part, ...]:
    """Write the rows of a release to a new folder; returns what was written.

    A log of few rows has as many parts as rows, and one without rows has one part.
    """
    sizes = even_sizes(release.rows, parts)
    frames = release.log.engine.slices(release.log.frame, sizes)
    folder.mkdir()
    written = []
    for number, (rows, size) in enumerate(zip(frames, sizes, strict=True)):
        name = part_name(number, ending)
        sink(rows, folder / name, number == 0)
        (digest,) = sha256_of([folder / name])
        written.append(Part(name=name, rows=size, sha256=digest))
    return tuple(written)
