"""State: what a gate holds, its place in the input and in the output, in one file that is replaced as a whole.

The file has a header in JSON, then arrays and other bytes, then a checksum. It holds tags in place of texts; texts
stand in it only where k people have asked for them and they wait for their part to close. One gate at a time has a
state: a lock tells, which ends with the process.
"""

from __future__ import annotations

import json
import os
import secrets
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.files import disk_is_full
from coterie.errors import InputError, MissingError, ParameterError
from coterie.writing.history import onto_the_disk

try:
    import fcntl
except ImportError:  # a system without these locks
    fcntl = None  # type: ignore[assignment]

FORMAT = 1
_MAGIC = b"coterie gate state\n"
_SNAPSHOT, _PART, _LOCK, _OPENED = "snapshot", "snapshot.new", "lock", "opened"
_LENGTH = struct.Struct("<Q")
_SUM = struct.Struct("<I")
_PIECE = 1 << 24
_NAME = 32  # letters
Blobs = Mapping[str, NDArray[Any] | bytes]


class State:
    """The folder of a state, locked while this object lives."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        if fcntl is not None:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(self._lock)
                raise ParameterError(
                    f"Another gate works with {folder}. Two gates cannot share a state: stop one of them, or give each "
                    f"its own share of the queries."
                ) from None
        (folder / _PART).unlink(missing_ok=True)  # of a gate that was killed
        self.name = os.read(self._lock, _NAME).decode()
        """A random name, by which a key file knows its state."""
        if not self.name:
            self.name = secrets.token_hex(_NAME // 2)
            os.write(self._lock, self.name.encode())
            os.fsync(self._lock)

    def release(self) -> None:
        """Let others have the state."""
        with suppress(OSError):
            os.close(self._lock)

    def save(self, header: Mapping[str, Any], blobs: Blobs, name: str = _SNAPSHOT) -> None:
        """Replace the snapshot; it is the new one or the old one, whatever happens."""
        part = self.folder / _PART
        try:
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
                _write(stream, header, blobs)
                stream.flush()
                os.fsync(stream.fileno())
            part.replace(self.folder / name)
            onto_the_disk(self.folder)
        except OSError as error:
            part.unlink(missing_ok=True)
            if disk_is_full(error):
                raise InputError(
                    f"The disk of {self.folder} is full. The state is as it was before, and nothing is lost: make room "
                    f"and start the gate again."
                ) from None
            raise

    def remove(self) -> None:
        """Remove the snapshot."""
        for name in (_SNAPSHOT, _OPENED):
            (self.folder / name).unlink(missing_ok=True)
        onto_the_disk(self.folder)


def opened(folder: Path) -> dict[str, Any]:
    """The places of the files that were opened before there was a snapshot: rows tell a gate what it counts."""
    found = read(folder, header_only=True, name=_OPENED)
    return {} if found is None else dict(found[0]["position"])


def remember(folder: Path, position: Mapping[str, Any]) -> None:
    """Keep the places of files that were opened, before any line of them is read."""
    state = State(folder)
    try:
        state.save({"position": {**opened(folder), **position}}, {}, _OPENED)
    finally:
        state.release()


def read(
    folder: Path, header_only: bool = False, name: str = _SNAPSHOT
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Header and blobs of the snapshot in a folder, or None where there is none; needs no lock."""
    try:
        stream = (folder / name).open("rb")
    except FileNotFoundError:
        return None
    with stream:
        if stream.read(len(_MAGIC)) != _MAGIC:
            raise _damaged(folder)
        try:
            (length,) = _LENGTH.unpack(stream.read(_LENGTH.size))
            text = stream.read(length)
            header = json.loads(text)
        except (struct.error, ValueError, MemoryError, OverflowError):
            raise _damaged(folder) from None
        if header.get("format") != FORMAT:
            raise InputError(f"The state in {folder} is of another version of Coterie.")
        if header_only:
            return header, {}
        check = zlib.crc32(text)
        blobs: dict[str, Any] = {}
        for name, kind, size in header["blobs"]:
            data = bytearray(size)
            if stream.readinto(data) != size:
                raise _damaged(folder)
            check = zlib.crc32(data, check)
            blobs[name] = bytes(data) if kind == "bytes" else np.frombuffer(data, dtype=kind)
        if stream.read() != _SUM.pack(check):
            raise _damaged(folder)
    return header, blobs


def required(folder: Path) -> dict[str, Any]:
    """The header of the snapshot in a folder; MissingError where there is none."""
    found = read(folder, header_only=True)
    if found is None:
        raise MissingError(f"There is no state of a gate in {folder}.")
    return found[0]


def _write(stream: IO[bytes], header: Mapping[str, Any], blobs: Blobs) -> None:
    listed = [(n, "bytes", len(b)) if isinstance(b, bytes) else (n, b.dtype.str, b.nbytes) for n, b in blobs.items()]
    text = json.dumps({"format": FORMAT, **header, "blobs": listed}).encode()
    stream.write(_MAGIC + _LENGTH.pack(len(text)) + text)
    check = zlib.crc32(text)
    for blob in blobs.values():
        for piece in _pieces(blob):
            check = zlib.crc32(piece, check)
            stream.write(piece)
    stream.write(_SUM.pack(check))


def _pieces(blob: NDArray[Any] | bytes) -> Iterator[memoryview]:
    view = memoryview(blob) if isinstance(blob, bytes) else np.ascontiguousarray(blob).data.cast("B")
    for at in range(0, len(view), _PIECE):
        yield view[at : at + _PIECE]


def _damaged(folder: Path) -> InputError:
    return InputError(
        f"The state in {folder} is damaged. Put back a copy of it, or begin anew: coterie gate forget removes it."
    )
