"""SipHash-2-4, a hash under a secret key: whoever has no key can neither test a guess nor prepare two equal tags.

J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF" (2012), and its version of 128 bits. Words are
little-endian; the last one holds the bytes that are left over and, in its highest byte, the length.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.kernels._arrays import Bytes, Ints, Masks
from coterie.kernels._jit import inlined, jit, uncounted

_START = (
    np.uint64(0x736F6D6570736575),
    np.uint64(0x646F72616E646F6D),
    np.uint64(0x6C7967656E657261),
    np.uint64(0x7465646279746573),
)
_WIDE, _FIRST, _SECOND, _NARROW = np.uint64(0xEE), np.uint64(0xEE), np.uint64(0xDD), np.uint64(0xFF)


@inlined
def _turned(value: Any, by: Any) -> Any:
    return (value << np.uint64(by)) | (value >> np.uint64(64 - by))


@inlined
def _round(v0: Any, v1: Any, v2: Any, v3: Any) -> Any:
    """One SipRound."""
    v0 = v0 + v1
    v1 = _turned(v1, 13) ^ v0
    v0 = _turned(v0, 32)
    v2 = v2 + v3
    v3 = _turned(v3, 16) ^ v2
    v0 = v0 + v3
    v3 = _turned(v3, 21) ^ v0
    v2 = v2 + v1
    v1 = _turned(v1, 17) ^ v2
    v2 = _turned(v2, 32)
    return v0, v1, v2, v3


@inlined
def _word_in(v0: Any, v1: Any, v2: Any, v3: Any, word: Any) -> Any:
    """One word of the text: two rounds."""
    v0, v1, v2, v3 = _round(v0, v1, v2, v3 ^ word)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return v0 ^ word, v1, v2, v3


@inlined
def _bytes_in(v0: Any, v1: Any, v2: Any, v3: Any, data: Any, start: Any, end: Any, before: Any) -> Any:
    """The words of data[start:end], which `before` other bytes preceded."""
    at = start
    while at + 8 <= end:
        word = np.uint64(0)
        for i in range(8):
            word |= np.uint64(data[at + i]) << np.uint64(8 * i)
        v0, v1, v2, v3 = _word_in(v0, v1, v2, v3, word)
        at += 8
    word = np.uint64((before + end - start) & 255) << np.uint64(56)
    place = 0
    while at < end:
        word |= np.uint64(data[at]) << np.uint64(8 * place)
        at += 1
        place += 1
    return _word_in(v0, v1, v2, v3, word)


@inlined
def _four_rounds(v0: Any, v1: Any, v2: Any, v3: Any) -> Any:
    for _ in range(4):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return v0, v1, v2, v3


@uncounted
def siphash_128(key: Any, other: Any, data: Any, start: Any, end: Any) -> Any:
    """The two halves of the tag of data[start:end] under the key (key, other), the low one first."""
    v0, v1, v2, v3 = _START[0] ^ key, _START[1] ^ other ^ _WIDE, _START[2] ^ key, _START[3] ^ other
    v0, v1, v2, v3 = _bytes_in(v0, v1, v2, v3, data, start, end, 0)
    v0, v1, v2, v3 = _four_rounds(v0, v1, v2 ^ _FIRST, v3)
    low = v0 ^ v1 ^ v2 ^ v3
    v0, v1, v2, v3 = _four_rounds(v0, v1 ^ _SECOND, v2, v3)
    return low, v0 ^ v1 ^ v2 ^ v3


@uncounted
def siphash_behind(key: Any, other: Any, low: Any, high: Any, data: Any, start: Any, end: Any) -> Any:
    """The tag of 64 bits of a tag (low, high) and data[start:end] behind it."""
    v0, v1, v2, v3 = _START[0] ^ key, _START[1] ^ other, _START[2] ^ key, _START[3] ^ other
    v0, v1, v2, v3 = _word_in(v0, v1, v2, v3, low)
    v0, v1, v2, v3 = _word_in(v0, v1, v2, v3, high)
    v0, v1, v2, v3 = _bytes_in(v0, v1, v2, v3, data, start, end, 16)
    v0, v1, v2, v3 = _four_rounds(v0, v1, v2 ^ _NARROW, v3)
    return v0 ^ v1 ^ v2 ^ v3


@jit
def tags(key: Masks, start: Ints, data: Bytes) -> tuple[Masks, Masks]:
    """The halves of the tags of the texts data[start[i]:start[i+1]]."""
    low, high = np.empty(start.size - 1, np.uint64), np.empty(start.size - 1, np.uint64)
    for i in range(start.size - 1):
        low[i], high[i] = siphash_128(key[0], key[1], data, start[i], start[i + 1])
    return low, high
