"""Distances of documents, what they have in common and their groups are those of the plain version, to the last bit."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import taxonomies
from coterie.algorithms.documents import meanings
from coterie.algorithms.kernels import term_vectors
from coterie.algorithms.kernels.term_vectors import Folding, Vectors, costs_of
from tests.helpers.documents import frame_of, lexicon_of, reference_of, senses_of, terms_in_trees, weighted
from tests.helpers.examples import examples

WORDS = [
    "laptop", "computer", "keyboard", "screen", "software", "horse", "dog", "cat", "lion", "monkey", "tiger", "bank",
    "river", "money", "loan", "port", "wine", "glass", "paper", "theory", "method", "result", "field", "cell",
    "patient", "disease", "blood", "wing", "pressure", "flow", "boundary", "layer", "library", "index", "book",
]  # fmt: skip


def folding_of(parent, means, documents):
    number = {term: i for i, term in enumerate(sorted(means))}
    start = np.cumsum([0, *map(len, documents)])
    entries = [entry for document in documents for entry in document]
    terms = np.array([number[term] for term, _ in entries], dtype=np.int64)
    vectors = Vectors(start, terms, np.array([weight for _, weight in entries], dtype=np.float64))
    return Folding(vectors, senses_of(parent, means), costs_of(len(parent)))


@st.composite
def corpora(draw):
    """A tree with terms, and documents with some of them; some are empty, lengths differ."""
    parent, means = draw(terms_in_trees())
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    terms = sorted(means)
    count = draw(st.integers(2, 14))
    return parent, means, [
        weighted(rng, rng.choice(terms, rng.integers(0, len(terms) + 1), replace=False).tolist()) for _ in range(count)
    ]  # fmt: skip


@settings(max_examples=examples(80))
@given(corpora())
def test_distances_and_what_documents_have_in_common(corpus):
    parent, means, documents = corpus
    reference, folding = reference_of(parent, means), folding_of(*corpus)
    everything = np.arange(len(documents))
    for d in range(3):
        got = folding.between(d % len(documents), everything).tolist()
        assert got == [reference.distance(documents[d % len(documents)], other) for other in documents]
    for some in (everything, everything[:2][::-1], everything[1:2]):
        common, expected = folding.common(some), reference.common([documents[i] for i in some])
        concepts = folding.distances.senses.concept[common.node].tolist()
        assert [*zip(concepts, common.weight.tolist(), strict=True)] == expected
        got = folding.to_common(common, everything).tolist()
        assert got == [reference.distance(expected, document) for document in documents]
        whole, of_all = folding.common(everything), reference.common(documents)
        assert folding.apart(common, whole) == reference.distance(expected, of_all)


@settings(max_examples=examples(60))
@given(corpora(), st.integers(2, 4), st.sampled_from([0, 2]))
def test_the_same_partition_group_by_group(corpus, k, centre):
    parent, means, documents = corpus
    members, start = folding_of(*corpus).groups(min(k, len(documents)), centre)
    got = [members[a:b].tolist() for a, b in pairwise(start)]
    assert got == reference_of(parent, means).groups(documents, min(k, len(documents)), centre)


@pytest.mark.parametrize(("seed", "k"), [(0, 2), (1, 3), (2, 5)])
def test_the_same_partition_on_words_of_wordnet(seed, k):
    rng = np.random.default_rng(seed)
    documents = [weighted(rng, rng.choice(WORDS, rng.integers(4, 13), replace=False).tolist()) for _ in range(20)]
    found = meanings(frame_of(documents), taxonomies.load("wordnet"))
    members, start = found.folding.groups(k)
    assert [members[a:b].tolist() for a, b in pairwise(start)] == lexicon_of(WORDS).groups(documents, k)


def test_bounds_decide_most_pairs():
    rng = np.random.default_rng(3)
    documents = [weighted(rng, rng.choice(WORDS, 12, replace=False).tolist()) for _ in range(60)]
    folding = meanings(frame_of(documents), taxonomies.load("wordnet")).folding
    folding.groups(3)
    near, made, far, made_far = folding.counts.tolist()
    pairs = sum(left - 1 for left in range(60, 5, -3))
    assert made < near < pairs / 2
    assert made_far < far


def test_what_is_remembered_of_nodes_changes_nothing(monkeypatch):
    rng = np.random.default_rng(4)
    documents = [weighted(rng, rng.choice(WORDS, 8, replace=False).tolist()) for _ in range(12)]
    frame, tree = frame_of(documents), taxonomies.load("wordnet")
    expected = meanings(frame, tree).folding.groups(2)
    monkeypatch.setattr(term_vectors, "_ROWS", 9)
    got = meanings(frame, tree).folding.groups(2)
    assert all((a == b).all() for a, b in zip(got, expected, strict=True))
