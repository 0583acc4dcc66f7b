"""Hashes of words are those of a plain version, also in a part of a series."""

import polars as pl

from coterie.models.words import word_hashes
from tests.helpers.word_hash import smallest_hash

TEXTS = ["red shoes", "shoes red", "", "  ", "red", "天气 today", "shoes  red shoes", "a" * 300]


def test_the_smallest_hash_of_the_words():
    hashes = word_hashes(pl.Series("query", TEXTS))
    assert hashes.name == "query"
    assert hashes.dtype == pl.UInt64
    assert hashes.to_list() == [smallest_hash(text) for text in TEXTS]


def test_a_part_of_a_series_has_its_own_hashes():
    whole = pl.Series("query", TEXTS)
    for start, length in ((2, 3), (7, 1), (4, 0)):
        assert word_hashes(whole.slice(start, length)).to_list() == word_hashes(whole)[start : start + length].to_list()
    assert word_hashes(pl.Series("query", [], dtype=pl.String)).len() == 0
