"""Following: whole lines of files that grow, are rotated or cut, and of streams; and where in them a gate is.

A place is the file's number (device and inode), how many bytes of it were read, when it was written last before that,
and a mark of how it begins under a key of the gate. The system gives the number of a removed file to a new one: a file
with that number and another mark was cut, or is another file. Where nobody can compare marks, a file is read from its
beginning. What was rotated while nobody read is looked for beside the path: by its number, or as a copy that begins the
same and is longer. It is read to its end first, then the files that were rotated after it. Compressed files are never
looked at: rotation must rename first and compress later (`delaycompress`).
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
from typing import IO, Any, NamedTuple

from coterie.core.files import LONGEST_LINE, compression, first_bytes, too_long

CHUNK = 1 << 22
_FIRST = 4096  # bytes at the beginning of a file that its mark is of
_WAIT = 0.5  # seconds between two looks at a file that has nothing new
_PARQUET = b"PAR1"
_PACKED = ("gz", "bz2", "xz", "zst", "lz4", "Z")
_ROTATED = re.compile(rf"[._-]\d[\dTZ._:+-]*?(\.({'|'.join(_PACKED)}))?")
"""What rotation puts behind a name: a number or a date, and what says that it was compressed."""
Mark = Callable[[bytes], Any]


def _silent(_place: Mapping[str, Any]) -> None: ...


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


class _Near(NamedTuple):
    """A file that may be, or may have been, the one that is followed."""

    written: int
    """When it was written last."""
    path: Path
    packed: bool = False


class FileLines:
    """The lines of a file, from where a gate was before; `follow`: for ever, through rotation and cuts."""

    def __init__(
        self,
        path: Path,
        place: Mapping[str, Any] | None,
        mark: Mark | None,
        follow: bool,
        opened: Callable[[Mapping[str, Any]], None] = _silent,
    ) -> None:
        """`opened` hears the place of the first file of all before any line of it is read."""
        self.path, self.follow = path, follow
        self._name = str(path.absolute())
        self.lost = False
        """Whether the rest of the file that was read before is gone."""
        self.unsure = False
        """Whether nobody can tell if it is the file that was read before; it is read from its beginning then."""
        self._queue = self._files(place, mark)
        self._opened = opened if place is None else _silent
        self._stream: IO[bytes] | None = None
        self._offset, self._modified, self._header, self._begin, self._number = 0, 0, b"", b"", ""
        self._before: dict[str, Any] | None = None
        self._earlier = None if place is None else place.get("before")

    def marks(self, mark: Mark, known: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """A place, that of now unless given, with marks in place of how files begin: for a snapshot."""
        known = known or self.known()
        before = known["before"]
        before = self._earlier if before is None else {**before, "mark": mark(before["mark"])}
        return {self._name: {**known, "mark": mark(known["mark"]), "before": before}} if known["file"] else {}

    def known(self) -> dict[str, Any]:
        """The place of now, with how its file begins, and that of the file that was read before it."""
        begin = self._begin[: self._offset]
        return {**self._place(), "mark": begin, "marked": len(begin), "before": self._before}

    def __iter__(self) -> Iterator[Lines | None]:
        """Lines, or None where there is nothing new for now."""
        try:
            yield from self._all()
        finally:
            self._close()

    def _all(self) -> Iterator[Lines | None]:
        while True:
            while self._queue:
                path, offset = self._queue.pop(0)
                while self.follow and path == self.path and not path.exists():  # it will come
                    yield None
                try:
                    self._open(path, offset)
                except FileNotFoundError:
                    if path == self.path:
                        raise
                    self.lost = True  # it was renamed or removed just now
                    continue
                if self._queue or not self.follow:
                    yield from self._read(whole=True)
            if not self.follow:
                return
            if self._was_cut():  # looked at before each read: what stands at the old place is the middle of a line
                self._queue = self._files(self.known(), bytes)
                continue
            yield from self._read(whole=False)
            if self._was_rotated():
                yield from self._read(whole=True)
                lost = self.lost
                self._queue = self._files(self.known(), bytes)
                self.lost = lost  # it was read to its end, wherever it is now
            else:
                yield None

    def _files(self, place: Mapping[str, Any] | None, mark: Mark | None) -> list[tuple[Path, int]]:
        """The files to read, oldest first, and where to begin in each."""
        if place is None:
            return [(self.path, 0)]
        since: int = place.get("modified", sys.maxsize)  # states of before do not have it
        beside = _beside(self.path)
        rotated = [each for each in beside if _ROTATED.fullmatch(each.path.name.removeprefix(self.path.name))]
        here = [_Near(since, self.path)] if self.path.exists() else []
        offsets = [(each, self._offset_in(each.path, place, mark)) for each in (*here, *beside) if not each.packed]
        known = [(each, offset) for each, offset in offsets if offset is not None]
        if not known:  # it was cut, after somebody copied it; or it is gone
            copies = [each for each in rotated if each.written >= since and _begins(each.path, place, mark)]
            known = [(each, int(place["offset"])) for each in copies[:1]]
            self.lost = self.lost or not known
        old, offset = known[0] if known else (_Near(since, self.path), 0)
        if old.path == self.path and offset:
            return [(self.path, offset)]
        # Others that were written to since then; of the file that was read before that one, what came later.
        newer = [each for each in rotated if each.written >= old.written and each != old]
        self.lost = self.lost or any(each.packed and each.written > old.written for each in newer)
        before = place.get("before")
        return [
            *([(old.path, offset)] if old.path != self.path else []),
            *((e.path, (before and self._offset_in(e.path, before, mark)) or 0) for e in newer if not e.packed),
            (self.path, 0),
        ]

    def _offset_in(self, path: Path, place: Mapping[str, Any], mark: Mark | None) -> int | None:
        """Where to go on in the file of a place: at its beginning where nobody can tell; None for another file."""
        offset = int(place["offset"])
        with suppress(FileNotFoundError):
            if _number(path) == place["file"]:
                if offset and (mark is None or place.get("mark") is None):
                    self.unsure = True
                    return 0
                return offset if not offset or _begins(path, place, mark) else None
        return None

    def _open(self, path: Path, offset: int) -> None:
        self._close()
        if self._offset:
            self._before = {**self.known(), "before": None}
        self._stream = path.open("rb")
        handle = self._stream.fileno()
        self._number, self._modified = _number(handle), os.fstat(handle).st_mtime_ns
        self._begin, self._header, self._offset = self._stream.read(_FIRST), b"", offset
        self._opened({self._name: {**self._place(), "offset": 0}})
        self._opened = _silent

    def _read(self, whole: bool) -> Iterator[Lines]:
        """Lines up to the end of the file; `whole`: the last one also where nothing ends it, by itself."""
        while self._stream is not None:
            modified = os.fstat(self._stream.fileno()).st_mtime_ns  # before it is read: later lines are later
            self._stream.seek(self._offset)
            data = self._stream.read(CHUNK)
            while data and b"\n" not in data and len(data) < LONGEST_LINE and (more := self._stream.read(CHUNK)):
                data += more
            end = data.rfind(b"\n") + 1
            if not end and len(data) >= LONGEST_LINE:
                raise too_long(self.path.name)
            data = data[:end] if end or not whole else data
            if not data:
                return
            if len(self._begin) < _FIRST or not self._header.endswith(b"\n"):  # it was short when we last looked
                self._stream.seek(0)
                self._header = _header(self._stream, self._offset)
                self._stream.seek(0)
                self._begin = self._stream.read(_FIRST)
            self._offset, self._modified = self._offset + len(data), modified
            yield Lines(data, self._header, {self._name: self._place()})

    def _place(self) -> dict[str, Any]:
        return {"file": self._number, "offset": self._offset, "modified": self._modified}

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


def _beside(path: Path) -> list[_Near]:
    """Files beside a path whose names begin with its name, in the order in which they were written last."""
    found = []
    for file in path.parent.iterdir():
        with suppress(FileNotFoundError):  # rotation may be at work
            if file.name.startswith(path.name) and file != path and file.is_file():
                packed = compression(file) is not None or file.suffix[1:] in _PACKED
                found.append(_Near(file.stat().st_mtime_ns, file, packed))
    return sorted(found)


def _begins(path: Path, place: Mapping[str, Any], mark: Mark | None) -> bool:
    """Whether a file begins like that of a place, and goes on at least as far."""
    if mark is None or place.get("mark") is None or path.stat().st_size < place["offset"]:
        return False
    with path.open("rb") as stream:
        return bool(mark(stream.read(int(place["marked"]))) == place["mark"])


def _number(file: Path | int) -> str:
    stat = os.stat(file)  # noqa: PTH116 (also of an open file)
    return f"{stat.st_dev}:{stat.st_ino}"


def wait() -> float:
    """Seconds between two looks."""
    return _WAIT
