"""The smallest hash of the words of a text: texts that share words tend to share it (minhash)."""

from __future__ import annotations

import numpy as np

from coterie.kernels._arrays import Bytes, Ints, Masks
from coterie.kernels._hashing import FNV_START, fnv_step, splitmix64
from coterie.kernels._jit import jit

_SPACE = 32


@jit
def smallest_word_hashes(start: Ints, data: Bytes) -> Masks:
    """For each text data[start[i]:start[i+1]] the smallest hash of its words, the largest number where it has none.

    FNV-1a of the bytes of a word, finished as in splitmix64: the same on every machine and in every version.
    """
    result = np.full(start.size - 1, np.uint64(0xFFFFFFFFFFFFFFFF))
    for i in range(start.size - 1):
        at = start[i]
        while at < start[i + 1]:
            value, length = FNV_START, 0
            while at < start[i + 1] and data[at] != _SPACE:
                value = fnv_step(value, data[at])
                length += 1
                at += 1
            at += 1
            if length > 0:
                result[i] = min(result[i], splitmix64(value))
    return result
