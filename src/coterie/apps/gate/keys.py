"""Keys of the gate: random, one set for each window, in a file that only its owner may read; destroyed with the window.

A further one is for the marks of how files begin (`follow`). It outlives windows, because a log may be cut after its
window has ended, and the gate must notice.

While a window ends, the file holds two sets for a moment: the old one until the snapshot no longer needs it. The
bytes of a key that is no longer needed are overwritten before its file goes. What a disk or a backup keeps beyond that
is out of our reach: keep the file on a disk without copies, best in memory (`/dev/shm`, `/run`).
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie.apps.gate.state import State
from coterie.core.declared import Declared, DeclaredFile, json_bytes, json_file
from coterie.errors import MissingError, ParameterError
from coterie.writing.history import onto_the_disk
from coterie.writing.targets import refuse_closed, refuse_existing

FORMAT = 1
_WORDS, _SHADOW = 32, 32  # bytes
_FILE = DeclaredFile(name="The key file", verdict="is not one of Coterie", end="Give the file of this gate (--key).")
Hex = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]


class Key(Declared, frozen=True, kw_only=True):
    """The secrets of one window."""

    tags: Hex
    """Of the tags: 16 bytes for texts, 16 for people."""
    shadow: Hex
    """Of the shadow: which texts it counts, and its own tags."""

    @classmethod
    def new(cls) -> Key:
        """Random bytes of the operating system."""
        return cls(tags=secrets.token_hex(_WORDS), shadow=secrets.token_hex(_SHADOW))

    def __repr__(self) -> str:
        return "Key(...)"

    @property
    def words(self) -> NDArray[np.uint64]:
        """The four words of the tags."""
        return np.frombuffer(bytes.fromhex(self.tags), "<u8").astype(np.uint64)

    def mark(self, data: bytes) -> str:
        """A hash of bytes that nobody can guess without the key."""
        return hashlib.blake2b(data, key=bytes.fromhex(self.shadow), digest_size=16).hexdigest()

    @property
    def name(self) -> str:
        """What a snapshot calls it; nothing follows from it about the key."""
        return hashlib.sha256(b"coterie gate key\0" + bytes.fromhex(self.tags + self.shadow)).hexdigest()[:32]


class _Keys(Declared, frozen=True, kw_only=True):
    format: int
    state: str
    """The name of the state that they belong to."""
    keys: tuple[Key, ...]


class KeyFile:
    """The file of the keys."""

    def __init__(self, path: Path, state: str = "") -> None:
        """`state`: the name of the state that the keys belong to."""
        self.path, self.state = path, state
        self._part = path.with_name(path.name + ".new")

    @classmethod
    def of(cls, state: State, path: str | Path | None) -> KeyFile:
        """The key file of a state: the one that is given, else the one beside the state."""
        return cls(Path(f"{state.folder}.key") if path is None else Path(path), state.name)

    def sweep(self) -> None:
        """Overwrite and remove what a gate that was killed left beside the file: it may hold a key."""
        _destroy(self._part)

    def read(self) -> dict[str, Key]:
        """The keys by their names; none where there is no file. Refused where others may read it."""
        refuse_existing(self.path, True, "The key must be a file of its own.")
        try:
            mode = self.path.stat().st_mode
            data = self.path.read_bytes()
        except FileNotFoundError:
            return {}
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise ParameterError(
                f"{self.path} can be read by others. Run chmod 600 on it, and consider who has read it."
            )
        declared = json_file(data, _Keys, FORMAT, _FILE)
        if declared.state != self.state:
            raise ParameterError(
                f"{self.path} belongs to another state than this one. Give each gate a key file of its own (--key)."
            )
        return {key.name: key for key in declared.keys}

    def needed(self, name: str) -> Key:
        """The key of a snapshot. It is never made anew: what is held could not be counted with another one."""
        keys = self.read()
        if name not in keys:
            raise MissingError(
                f"The key of this state is not in {self.path}. Give the right file (--key). If it is gone, so is what "
                f"was held: coterie gate forget removes the state, and a new window can begin."
            )
        return keys[name]

    def write(self, keys: Sequence[Key]) -> None:
        """Replace the file by one with these keys, and overwrite the old one."""
        data = json_bytes(_Keys(format=FORMAT, state=self.state, keys=tuple(keys)))
        refuse_closed(self.path.parent)
        handle = os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        try:
            os.fchmod(handle, 0o600)
            os.write(handle, data)
            os.fsync(handle)
        finally:
            os.close(handle)
        old = _opened(self.path)
        self._part.replace(self.path)
        onto_the_disk(self.path.parent)
        if old is not None:
            _overwrite(old)

    def keep(self, keys: Mapping[str, Key]) -> None:
        """Have these keys and no others."""
        if not keys:
            self.destroy()
        elif self.read().keys() != keys.keys():
            self.write([*keys.values()])

    def destroy(self) -> None:
        """Overwrite and remove the file."""
        self.sweep()
        _destroy(self.path)


def _destroy(path: Path) -> None:
    old = _opened(path)
    if old is not None:
        _overwrite(old)
        path.unlink(missing_ok=True)


def _opened(path: Path) -> int | None:
    with suppress(FileNotFoundError):
        return os.open(path, os.O_WRONLY | os.O_NOFOLLOW)
    return None


def _overwrite(handle: int) -> None:
    try:
        os.write(handle, b"\0" * os.fstat(handle).st_size)
        os.fsync(handle)
    finally:
        os.close(handle)
