"""The private folder of a peer: settings, keys, friends and open invitations. Nobody but its owner may read it.

    peer.json           settings, the secret of the local address, the key of the choice among friends
    key.pem             the private key
    certificate.pem     the certificate that friends know
    friends.json        who they are: a name for one's own eyes, a certificate, an address
    invitations.json    digests of one-time secrets that are still open
    running.json        port and number of the process, while one runs

No file ever holds a query.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from coterie.apps.peer.identity import fingerprint, new_identity
from coterie.core.declared import Declared, DeclaredFile, json_bytes, json_file
from coterie.errors import InputError, MissingError, ParameterError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

T = TypeVar("T", bound="_Versioned")
FORMAT = 1
PORT = 8642
MOST_FRIENDS = 100
LONGEST_ADDRESS = 260
KEY, CERTIFICATE = "key.pem", "certificate.pem"
_PEER, _FRIENDS, _INVITATIONS, _RUNNING, _LOCK = (
    "peer.json", "friends.json", "invitations.json", "running.json", "lock",
)  # fmt: skip
_OURS = (KEY, CERTIFICATE, _PEER, _FRIENDS, _INVITATIONS, _RUNNING, _LOCK)
_NAME = re.compile(r"[\w.@-]{1,40}")
_HOST = re.compile(r"[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]")
_DAMAGED = "Restore the folder from a copy, or make a new one with 'coterie peer init --home' and invite friends again."


class _Versioned(Declared, frozen=True, kw_only=True):
    format: int = FORMAT


class Settings(_Versioned, frozen=True, kw_only=True):
    """What peer.json holds."""

    secret: str
    """The part of the local address that web pages do not know."""
    choice_key: str
    """The key by which queries are dealt among friends, in hexadecimal digits."""
    back_end: str
    redirect: bool = False
    """Whether the browser goes to the back end itself."""
    port: int = PORT
    address: str | None = None
    """HOST:PORT where friends reach this peer."""
    listen: str | None = None
    """HOST:PORT to listen at, where that differs."""

    def __repr__(self) -> str:
        """Without the secret and the key, which a traceback would show."""
        return f"Settings(port={self.port}, redirect={self.redirect})"


class Friend(Declared, frozen=True, kw_only=True):
    """A friend, as friends.json holds it."""

    name: str
    certificate: str
    address: str

    @property
    def der(self) -> bytes:
        """The certificate in bytes."""
        return base64.b64decode(self.certificate)

    @property
    def fingerprint(self) -> str:
        """What tells this friend from all others."""
        return fingerprint(self.der).hex()


class Friends(_Versioned, frozen=True, kw_only=True):
    """What friends.json holds."""

    friends: tuple[Friend, ...] = ()


class Invitation(Declared, frozen=True, kw_only=True):
    """An open invitation: the digest of its secret, the name for who accepts it, and when it ends by our own clock."""

    digest: str
    name: str
    until: float


class Invitations(_Versioned, frozen=True, kw_only=True):
    """What invitations.json holds."""

    invitations: tuple[Invitation, ...] = ()


class Running(_Versioned, frozen=True, kw_only=True):
    """What running.json holds."""

    port: int
    process: int


@dataclass(frozen=True)
class Home:
    """A folder with what a peer needs to start."""

    path: Path

    @property
    def key(self) -> Path:
        """The file of the private key."""
        return self.path / KEY

    @property
    def certificate(self) -> Path:
        """The file of the certificate."""
        return self.path / CERTIFICATE

    @property
    def certificate_der(self) -> bytes:
        """The own certificate in bytes."""
        import ssl

        try:
            return ssl.PEM_cert_to_DER_cert(self.certificate.read_text(encoding="ascii"))
        except (ValueError, OSError):
            raise InputError(f"{CERTIFICATE} is no certificate. {_DAMAGED}") from None

    def exists(self) -> bool:
        """Whether a peer was made here."""
        return (self.path / _PEER).exists()

    def check(self) -> None:
        """Refuse a folder that is not there, is not whole, or that others could read or change."""
        if not self.exists():
            raise MissingError(
                f"There is no peer in {self.path}. Make one with 'coterie peer init --back-end URL', or name its "
                f"folder with --home."
            )
        _refuse_if_open(self.path, folder=True)
        for name in (_PEER, KEY, CERTIFICATE):
            if not (self.path / name).is_file():
                raise InputError(f"{name} is missing in {self.path}. {_DAMAGED}")
        for path in map(self.path.joinpath, _OURS):
            if path.exists():
                _refuse_if_open(path)

    # --- files -----------------------------------------------------------------------------------

    def settings(self) -> Settings:
        """The settings."""
        found = self._read(_PEER, Settings)
        if found is None:
            raise MissingError(f"There is no peer in {self.path}. Make one with 'coterie peer init --back-end URL'.")
        if not re.fullmatch("[A-Za-z0-9_-]{20,}", found.secret) or not re.fullmatch("[0-9a-f]{64}", found.choice_key):
            raise InputError(f"{_PEER} has no usable secret or key. {_DAMAGED}")
        return found

    def friends(self) -> tuple[Friend, ...]:
        """All friends, by name."""
        held = self._read(_FRIENDS, Friends) or Friends()
        for friend in held.friends:
            try:
                whole = bool(friend.der)
            except (binascii.Error, ValueError):
                whole = False
            if not whole:
                raise InputError(f"{_FRIENDS} has a certificate that is damaged. {_DAMAGED}")
        return tuple(sorted(held.friends, key=lambda friend: friend.name))

    def invitations(self) -> tuple[Invitation, ...]:
        """The invitations that were open when the file was written."""
        return (self._read(_INVITATIONS, Invitations) or Invitations()).invitations

    def running(self) -> Running | None:
        """The process that runs here, or ran until it was killed."""
        return self._read(_RUNNING, Running)

    def write_settings(self, settings: Settings) -> None:
        """Put settings in place of the former ones."""
        self._write(_PEER, settings)

    def write_friends(self, friends: tuple[Friend, ...]) -> None:
        """Put friends in place of the former ones."""
        self._write(_FRIENDS, Friends(friends=friends))

    def write_invitations(self, invitations: tuple[Invitation, ...]) -> None:
        """Put invitations in place of the former ones."""
        self._write(_INVITATIONS, Invitations(invitations=invitations))

    def write_running(self, port: int) -> None:
        """Say that this process runs here."""
        self._write(_RUNNING, Running(port=port, process=os.getpid()))

    def forget_running(self) -> None:
        """Say that it does not run any more."""
        (self.path / _RUNNING).unlink(missing_ok=True)

    def changed(self) -> tuple[int, ...]:
        """Something that is another one after friends or invitations were written."""
        return tuple(_written(self.path / name) for name in (_FRIENDS, _INVITATIONS))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else reads and writes friends and invitations meanwhile."""
        handle = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def add(self, friend: Friend) -> bool:
        """Add a friend, under a free name; False where the certificate is known already. Call it `locked`."""
        friends = self.friends()
        if any(each.der == friend.der for each in friends):
            return False
        if len(friends) >= MOST_FRIENDS:
            raise ParameterError(f"A peer has at most {MOST_FRIENDS} friends.")
        name, number = friend.name, 1
        while name in {each.name for each in friends}:
            number += 1
            name = f"{friend.name}-{number}"
        self.write_friends((*friends, msgspec.structs.replace(friend, name=name)))
        return True

    def remove(self, name: str) -> None:
        """Remove a friend."""
        with self.locked():
            friends = self.friends()
            left = tuple(friend for friend in friends if friend.name != name)
            if len(left) == len(friends):
                raise ParameterError(f"There is no friend of that name among {len(friends)}: 'coterie peer friends'.")
            self.write_friends(left)

    def _read(self, name: str, kind: type[T]) -> T | None:
        path, file = self.path / name, DeclaredFile(name=name, verdict="is damaged", end=_DAMAGED)
        try:
            _refuse_if_open(path)
            return json_file(path.read_bytes(), kind, FORMAT, file)
        except FileNotFoundError:
            return None

    def _write(self, name: str, value: _Versioned) -> None:
        _put(self.path / name, json_bytes(value))


def make_home(path: Path, settings: Settings) -> Home:
    """A new folder with new keys."""
    home = Home(path)
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    _refuse_if_open(path, folder=True)
    if home.key.exists():
        raise InputError(f"{path} has a key but no {_PEER}. {_DAMAGED}")
    key, certificate = new_identity()
    _put(home.key, key)
    _put(home.certificate, certificate)
    home.write_settings(settings)  # last, because it says that the folder is whole
    return home


def new_settings(back_end: str) -> Settings:
    """Settings with fresh secrets."""
    return Settings(secret=secrets.token_urlsafe(16), choice_key=secrets.token_hex(32), back_end=back_end)


def checked_name(name: str) -> str:
    """A name for a friend, for one's own eyes."""
    if not _NAME.fullmatch(name):
        raise ParameterError("A name has at most 40 letters, digits, dots, dashes or @, and no spaces.")
    return name


def host_and_port(address: str, what: str = "An address") -> tuple[str, int]:
    """The parts of HOST:PORT; hosts of IPv6 stand in brackets."""
    host, _, port = address.rpartition(":")
    fits = len(address) <= LONGEST_ADDRESS and _HOST.fullmatch(host) and re.fullmatch("[0-9]{1,5}", port)
    if not fits or not 0 < int(port) < 65536:
        raise ParameterError(f"{what} is written HOST:PORT, such as 192.168.1.20:8643 or [fd00::2]:8643.")
    return host.strip("[]"), int(port)


def _refuse_if_open(path: Path, folder: bool = False) -> None:
    """Refuse what others may read or write, or what belongs to somebody else."""
    if os.name == "nt":  # has no such modes
        return
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode) or found.st_uid != os.getuid():
        raise InputError(f"{path} is a link, or belongs to somebody else. A peer's files must be your own.")
    if found.st_mode & 0o077:
        mode = "700" if folder or stat.S_ISDIR(found.st_mode) else "600"
        raise InputError(f"Others may read or change {path}. Make it private: chmod {mode} {path}")


def _put(path: Path, data: bytes) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _written(path: Path) -> int:
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0
    return found.st_mtime_ns ^ found.st_ino
