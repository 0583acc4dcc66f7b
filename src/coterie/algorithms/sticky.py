"""The sticky choice: a keyed hash of the query picks the friend who submits it, or oneself.

    h(x) = BLAKE2b of x with the searcher's secret key, 64 bits
    m    = the member with the largest mix(h(query) XOR h(m)), mix = the finalizer of splitmix64

The same query always takes the same way, so its results stay personal to whom submits it, and who searches for it again
adds nothing for others to see. This is rendezvous hashing: a member who is lost changes the way of their own queries
only, and each of n members gets 1/n of them. Nobody without the key can tell which member a query goes to.

Members are names: what is said about them must not change while they stay friends. Their order has no influence. The
simulator and the peer share this rule; nothing heavy is imported here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from coterie.errors import ParameterError

KEY_BYTES = 32
_MASK = (1 << 64) - 1


def key_of(seed: int, user: str) -> bytes:
    """The key of a simulated user. A real one takes theirs from the operating system and tells nobody."""
    own = hashlib.blake2b(f"{seed}\0{user}".encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES, person=b"sticky")
    return own.digest()


def choose(key: bytes, query: str, members: Sequence[str]) -> int:
    """The place in `members` of the one who submits `query`; of equal names the first."""
    if not members:
        raise ParameterError("Nobody can submit the query: give at least one member, the searcher themselves.")
    asked = query_tag(key, query)
    scores = [mix(asked ^ member_tag(key, member)) for member in members]
    return scores.index(max(scores))


def query_tag(key: bytes, query: str) -> int:
    """h(query)."""
    return _tag(key, b"query", query)


def member_tag(key: bytes, member: str) -> int:
    """h(member)."""
    return _tag(key, b"member", member)


def mix(value: int) -> int:
    """The finalizer of splitmix64: every bit of the result depends on every bit of the value."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def _tag(key: bytes, kind: bytes, text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, key=key, person=kind).digest()
    return int.from_bytes(digest, "little")
