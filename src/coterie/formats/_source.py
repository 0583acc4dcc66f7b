"""Where lines come from: files, compressed files, several files, standard input, encodings."""

from __future__ import annotations

import codecs
import glob
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias

import polars as pl

from coterie.core.scratch import Scratch
from coterie.core.shapes import Shape
from coterie.errors import InputError, MissingError, ParameterError

STDIN = "-"
HISTORY_ENDING = ".history.json"
"""The end of the name of the list of a log's releases, which lies beside the log and is no part of it."""
DAMAGE = "\U0010ffff"  # stands for bytes that are not text: a code point that no text holds
_BOM = "\ufeff"
_HEAD_BYTES = 1 << 16
_HEAD_LIMIT = 1 << 24  # how far to look for the end of the first line
_CHUNK = 1 << 22
_SMALL = 1 << 23  # bytes of plain files whose rows are kept in memory
_LOOKED_AT = 20  # lines that tell how sure a format is
_COMPRESSIONS = {b"\x1f\x8b": "gz", b"\x28\xb5\x2f\xfd": "zst"}

codecs.register_error("coterie-damage", lambda error: (DAMAGE, error.end))  # type: ignore[attr-defined]

Section: TypeAlias = tuple[str, str, int, int]
"""File, unit (line, row, item), number of the first, and how many rows it stands for."""


class Source:
    """The input files as one run of numbered lines, and a private folder for spooled rows."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.folder = Scratch()
        self._damaged = False
        self.names: dict[Path, str] = {}
        for path in paths:
            with _openable(path):
                self.names |= self._settled(path)
        self.paths = [path for path in self.names if _starts(path) != b""] or list(self.names)

    @property
    def label(self) -> str:
        """What messages call the input."""
        return next(iter(self.names.values())) if len(self.names) == 1 else f"{len(self.names)} files"

    @property
    def damaged(self) -> bool:
        """Whether the bytes are not what the fast way needs, such as valid text: bad lines are then marked."""
        return self._damaged

    def expect_damage(self) -> None:
        """From now on read lines in the slower way, which marks the bad ones."""
        self._damaged = True

    @property
    def is_small(self) -> bool:
        """Whether all rows fit into little memory; for compressed files nobody knows before they are read."""
        plain = all(compression(path) is None for path in self.paths)
        return plain and sum(path.stat().st_size for path in self.paths) <= _SMALL

    def spool(self, name: str) -> Path:
        """A path for rows that are kept beside the log while it lives."""
        return self.folder.path / name

    def head(self) -> list[str]:
        """The first lines of the first file that has any, for sniffing."""
        return next(filter(None, map(head, self.paths)), [])

    def lines(self, encoding: str = "utf-8") -> pl.LazyFrame:
        """All lines with their running number: `row`, `line`; blank lines left out."""
        paths = self.paths
        if encoding != "utf-8" or self.damaged:
            paths = [self._recode(i, path, encoding) for i, path in enumerate(self.paths)]
        line = pl.col("line")
        frame = pl.scan_lines(list(map(str, paths)), name="line", row_index_name="row", glob=False)
        frame = frame.with_columns(pl.col("row").cast(pl.UInt64), breaks_to_spaces(line, r"[\r]"))
        if any(starts_with_bom(path) for path in paths):
            frame = frame.with_columns(line.str.strip_prefix(_BOM))
        return frame.filter(line.str.strip_chars(" ") != "")

    def starts(self) -> Iterator[tuple[Path, int]]:
        """Each file with the running number of its first line."""
        start = 0
        for path in self.paths:
            yield path, start
            start += count_lines(path) if len(self.paths) > 1 else 0

    def damage(self, line: pl.Expr) -> pl.Expr:
        """Whether a line holds bytes that are not valid text."""
        return line.str.contains(DAMAGE, literal=True) if self.damaged else pl.lit(False)

    def locate(self, rows: Iterable[int], sections: Sections) -> list[str]:
        """File and line number (from 1) of running row numbers, which must ascend."""
        wanted = list(rows)
        places: list[str] = []
        start = 0
        for name, unit, first, count in sections(self):
            while len(places) < len(wanted) and wanted[len(places)] < start + count:
                places.append(f"{name} {unit} {first + wanted[len(places)] - start}")
            start += count
            if len(places) == len(wanted):
                break
        return places

    def _recode(self, index: int, path: Path, encoding: str) -> Path:
        """A copy of `path` in UTF-8, with damage replaced."""
        self.expect_damage()
        target = self.spool(f"recoded-{index}.txt")
        if not target.exists():
            part = target.with_suffix(".part")
            with open_bytes(path) as stream, part.open("w", encoding="utf-8", newline="") as out:
                for text in decode(stream, encoding):
                    out.write(text)
            part.replace(target)
        return target

    def _settled(self, path: Path) -> dict[Path, str]:
        """A file that can be read again, and its name: input that flows is spooled."""
        if str(path) == STDIN:
            return {self._pour(sys.stdin.buffer): "standard input"}
        if path.is_file():
            return {path: path.name}
        with path.open("rb") as stream:
            return {self._pour(stream): path.name}

    def _pour(self, stream: IO[bytes]) -> Path:
        target = self.spool(f"input-{len(self.names)}")
        with target.open("wb") as out:
            shutil.copyfileobj(stream, out, _CHUNK)
        return target


Sections: TypeAlias = Callable[[Source], Iterable[Section]]
"""Where the rows of a source come from, in order."""


def line_sections(source: Source) -> Iterator[Section]:
    """Rows that are numbered by the lines of the files."""
    for path in source.paths:
        yield source.names[path], "line", 1, count_lines(path)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Loaded:
    """What a format makes of a source."""

    frame: pl.LazyFrame
    """The columns of the shape that the format has, `row`, and `bad`."""
    shape: Shape
    sections: Sections = line_sections
    """Where the rows come from; formats that do not number lines have their own."""
    columnar: bool = False
    """Whether polars reads the files again at no cost, so that their rows need no copy."""


def expand(patterns: Sequence[str | Path]) -> list[Path]:
    """Files for the given paths and globs, in byte order within each glob."""
    if not patterns:
        raise ParameterError("No file was given. Name files, globs or - for standard input.")
    paths: list[Path] = []
    for pattern in map(str, patterns):
        if pattern == STDIN or os.path.exists(pattern):  # noqa: PTH110 (never raises)
            paths.append(Path(pattern))
            continue
        matching = sorted(map(Path, glob.glob(pattern, recursive=True)))  # noqa: PTH207 (may be absolute)
        files = [path for path in matching if not path.is_dir()]
        if not files:
            raise MissingError(f"{pattern}: no such file. Give an existing file or a glob.")
        paths.extend(files)
    paths = list(dict.fromkeys(paths))
    if len(paths) > 1:  # `logs/*` means the logs
        paths = [path for path in paths if not path.name.endswith(HISTORY_ENDING)] or paths
    for path in paths:
        if path.is_dir():
            raise InputError(f"{path} is a folder. Give its files, for example '{path}/*'.")
    return paths


def compression(path: Path) -> str | None:
    """`gz` or `zst` by the first bytes, or None."""
    start = _starts(path)
    return _COMPRESSIONS.get(start[:2]) or _COMPRESSIONS.get(start)


def _starts(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(4)


@contextmanager
def _openable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be opened: {error.strerror or 'no reason given'}.") from None


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """The uncompressed bytes of a file."""
    import pyarrow as pa

    kind = compression(path)
    codec = {None: None, "gz": "gzip", "zst": "zstd"}[kind]
    try:
        with pa.input_stream(str(path), compression=codec) as stream:
            yield stream
    except OSError as error:
        if kind is None or error.errno is not None:
            raise
        raise InputError(f"{path.name}: the {kind} compression is damaged or cut off.") from None


def head(path: Path) -> list[str]:
    """The first lines of a file that are not blank; at least one whole line if there is one."""
    with open_bytes(path) as stream:
        data = more = stream.read(_HEAD_BYTES)
        while more and b"\n" not in data and len(data) < _HEAD_LIMIT:
            data += (more := stream.read(_CHUNK))
    lines = data.decode(errors="replace").removeprefix(_BOM).split("\n")
    # The last piece may be cut in the middle of a line.
    whole = lines[:-1] if len(data) >= _HEAD_BYTES and len(lines) > 1 else lines
    return [line.rstrip("\r") for line in whole if line.strip(" \r")]


def starts_with_bom(path: Path) -> bool:
    """Whether a file says that it is UTF-8 by a byte order mark."""
    with open_bytes(path) as stream:
        return stream.read(len(_BOM.encode())) == _BOM.encode()


def byte_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Number (from 1) and bytes of each line."""
    with open_bytes(path) as stream:
        reader = io.BufferedReader(stream, _CHUNK)  # type: ignore[type-var]
        for number, line in enumerate(reader, start=1):
            yield number, line.removeprefix(_BOM.encode()) if number == 1 else line


def decode(stream: IO[bytes], encoding: str) -> Iterator[str]:
    """The text of a stream, piece by piece, damage replaced."""
    decoder = codecs.getincrementaldecoder(encoding)(errors="coterie-damage")
    while chunk := stream.read(_CHUNK):
        yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)


def count_lines(path: Path) -> int:
    """Number of lines of a text file."""
    lines = 0
    last = b"\n"
    with open_bytes(path) as stream:
        while chunk := stream.read(_CHUNK):
            lines += chunk.count(b"\n")
            last = chunk[-1:]
    return lines + (last != b"\n")


class Spool:
    """Rows made in Python, written to parquet in batches so that memory stays bounded."""

    batch = 100_000

    def __init__(self, source: Source, schema: dict[str, Any]) -> None:
        self._folder = Path(tempfile.mkdtemp(dir=source.folder.path))
        self._schema = schema
        self._rows: list[tuple[Any, ...]] = []
        self._parts = 0

    def add(self, row: tuple[Any, ...]) -> None:
        """Add one row."""
        self._rows.append(row)
        if len(self._rows) == self.batch:
            self._flush()

    def scan(self) -> pl.LazyFrame:
        """All rows."""
        self._flush()
        files = [str(path) for path in sorted(self._folder.glob("*.parquet"))]
        return pl.scan_parquet(files, glob=False)

    def _flush(self) -> None:
        columns = zip(*self._rows, strict=True) if self._rows else ([] for _ in self._schema)
        frame = pl.DataFrame(dict(zip(self._schema, columns, strict=True)), schema=self._schema)
        frame.write_parquet(self._folder / f"{self._parts:06}.parquet")
        self._parts += 1
        self._rows.clear()


def sureness(pattern: str, head: Sequence[str]) -> float:
    """How sure a format can be whose lines fit a pattern: 0 unless the first line does, then 0.6 to 0.9.

    It is 0.9 if all lines that are looked at fit. Patterns are matched in linear time, which `re` does not promise.
    """
    fitting = pl.Series(head[:_LOOKED_AT], dtype=pl.String).str.contains(pattern)
    if not len(fitting) or not fitting[0]:
        return 0.0
    return round(0.6 + 0.3 * int(fitting.sum()) / len(fitting), 6)


def fields(frame: pl.LazyFrame, names: Sequence[str], pattern: str) -> pl.LazyFrame:
    """Columns from the groups of a regular expression over `line`; all null where it fails."""
    groups = pl.col("line").str.extract_groups(pattern).struct.rename_fields(list(names))
    return frame.with_columns(groups.alias("_groups")).unnest("_groups")


def split_tabs(frame: pl.LazyFrame, names: Sequence[str]) -> pl.LazyFrame:
    """Columns from tab-separated fields, and `_extra`, which is not null where there were more."""
    parts = pl.col("line").str.split_exact("\t", len(names))
    return frame.with_columns(parts.struct.rename_fields([*names, "_extra"]).alias("_parts")).unnest("_parts")


def reason(**failures: pl.Expr) -> pl.Expr:
    """`bad`: the name of the first failure that is true, or null."""
    chain: Any = pl
    for name, failed in failures.items():
        chain = chain.when(failed).then(pl.lit(name))
    result: pl.Expr = chain.otherwise(pl.lit(None, dtype=pl.String))
    return result.alias("bad")


def breaks_to_spaces(value: pl.Expr, breaks: str = r"[\t\r\n]") -> pl.Expr:
    """Text in which each run of breaks is a space; values without any are only looked at."""
    rare = pl.when(value.str.contains(breaks)).then(value)
    return pl.coalesce(rare.str.replace_all(breaks + "+", " "), value)


def blank_to_null(column: str) -> pl.Expr:
    """A text column in which an empty value is a missing one."""
    return pl.when(pl.col(column) != "").then(pl.col(column)).alias(column)
