"""Canonical bytes: rows -> bytes, in one way only, and back; nothing can hide in how a file is written.

Two readers may disagree about a file: about a key that stands twice in a JSON object, about `07` and `7`, about notes
in a Parquet file. What one of them overlooks can name people. So the rows that were read are written again, by the same
writer, and the bytes compared: whatever the writer would not have written is a difference.

Text must be the same to the byte, whatever version wrote it. Where compressed bytes or a Parquet file are not the same,
another version of a library may have made them; then the file is read once more by a strict reader, which refuses all
that no version of our writer writes.

Parts: rows come from the engine that has them, in the order of the release. They are cut anew, so that the same rows in
as many parts are the same bytes, and nothing can be told by where a file ends. One part and one frame are in memory.

Reading back: whoever parses a text file as a whole holds a few times its size. A file of lines can be cut behind any
line, and one of csv behind a line with whose end all quotes are closed.

User Behavior Insights: a row is a query, followed by its click where it has one. `query_id` is the number of the row in
the release, and `client_id` the released name, where there is one: no id of the log is left. Fields that hold free text
beside the query (`message`, names of objects) are not written, because no row of a release has them. Times are written
as UTC, since readers of UBI need a zone; how exact a time is stands in `query_attributes` and `event_attributes`.
"""

from __future__ import annotations

import re
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

import polars as pl

from coterie.core.digests import Part, RowDigest, digest_of_rows, even_sizes, part_name, sha256_of
from coterie.core.files import CHUNK, Scratch, compressed, compression, open_bytes
from coterie.core.log import Release
from coterie.core.promise import Check
from coterie.core.shapes import LEVEL, QUERIES, Shape
from coterie.core.threads import Progress
from coterie.errors import BrokenPromiseError
from coterie.reading.logs import read_release, released_kind
from coterie.reading.values import with_apostrophe
from coterie.writing.target import Target
from coterie.writing.targets import temporary

_ROW_GROUP = 250_000  # fixed, so that the same rows give the same bytes
_CHUNK = 1 << 22
_SECONDS = "%Y-%m-%d %H:%M:%S"


def _sink(
    frame: pl.LazyFrame, path: Path, kind: str, compression: str | None, csv_safe: bool = False, header: bool = True
) -> None:
    """Write rows: the only way that rows are written, so that the same rows give the same bytes."""
    if kind == "parquet":
        frame.sink_parquet(path, engine="streaming", row_group_size=_ROW_GROUP, maintain_order=True)
        return
    if kind == "ubi":
        frame = ubi_lines(frame)
    safe = [with_apostrophe(pl.col(pl.String))] if csv_safe else []
    text = frame.with_columns(pl.col(pl.Datetime).dt.strftime(_SECONDS), *safe)
    with temporary(path.parent, "plain") if compression else nullcontext(path) as plain:
        if kind == "jsonl":
            text.sink_ndjson(plain, engine="streaming")
        elif kind == "ubi":
            text.sink_csv(plain, engine="streaming", include_header=False, separator="\x1f", quote_style="never")
        elif kind == "tsv":
            text.sink_csv(plain, engine="streaming", separator="\t", quote_style="never", include_header=header)
        else:
            text.sink_csv(plain, engine="streaming", quote_style="necessary", include_header=header)
        if compression:
            _compress(plain, path, compression)


def _compress(plain: Path, path: Path, compression: str) -> None:
    """One stream in one thread, without a name or a date: the same rows give the same bytes."""
    with plain.open("rb") as source, path.open("wb") as file, compressed(file, compression) as target:
        shutil.copyfileobj(source, target, _CHUNK)


def _compare(
    path: Path,
    release: Release,
    target: Target,
    left_out: Sequence[str] = (),
    parts: Sequence[Part] = (),
    progress: Progress | None = None,
) -> None:
    """Read the file, or the files of a folder, back: their rows must be those that were verified, in the same order."""
    shape, (kind, _) = release.log.shape, target.file_kind
    columns = list(shape.released)
    written = [name for name in columns if name not in left_out]
    files = [path / part.name for part in parts] or [path]
    if kind == "parquet":  # which says itself what its columns are
        frame = pl.scan_parquet(files, glob=False)
        same = dict(frame.collect_schema()) == {name: shape.schema[name] for name in columns}
        found = digest_of_rows(frame.select(columns))
    elif is_large(files, kind):
        digest, same, folder = RowDigest({name: shape.schema[name] for name in columns}), True, Scratch()
        for piece in in_pieces(files, kind, folder.path):
            frame, _, names, _resources = read_release(piece, shape, thorough=False, csv_safe=target.csv_safe)
            same = same and names == written
            digest.add_all(frame.select(columns))
        found = digest.hexdigest()
    else:
        frame, _, names, _resources = read_release(
            path, shape, thorough=False, csv_safe=target.csv_safe, parts=parts, progress=progress
        )
        same = not names or names == written  # jsonl may have no line
        found = digest_of_rows(frame.select(columns))
    if not same or found != release.verified:
        raise BrokenPromiseError("The rows to write are not the rows that were verified, so nothing was written.")


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


BYTES_AT_ONCE = 1 << 22
_PACKED = 8  # bytes of text that one of a compressed file stands for, about
_WITH_HEADER, _QUOTED = ("tsv", "csv"), "csv"
_KINDS = (*_WITH_HEADER, "jsonl")


def is_large(paths: Sequence[Path], kind: str) -> bool:
    """Whether files, one after the other, should be read back piece by piece; and can be."""
    sizes = (path.stat().st_size * (_PACKED if compression(path) else 1) for path in paths)
    return kind in _KINDS and sum(sizes) > BYTES_AT_ONCE


def in_pieces(paths: Sequence[Path], kind: str, folder: Path) -> Iterator[Path]:
    """Text files that are one, as several: each with the header, in a folder, and there until the next comes."""
    header, piece = b"", folder / f"piece.{kind}"
    for block in _blocks(_chunks(paths), quoted=kind == _QUOTED):
        piece.write_bytes(header + block)
        yield piece
        if kind in _WITH_HEADER and not header:
            header = block[: block.index(b"\n") + 1]
    piece.unlink(missing_ok=True)


def _chunks(paths: Iterable[Path]) -> Iterator[bytes]:
    for path in paths:
        with open_bytes(path) as stream:
            while chunk := stream.read(CHUNK):
                yield chunk


def _blocks(chunks: Iterable[bytes], *, quoted: bool) -> Iterator[bytes]:
    """The same bytes in blocks of whole lines; `quoted`: no line ends within quotes."""
    waiting = bytearray()
    for chunk in chunks:
        waiting += chunk
        if len(waiting) < BYTES_AT_ONCE:
            continue
        end = waiting.rfind(b"\n") + 1
        while quoted and end and waiting.count(b'"', 0, end) % 2:
            end = waiting.rfind(b"\n", 0, end - 1) + 1
        if end:
            yield bytes(waiting[:end])
            del waiting[:end]
    if waiting:
        yield bytes(waiting)


_ISO = "%Y-%m-%dT%H:%M:%SZ"


def ubi_lines(rows: pl.LazyFrame) -> pl.LazyFrame:
    """The lines of released rows of a search log."""
    given = rows.with_row_index("_number", 1).with_columns(pl.col(QUERIES.time).dt.strftime(_ISO))
    number = pl.format('"query_id":"{}"', "_number")
    who, when = _field("client_id", QUERIES.subject), _field("timestamp", QUERIES.time)
    exact = pl.format('"{}":"{}"', pl.lit(LEVEL), LEVEL) if LEVEL in rows.collect_schema() else pl.lit(None, pl.String)
    about = pl.concat_str(pl.lit(',"query_attributes":{'), exact, pl.lit("}")).fill_null("")
    query = pl.concat_str(pl.lit("{"), number, who, _field("user_query", QUERIES.item), when, about, pl.lit("}"))
    place = pl.format('"ordinal":{}', QUERIES.rank).fill_null("")
    named = pl.concat_str(pl.lit(',"object":{"object_id":'), _text(QUERIES.page), pl.lit("}"))
    thing = pl.when(pl.col(QUERIES.page).is_not_null()).then(named).otherwise(pl.lit(""))
    click = pl.concat_str(
        pl.lit('{"action_name":"click",'), number, who, when, pl.lit(',"event_attributes":{"position":{'), place,
        pl.lit("}"), thing, pl.concat_str(pl.lit(","), exact).fill_null(""), pl.lit("}}"),
    )  # fmt: skip
    clicked = pl.col(QUERIES.page).is_not_null() | pl.col(QUERIES.rank).is_not_null()
    lines = pl.concat_list(query, pl.when(clicked).then(click)).alias("line")
    return given.select(lines).explode("line").drop_nulls()


def _field(name: str, column: str) -> pl.Expr:
    """`,"name":"value"`, or nothing where there is no value."""
    written = pl.concat_str(pl.lit(f',"{name}":'), _text(column))
    return pl.when(pl.col(column).is_not_null()).then(written).otherwise(pl.lit(""))


def _text(column: str) -> pl.Expr:
    """A text as JSON."""
    inside = pl.struct(pl.col(column).alias("_")).struct.json_encode()  # {"_":"text"}
    return inside.str.strip_prefix('{"_":').str.strip_suffix("}")


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
