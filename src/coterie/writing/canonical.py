"""Canonical bytes: one spelling for each released row, so that nothing can hide in how a file is written.

Two readers may disagree about a file: about a key that stands twice in a JSON object, about `07` and `7`, about notes
in a Parquet file. What one of them overlooks can name people. So the rows that were read are written again, by the same
writer, and the bytes compared: whatever the writer would not have written is a difference.

Text must be the same to the byte, whatever version wrote it. Where compressed bytes or a Parquet file are not the same,
another version of a library may have made them; then the file is read once more by a strict reader, which refuses all
that no version of our writer writes.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import polars as pl

from coterie.core.files import compression, open_bytes
from coterie.core.parts import Part, even_sizes, part_name
from coterie.core.promise import Check
from coterie.core.scratch import Scratch
from coterie.core.shapes import Shape
from coterie.reading.logs import released_kind
from coterie.writing.rows import _CHUNK, _compress, _sink

_DETAIL = "the file is, byte for byte, what Coterie writes for its rows"
_DETAIL_OF_PARTS = "the parts are, byte for byte, what Coterie writes for their rows"
_GZIP_START = b"\x1f\x8b\x08\x00\x00\x00\x00\x00"  # deflate, no flags (no name, no comment), no time
_GZIP_SYSTEMS = (0, 3, 7, 10, 11, 19, 255)  # what zlib writes on systems that Python runs on
_GZIP_EFFORTS = (0, 2, 4)
_GZIP_HEADER = 10
_ZSTD_START = b"\x28\xb5\x2f\xfd"
_ZSTD_SIZES = (0, 2, 4, 8)  # bytes that tell the size of what was compressed
_EMPTY, _REPEATED, _RESERVED = 0, 1, 3  # sizes and kinds of its blocks
_WRITER = re.compile(r"Polars(?: \(python\))?(?: version)? \d{1,3}(?:\.\d{1,3}){1,2}(?: \(build [0-9a-f]{7,40}\))?")
_ROOM = 16  # bytes by which descriptions in a Parquet file may differ between versions


def canonical(
    path: Path,
    rows: pl.LazyFrame,
    shape: Shape,
    csv_safe: bool = False,
    parts: Sequence[Part] = (),
    left_out: Sequence[str] = (),
) -> Check:
    """Whether a released file, or each of its parts, is what our writer makes of its rows, without some columns."""
    released = rows.select(name for name in shape.released if name not in left_out)
    files = [path / part.name for part in parts] or [path]
    if not parts:
        fault = _difference(path, released, csv_safe, released_kind(path))
    else:
        fault = _difference_of_parts(path, released, csv_safe, parts)
    return Check(
        name="canonical",
        status="failed" if fault else "passed",
        detail=_DETAIL_OF_PARTS if parts else _DETAIL,
        how=f"{sum(file.stat().st_size for file in files):,} bytes",
        broken=1 if fault else 0,
        fault=fault,
    )


def _difference_of_parts(folder: Path, rows: pl.LazyFrame, csv_safe: bool, parts: Sequence[Part]) -> str:
    """The same for a release of parts, which also must be cut evenly: where files end could tell something, too."""
    given = [part.rows for part in parts]
    kind = released_kind(folder / parts[0].name)
    if given != even_sizes(rows.select(pl.len()).collect(engine="streaming").item(), len(parts)):
        return "difference in how many rows each part has"
    if parts[0].name != part_name(0, ".".join(filter(None, kind))):
        return "kind of file that is not what the names of the parts say"
    start = 0
    for part in parts:
        path = folder / part.name
        if compression(path) != kind[1]:
            return f"difference in the compression of {part.name}"
        if fault := _difference(path, rows.slice(start, part.rows), csv_safe, kind, header=start == 0):
            return f"{fault} ({part.name})"
        start += part.rows
    return ""


def _difference(
    path: Path, rows: pl.LazyFrame, csv_safe: bool, what: tuple[str, str | None], header: bool = True
) -> str:
    """What is not as our writer writes it, as the end of a sentence that begins with "1"; empty where nothing is."""
    kind, packing = what
    scratch = Scratch()
    again = scratch.path / f"again.{kind}"
    _sink(rows, again, kind, None, csv_safe, header)
    if kind == "parquet":
        with path.open("rb") as given, again.open("rb") as ours:
            return _parquet_difference(path, again) if _first_difference(given, ours) >= 0 else ""
    with open_bytes(path) as given, again.open("rb") as ours:
        at = _first_difference(given, ours)
    if at >= 0:
        return f"difference in the text, from byte {at + 1:,} on"
    if packing is None:
        return ""
    packed = scratch.path / f"again.{kind}.{packing}"
    _compress(again, packed, packing)
    with path.open("rb") as given, packed.open("rb") as ours:
        if _first_difference(given, ours) < 0:
            return ""
    return _gzip_difference(path) if packing == "gz" else _zstd_difference(path)


def _first_difference(given: IO[bytes], ours: IO[bytes]) -> int:
    """The first byte that is not the same in two streams; -1 where they are equal."""
    at = 0
    while True:
        one, other = _filled(given), _filled(ours)
        if one != other:
            same = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
            return at + (min(len(one), len(other)) if same is None else same)
        if not one:
            return -1
        at += len(one)


def _filled(stream: IO[bytes]) -> bytes:
    """The next chunk, which is short at the end of the stream alone."""
    data = b""
    while len(data) < _CHUNK and (more := stream.read(_CHUNK - len(data))):
        data += more
    return data


def _gzip_difference(path: Path) -> str:
    """A stream of gzip may be packed otherwise; it is one, with nothing in its header and nothing behind it."""
    with path.open("rb") as stream:
        header = stream.read(_GZIP_HEADER)
        effort, system = header[-2:]
        if not header.startswith(_GZIP_START) or effort not in _GZIP_EFFORTS or system not in _GZIP_SYSTEMS:
            return "header of gzip that holds more than it must, such as a name, a time or a comment"
        stream.seek(0)
        unpacking = zlib.decompressobj(wbits=31)
        while not unpacking.eof and (chunk := stream.read(_CHUNK)):
            while chunk and not unpacking.eof:
                unpacking.decompress(chunk, _CHUNK)  # what was unpacked has been compared
                chunk = unpacking.unconsumed_tail
        return "thing behind the compressed rows" if unpacking.unused_data or stream.read(1) else ""


def _zstd_difference(path: Path) -> str:
    """A frame of zstd may be packed otherwise; it is one, without a dictionary, and nothing is behind it."""
    strange = "thing beside the compressed rows, which our writer never writes"
    with path.open("rb") as stream:
        start = stream.read(5)
        if not start.startswith(_ZSTD_START):
            return strange
        descriptor = start[4]
        single, checksum = descriptor >> 5 & 1, descriptor >> 2 & 1
        if descriptor & 0b0001_1011:  # unused and reserved bits, a dictionary
            return strange
        size = _ZSTD_SIZES[descriptor >> 6] or single
        stream.seek(size + (1 - single), 1)
        last = False
        while not last:
            head = int.from_bytes(stream.read(3), "little")
            last, kind, length = bool(head & 1), head >> 1 & 3, head >> 3
            if kind == _RESERVED or (length == _EMPTY and not last):
                return strange
            stream.seek(1 if kind == _REPEATED else length, 1)
        stream.seek(4 * checksum, 1)
        return strange if stream.read(1) else ""


def _parquet_difference(path: Path, again: Path) -> str:
    """Another version of polars may pack a Parquet file otherwise; all that it says about itself must be the same."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return "difference in a Parquet file; whether another version of polars made it can be told with coterie[arrow]"
    try:
        file, copy = pq.ParquetFile(path), pq.ParquetFile(again)
    except (pa.ArrowException, OSError):
        return "Parquet file that cannot be read"
    given, ours = file.metadata, copy.metadata
    if given.created_by == ours.created_by or not _WRITER.fullmatch(given.created_by or ""):
        return "difference in a Parquet file that this version of polars would have written otherwise"
    if not file.schema_arrow.equals(copy.schema_arrow, check_metadata=True):
        return "difference in what a Parquet file has: columns, types or notes"
    for (what, mine), (_, theirs) in zip(_described(ours), _described(given), strict=False):
        if mine != theirs:
            return f"difference in what a Parquet file has: {what}"
    columns = ours.num_columns * ours.num_row_groups
    if given.serialized_size > ours.serialized_size + _ROOM * (columns + 1):
        return "description of a Parquet file that is longer than it must be"
    gaps = zip(_gaps(given, path.stat().st_size), _gaps(ours, again.stat().st_size), strict=True)
    wide = any(theirs > mine + _ROOM for theirs, mine in gaps)
    return "gap in a Parquet file, where something could stand" if wide else ""


def _described(metadata: Any) -> Iterator[tuple[str, object]]:
    """What a Parquet file says about itself, but for how its pages are packed."""
    yield (
        "columns and types",
        [
            (column.name, column.physical_type, str(column.logical_type), column.max_definition_level)
            for column in (metadata.schema.column(at) for at in range(metadata.num_columns))
        ],
    )
    yield "notes", set(metadata.metadata or ())
    yield "row groups", [metadata.row_group(at).num_rows for at in range(metadata.num_row_groups)]
    for group in range(metadata.num_row_groups):
        for at in range(metadata.num_columns):
            column = metadata.row_group(group).column(at)
            indexes = column.has_offset_index, column.has_column_index, getattr(column, "bloom_filter_offset", None)
            yield "compression and indexes", (column.path_in_schema, column.compression, *indexes)
            yield "statistics", _statistics(column)


def _statistics(column: Any) -> object:
    stats = column.statistics
    if stats is None:
        return None
    return stats.null_count, stats.distinct_count, *((stats.min, stats.max) if stats.has_min_max else ())


def _gaps(metadata: Any, size: int) -> list[int]:
    """The bytes before, between and behind the columns of a Parquet file, where polars describes columns once more."""
    gaps, at = [], 0
    for group in range(metadata.num_row_groups):
        for place in range(metadata.num_columns):
            column = metadata.row_group(group).column(place)
            start = column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset
            gaps.append(abs(start - at))
            at = start + column.total_compressed_size
    return [*gaps, abs(size - metadata.serialized_size - at)]
