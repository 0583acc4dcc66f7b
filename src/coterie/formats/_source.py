"""Where lines come from: files, compressed files, several files, standard input, other encodings."""

from __future__ import annotations

import glob
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import polars as pl

from coterie.errors import InputError, MissingError

STDIN = "-"
_HEAD_BYTES = 1 << 16
_CHUNK = 1 << 22
_REPLACEMENT = "\ufffd"


class Source:
    """The input files as one run of numbered lines, and a private folder for spooled rows."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = list(paths)
        self.folder = tempfile.TemporaryDirectory(prefix="coterie-")  # mode 0700
        self.damaged = False
        """Set when the bytes are not valid text; lines that hold damage are then marked bad."""
        self.rereadable = True
        """Cleared by formats whose parsing is too dear to repeat for each pass over the rows."""
        if any(str(path) == STDIN for path in self.paths):
            self.paths = [self._spool_stdin() if str(p) == STDIN else p for p in self.paths]

    @property
    def streams_well(self) -> bool:
        """Whether reading the lines several times is cheap: plain files in their own encoding."""
        plain = all(compression(path) is None for path in self.paths)
        return self.rereadable and not self.damaged and plain

    def spool(self, name: str) -> Path:
        """A path for rows that are kept beside the log while it lives."""
        return Path(self.folder.name) / name

    def head(self, encoding: str = "utf-8") -> list[str]:
        """The first lines of the first file that has any, for sniffing."""
        for path in self.paths:
            with open_bytes(path) as stream:
                data = stream.read(_HEAD_BYTES)
            if data:
                lines = data.decode(encoding, errors="replace").removeprefix("\ufeff").split("\n")
                # The last piece may be cut in the middle of a line.
                whole = lines[:-1] if len(data) == _HEAD_BYTES and len(lines) > 1 else lines
                return [line.rstrip("\r") for line in whole if line.strip()]
        return []

    def lines(self, encoding: str = "utf-8") -> pl.LazyFrame:
        """All lines with their running number: `row`, `line`; blank lines left out."""
        paths = self.paths
        if encoding != "utf-8" or self.damaged:
            paths = [self._recode(i, path, encoding) for i, path in enumerate(self.paths)]
        frame = pl.scan_lines([str(p) for p in paths], name="line", row_index_name="row", glob=False)
        return frame.with_columns(
            pl.col("row").cast(pl.UInt64), pl.col("line").str.strip_prefix("\ufeff")
        ).filter(pl.col("line").str.strip_chars() != "")

    def damage(self, line: pl.Expr) -> pl.Expr:
        """Whether a line holds bytes that are not valid text."""
        return line.str.contains(_REPLACEMENT, literal=True) if self.damaged else pl.lit(False)

    def locate(self, rows: Iterable[int]) -> list[tuple[str, int]]:
        """File name and line number (from 1) of running line numbers."""
        starts: list[int] = []
        total = 0
        for path in self.paths:
            starts.append(total)
            total += count_lines(path) if len(self.paths) > 1 else 0
        found = []
        for row in rows:
            index = max(i for i, start in enumerate(starts) if start <= row)
            found.append((self.paths[index].name, row - starts[index] + 1))
        return found

    def _recode(self, index: int, path: Path, encoding: str) -> Path:
        """A copy of `path` in UTF-8, with damage replaced."""
        self.damaged = True  # from here on U+FFFD stands for damage
        target = self.spool(f"recoded-{index}.txt")
        if not target.exists():
            with open_bytes(path) as stream, target.open("w", encoding="utf-8", newline="") as out:
                for text in decode(stream, encoding):
                    out.write(text)
        return target

    def _spool_stdin(self) -> Path:
        data = sys.stdin.buffer
        first = data.read(4)
        kind = {b"\x1f\x8b": ".gz", b"\x28\xb5": ".zst", b"PA": ".parquet"}.get(first[:2], "")
        target = self.spool("stdin" + kind)
        with target.open("wb") as out:
            out.write(first)
            while chunk := data.read(_CHUNK):
                out.write(chunk)
        return target


def expand(patterns: Sequence[str | Path]) -> list[Path]:
    """Files for the given paths and globs, in byte order within each glob."""
    paths: list[Path] = []
    for pattern in map(str, patterns):
        if pattern == STDIN:
            paths.append(Path(STDIN))
            continue
        found = [pattern] if Path(pattern).exists() else sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 (patterns may be absolute)
        if not found:
            raise MissingError(f"{pattern}: no such file. Give an existing file or a glob.")
        paths.extend(map(Path, found))
    for path in paths:
        if path.is_dir():
            raise InputError(f"{path} is a folder. Give its files, for example '{path}/*'.")
    return paths


def compression(path: Path) -> str | None:
    """`gz` or `zst` by the first bytes, or None."""
    with path.open("rb") as stream:
        magic = stream.read(4)
    if magic[:2] == b"\x1f\x8b":
        return "gz"
    return "zst" if magic == b"\x28\xb5\x2f\xfd" else None


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


def decode(stream: IO[bytes], encoding: str) -> Iterator[str]:
    """The text of a stream, piece by piece, damage replaced."""
    import codecs

    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
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

    def __init__(self, source: Source, name: str, schema: dict[str, Any]) -> None:
        self._folder = source.spool(name)
        self._folder.mkdir(exist_ok=True)
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
        return pl.scan_parquet(str(self._folder / "*.parquet"))

    def _flush(self) -> None:
        frame = pl.DataFrame(self._rows, schema=self._schema, orient="row")
        frame.write_parquet(self._folder / f"{self._parts:06}.parquet")
        self._parts += 1
        self._rows.clear()


def fields(frame: pl.LazyFrame, names: Sequence[str], pattern: str) -> pl.LazyFrame:
    """Columns from the groups of a regular expression over `line`; all null where it fails."""
    groups = pl.col("line").str.extract_groups(pattern).struct.rename_fields(list(names))
    return frame.with_columns(groups.alias("_groups")).unnest("_groups")


def split_tabs(frame: pl.LazyFrame, names: Sequence[str]) -> pl.LazyFrame:
    """Columns from tab-separated fields, and `_extra`, which is not null where there were more."""
    parts = pl.col("line").str.split_exact("\t", len(names))
    return frame.with_columns(
        parts.struct.rename_fields([*names, "_extra"]).alias("_parts")
    ).unnest("_parts")


def reason(**failures: pl.Expr) -> pl.Expr:
    """`bad`: the name of the first failure that is true, or null."""
    chain: Any = pl
    for name, failed in failures.items():
        chain = chain.when(failed).then(pl.lit(name))
    result: pl.Expr = chain.otherwise(pl.lit(None, dtype=pl.String))
    return result.alias("bad")


def blank_to_null(column: str) -> pl.Expr:
    """A text column in which an empty value is a missing one."""
    return pl.when(pl.col(column) != "").then(pl.col(column)).alias(column)
