"""The kernels of concept microaggregation are their plain versions, to the last bit.

Covers: algorithms/concepts.py
"""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import taxonomies
from coterie.algorithms.concepts import encode
from coterie.algorithms.kernels.concept_sets import UNIT, centroid, distances, gaps_of, mdav
from tests.helpers.concepts import QUERIES, TREE, frame_of, keys, reference_of, users
from tests.helpers.examples import examples


# `bank` and `port` mean several things; `wine` is a category with others below it.
def names_of(meanings, frame, nodes):
    """Nodes as the plain version names them."""
    typed = dict(zip(meanings.node.tolist(), frame["query"], strict=True))
    return [
        ("query", typed[n]) if meanings.concept[n] < 0 else ("concept", int(meanings.concept[n]))
        for n in nodes.tolist()
    ]


def test_the_formula():
    gaps = gaps_of(4) / UNIT
    assert gaps[2, 1] == 0  # a concept and itself
    assert gaps[8, 4] == 0
    assert gaps[5, 0] == 1  # nothing in common
    assert gaps[7, 3] == pytest.approx(np.log2(1 + 1 / 4))  # parent and child: 4 in one or both, 3 in both
    assert gaps[6, 2] == pytest.approx(np.log2(1 + 2 / 4))


def test_how_queries_are_understood():
    reference = reference_of(QUERIES, TREE, 5)
    assert reference.means["cheap dog"] == reference.means["dog"] == reference.means["dogs"]
    assert len(reference.means["bank"]) == 2
    assert reference_of(["entity"], taxonomies.load("wordnet"), 5).means["entity"] == (("concept", 0),)
    assert reference.means["xyzzy"] == (("query", "xyzzy"),)
    assert reference.means["quux dog xyzzy"] == (("query", "quux dog xyzzy"),)


@settings(max_examples=examples(60))
@given(users, st.sampled_from([1, 2, 5]))
def test_distances_and_centroids(people, categories):
    frame = frame_of(people)
    reference = reference_of(frame["query"], TREE, categories)
    profiles = [[reference.means[query] for query in queries] for queries in people]
    meanings = encode(frame, TREE, categories, keys)
    sets, everybody = meanings.sets, np.arange(len(people))
    for a, profile in enumerate(profiles):
        own = slice(sets.user_start[a], sets.user_start[a + 1])
        got = distances(sets.kinds[own], sets.counts[own], everybody, sets)
        assert got.tolist() == [reference.distance(profile, other) for other in profiles]
        assert got[a] == 0
    common = centroid(everybody, sets)
    expected = reference.centroid(profiles)
    assert sorted(names_of(meanings, frame, common)) == sorted(expected)
    got = distances(common, np.ones_like(common), everybody, sets)
    assert got.tolist() == [reference.distance([(name,) for name in expected], other) for other in profiles]


@settings(max_examples=examples(100))
@given(users, st.integers(2, 5), st.sampled_from([1, 5]))
def test_the_same_partition_cluster_by_cluster(people, k, categories):
    frame, k = frame_of(people), min(k, len(people))
    members, start = mdav(k, encode(frame, TREE, categories, keys).sets)
    got = [members[a:b].tolist() for a, b in pairwise(start)]
    assert got == reference_of(frame["query"], TREE, categories).groups(people, k)


@pytest.mark.parametrize("seed", range(3))
def test_the_same_partition_on_words_of_wordnet(seed):
    tree = taxonomies.load("wordnet")
    rng = np.random.default_rng(seed)
    labels = rng.choice(tree.labels.to_numpy(), 40).tolist()
    words = [*labels, "dog", "cat", "bank", "entity", "qwxz", "zzq", *(f"cheap {label}" for label in labels[:9])]
    people = [rng.choice(words, rng.integers(1, 9)).tolist() for _ in range(24)]
    people[3:5] = [["entity", "dog"], ["entity", "entity"]]  # the root has nothing in common with what is below
    frame = frame_of(people)
    members, start = mdav(3, encode(frame, tree, 5, keys).sets)
    got = [members[a:b].tolist() for a, b in pairwise(start)]
    assert got == reference_of(frame["query"], tree, 5).groups(people, 3)


def test_nothing_is_known():
    """Users without any concept: alike only where they typed the same."""
    people = [["xyzzy"], ["plugh", "xyzzy"], ["plugh"], ["quux"]]
    frame = frame_of(people)
    sets = encode(frame, TREE, 5, keys).sets
    got = distances(sets.kinds[:1], sets.counts[:1], np.arange(4), sets)
    assert got.tolist() == [0, 1 / 3, 1, 1]
