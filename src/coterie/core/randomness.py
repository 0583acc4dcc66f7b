"""Randomness: a seed gives an independent stream for each purpose and subject.

A draw depends on (seed, purpose, subject), a name also on the release it is for, and on nothing else, so the order of
rows, the number of engine blocks and the number of threads never change an answer.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

_NAME_BYTES, _NAME_LETTERS = 10, 16  # 80 bits, in base32
_LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz234567", dtype=np.uint8)


def new_seed() -> int:
    """128 bits from the operating system, for runs that nobody should be able to repeat."""
    return secrets.randbits(128)


def stream(seed: int, purpose: str, subject: str = "") -> np.random.Generator:
    """The stream of random numbers for one purpose and subject."""
    digest = _digest(_key(seed), f"{purpose}\0{subject}", 16)
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest, "little")))


def keys(seed: int, purpose: str, subjects: pl.Series) -> NDArray[np.uint64]:
    """A random number of 64 bits for each subject: for ties, where a whole stream would be too much."""
    begun = hashlib.blake2b(f"{purpose}\0".encode(), digest_size=8, key=_key(seed))
    drawn = []
    for subject in subjects.to_list():
        digest = begun.copy()  # the same as starting over, and faster
        digest.update(str(subject).encode())
        drawn.append(digest.digest())
    return np.frombuffer(b"".join(drawn), dtype="<u8").astype(np.uint64)


def naming(
    method: str, parameters: Mapping[str, Any], steps: Sequence[str], digest: str, groups_of: Sequence[str] = ()
) -> str:
    """What names depend on besides the seed: method, parameters, prepare steps, the digest of the log, and the digests
    of earlier groups where a release is made on them.

    So two releases of one log never share names, unless they are the same release.
    """
    about = {"method": method, "parameters": parameters, "prepare": list(steps), "input": digest}
    about |= {"groups_of": list(groups_of)} if groups_of else {}
    text = json.dumps(about, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def pseudonyms(seed: int, subjects: pl.Series, taken: pl.Series, naming: str = "") -> pl.Series:
    """A fresh name for each of the distinct `subjects`, none of them in `taken`."""
    used = set(taken.drop_nulls().to_list())
    key = _key(f"{seed}\0{naming}")
    texts = subjects.to_list()
    names = _names(key, texts)
    for place, subject in enumerate(texts):
        attempt = 0
        while names[place] in used:
            attempt += 1
            names[place] = _names(key, [subject], attempt)[0]
        used.add(names[place])
    return pl.Series("pseudonym", names, dtype=pl.String)


def _names(key: bytes, subjects: Sequence[str], attempt: int = 0) -> list[str]:
    """The names of subjects: a hash of each in base32, all at once, as a release may have millions."""
    begun = hashlib.blake2b(f"pseudonym {attempt}\0".encode(), digest_size=_NAME_BYTES, key=key)
    digests = bytearray()
    for subject in subjects:
        digest = begun.copy()
        digest.update(str(subject).encode())
        digests += digest.digest()
    # Five bytes are eight letters.
    fives = np.frombuffer(digests, dtype=np.uint8).reshape(-1, 5).astype(np.uint64)
    numbers = fives @ (np.uint64(256) ** np.arange(4, -1, -1, dtype=np.uint64))
    letters = _LETTERS[(numbers[:, None] >> np.arange(35, -1, -5, dtype=np.uint64)) & np.uint64(31)]
    text = letters.astype(np.uint8).tobytes().decode()
    return [f"u_{text[at : at + _NAME_LETTERS]}" for at in range(0, len(text), _NAME_LETTERS)]


def _key(seed: int | str) -> bytes:
    return hashlib.blake2b(str(seed).encode(), digest_size=32, person=b"coterie").digest()


def _digest(key: bytes, message: str, size: int) -> bytes:
    return hashlib.blake2b(message.encode(), digest_size=size, key=key).digest()
