"""Randomness: a seed gives an independent stream for each purpose and subject.

A draw depends on (seed, purpose, subject), a name also on the release it is for, and on nothing else, so the order of
rows, the number of engine blocks and the number of threads never change an answer.

Noise that carries a promise: words from the operating system, and tables in whole numbers that turn them into draws.

Noise is not seeded: whoever could repeat a draw could take it off again. No floating-point number touches a draw, so
its lowest bits tell nothing about what it was added to.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.core.arrays import Ints
from coterie.errors import InternalError

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


# --- noise that carries a promise -------------------------------------------------------------------


Words = NDArray[np.uint64]

_BITS = 256
_ONE = 1 << _BITS
_REACH = 10  # standard deviations; what lies beyond has a probability below 2^-75
_SLICE = 1 << 22  # words at once
_MANY = 1 << 17  # words, from which on a guide to the table is worth making
_GUIDE_BITS = 16
_REST_BITS = np.uint64(64 - _GUIDE_BITS)


def words(count: int) -> Words:
    """Random words of 64 bits from the operating system."""
    drawn = np.empty(count, dtype=np.uint64)
    for start in range(0, count, _SLICE):
        size = min(_SLICE, count - start)
        drawn[start : start + size] = np.frombuffer(os.urandom(8 * size), dtype=np.uint64)
    return drawn


def reach_of(variance: int) -> int:
    """The largest absolute value of a draw."""
    square = _REACH * _REACH * variance
    root = math.isqrt(square)
    return root if root * root == square else root + 1


@cache
def gaussian_table(variance: int) -> Words:
    """T[j] = ⌊2^64 · Pr[X ≤ j - B]⌋ for the discrete Gaussian of this variance on -B..B; computed in 256-bit integers.

    Pr[X = i] is proportional to exp(-i²/2V) = q^(i²) with q = exp(-1/2V), so each weight follows from the last one by
    a multiplication with an odd power of q.
    """
    bound = reach_of(variance)
    q = _exp_of_minus(1, 2 * variance)
    weight, power, square = _ONE, q, q * q >> _BITS
    weights = [_ONE]
    for _ in range(bound):
        weight = weight * power >> _BITS
        power = power * square >> _BITS
        weights.append(weight)
    return _cumulated(weights)


def _cumulated(weights: Sequence[int]) -> Words:
    """T[j] = ⌊2^64 · Pr[X ≤ j - B]⌋ for a symmetric distribution with these weights at 0, 1, ... B."""
    whole, bound = 2 * sum(weights) - weights[0], len(weights) - 1
    below, entries = 0, []
    for i in range(-bound, bound):
        below += weights[abs(i)]
        entries.append((below << 64) // whole)
    return np.array(entries, dtype=np.uint64)


def gaussian_draws(variance: int, drawn: Words) -> Ints:
    """One draw for each word."""
    return table_draws(gaussian_table(variance), reach_of(variance), drawn)


def table_error(variance: int) -> float:
    """A bound on the total variation between a draw from the table and the untruncated discrete Gaussian."""
    return (20 * math.sqrt(variance) + 3) * 2.0**-65 + 2.0**-75


def _exp_of_minus(numerator: int, denominator: int) -> int:
    """exp(-numerator/denominator) in units of 2^-256, by its series."""
    total, term, n = 0, _ONE, 0
    while term:
        total += term if n % 2 == 0 else -term
        n += 1
        term = term * numerator // (denominator * n)
    return total


def table_draws(table: Words, reach: int, drawn: Words) -> Ints:
    """One draw of a table on -reach..reach for each word: how many entries are at most as large as the word.

    For many words this is looked up by their first 16 bits. Nearly all lie where at most one entry begins with the same
    bits, so that one comparison is left; the others are searched for.
    """
    if drawn.size < _MANY:
        return np.searchsorted(table, drawn, side="right").astype(np.int64) - reach
    firsts = np.arange(1 << _GUIDE_BITS, dtype=np.uint64) << _REST_BITS
    low = np.searchsorted(table, firsts, side="right")
    high = np.searchsorted(table, firsts | np.uint64((1 << 64 - _GUIDE_BITS) - 1), side="right")
    plain = (high - low <= 1) & (low < table.size)
    low, compared = low.astype(np.int64), table[np.minimum(low, table.size - 1)]
    found = np.empty(drawn.size, dtype=np.int64)
    for start in range(0, drawn.size, _MANY):  # a slice stays in the cache
        words_here = drawn[start : start + _MANY]
        place = (words_here >> _REST_BITS).astype(np.uint32)
        here = low[place] + (compared[place] <= words_here)
        searched = np.flatnonzero(~plain[place])
        here[searched] = np.searchsorted(table, words_here[searched], side="right")
        found[start : start + _MANY] = here - reach
    return found


@cache
def laplace_table(scale: float) -> tuple[Words, int]:
    """The discrete Laplace distribution: Pr[X = i] is proportional to q^|i| with q = exp(-1/scale), down to 2^-80."""
    ratio = Fraction(scale).limit_denominator(1 << 40)
    q = _exp_of_minus(ratio.denominator, ratio.numerator)
    weights = [_ONE]
    while weights[-1] >> (_BITS - 80):
        weights.append(weights[-1] * q >> _BITS)
    return _cumulated(weights), len(weights) - 1


def laplace_error(scale: float) -> float:
    """A bound on the total variation between a draw from that table and the untruncated distribution."""
    reach = 80 * math.log(2) * scale + 2
    return (2 * reach + 3) * 2.0**-65 + 2.0**-78


@cache
def rounded_gaussian_table(deviation: int) -> tuple[Words, int]:
    """The continuous Gaussian, rounded to whole numbers; its standard deviation is whole, and at least 100.

    The mass of a cell around i is the density there, times 1 + He2(x)·h²/24 + He4(x)·h⁴/1920 + He6(x)·h⁶/322560 with
    x = i/deviation, h = 1/deviation and Hermite's polynomials; what is left out is below 2^-90 of it.
    """
    if deviation < 100:
        raise InternalError("The series for rounded noise is too coarse for so small a deviation.")
    square, bound = deviation * deviation, _REACH * deviation
    density, power = _ONE, _exp_of_minus(1, 2 * square)
    step = power * power >> _BITS
    weights = []
    for i in range(bound + 1):
        x2 = (i * i << _BITS) // square
        x4 = x2 * x2 >> _BITS
        x6 = x4 * x2 >> _BITS
        corrected = _ONE + (x2 - _ONE) // (24 * square) + (x4 - 6 * x2 + 3 * _ONE) // (1920 * square**2)
        corrected += (x6 - 15 * x4 + 45 * x2 - 15 * _ONE) // (322560 * square**3)
        weights.append(density * corrected >> _BITS)
        density = density * power >> _BITS
        power = power * step >> _BITS
    return _cumulated(weights), bound
