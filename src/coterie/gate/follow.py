"""Following: whole lines of files that grow, are rotated or cut, and of streams; and where in them a gate is.

A place is the file's number (device and inode), how many bytes of it were read, and a mark of how it begins under a key
of the gate: where the mark is another one, the file was cut and has grown again, and where nobody can compare it, the
file is read from its beginning. A file that was rotated while nobody read is looked for beside the path by its number,
and read to its end first, then those that were rotated after it. Compressed files are never looked at: rotation must
rename first and compress later (`delaycompress`).
"""

from __future__ import annotations

import io
import os
import re
import select
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from coterie.core.files import LONGEST_LINE, compression, first_bytes, too_long

CHUNK = 1 << 22
_FIRST = 4096  # bytes at the beginning of a file that its mark is of
_WAIT = 0.5  # seconds between two looks at a file that has nothing new
_PARQUET = b"PAR1"
_ROTATED = re.compile(r"[._-]\d[\dTZ._:+-]*")  # what rotation puts behind a name: a number or a date
Mark = Callable[[bytes], str]


@dataclass(frozen=True, eq=False, repr=False)
class Lines:
    """Whole lines, the first line of their file (or the one that names its fields), and the place behind them."""

    data: bytes
    header: bytes
    position: Mapping[str, Any]


def is_stream(path: str) -> bool:
    """Whether lines flow and cannot be read again: standard input, or a pipe."""
    return path == "-" or (Path(path).exists() and not Path(path).is_file())


def is_whole(path: Path) -> bool:
    """Whether a file has to be read as a whole: compressed, Parquet, or JSON over several lines."""
    if not path.is_file() or path.stat().st_size == 0:
        return False
    with path.open("rb") as stream:
        start = stream.read(_FIRST).lstrip()
    return compression(path) is not None or first_bytes(path) == _PARQUET or start[:1] == b"["


class FileLines:
    """The lines of a file, from where a gate was before; `follow`: for ever, through rotation and cuts."""

    def __init__(self, path: Path, place: Mapping[str, Any] | None, mark: Mark | None, follow: bool) -> None:
        self.path, self.follow = path, follow
        self._name = str(path.absolute())
        self.lost = False
        """Whether the file that was read before is gone."""
        self.unsure = False
        """Whether nobody can tell if it is the file that was read before; it is read from its beginning then."""
        self._queue = self._files(place, mark)
        self._stream: IO[bytes] | None = None
        self._offset, self._header, self._begin, self._number = 0, b"", b"", ""

    def marks(self, mark: Mark) -> dict[str, Any]:
        """The place with the mark of how the file begins, for a snapshot."""
        if not self._number:
            return {}
        begin = self._begin[: self._offset]
        return {self._name: {**self._place(), "mark": mark(begin), "marked": len(begin)}}

    def __iter__(self) -> Iterator[Lines | None]:
        """Lines, or None where there is nothing new for now."""
        try:
            yield from self._all()
        finally:
            self._close()

    def _all(self) -> Iterator[Lines | None]:
        while self._queue:
            path, offset = self._queue.pop(0)
            last = not self._queue
            self._open(path, offset)
            if not (last and self.follow):
                yield from self._read(whole=True)
                continue
            while True:
                if self._was_cut():  # looked at before each read: what stands at the old place is the middle of a line
                    self._open(self.path, 0)
                yield from self._read(whole=False)
                if self._was_rotated():
                    yield from self._read(whole=True)
                    self._open(self.path, 0)
                else:
                    yield None

    def _files(self, place: Mapping[str, Any] | None, mark: Mark | None) -> list[tuple[Path, int]]:
        """The files to read, oldest first, and where to begin in each."""
        if place is None:
            return [(self.path, 0)]
        number = place["file"]
        if self.path.exists() and _number(self.path) == number:
            return [(self.path, self._offset_in(self.path, place, mark))]
        beside = [
            file for file in self.path.parent.iterdir()
            if file.name.startswith(self.path.name) and file != self.path and file.is_file()
        ]  # fmt: skip
        old = next((file for file in beside if _number(file) == number and compression(file) is None), None)
        self.lost = old is None
        if old is None:
            return [(self.path, 0)]
        since = old.stat().st_mtime_ns
        rotated = [f for f in beside if _ROTATED.fullmatch(f.name.removeprefix(self.path.name))]
        newer = [f for f in rotated if f != old and f.stat().st_mtime_ns > since and compression(f) is None]
        return [
            (old, self._offset_in(old, place, mark)),
            *((f, 0) for f in sorted(newer, key=lambda f: f.stat().st_mtime_ns)),
            (self.path, 0),
        ]

    def _offset_in(self, path: Path, place: Mapping[str, Any], mark: Mark | None) -> int:
        """Where to go on in a file that has the number of a place: at its beginning unless it begins as it did."""
        offset = int(place.get("offset", 0))
        if not 0 < offset <= path.stat().st_size:
            return 0
        if mark is None or place.get("mark") is None:
            self.unsure = True
            return 0
        with path.open("rb") as stream:
            return offset if mark(stream.read(int(place["marked"]))) == place["mark"] else 0

    def _open(self, path: Path, offset: int) -> None:
        self._close()
        self._stream = path.open("rb")
        self._number = _number_of(os.fstat(self._stream.fileno()))
        self._begin, self._header, self._offset = self._stream.read(_FIRST), b"", offset

    def _read(self, whole: bool) -> Iterator[Lines]:
        """Lines up to the end of the file; `whole`: the last one also where nothing ends it."""
        while self._stream is not None:
            self._stream.seek(self._offset)
            data = self._stream.read(CHUNK)
            while data and b"\n" not in data and len(data) < LONGEST_LINE and (more := self._stream.read(CHUNK)):
                data += more
            end = data.rfind(b"\n") + 1
            if not end and len(data) >= LONGEST_LINE:
                raise too_long(self.path.name)
            at_end = len(data) < CHUNK
            data = data if whole and at_end else data[:end]
            if not data:
                return
            if len(self._begin) < _FIRST or not self._header.endswith(b"\n"):  # it was short when we last looked
                self._stream.seek(0)
                self._header = _header(self._stream, self._offset)
                self._stream.seek(0)
                self._begin = self._stream.read(_FIRST)
            self._offset += len(data)
            yield Lines(data, self._header, {self._name: self._place()})

    def _place(self) -> dict[str, Any]:
        return {"file": self._number, "offset": self._offset}

    def _close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _was_cut(self) -> bool:
        """Whether the file is shorter than what was read, or begins in another way: then it has grown again."""
        if self._stream is None:
            return False
        handle, begin = self._stream.fileno(), self._begin[: self._offset]
        return os.fstat(handle).st_size < self._offset or os.pread(handle, len(begin), 0) != begin

    def _was_rotated(self) -> bool:
        with suppress(FileNotFoundError):
            return _number(self.path) != self._number
        return False  # a new file will come


class StreamLines:
    """The lines of standard input or of a pipe, as they come. They cannot be read again."""

    def __init__(self, path: str) -> None:
        self._handle = sys.stdin.fileno() if path == "-" else os.open(path, os.O_RDONLY)
        self._read = 0

    def __iter__(self) -> Iterator[Lines | None]:
        """Lines, or None where nothing has come for a while."""
        kept, header, ended = b"", b"", False
        while not ended:
            ready, _, _ = select.select([self._handle], [], [], _WAIT)
            if ready:
                data = os.read(self._handle, CHUNK)
                ended, kept = not data, kept + data
                if len(kept) < CHUNK and not ended and b"\n" in data and select.select([self._handle], [], [], 0)[0]:
                    continue  # more is there already
            end = len(kept) if ended else kept.rfind(b"\n") + 1
            if not end and len(kept) > LONGEST_LINE:
                raise too_long("standard input")
            whole, kept = kept[:end], kept[end:]
            if whole:
                header = header or _header(io.BytesIO(whole), 0)
                self._read += len(whole)
                yield Lines(whole, header, {"stream": self._read})
            elif not ended:
                yield None


def _header(stream: IO[bytes], offset: int) -> bytes:
    """The first line; where it is a directive, as in W3C logs, the last one that names fields before the offset."""
    first = line = stream.readline(LONGEST_LINE)
    while line.startswith(b"#") and not line.startswith(b"#Fields:"):
        line = stream.readline(LONGEST_LINE)
    if not first.startswith(b"#") or not line.startswith(b"#"):
        return first
    found = line
    while line and stream.tell() < offset:
        found = line if line.startswith(b"#Fields:") else found
        line = stream.readline(LONGEST_LINE)
    return found


def _number(path: Path) -> str:
    return _number_of(path.stat())


def _number_of(stat: os.stat_result) -> str:
    return f"{stat.st_dev}:{stat.st_ino}"


def wait() -> float:
    """Seconds between two looks."""
    return _WAIT
