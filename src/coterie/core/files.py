"""Files that are read: paths and globs, compressed bytes, first lines, and lines of a bearable length.

Where a file is expected, somebody may also write a place: for bytes and tables that are elsewhere.

    s3://BUCKET/PATH   gs://BUCKET/PATH   az://CONTAINER/PATH   https://HOST/PATH
    sqlite:FILE#TABLE   duckdb:FILE#TABLE   postgresql://USER@HOST/DATABASE#TABLE

Here they are only taken apart; `reading/places/` goes there. What a place is called in messages, reports and files is
its `label`, which has no user, no password and nothing that follows a question mark.

Scratch: a private folder for rows on disk, swept by the next run if its process was killed; knowing a full disk.

The name of a folder says which process made it: its number, when it started, and on which machine. Whoever makes a
folder first removes those beside it whose process is gone, so that nothing of a log stays for ever after SIGKILL or a
power cut. Left alone are folders of a living process, of another user and of another machine, links, and whatever has
another name. A lock on the folder, which the system releases with its process, also tells processes that we cannot
see, in another container, from dead ones. Without /proc (macOS) a process counts as living while its number is in use;
on Windows nothing is swept. Within `in_memory` new folders are in memory, where the system has a place for that.
"""

from __future__ import annotations

import errno
import glob
import gzip
import io
import os
import re
import secrets
import shutil
import tempfile
import threading
import weakref
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast
from urllib.parse import urlsplit

from coterie.errors import InputError, MissingError, ParameterError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

STDIN = "-"
HISTORY_ENDING = ".history.json"
"""The end of the name of the list of a log's releases, which lies beside the log and is no part of it."""
BOM = "\ufeff"
HEAD_BYTES = 1 << 16
_HEAD_LIMIT = 1 << 24  # how far to look for the end of the first line
CHUNK = 1 << 22
_GZIP_LEVEL, _ZSTD_LEVEL = 9, 1
_PACKED = 1 << 12  # compressed bytes that are unpacked at once: a bomb makes at most some 100 MB of them
LONGEST_LINE = 1 << 24
"""Bytes of a line; whatever has more of them is no log, and its lines would not fit into memory."""
MOST_UNPACKED, MOST_TIMES = 1 << 30, 300
"""Bytes that a compressed file may always have, and how many times its size beyond; logs have 5 to 50 times."""
_MARK = 4  # bytes that tell what kind of file it is
_COMPRESSIONS = {b"\x1f\x8b": "gz", b"\x28\xb5\x2f\xfd": "zst"}
OBJECTS = ("s3", "gs", "az")
"""Schemes of object stores."""
WEB = ("https",)
DATABASES = ("sqlite", "duckdb", "postgresql")
_ALSO = {"postgres": "postgresql"}
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(//)?")
_FILES = ("sqlite", "duckdb")
_TABLE = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]{0,62}\.)?[A-Za-z_][A-Za-z0-9_]{0,62}")
_KNOWN = "files, s3://, gs://, az://, https://, sqlite:FILE, duckdb:FILE and postgresql://"


@dataclass(frozen=True, kw_only=True)
class Place:
    """A place that is no file of this machine, or a table in one."""

    scheme: str
    address: str = field(repr=False)
    """The whole address, without the table: it may hold a password, so it is shown to nobody."""
    label: str
    """What people may read."""
    table: str | None = None
    """The table of a database."""

    @property
    def is_database(self) -> bool:
        """Whether it holds tables."""
        return self.scheme in DATABASES

    @property
    def name(self) -> str:
        """The last part of its path, or its table: what a file with the same content would be called."""
        return self.table or PurePosixPath(urlsplit(self.address).path).name or self.scheme

    def beside(self, ending: str) -> Place:
        """The place of the same name with something behind it; what follows a question mark stays where it is."""
        address, mark, rest = self.address.partition("?") if self.scheme in WEB else (self.address, "", "")
        return Place(scheme=self.scheme, address=f"{address}{ending}{mark}{rest}", label=self.label + ending)


def place_of(text: object) -> Place | None:
    """The place that a text means; None for files, standard input and logs that are made up."""
    written = str(text)
    match = _SCHEME.match(written)
    if match is None:
        return None
    scheme = _ALSO.get(match[1].lower(), match[1].lower())
    if match[2] is None and scheme not in _FILES:  # `synth:users=9`, or a file with a colon in its name
        if scheme == "postgresql" or (scheme in (*WEB, *OBJECTS) and "@" in written):  # it may hold a password
            raise ParameterError(f"{scheme}: needs two slashes behind it: {scheme}://...")
        return None
    _refuse_unclear(scheme, written)
    if scheme == "http":
        raise ParameterError(f"{_label(written)}: what is sent by http:// can be read on its way. Give https://.")
    if scheme not in (*OBJECTS, *WEB, *DATABASES):
        raise ParameterError(f"{scheme}:// is no place that Coterie knows. It knows {_KNOWN}.")
    return _of_database(scheme, written) if scheme in DATABASES else _of_path(scheme, written)


def _of_database(scheme: str, written: str) -> Place:
    address, mark, table = written.partition("#")
    shown = address if scheme in _FILES else _label(address)
    if mark and not _TABLE.fullmatch(table):
        raise ParameterError(
            f"{shown}: the name of a table stands behind #, in letters, digits and _ (or SCHEMA.TABLE)."
        )
    label = shown + (f"#{table}" if table else "")
    if scheme in _FILES and not address.partition(":")[2].removeprefix("//"):
        raise ParameterError(f"{scheme}: needs a file, for example {scheme}:log.db#queries.")
    return Place(scheme=scheme, address=address, label=label, table=table or None)


def label_of(text: object) -> str:
    """What people may read of a path or a place."""
    place = place_of(text)
    return str(text) if place is None else place.label


def refuse_place(text: object) -> None:
    """Raise ParameterError for a place where only files will do."""
    place = place_of(text)
    if place is not None:
        raise ParameterError(f"{place.label} is not a file, and only files of this machine can be used here.")


def _of_path(scheme: str, written: str) -> Place:
    place, parts = Place(scheme=scheme, address=written, label=_label(written)), urlsplit(written)
    if scheme in OBJECTS and {".", ".."} & set(parts.path.split("/")):
        raise ParameterError(f"{place.label}: names of objects have no . and .. as parts.")
    if not parts.hostname or not parts.path.strip("/"):
        first = "HOST" if scheme in WEB else "CONTAINER" if scheme == "az" else "BUCKET"
        raise ParameterError(f"{place.label} names no file: {scheme}://{first}/PATH is expected.")
    return place


def _refuse_unclear(scheme: str, address: str) -> None:
    """Raise ParameterError where a password has signs that end it, so that its rest would be shown as a path."""
    rest = address.partition("://")[2]
    port = re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2].rpartition("]")[2].partition(":")[2]
    if scheme not in _FILES and port and not port.isdigit():
        raise ParameterError(
            f"{scheme}://...: the address cannot be taken apart. Signs such as / ? # @ and : in a user's name or a "
            f"password are written %2F %3F %23 %40 %3A there."
        )


def _label(address: str) -> str:
    """An address without who logs in, and without what follows a question mark: both may hold secrets."""
    scheme, _, rest = address.partition("://")
    if scheme.lower() not in OBJECTS:  # a password may have a / in it, and then looks like a host with a path
        rest = rest.rpartition("@")[2]
    host, slash, path = re.split(r"[?#]", rest, maxsplit=1)[0].partition("/")
    return f"{scheme.lower()}://{host.rpartition('@')[2]}{slash}{path}"


def expand(patterns: Sequence[str | Path], folders: bool = False) -> list[Path]:
    """Files for the given paths and globs, in byte order within each glob; `folders`: where these can be read too."""
    if not patterns:
        raise ParameterError("No file was given. Name files, globs or - for standard input.")
    paths: list[Path] = []
    for pattern in map(str, patterns):
        refuse_place(pattern)
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
    if not folders:
        refuse_folders(paths)
    return paths


def home_of(paths: Sequence[Path]) -> Path | None:
    """The file or folder beside which the list of a log's releases lies; None for pipes and others.

    Of several it is the first by name, in whatever order they are given. A link is the log that it leads to: two lists
    of one log would not know of each other.
    """
    there = [path for path in paths if path.is_file() or path.is_dir()]
    if not there:
        return None
    first = min(there, key=lambda path: str(path.resolve()))
    return first.resolve() if first.is_dir() or first.is_symlink() else first


def refuse_folders(paths: Sequence[Path]) -> None:
    """Raise InputError where a path is a folder."""
    for path in paths:
        if path.is_dir():
            raise InputError(f"{path} is a folder. Give its files, for example '{path}/*'.")


def files_in(folder: Path) -> Iterator[Path]:
    """All regular files in a folder and those below, in byte order; nothing hidden, no links."""
    return (path for path, why in walk(folder) if why is None)


def every_file(patterns: Sequence[str | Path]) -> list[Path]:
    """Files for the given paths and globs, with those of folders in place of these."""
    files = expand(patterns, folders=True)
    return [file for path in files for file in (files_in(path) if path.is_dir() else (path,))]


HIDDEN, LINKS, OTHER = "hidden", "links", "other"
"""Why a file of a folder is not read."""


def walk(folder: Path) -> Iterator[tuple[Path, str | None]]:
    """Each file below a folder, and why it is not read, or None. Hidden folders count as one file."""
    for place, folders, names in os.walk(folder):
        hidden = [name for name in folders if name.startswith(".")]
        folders[:] = sorted(set(folders) - set(hidden))
        for name in sorted([*names, *hidden]):
            path = Path(place) / name
            why = HIDDEN if name.startswith(".") else LINKS if path.is_symlink() else None
            yield path, why or (None if path.is_file() else OTHER)


def compression(path: Path) -> str | None:
    """`gz` or `zst` by the first bytes, or None."""
    return _compression(first_bytes(path))


def _compression(start: bytes) -> str | None:
    return _COMPRESSIONS.get(start[:2]) or _COMPRESSIONS.get(start[:_MARK])


def first_bytes(path: Path) -> bytes:
    """The four bytes that tell what kind of file it is."""
    with path.open("rb") as stream:
        return stream.read(_MARK)


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """The uncompressed bytes of a file."""
    with path.open("rb") as file:
        kind = _compression(file.read(_MARK))
        file.seek(0)
        if kind is None:
            yield file
            return
        with gzip.GzipFile(fileobj=file) if kind == "gz" else io.BufferedReader(_Zstd(file), CHUNK) as stream:
            try:
                yield stream  # type: ignore[misc]
            except (EOFError, OSError, zlib.error) as error:
                if isinstance(error, OSError) and error.errno is not None:
                    raise
                raise InputError(f"{path.name}: the {kind} compression is damaged or cut off.") from None


COMPRESSIONS = ("gz", "zst")


@contextmanager
def compressed(file: IO[bytes], kind: str) -> Iterator[IO[bytes]]:
    """A stream whose bytes get into an open file compressed; the same bytes give the same file."""
    if kind == "gz":
        with gzip.GzipFile("", "wb", compresslevel=_GZIP_LEVEL, fileobj=file, mtime=0) as stream:
            yield cast(IO[bytes], stream)
        return
    import zstandard

    with zstandard.ZstdCompressor(level=_ZSTD_LEVEL).stream_writer(file, closefd=False) as packed:
        yield cast(IO[bytes], packed)


class _Zstd(io.RawIOBase):
    """The uncompressed bytes of frames of zstd, one after the other; EOFError where one is cut off."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._left, self._ready = file, b"", b""
        self._frame: Any = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, at least in part, unless the file has ended."""
        while not self._ready:
            data = self._left or self._file.read(_PACKED)
            self._left = b""
            if not data:
                if self._frame is not None:
                    raise EOFError
                return 0
            self._ready = self._unpacked(data)
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _unpacked(self, data: bytes) -> bytes:
        import zstandard

        if self._frame is None:
            self._frame = zstandard.ZstdDecompressor().decompressobj()
        try:
            ready: bytes = self._frame.decompress(data)
        except zstandard.ZstdError:
            raise EOFError from None
        if self._frame.eof:
            self._left, self._frame = self._frame.unused_data, None
        return ready


class Opening:
    """The first bytes of a file, which is opened once for all that they tell; none of a folder."""

    def __init__(self, path: Path, size: int = HEAD_BYTES) -> None:
        self.path = path
        self._size = size
        self.packed = b""
        """As they are in the file."""
        if not path.is_dir():
            with path.open("rb") as stream:
                self.packed = _start(stream, size)
        self.compression = _compression(self.packed)
        """`gz` or `zst`, or None."""

    @cached_property
    def data(self) -> bytes:
        """Without compression."""
        if self.compression is None:
            return self.packed
        with open_bytes(self.path) as stream:
            return _start(stream, self._size)

    @property
    def has_bom(self) -> bool:
        """Whether it says that it is UTF-8 by a byte order mark."""
        return self.data.startswith(BOM.encode())

    @cached_property
    def lines(self) -> list[str]:
        """The first lines that are not blank; at least one whole line if there is one."""
        lines = self.data.decode(errors="replace").removeprefix(BOM).split("\n")
        # The last piece may be cut in the middle of a line.
        whole = lines[:-1] if len(self.data) >= self._size and len(lines) > 1 else lines
        return [line.rstrip("\r") for line in whole if line.strip(" \r")]


def _start(stream: IO[bytes], size: int) -> bytes:
    """So many bytes; where lines are wanted, a whole one."""
    data = more = stream.read(size)
    while size == HEAD_BYTES and more and b"\n" not in data and len(data) < _HEAD_LIMIT:
        data += (more := stream.read(CHUNK))
    return data


def head(path: Path) -> list[str]:
    """The first lines of a file that are not blank; at least one whole line if there is one."""
    return Opening(path).lines


def byte_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Number (from 1) and bytes of each line."""
    total, most = 0, most_unpacked(path)
    with open_bytes(path) as stream:
        reader = io.BufferedReader(stream, CHUNK)  # type: ignore[type-var]
        for number, line in enumerate(iter(lambda: reader.readline(LONGEST_LINE + 1), b""), start=1):
            total += len(line)
            if len(line) > LONGEST_LINE:
                raise too_long(path.name)
            if total > most:
                raise unpacks_too_much(path.name)
            yield number, line.removeprefix(BOM.encode()) if number == 1 else line


def count_lines(path: Path) -> int:
    """Number of lines of a text file."""
    lines = 0
    last = b"\n"
    with open_bytes(path) as stream:
        while chunk := stream.read(CHUNK):
            lines += chunk.count(b"\n")
            last = chunk[-1:]
    return lines + (last != b"\n")


def most_unpacked(path: Path) -> float:
    """How many bytes a file may have when it is unpacked."""
    return float("inf") if compression(path) is None else max(MOST_UNPACKED, MOST_TIMES * path.stat().st_size)


def too_long(name: str) -> InputError:
    """What to say of a line that is too long."""
    return InputError(
        f"{name} has a line of more than {LONGEST_LINE >> 20} MB, so it cannot be read as a log. Check what the "
        f"file is; JSON that stands on one line has to become JSON lines."
    )


def unpacks_too_much(name: str) -> InputError:
    """What to say of a file that unpacks to more than it may."""
    return InputError(
        f"{name} unpacks to more than {MOST_UNPACKED >> 30} GB and {MOST_TIMES} times its size, which logs do not. If "
        f"you trust it, unpack it yourself and give the plain file."
    )


# --- private folders for rows on disk ---------------------------------------------------------------


_ATTEMPTS = 100  # signals that may come while a folder is removed
_NAME = re.compile(r"\.?coterie-([0-9]+)-([0-9]+)-([0-9a-f]{8})-[0-9a-f]{16}")
_UNKNOWN = "0"  # a start time, where the system does not tell it
_GONE = ("Z", "X")  # states of a process that has ended and whose parent has not asked yet
_FULL = {
    errno.ENOSPC: "is full",
    errno.EDQUOT: "is full: the quota is used up",
    errno.EFBIG: "takes no file of that size (see ulimit -f)",
}
_MEMORY = Path("/dev/shm")  # noqa: S108 (folders in it are private)
_stops: list[BaseException] = []
_living: weakref.WeakSet[Scratch] = weakref.WeakSet()
_parent: ContextVar[Path | None] = ContextVar("parent of new folders", default=None)


class Scratch:
    """A folder that only its owner may read, removed with this object or at the end of the process.

    It is in the system's folder for temporary files, or hidden in `beside`.
    """

    def __init__(self, beside: Path | None = None) -> None:
        parent = beside or _parent.get() or Path(tempfile.gettempdir()).absolute()
        sweep(parent)
        pid = os.getpid()
        process = f"{pid}-{_start_of(pid) or _UNKNOWN}-{_machine()}"
        hidden = "" if beside is None else "."
        self.path = parent / f"{hidden}coterie-{process}-{secrets.token_hex(8)}"
        held: list[int] = []
        # Before the folder is there, so that a signal in between cannot leave it behind.
        self._cleaning = weakref.finalize(self, _remove, self.path, held)
        try:
            self.path.mkdir(mode=0o700)
        except FileExistsError:
            self._cleaning.detach()  # somebody else's
            raise
        _living.add(self)
        if (lock := _lock(self.path)) is not None:
            held.append(lock)

    def remove(self) -> None:
        """Remove the folder now."""
        self._cleaning()


def remove_all() -> None:
    """Remove all folders of this process: for whoever has to end it on the spot."""
    for scratch in list(_living):
        scratch.remove()


@contextmanager
def in_memory() -> Iterator[None]:
    """Meanwhile, folders for temporary files are on no disk; where the system has none such, they are as usual."""
    before = _parent.set(_MEMORY if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK | os.X_OK) else None)
    try:
        yield
    finally:
        _parent.reset(before)


def sweep(parent: Path) -> None:
    """Remove the folders that dead processes of the same user left in `parent`."""
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            named = _NAME.fullmatch(entry.name)
            if named is not None and _is_left_behind(entry, int(named[1]), named[2], named[3]):
                _remove(Path(entry.path), [])


def _is_left_behind(entry: os.DirEntry[str], pid: int, started: str, machine: str) -> bool:
    if fcntl is None or machine != _machine() or _is_living(pid, started):
        return False
    if not entry.is_dir(follow_symlinks=False) or entry.stat(follow_symlinks=False).st_uid != os.getuid():
        return False
    lock = _lock(Path(entry.path))
    if lock is not None:
        os.close(lock)
    return lock is not None


def _is_living(pid: int, started: str) -> bool:
    """Whether the process with that number is the one that started then."""
    if started != _UNKNOWN and Path("/proc/self/stat").exists():
        return _start_of(pid) == started
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it is there, and somebody else's
        return True
    return True


def _start_of(pid: int) -> str | None:
    """When a process started, in ticks since the machine did; None for one that is gone, or where nobody tells."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    state, *rest = stat.rpartition(")")[2].split()  # the name before it may hold anything
    return None if state in _GONE else rest[18]


def _machine() -> str:
    name = os.uname().nodename if hasattr(os, "uname") else ""
    return f"{zlib.crc32(name.encode(errors='replace')):08x}"


def _lock(folder: Path) -> int | None:
    """A lock that the system gives back when the process ends; None where another process has it, or there are none."""
    if fcntl is None:
        return None
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _remove(folder: Path, held: list[int]) -> None:
    """Remove a folder, to the end: somebody who presses Ctrl-C twice must not leave rows behind.

    What is raised here is lost where nobody called, as at the end of an object; and it would come at a moment at which
    a file is in place and nobody has said so yet. So a stop is kept for `stop_if_asked`.
    """
    for _attempt in range(_ATTEMPTS):
        try:
            with suppress(Exception):
                shutil.rmtree(folder, ignore_errors=True)
                while held:
                    os.close(held.pop())
                return
        except BaseException as stop:
            _stops.append(stop)


def stop_if_asked() -> None:
    """Raise the stop that came while a folder was removed; called where a job can end."""
    if _stops and threading.current_thread() is threading.main_thread():  # as signals do
        stop = _stops[0]
        _stops.clear()
        raise stop


def disk_is_full(error: BaseException) -> str:
    """What an error of the system or of polars says of a disk that takes no more: it "is full"; nothing of others."""
    named = re.search(r"\(os error (\d+)\)", str(error))
    return _FULL.get(getattr(error, "errno", None) or (int(named[1]) if named else 0), "")
