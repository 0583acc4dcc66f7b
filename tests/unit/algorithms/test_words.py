"""Who typed which text how often; hashes of words and stems are those of a plain version, in a part of a series too."""

from collections import Counter

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.algorithms.words import numbered_words, pieces_of, stem_hashes, typed_by, word_hashes
from coterie.text.language import language
from tests.helpers.examples import examples
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


SCRIPTS = ["ΟΔΟΣ", "σ", "й", "天", "気", "ー", "ｱ", "한", "ไ", "㈱", "\u0301", "¨", "آ", "ﷺ"]
texts = st.lists(st.sampled_from([*"aAéß9'’ .-", "the", *SCRIPTS]), max_size=12).map("".join)


@settings(max_examples=examples(200))
@given(some=st.lists(texts, unique=True, max_size=8), name=st.sampled_from(["english", "german"]))
def test_stems_of_texts_are_those_of_their_pieces(some, name):
    """Words are looked at once each; the plain version cuts whole texts."""
    spoken, series = language(name), pl.Series("query", some, dtype=pl.String)
    pieces = pieces_of(series, spoken)
    stems = word_hashes(spoken.stems(pieces["piece"]))
    assert sorted(stem_hashes(series, spoken).rows()) == sorted(zip(pieces["text"], stems, strict=True))


@pytest.mark.parametrize("lists", [[["b", "a"], ["a"], ["", "b"]], [], [["x"]]])
def test_words_have_running_numbers(lists):
    start, number, distinct = numbered_words(pl.Series(lists, dtype=pl.List(pl.String)))
    flat = [word for words in lists for word in words]
    assert distinct.gather(number).to_list() == flat
    assert start.tolist() == [0, *(sum(map(len, lists[: i + 1])) for i in range(len(lists)))]
    assert distinct.n_unique() == distinct.len() == len(set(flat))


@settings(max_examples=examples(50))
@given(
    typed=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y z", "", "手"])), min_size=1, max_size=30)
)
def test_texts_of_users_are_counted(typed):
    users = pl.Series("user", ["b", "a", "nobody"])  # rows of c are left out
    found = typed_by(users, pl.LazyFrame(typed, schema=["who", "what"], orient="row"))
    assert sorted(found.texts) == sorted({text for _, text in typed})
    for place, user in enumerate(users):
        some = slice(found.of_users.start[place], found.of_users.start[place + 1])
        texts = found.texts.gather(found.of_users.thing[some]).to_list()
        assert dict(zip(texts, found.of_users.times[some].tolist(), strict=True)) == Counter(
            text for who, text in typed if who == user
        )
