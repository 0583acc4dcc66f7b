"""Words, runs of letters and digests; tests/unit/text/test_language.py has what languages make of them."""

import polars as pl
import pytest

from coterie.text import words as module


def _of(function, text):
    return pl.select(function(pl.lit(text))).item(0, 0)


def _list(function, text):
    return _of(function, text).to_list()


def test_words_are_what_stands_between_single_spaces():
    assert _list(module.words, "new york  pizza") == ["new", "york", "", "pizza"]
    assert _list(module.words, "a-b c\td") == ["a-b", "c\td"]


@pytest.mark.parametrize(("text", "bare"), [
    ("ÉCOLE", "ecole"),
    ("mother's", "mothers"),
    ("o’neill", "oneill"),
    ("straße", "straße"),
    ("ﬁne", "fine"),
])  # fmt: skip
def test_folded(text, bare):
    assert _of(module.folded, text) == bare


def test_only_latin_letters_lose_their_accents():
    assert _of(module.folded, "й") == "и"
    assert _of(module.folded_latin, "й") == "й"
    assert _of(module.folded_latin, "É") == "e"


def test_runs_and_pieces():
    assert _list(module.runs, "c++ 11, x_y!") == ["c", "11", "x", "y"]
    assert _list(module.pieces, "Mother's Café-bar") == ["mothers", "cafe", "bar"]
    assert _list(module.pieces, "?!") == []


def test_scripts_without_spaces():
    assert _of(module.without_spaces, "天气 today")
    assert not _of(module.without_spaces, "today")
    assert _of(module.only_without_spaces, "today") is None
    assert _of(module.only_without_spaces, "天气") == "天气"


@pytest.mark.parametrize(("text", "pieces"), [
    ("天", ["天"]),
    ("天气", ["天气"]),
    ("北京天气", ["京天", "北京", "天气"]),
    ("iphone 天气", ["iphone", "天气"]),
    ("plain words", ["plain", "words"]),
    ("", []),
])  # fmt: skip
def test_runs_without_spaces_are_cut_into_pairs(text, pieces):
    assert sorted(_list(module.cut_runs, text)) == pieces


def test_a_digest_is_that_of_a_set():
    assert module.digest_of(["a", "b", "a"]) == module.digest_of(["b", "a"])
    assert module.digest_of(["a", "b"]) != module.digest_of(["ab"])
    assert module.digest_of([]).startswith("sha256:e3b0c44298fc")


def test_topics_are_called_by_pairs_of_topic_and_word():
    topics = pl.DataFrame({"topic": ["health", "money"], "word": ["flu", "loan"]})
    swapped = topics.with_columns(pl.col("word").reverse())
    assert module.name_of_topics(topics) == module.name_of_topics(topics.reverse())
    assert module.name_of_topics(topics) != module.name_of_topics(swapped)
