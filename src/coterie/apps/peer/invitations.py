"""Invitations: a code that works once makes two peers friends.

    code = kind (1 byte) | fingerprint of the certificate (first 16 bytes) | one-time secret (10) | port (2) | host
           | check (2), in base32, in groups of five

Who accepts connects to the address, looks at the certificate there, and hands over the secret with the own certificate
only if the fingerprint is the one in the code. Who invited keeps a digest of the secret, on whose being there
everything depends: it is taken away before anything else is done, so that of two who come with the same code one is too
late. When an invitation ends is judged by the clock of who made it, and no code says a time.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import re
import secrets
import time
from dataclasses import dataclass

from coterie.apps.peer.home import Home, Invitation, checked_name, host_and_port
from coterie.apps.peer.identity import fingerprint
from coterie.errors import InputError, ParameterError

FINGERPRINT, SECRET = 16, 10
MOST_OPEN = 16
_NAME, _IPV4, _IPV6 = 0x10, 0x14, 0x16  # kinds of hosts, and the version of the code
_SHORTEST = 1 + FINGERPRINT + SECRET + 2 + 1 + 2
_LONGEST_TEXT = 600
_BAD = "This is no invitation: check that it was copied whole, or ask for a new one."


@dataclass(frozen=True, repr=False)
class Code:
    """What a code says."""

    fingerprint: bytes
    secret: bytes
    host: str
    port: int

    @property
    def address(self) -> str:
        """HOST:PORT."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def fits(self, der: bytes) -> bool:
        """Whether a certificate is that of who made the code."""
        return hmac.compare_digest(fingerprint(der)[:FINGERPRINT], self.fingerprint)


def spell_code(code: Code) -> str:
    """The code as text to copy."""
    kind, host = _packed(code.host)
    data = bytes([kind]) + code.fingerprint + code.secret + code.port.to_bytes(2, "big") + host
    text = base64.b32encode(data + _check(data)).decode().rstrip("=").lower()
    return "-".join(text[at : at + 5] for at in range(0, len(text), 5))


def read_code(text: str) -> Code:
    """What a code says; it may have spaces, line ends and capitals."""
    letters = re.sub(r"[\s-]+", "", text).upper()
    if len(letters) > _LONGEST_TEXT:
        raise InputError(_BAD)
    try:
        data = base64.b32decode(letters + "=" * (-len(letters) % 8))
    except ValueError:
        raise InputError(_BAD) from None
    data, check = data[:-2], data[-2:]
    if len(data) + 2 < _SHORTEST or check != _check(data):
        raise InputError(_BAD)
    kind, rest = data[0], data[1 + FINGERPRINT + SECRET :]
    host = _unpacked(kind, rest[2:])
    code = Code(
        fingerprint=data[1 : 1 + FINGERPRINT],
        secret=data[1 + FINGERPRINT : 1 + FINGERPRINT + SECRET],
        host=host,
        port=int.from_bytes(rest[:2], "big"),
    )
    try:
        host_and_port(code.address)
    except ParameterError:
        raise InputError(_BAD) from None
    return code


def invite(home: Home, name: str, hours: float) -> Code:
    """A new invitation. It is open until somebody accepts it, or its time is over."""
    settings = home.settings()
    if settings.address is None:
        raise ParameterError(
            "Friends need to know where to reach you: coterie peer init --address HOST:PORT, with the address of this "
            "machine in your network and a free port."
        )
    host, port = host_and_port(settings.address)
    secret = secrets.token_bytes(SECRET)
    now = time.time()
    with home.locked():
        still = tuple(each for each in home.invitations() if each.until > now)
        if len(still) >= MOST_OPEN:
            raise ParameterError(f"{MOST_OPEN} invitations are open already; they end by themselves.")
        new = Invitation(digest=_digest(secret), name=checked_name(name), until=now + hours * 3600)
        home.write_invitations((*still, new))
    return Code(fingerprint(home.certificate_der)[:FINGERPRINT], secret, host, port)


def take(home: Home, secret: bytes) -> Invitation | None:
    """The open invitation with that secret, which is none from now on. Call it `locked`."""
    now, digest = time.time(), _digest(secret)
    found, still = None, []
    for each in home.invitations():
        same = hmac.compare_digest(each.digest, digest)  # all are looked at, so that time tells nothing
        if each.until <= now:
            continue
        if same:
            found = each
        else:
            still.append(each)
    if found is not None:
        home.write_invitations(tuple(still))
    return found


def any_open(home: Home) -> bool:
    """Whether somebody is expected."""
    return any(each.until > time.time() for each in home.invitations())


def _digest(secret: bytes) -> str:
    return hashlib.blake2b(secret, digest_size=32, person=b"invitation").hexdigest()


def _check(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=2, person=b"typing").digest()


def _packed(host: str) -> tuple[int, bytes]:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return _NAME, host.lower().encode("ascii")
    return (_IPV4 if address.version == 4 else _IPV6), address.packed


def _unpacked(kind: int, host: bytes) -> str:
    try:
        if kind == _NAME:
            return host.decode("ascii")
        if kind in (_IPV4, _IPV6) and len(host) == (4 if kind == _IPV4 else 16):
            return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    raise InputError(_BAD)
