"""Generalization on small random trees agrees with its plain version.

Covers: algorithms/kernels/tree.py
"""

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coterie import taxonomies
from coterie.algorithms.kernels import tree as kernels
from coterie.core.arrays import offsets
from coterie.methods.generalize import nearest, risen
from coterie.methods.generalize_users import expanded, partition
from tests.helpers import generalize_reference as plain
from tests.helpers.small_trees import tree_of, trees


@st.composite
def cases(draw, least=0):
    parent = draw(trees())
    concepts = st.sets(st.integers(0, len(parent) - 1), min_size=least, max_size=4)
    return parent, draw(st.lists(concepts, min_size=1, max_size=16)), draw(st.integers(2, 4))


def walked(tree, queries):
    start = offsets(np.array([len(q) for q in queries]))
    concepts = np.array([c for q in queries for c in sorted(q)], dtype=np.int32)
    above = np.stack([tree.ancestor_at(level) for level in range(tree.height + 1)])
    return kernels.walk(start, concepts, above, tree.depth)


@given(cases())
def test_the_walk(case):
    parent, queries, _ = case
    found = walked(tree_of(parent), queries).tolist()
    assert found == [-1 if end is None else end for end in plain.walk(parent, queries)]


@given(cases(), st.data())
def test_left_overs_rise(case, data):
    parent, queries, k = case
    tree, ends = tree_of(parent), plain.walk(parent, queries)
    people = [data.draw(st.sets(st.integers(0, 4), max_size=3)) for _ in queries]
    far = 1_500_000_000  # numbers of users and concepts together do not fit into 32 bits
    pairs = [(q, u * far) for q, some in enumerate(people) for u in some]
    crowd = (np.array([q for q, _ in pairs], dtype=np.int64), np.array([u for _, u in pairs], dtype=np.int64))
    end = np.array([-1 if each is None else each for each in ends], dtype=np.int32)
    expected = plain.rise(parent, ends, people, k)
    into = risen(tree, end, crowd, k)
    # Queries that nobody is behind go along; where to, is no matter.
    asked = [q for q, some in enumerate(people) if some]
    assert [into[q] for q in asked] == [-1 if expected[q] is None else expected[q] for q in asked]
    behind = {}
    for q, concept in enumerate(into):
        behind.setdefault(concept, set()).update(people[q])
    assert all(len(users) >= k for concept, users in behind.items() if concept >= 0)


@given(trees(), st.data())
def test_the_nearest_chosen_concept(parent, data):
    chosen = data.draw(st.sets(st.integers(0, len(parent) - 1)))
    found = nearest(tree_of(parent), np.array([c in chosen for c in range(len(parent))]))
    for c in range(len(parent)):
        assert found[c] == next((each for each in plain.way(parent, c) if each in chosen), -1)


@given(cases(least=1))
def test_the_partition_of_users(case):
    parent, records, k = case
    start = offsets(np.array([len(r) for r in records]))
    concepts = np.array([c for r in records for c in sorted(r)], dtype=np.int64)
    group, cuts = partition(start, concepts, tree_of(parent), k)
    expected = sorted((sorted(members), sorted(cut)) for members, cut in plain.partition(parent, records, k))
    found = [(np.flatnonzero(group == g).tolist(), cut.tolist()) for g, cut in enumerate(cuts)]
    assert found == expected
    assert all(len(members) >= k for members, _ in found)
    for members, cut in found:
        for r in members:
            assert all(set(plain.way(parent, c)) & set(cut) for c in records[r]), "every item is covered"


@given(cases(least=1), st.data())
def test_random_groups_of_users(case, data):
    parent, records, k = case
    start = offsets(np.array([len(r) for r in records]))
    concepts = np.array([c for r in records for c in sorted(r)], dtype=np.int64)
    order = data.draw(st.permutations(range(len(records))))
    group, cuts = partition(start, concepts, tree_of(parent), k, np.argsort(order).astype(np.uint64))
    assert len(cuts) == len(records) // k
    for number, cut in enumerate(cuts):
        members = np.flatnonzero(group == number)
        assert k <= members.size < 2 * k
        assert set(cut.tolist()) == plain.common_cut(parent, [records[r] for r in members])
    places = [group[r] for r in order]
    changes = sum(a != b for a, b in pairwise(places))
    assert changes == max(len(cuts) - 1, 0), "groups are together in the order of keys"


@given(cases(least=1), st.data())
def test_groups_of_users_that_are_given(case, data):
    """Each has the cut that all its members share; who is in none of them does not matter."""
    parent, records, _ = case
    start = offsets(np.array([len(r) for r in records]))
    concepts = np.array([c for r in records for c in sorted(r)], dtype=np.int64)
    number = np.array(data.draw(st.lists(st.integers(-1, 2), min_size=len(records), max_size=len(records))))
    groups = [np.flatnonzero(number == each) for each in range(3) if (number == each).any()]
    group, cuts = expanded(start, concepts, tree_of(parent), groups, len(records) + 1)
    assert len(cuts) == len(groups)
    for members in groups:
        (of_members,) = set(group[members].tolist())
        assert set(cuts[of_members].tolist()) == plain.common_cut(parent, [records[r] for r in members])


@given(trees())
def test_places_of_subtrees_are_together(parent):
    place, size = kernels.preorder(np.array(parent, dtype=np.int32))
    assert sorted(place) == list(range(len(parent)))
    for c in range(len(parent)):
        below = {int(place[d]) for d in range(len(parent)) if c in plain.way(parent, d)}
        assert below == set(range(place[c], place[c] + size[c]))


@given(trees(most=30))
def test_no_two_concepts_have_one_name(parent):
    tree = tree_of(parent)
    assert tree.names.n_unique() == len(parent)
    assert all(name.startswith(label) for name, label in zip(tree.names, tree.labels, strict=True))


def test_names_of_wordnet():
    tree = taxonomies.load("wordnet")
    assert tree.names.n_unique() == len(tree)
    alone = {label for label, n in Counter(tree.labels).items() if n == 1}
    assert all((name == label) == (label in alone) for name, label in zip(tree.names, tree.labels, strict=True))
