"""Where lines come from: files, compressed files, several files, standard input, encodings."""

from __future__ import annotations

import codecs
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import IO, Any, NamedTuple, TypeAlias

import polars as pl

from coterie.core import files
from coterie.core.files import (
    HEAD_BYTES,
    STDIN,
    Opening,
    Scratch,
    count_lines,
    disk_is_full,
    files_in,
    head,
    open_bytes,
)
from coterie.core.shapes import Shape
from coterie.core.threads import Counted, Progress
from coterie.errors import InputError
from coterie.reading.reading import Reading

DAMAGE = "\U0010ffff"  # stands for bytes that are not text: a code point that no text holds
_SMALL = 1 << 23  # bytes of plain files whose rows are kept in memory
_PARQUET = b"PAR1"
_BLOCK = 512  # bytes that tell what kind of file those after the first are
_TOLD_LINES = 1 << 14  # lines between two words about progress

codecs.register_error("coterie-damage", lambda error: (DAMAGE, error.end))  # type: ignore[attr-defined]

Section: TypeAlias = tuple[str, str, int, int]
"""File, unit (line, row, item), number of the first, and how many rows it stands for."""


class Source:
    """The input files as one run of numbered lines, and a private folder for spooled rows.

    `whole`: as they are, with folders and archives, for formats that do not read lines, or until `unpack`.
    """

    _SAMPLES = 64  # places of a file at which lines are measured

    def __init__(self, paths: Sequence[Path], whole: bool = False, progress: Progress | None = None) -> None:
        self.folder = Scratch()
        self.progress = progress
        """Hears how far reading is; None: nobody listens, and nothing is counted."""
        self._told, self._telling = 0.0, Lock()
        self._damaged = False
        self.names: dict[Path, str] = {}
        self._given: dict[Path, Path] = {}
        self.openings: dict[Path, Opening] = {}
        """The first bytes of what was opened; more than a few of the first file only."""
        for path in paths:
            with _openable(path, self.folder.path):
                settled, name = self._settled(path)
                self.names[settled], self._given[settled] = name, settled
                self._opening(settled)
        self.paths = self._filled()
        if not whole:
            self.unpack()

    def unpack(self) -> None:
        """Plain text in place of compressed files, and InputError for files whose lines are too long to bear."""
        names, self.names, self._given = self.names, {}, {}
        for settled, name in names.items():
            with _openable(settled, self.folder.path):
                plain = self._unpacked(settled, name)
                self.names[plain], self._given[plain] = name, settled
        self.paths = self._filled()

    def _filled(self) -> list[Path]:
        """The paths of files that are not empty, or all."""
        return [path for path in self.names if path.is_dir() or self._opening(path).packed] or list(self.names)

    def _opening(self, path: Path) -> Opening:
        if path not in self.openings:
            self.openings[path] = Opening(path, HEAD_BYTES if path == next(iter(self.names), path) else _BLOCK)
        return self.openings[path]

    @classmethod
    def of_parts(cls, folder: Path, names: Sequence[str]) -> Source:
        """The files of a release of parts as one input: text is put together, for only the first part has a header."""
        paths = [folder / name for name in names]
        with _openable(folder, folder):
            if Opening(paths[0]).packed.startswith(_PARQUET):
                return cls(paths)
        source = cls([])
        joined = source.spool("joined")
        with _openable(folder, source.folder.path), joined.open("wb") as out:
            for path in paths:
                for chunk in source._plain(path, path.name):
                    out.write(chunk)
        _refuse_long_lines(Opening(joined), folder.name)
        source.names[joined], source._given[joined] = folder.name, folder
        source.paths = [joined]
        return source

    @property
    def given(self) -> tuple[Path, ...]:
        """The files as they were given, those that are compressed as well; of a folder the files in it."""
        return tuple(
            file.absolute()
            for path in map(self._given.__getitem__, self.paths)
            for file in (files_in(path) if path.is_dir() else (path,))
        )

    def given_as(self, path: Path) -> str:
        """What the user called one of the paths."""
        return self._given[path].as_posix()

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
        """Whether all rows fit into little memory."""
        return sum(path.stat().st_size for path in self.paths) <= _SMALL

    def spool(self, name: str) -> Path:
        """A path for rows that are kept beside the log while it lives."""
        return self.folder.path / name

    def head(self) -> list[str]:
        """The first lines of the first file that has any, for sniffing."""
        first = next(iter(self.names), None)
        lines = (self._opening(path).lines if path == first else head(path) for path in self.paths)
        return next(filter(None, lines), [])

    def lines(self, encoding: str = "utf-8") -> pl.LazyFrame:
        """All lines with their running number: `row`, `line`; blank lines left out."""
        paths = self.paths
        if encoding != "utf-8" or self.damaged:
            paths = [self._recode(i, path, encoding) for i, path in enumerate(self.paths)]
        line = pl.col("line")
        frame = pl.scan_lines(list(map(str, paths)), name="line", row_index_name="row", glob=False)
        frame = frame.with_columns(pl.col("row").cast(pl.UInt64), breaks_to_spaces(line, r"[\r]"))
        if any(self._opening(path).has_bom for path in paths):
            frame = frame.with_columns(line.str.strip_prefix(files.BOM))
        return frame.filter(line.str.strip_chars(" ") != "")

    def byte_lines(self, path: Path) -> Iterator[tuple[int, bytes]]:
        """Number (from 1) and bytes of each line of one of the paths, for formats that read them in Python."""
        lines = files.byte_lines(path)
        return lines if self.progress is None else self._overheard(path, lines)

    def counting_lines(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Rows that tell, while they pass, which share of the lines they are, by their numbers in `row`.

        Lines are counted at some places of the files; to count them all would read everything once more.
        """
        if self.progress is None:
            return frame
        lines = max(1.0, sum(map(self._lines_about, self.paths)))

        def pass_by(rows: pl.Series) -> pl.Series:
            self._tell((int(rows.max() or 0) + 1) / lines)  # type: ignore[arg-type]
            return rows

        return frame.with_columns(
            pl.col("row").map_batches(pass_by, return_dtype=frame.collect_schema()["row"], is_elementwise=True)
        )

    def _overheard(self, path: Path, lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        sizes = [each.stat().st_size for each in self.paths]
        size, read = max(1, sum(sizes)), sum(sizes[: self.paths.index(path)])
        for number, line in lines:
            read += len(line)
            if number % _TOLD_LINES == 0:
                self._tell(read / size)
            yield number, line

    def _lines_about(self, path: Path) -> float:
        size, piece = path.stat().st_size, files.HEAD_BYTES
        if size <= piece * self._SAMPLES:
            return count_lines(path)
        with path.open("rb") as stream:
            breaks = 0
            for place in range(self._SAMPLES):
                stream.seek(place * (size - piece) // (self._SAMPLES - 1))
                breaks += stream.read(piece).count(b"\n")
        return breaks * size / (piece * self._SAMPLES)

    def _tell(self, share: float) -> None:
        """Tell a share that never falls: batches pass in any order, and spooled rows pass once more."""
        with self._telling:  # batches come from several threads
            if self.progress is not None and (share := min(share, 1.0)) > self._told:
                self._told = share
                self.progress("read", share)

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

    def forget_unpacked(self) -> None:
        """Remove the unpacked copies of compressed files, once their rows are in memory or in a copy of their own."""
        for plain, given in self._given.items():
            if plain != given:
                plain.unlink(missing_ok=True)

    def _settled(self, path: Path) -> tuple[Path, str]:
        """A file that can be read again, and its name: input that flows is spooled."""
        if str(path) == STDIN:
            return self._pour(sys.stdin.buffer), "standard input"
        if path.is_file() or path.is_dir():
            return path, path.name or str(path)
        with path.open("rb") as stream:
            return self._pour(stream), path.name

    def _unpacked(self, path: Path, name: str) -> Path:
        """The file as plain text, whose lines have a bearable length."""
        opening = self._opening(path)
        if opening.compression is None:
            _refuse_long_lines(opening, name)
            return path
        target = self.spool(f"unpacked-{len(self.names)}")
        with target.open("wb") as out:
            for chunk in self._plain(path, name):
                out.write(chunk)
                if self.progress is not None:  # how much comes out of it is known when it is out
                    self.progress("read: unpack", Counted(out.tell() >> 20, what="MB"))
        return target

    @staticmethod
    def _plain(path: Path, name: str) -> Iterator[bytes]:
        """The bytes of a file without its compression, as long as they are bearable."""
        most, total = files.most_unpacked(path), 0
        with open_bytes(path) as stream:
            for chunk in _bearable(stream, name):
                total += len(chunk)
                if total > most:
                    raise files.unpacks_too_much(name)
                yield chunk

    def _pour(self, stream: IO[bytes]) -> Path:
        target = self.spool(f"input-{len(self.names)}")
        with target.open("wb") as out:
            shutil.copyfileobj(stream, out, files.CHUNK)
        return target


Sections: TypeAlias = Callable[[Source], Iterable[Section]]
"""Where the rows of a source come from, in order."""


def line_sections(source: Source) -> Iterator[Section]:
    """Rows that are numbered by the lines of the files."""
    for path in source.paths:
        yield source.names[path], "line", 1, count_lines(path)


class Remark(NamedTuple):
    """What some lines have that is unusual, and what follows from it; told from a share of lines on."""

    text: str
    least: float = 0.0


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Loaded:
    """What a format makes of a source."""

    frame: pl.LazyFrame
    """The columns of the shape that the format has, `row`, `bad` and, where there are `remarks`, `remark`."""
    shape: Shape
    remarks: Mapping[str, Remark] = field(default_factory=dict)
    """What may be unusual about lines that can be read, by names in the order of bits."""
    sections: Sections = line_sections
    """Where the rows come from; formats that do not number lines have their own."""
    columnar: bool = False
    """Whether polars reads the files again at no cost, so that their rows need no copy."""
    distinct: bool = False
    """Whether no subject has an item in two rows, for shapes with weights; else those rows are made one."""
    units: int | None = None
    """How many lines there are, where a line is not a row."""
    unit: str = "line"
    """What messages call them."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """What else was counted, for the history of the log."""
    notes: tuple[str, ...] = ()
    """What people should know, in sentences without a value."""
    settings: Mapping[str, int | str] = field(default_factory=dict)
    """The options that the rows depend on, also where they were not given; everybody may know them."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Which columns of the file hold what, where they have names of their own; said by the user or guessed."""
    guessed: bool = False
    """Whether some of this was found out by looking at rows."""
    counted: str = ""
    """Fields of the file by which people are told apart, separated by commas, where nobody said which."""
    may_count: str = ""
    """All fields by which the format may tell them apart, where nobody said which and there are several."""
    guessed_subject: str = ""
    """The column of a table by which they are, where it was guessed."""


def settings_of(loaded: Loaded, options: Reading) -> dict[str, int | str | Mapping[str, str] | tuple[str, ...]]:
    """What the rows depend on, and everybody may know."""
    said: dict[str, Any] = {"columns": dict(loaded.columns), "details": options.named_details}
    said |= {name: value for name, value in options.told.items() if name not in (*said, "query_param")}
    said["counted"] = loaded.counted
    return {**loaded.settings, **{name: value for name, value in said.items() if value}}


def _bearable(stream: IO[bytes], name: str) -> Iterator[bytes]:
    """The bytes of a stream in chunks; raises where a line is too long."""
    run = 0
    while chunk := stream.read(files.CHUNK):
        end = chunk.find(b"\n")
        if run + (len(chunk) if end < 0 else end) > files.LONGEST_LINE:
            raise files.too_long(name)
        run = run + len(chunk) if end < 0 else len(chunk) - 1 - chunk.rfind(b"\n")
        yield chunk


def _refuse_long_lines(opening: Opening, name: str) -> None:
    """Raise InputError where a line is too long, without reading much of a file that has none.

    Such a line goes on without an end from some multiple of half its length to the next.
    """
    half, size = files.LONGEST_LINE // 2, opening.path.stat().st_size
    if size <= half or opening.packed.startswith(_PARQUET):
        return
    with opening.path.open("rb") as stream:
        for start in range(0, size - half, half):
            stream.seek(start)
            left = half
            while left > 0 and b"\n" not in (piece := stream.read(min(left, files.HEAD_BYTES))):
                left -= len(piece) or left
            if left <= 0:
                stream.seek(0)
                for _ in _bearable(stream, name):
                    pass
                return


def full_disk(folder: Path, how: str) -> InputError:
    """What to say where temporary files do not fit."""
    return InputError(
        f"The disk of {folder.parent} {how}. Make room for temporary files, or set TMPDIR to a larger disk."
    )


@contextmanager
def _openable(path: Path, folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if how := disk_is_full(error):
            raise full_disk(folder, how) from None
        raise InputError(f"{path} cannot be opened: {error.strerror or 'no reason given'}.") from None


def decode(stream: IO[bytes], encoding: str) -> Iterator[str]:
    """The text of a stream, piece by piece, damage replaced."""
    decoder = codecs.getincrementaldecoder(encoding)(errors="coterie-damage")
    while chunk := stream.read(files.CHUNK):
        yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)


def computed(rows: pl.LazyFrame, file: Path | None) -> pl.LazyFrame:
    """The same rows, computed once: in a private file, or in memory."""
    if file is None:
        return rows.collect(engine="streaming").lazy()
    rows.sink_parquet(file, compression="uncompressed", statistics=False, engine="streaming")
    return pl.scan_parquet(file, glob=False)


class Spool:
    """Rows made in Python, written to parquet in batches so that memory stays bounded."""

    batch = 100_000

    def __init__(self, folder: Path, schema: dict[str, Any]) -> None:
        self._folder = Path(tempfile.mkdtemp(dir=folder))
        self._schema = schema
        self._rows: list[tuple[Any, ...]] = []
        self._parts = 0

    def add(self, row: tuple[Any, ...]) -> None:
        """Add one row."""
        self._rows.append(row)
        if len(self._rows) == self.batch:
            self._flush()

    def add_all(self, rows: pl.DataFrame) -> None:
        """Add the rows of a table."""
        rows.select(list(self._schema)).cast(pl.Schema(self._schema)).write_parquet(
            self._folder / f"{self._parts:06}.parquet"
        )
        self._parts += 1

    def scan(self) -> pl.LazyFrame:
        """All rows; few of them never see the disk."""
        if self._parts == 0:
            return self._frame().lazy()
        self._flush()
        files = [str(path) for path in sorted(self._folder.glob("*.parquet"))]
        return pl.scan_parquet(files, glob=False)

    def _frame(self) -> pl.DataFrame:
        columns = zip(*self._rows, strict=True) if self._rows else ([] for _ in self._schema)
        return pl.DataFrame(dict(zip(self._schema, columns, strict=True)), schema=self._schema)

    def _flush(self) -> None:
        self.add_all(self._frame())
        self._rows.clear()


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


def remark(remarks: Iterable[str], **flags: pl.Expr) -> pl.Expr:
    """`remark`: a number whose bits tell, in the order of `remarks`, what is unusual about a line that can be read."""
    bits = (flags[name].fill_null(False).cast(pl.UInt8) * 2**place for place, name in enumerate(remarks))
    return pl.sum_horizontal(bits).cast(pl.UInt8).alias("remark")


def breaks_to_spaces(value: pl.Expr, breaks: str = r"[\t\r\n]") -> pl.Expr:
    """Text in which each run of breaks is a space; values without any are only looked at."""
    rare = pl.when(value.str.contains(breaks)).then(value)
    return pl.coalesce(rare.str.replace_all(breaks + "+", " "), value)


def blank_to_null(column: str) -> pl.Expr:
    """A text column in which an empty value is a missing one."""
    return pl.when(pl.col(column) != "").then(pl.col(column)).alias(column)
