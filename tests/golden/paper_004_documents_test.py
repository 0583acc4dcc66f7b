"""Table 2.1 of paper 004, and the distances behind it."""

import numpy as np
import pytest

from coterie import taxonomies
from coterie.algorithms.documents import meanings
from tests.helpers.documents import frame_of, lexicon_of

DOCUMENTS = [
    [("keyboard", 0.3), ("laptop", 0.4), ("software", 0.3)],
    [("horse", 0.7), ("dog", 0.2), ("cat", 0.1)],
    [("hardware", 0.3), ("screen", 0.3), ("computer", 0.4)],
    [("lion", 0.5), ("monkey", 0.3), ("tiger", 0.2)],
]
DISTANCES = [
    [0.0, 0.4393, 0.3865, 0.6693],
    [0.4393, 0.0, 0.2691, 0.1404],
    [0.3865, 0.2691, 0.0, 0.3908],
    [0.6693, 0.1404, 0.3908, 0.0],
]
TO_ALL = [0.5468, 0.5064, 0.4485, 0.4949]
COMPUTERS = {("computer", 0.4), ("instrumentality", 0.3), ("abstraction", 0.3)}
ANIMALS = {("placental", 0.5), ("carnivore", 0.2), ("big cat", 0.3)}


@pytest.fixture(scope="module")
def found():
    return meanings(frame_of(DOCUMENTS), taxonomies.load("wordnet"))


def named(found, common):
    """Concepts by the labels that the paper prints."""
    labels = found.tree.labels.gather(found.concept[common.node])
    return {(label, round(weight, 3)) for label, weight in zip(labels, common.weight.tolist(), strict=True)}


def test_distances(found):
    plain = lexicon_of(term for document in DOCUMENTS for term, _ in document)
    for d, line in enumerate(DISTANCES):
        assert found.folding.between(d, np.arange(4)) == pytest.approx(line, abs=5e-5)
        assert [plain.distance(DOCUMENTS[d], other) for other in DOCUMENTS] == pytest.approx(line, abs=5e-5)


@pytest.mark.parametrize(
    ("pair", "expected"), [([0, 2], COMPUTERS), ([2, 0], COMPUTERS), ([1, 3], ANIMALS), ([3, 1], ANIMALS)]
)
def test_what_pairs_have_in_common(found, pair, expected):
    assert named(found, found.folding.common(np.array(pair))) == expected


def test_documents_are_grouped_as_printed(found):
    """The first document is the farthest from the average of all."""
    average = found.folding.common(np.arange(4))
    assert found.folding.to_common(average, np.arange(4)) == pytest.approx(TO_ALL, abs=5e-5)
    members, start = found.folding.groups(2)
    assert members.tolist() == [0, 2, 1, 3]
    assert start.tolist() == [0, 2, 4]
