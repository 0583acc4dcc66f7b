"""What goes wrong in files: flipped bits, ends cut off, pieces of other files, fields in each other's place."""

import random
import re

_TOKENS = (
    b"\0", b"\xff", b"\xef\xbb\xbf", b"\r", b"\n", b"\r\n", b"\t", b'"', b'""', b"'", b",", b"\\", b"{", b"}", b"[",
    b"]", b"-", b"-1", b"0", b"99999999999999999999", b"1e999", b"NaN", b"null", b"true", b"{}", b"[]", b"9" * 5000,
    b"[" * 3000,
    b"\xf0\x9f\x98\x80", b"\xed\xa0\x80", b"\xe2\x80\xa8", b"\x1b[31m", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1",
    b"0000-00-00 00:00:00", b"9999-12-31 23:59:59", b"2006-03-01T25:61:61+99:99", b"\\ud800", b"\\u0000", b" ", b"\x85",
    b"-9223372036854775809", b"1.5", b".", b"/", b"*", b"{k}", b"%s", b"a" * 3000,
)  # fmt: skip
_FIELD = re.compile(rb"[^\t\n,:{}\[\] ]+")


def mutated(samples: list[bytes], rng: random.Random) -> bytes:
    """One of some valid files after one to four accidents."""
    data = rng.choice(samples)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        data = rng.choice(_ACCIDENTS)(data, samples, rng)
    return data


def _span(data: bytes, rng: random.Random) -> tuple[int, int]:
    start = rng.randint(0, len(data))
    return start, min(len(data), start + rng.choice((1, 2, 4, 16, 64, 512)))


def _flip(data: bytes, _: list[bytes], rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _i in range(rng.choice((1, 1, 2, 8)) if data else 0):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _truncate(data: bytes, _: list[bytes], rng: random.Random) -> bytes:
    cut = rng.randint(0, len(data))
    return data[:cut] if rng.random() < 0.8 else data[cut:]


def _delete(data: bytes, _: list[bytes], rng: random.Random) -> bytes:
    start, end = _span(data, rng)
    return data[:start] + data[end:]


def _repeat(data: bytes, _: list[bytes], rng: random.Random) -> bytes:
    start, end = _span(data, rng)
    return data[:end] + data[start:end] * rng.choice((1, 1, 2, 50)) + data[end:]


def _splice(data: bytes, samples: list[bytes], rng: random.Random) -> bytes:
    other = rng.choice(samples)
    start, end = _span(other, rng)
    at, to = _span(data, rng)
    return data[:at] + other[start:end] + data[rng.choice((at, to)) :]


def _insert(data: bytes, _: list[bytes], rng: random.Random) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] + rng.choice(_TOKENS) + data[at:]


def _fields(data: bytes) -> list[tuple[int, int]]:
    return [match.span() for match in _FIELD.finditer(data)]


def _swap(data: bytes, _: list[bytes], rng: random.Random) -> bytes:
    spans = _fields(data)
    if len(spans) < 2:
        return data
    (a, b), (c, d) = sorted(rng.sample(spans, 2))
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def _replace(data: bytes, _: list[bytes], rng: random.Random) -> bytes:
    spans = _fields(data)
    if not spans:
        return data
    start, end = rng.choice(spans)
    return data[:start] + rng.choice(_TOKENS) + data[end:]


def _lines(data: bytes, _: list[bytes], rng: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    rng.shuffle(lines)
    return b"".join(lines)


_ACCIDENTS = (_flip, _flip, _truncate, _delete, _repeat, _splice, _insert, _insert, _swap, _replace, _replace, _lines)
