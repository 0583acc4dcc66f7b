"""Hashes of words: what similar texts share, with a hash of our own, which no version of a library changes."""

from __future__ import annotations

import numpy as np
import polars as pl

from coterie.kernels.minhash import smallest_word_hashes


def word_hashes(texts: pl.Series) -> pl.Series:
    """The smallest hash of the words of each text."""
    arrow = texts.to_arrow(compat_level=pl.CompatLevel.oldest())
    start = np.frombuffer(arrow.buffers()[1], dtype=np.int64)[arrow.offset : arrow.offset + len(arrow) + 1]
    data = np.frombuffer(arrow.buffers()[2] or b"", dtype=np.uint8)
    return pl.Series(texts.name, smallest_word_hashes(start, data))
