"""Words of texts as hashes: what similar texts share, with a hash of our own, which no version of a library changes."""

from __future__ import annotations

import numpy as np
import polars as pl

from coterie.kernels.minhash import smallest_word_hashes
from coterie.text.language import Language


def word_hashes(texts: pl.Series) -> pl.Series:
    """The smallest hash of the words of each text."""
    arrow = texts.to_arrow(compat_level=pl.CompatLevel.oldest())
    start = np.frombuffer(arrow.buffers()[1], dtype=np.int64)[arrow.offset : arrow.offset + len(arrow) + 1]
    data = np.frombuffer(arrow.buffers()[2] or b"", dtype=np.uint8)
    return pl.Series(texts.name, smallest_word_hashes(start, data))


def pieces_of(texts: pl.Series, spoken: Language) -> pl.DataFrame:
    """text, piece: the pieces of each text, stop words left out."""
    exploded = pl.DataFrame({"text": texts, "piece": spoken.pieces(texts)}).explode("piece")
    return exploded.filter(pl.col("piece").is_not_null() & ~pl.col("piece").is_in(sorted(spoken.stop_words)))


def stem_hashes(texts: pl.Series, spoken: Language) -> pl.DataFrame:
    """text, word: the hash of the stem of each piece of each text."""
    pieces = pieces_of(texts, spoken)
    spelled = pieces["piece"].unique()
    table = pl.DataFrame([spelled, word_hashes(spoken.stems(spelled).alias("word"))])
    return pieces.lazy().join(table.lazy(), on="piece").select("text", "word").collect()
