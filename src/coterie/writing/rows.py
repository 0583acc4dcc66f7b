"""Rows -> bytes, in one way only, and back: files of a kind, parts of even size, UBI, and text read back in pieces.

The same rows give the same bytes, whoever wrote them.

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

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

import polars as pl

from coterie.core.files import CHUNK, compressed, compression, open_bytes
from coterie.core.log import Release, sha256_of
from coterie.core.parts import Part, even_sizes, part_name
from coterie.core.row_digest import RowDigest, digest_of_rows
from coterie.core.scratch import Scratch
from coterie.core.shapes import LEVEL, QUERIES
from coterie.core.threads import Progress
from coterie.errors import BrokenPromiseError
from coterie.reading.logs import read_release
from coterie.reading.values import with_apostrophe
from coterie.writing.target import Target
from coterie.writing.targets import (
    temporary,
)

_ROW_GROUP = 250_000  # fixed, so that the same rows give the same bytes
_CHUNK = 1 << 22
_SECONDS = "%Y-%m-%d %H:%M:%S"


def _sink(
    frame: pl.LazyFrame,
    path: Path,
    kind: str,
    compression: str | None,
    csv_safe: bool = False,
    header: bool = True,
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
