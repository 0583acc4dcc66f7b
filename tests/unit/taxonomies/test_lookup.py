"""All short queries over a few words, against the plain reference: forms that meet in every way."""

from itertools import product

import polars as pl
import pytest

from coterie import taxonomies
from coterie.errors import ParameterError
from tests.helpers.taxonomy_reference import Reference, tree_of

WORDS = ["ox", "oxen", "man", "men", "of", "glass", "foxes"]
QUERIES = [" ".join(words) for n in range(5) for words in product(WORDS, repeat=n)]
LEXICONS = [
    # As it is before reduced; several words before one; irregular, by ending, and neither.
    {"man": [1], "ox": [2, 3], "men ox": [4], "man ox": [0], "ox man": [1], "ox man ox": [3], "fox": [2], "glas": [4]},
    # Stop words: `of` alone, forms that become equal without it, and one that becomes a single word.
    {
        "of": [0],
        "ox of man": [1],
        "ox man": [2],
        "man of": [3],
        "of glass": [4],
        "men of men": [1, 2],
        "ox of oxen": [3],
    },
    # Plurals that are words themselves, in every place of a phrase; a word that only phrases have.
    {"men": [0], "man": [1], "ox": [2], "men ox": [3], "man fox": [4], "oxen men": [1], "of glas man": [2]},
    # Forms that begin alike but do not go on; no single words at all.
    {"ox ox ox": [1], "ox ox man man": [2], "man man": [3]},
]


@pytest.mark.parametrize("forms", LEXICONS)
@pytest.mark.parametrize("stemmed", [False, True])
@pytest.mark.parametrize("stop_words", [False, True])
@pytest.mark.parametrize(("unit", "phrases"), [("term", True), ("term", False), ("query", True)])
def test_all_short_queries(forms, stemmed, stop_words, unit, phrases):
    irregular = {"oxen": "ox"} if "ox" in forms and not stemmed else {}
    slow = Reference(forms, stemmed=stemmed, irregular=irregular, stop_words=stop_words)
    tree = tree_of([-1, 0, 0, 1, 3], forms, stemmed=stemmed, irregular=irregular)
    found = tree.classify(pl.Series(QUERIES), unit=unit, phrases=phrases, stop_words=stop_words, categories=2)
    rows, counts = slow.classify(QUERIES, unit, 2, phrases)
    assert found.n_terms.tolist() == counts
    assert found.terms.rows() == rows


@pytest.mark.parametrize(
    ("query", "concepts"),
    [
        ("credit cards", ["credit card"]),
        ("hot dogs", ["hotdog"]),
        ("greeting cards", ["greeting card"]),
        ("chat rooms", ["chat room"]),
        ("engagement rings", ["engagement ring"]),
        ("attorneys general", ["attorney general"]),
        ("zuider zees", ["Zuider Zee"]),
        ("playing cards", ["playing card"]),
        ("cards", ["card game"]),
        ("united states", ["United States"]),
        ("cheap hot dogs and credit cards", ["hotdog", "credit card"]),
    ],
)
def test_plurals_of_phrases(query, concepts):
    tree = taxonomies.load("wordnet")
    found = tree.classify(pl.Series([query]))
    assert tree.labels.gather(found.terms["concept"]).to_list() == concepts


def test_words_below_a_concept():
    forms = {"a": [1], "b": [3, 2], "c": [4], "b c": [3], "d": [2, 3]}
    tree = tree_of([-1, 0, 0, 1, 3], forms)  # c4 is below c3, which is below c1
    assert tree.words_below("c1").to_list() == ["a", "b", "c"]
    assert tree.words_below("C3").to_list() == ["b", "c"]
    assert tree.words_below("c2").to_list() == ["d"]
    with pytest.raises(ParameterError, match="no concept"):
        tree.words_below("c9")
