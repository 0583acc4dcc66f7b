"""The smallest hash of the words of a text: texts that share words tend to share it (minhash)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.kernels._jit import jit

Masks = NDArray[np.uint64]
_FNV_START, _FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_SPACE = 32


@jit
def smallest_word_hashes(start: NDArray[np.int64], data: NDArray[np.uint8]) -> Masks:
    """For each text data[start[i]:start[i+1]] the smallest hash of its words, the largest number where it has none.

    FNV-1a of the bytes of a word, finished as in splitmix64: the same on every machine and in every version.
    """
    result = np.full(start.size - 1, np.uint64(0xFFFFFFFFFFFFFFFF))
    for i in range(start.size - 1):
        at = start[i]
        while at < start[i + 1]:
            value, length = _FNV_START, 0
            while at < start[i + 1] and data[at] != _SPACE:
                value = (value ^ np.uint64(data[at])) * _FNV_PRIME
                length += 1
                at += 1
            at += 1
            if length > 0:
                value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                result[i] = min(result[i], value ^ (value >> np.uint64(31)))
    return result
