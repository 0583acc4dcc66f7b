"""Hashes of words and stems are those of a plain version, also in a part of a series."""

import polars as pl

from coterie.models.words import pieces_of, stem_hashes, word_hashes
from coterie.text.language import language
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


def test_stems_of_texts_without_stop_words():
    texts = pl.Series("query", ["the gardens", "garden of gardening", "to the", ""])
    pieces = sorted(pieces_of(texts, language("english")).rows())
    assert pieces == [
        ("garden of gardening", "garden"), ("garden of gardening", "gardening"), ("the gardens", "gardens")
    ]  # fmt: skip
    stem = smallest_hash("garden")
    assert sorted(stem_hashes(texts, language("english")).rows()) == [
        ("garden of gardening", stem), ("garden of gardening", stem), ("the gardens", stem)
    ]  # fmt: skip
