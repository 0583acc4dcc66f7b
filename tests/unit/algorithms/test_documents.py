"""Documents as arrays of what their terms mean."""

from functools import partial

import numpy as np
import polars as pl
import pytest

import coterie
from coterie import taxonomies
from coterie.algorithms import documents
from coterie.algorithms.documents import Documents, groups_of_owners, meanings, term_rows, united
from coterie.algorithms.kernels.term_vectors import Common
from coterie.core.run import Run
from coterie.engines.local import Local
from coterie.errors import InputError
from coterie.testing import terms_log
from tests.helpers.documents import frame_of

TREE = taxonomies.load("wordnet")


def corpus(texts):
    """A log of documents 000, 001 ..., whose terms weigh the same."""
    return coterie.log(frame_of([[(term, 0.1) for term in text.split()] for text in texts]))


def documents_of(owners, vectors=None):
    owner = pl.Series(owners).rank("dense").cast(pl.Int64).to_numpy() - 1
    names = pl.Series("doc", [f"{number:03}" for number in range(len(owners))])
    return Documents(names=names, owner=owner, vectors=vectors)


def test_a_document_without_an_owner_is_its_own():
    rows = term_rows(terms_log(owned=True)).collect()
    assert rows.columns == ["doc", "term", "weight", "owner"]
    assert rows["owner"].n_unique() == 6
    assert term_rows(terms_log()).collect()["owner"].n_unique() == 7
    assert documents.documents(terms_log(owned=True)).owned
    assert not documents.documents(terms_log()).owned


def test_terms_without_a_meaning_are_left_out_and_counted():
    frame = frame_of([[("dog", 0.5), ("xyzzy", 0.5)], [("plugh", 1.0)], [("cat", 1.0)]])
    assert documents.without_meaning(coterie.log(frame), TREE) == (2, 4)
    found = meanings(frame, TREE)
    assert np.diff(found.folding.vectors.start).tolist() == [1, 0, 1]
    assert found.folding.between(1, np.arange(3)).tolist() == [1.0, 0.0, 1.0]  # nothing is like nothing


def test_of_several_words_the_longest_end_counts():
    found = meanings(frame_of([[("cheap red wine", 1.0)], [("red wine", 1.0)], [("wine", 1.0)]]), TREE)
    distances = found.folding.between(0, np.arange(3)).tolist()
    assert distances[1] == 0 < distances[2]


def test_terms_are_sorted_by_weight_then_by_name():
    found = meanings(frame_of([[("dog", 0.2), ("cat", 0.2), ("horse", 0.6)]]), TREE)
    terms = ["cat", "dog", "horse"]
    assert [terms[t] for t in found.folding.vectors.term] == ["horse", "cat", "dog"]


def test_the_order_of_rows_changes_nothing():
    frame = frame_of([[("dog", 0.5), ("cat", 0.5)], [("horse", 0.5), ("lion", 0.5)], [("bank", 0.7), ("wine", 0.3)]])
    one, other = (meanings(rows, TREE).folding.vectors for rows in (frame, frame.sample(fraction=1, shuffle=True)))
    assert all((a == b).all() for a, b in zip(one, other, strict=True))


def test_weights_may_be_counts():
    """They are compared as shares of the largest, and come out as they were."""
    counted = [[("dog", 70.0), ("cat", 30.0)], [("horse", 50.0), ("lion", 50.0)]]
    shares = [[(term, weight / 70) for term, weight in document] for document in counted]
    both = [meanings(frame_of(documents), TREE) for documents in (counted, shares)]
    one, other = (found.described([found.folding.common(np.arange(2))]) for found in both)
    assert one["term"].to_list() == other["term"].to_list()
    assert one["weight"].to_list() == pytest.approx((other["weight"] * 70).to_list())


def test_equal_concepts_are_one_term_of_the_sum():
    found = meanings(frame_of([[("dog", 0.5), ("cat", 0.3)]]), TREE)
    root = int(np.flatnonzero(found.concept == 0)[0])
    twice, once = Common(np.array([root, root]), np.array([0.25, 0.5])), Common(np.array([root]), np.array([0.125]))
    assert found.described([twice, once]).rows() == [(0, "entity", 0.75), (1, "entity", 0.125)]


def test_very_long_documents_are_refused(monkeypatch):
    monkeypatch.setattr(documents, "MOST_ROWS", 2)
    with pytest.raises(InputError, match="more than 2 terms"):
        meanings(frame_of([[("dog", 0.5), ("cat", 0.3), ("horse", 0.2)]]), TREE)


def test_nothing_is_known():
    found = meanings(frame_of([[("xyzzy", 1.0)], [("plugh", 1.0)]]), TREE)
    members, start = found.folding.groups(2)
    assert (members.tolist(), start.tolist()) == ([0, 1], [0, 2])
    assert found.described([found.folding.common(np.arange(2))]).is_empty()


def run_of(seed=5):
    return Run(seed=seed, engine=Local())


def in_threes(some):
    return np.split(some, np.arange(1, some.size // 3) * 3)


@pytest.mark.parametrize("vectors", [None, "given"])
def test_groups_have_documents_of_k_owners(vectors):
    """Ann has nine documents, Bob four, the others one each."""
    owners = ["ann"] * 9 + ["bob"] * 4 + [f"other {n}" for n in range(10)]
    given = None if vectors is None else np.random.default_rng(1).integers(-99, 99, (23, 4)).astype(np.int16)
    found = documents_of(owners, given)
    seen = []

    def group(some):
        assert np.unique(found.owner[some]).size == some.size, "no two documents of one owner are in a round"
        seen.append(some.size)
        return in_threes(some)

    groups = groups_of_owners(found, 3, run_of(), group)
    assert seen == [12], "rounds of two documents and one are too small"
    assert sorted(np.concatenate(groups).tolist()) == [*range(23)]
    assert all(np.unique(found.owner[members]).size >= 3 for members in groups)


def test_without_owners_there_is_one_round():
    found = documents_of([f"other {n}" for n in range(7)])
    groups = groups_of_owners(found, 3, run_of(), in_threes)
    assert [members.tolist() for members in groups] == [[0, 1, 2], [3, 4, 5, 6]]


def test_documents_that_are_left_join_those_they_are_like():
    vectors = np.array([[90, 0], [80, 1], [0, 90], [1, 80], [2, 99], [95, 3]], dtype=np.int16)
    found = documents_of(["a", "b", "c", "d", "a", "a"], vectors)

    def group(some):
        first = [member for member in some if vectors[member, 0] > vectors[member, 1]]
        return [np.array(first), np.setdiff1d(some, first)]

    groups = groups_of_owners(found, 2, run_of(), group)
    alike = [{bool(vectors[member, 0] > 50) for member in members} for members in groups]
    assert sorted(map(len, alike)) == [1, 1]


def test_earlier_groups_are_joined_until_they_have_k_owners():
    owners = ["a", "b", "a", "a", "c", "d", "e"]
    vectors = np.array([[9, 0], [9, 0], [0, 9], [0, 9], [0, 8], [1, 8], [9, 1]], dtype=np.int16)
    groups = pl.DataFrame(
        {"subject": [f"{n:03}" for n in range(7)], "group": [0, 0, 1, 1, 2, 2, 0]},
        schema_overrides={"group": pl.UInt32},
    )
    table = united(groups.lazy(), documents_of(owners, vectors), 2, run_of())
    assert table["group"].to_list() == [0, 0, 1, 1, 1, 1, 0], "the group of one owner joins the one it is like"
    random = united(groups.lazy(), documents_of(owners), 2, run_of())
    assert random.group_by("group").len().height == 2
    everything = united(groups.lazy(), documents_of(owners, vectors), 5, run_of())
    assert everything["group"].unique().to_list() == [0]
    with pytest.raises(InputError, match="fewer than 6 owners"):
        united(groups.lazy(), documents_of(owners), 6, run_of())


def test_what_documents_are_about():
    log = corpus(["tea cup milk", "tea cup pot", "horse cart road", "horse cart mud", "zebra"])
    found = documents.about(log, run_of(), 8)
    similar = found.vectors.astype(np.int64) @ found.vectors.astype(np.int64).T
    assert similar[0, 1] > similar[0, 2]
    assert similar[2, 3] > similar[1, 3]
    assert not found.vectors[4].any(), "what no other document has tells nothing"
    shuffled = coterie.log(log.to_polars().sample(fraction=1, shuffle=True, seed=1))
    assert (documents.about(shuffled, run_of(), 8).vectors == found.vectors).all()


def test_documents_without_a_common_term_are_about_nothing():
    found = documents.about(corpus(["tea", "horse", "zebra"]), run_of(), 8)
    assert found.vectors.tolist() == [[0], [0], [0]]


def test_weights_count_relative_to_the_smallest_of_a_document():
    """Shares and counts of the same document tell the same."""
    counts = [[("tea", 4.0), ("cup", 1.0)], [("tea", 2.0), ("cup", 2.0)], [("cup", 3.0), ("pot", 1.0)]]
    shares = [[(term, n / sum(m for _, m in document)) for term, n in document] for document in counts]
    one, other = (documents.about(coterie.log(frame_of(each)), run_of(), 8).vectors for each in (counts, shares))
    assert np.abs(one.astype(int) - other).max() <= 1


def test_blocks_of_documents_about_like_things():
    texts = [
        f"{animal} {other}" for animal in ("dog", "cat", "wolf", "fox", "bear", "lion") for other in ("den", "fur")
    ]
    texts += [f"{drink} {other}" for drink in ("tea", "wine", "beer", "milk", "gin", "rum") for other in ("cup", "pub")]
    log = corpus(texts)
    found = documents.about(log, run_of(), 4)
    rows = term_rows(log).drop("owner").collect()
    settings = {"k": 3, "found": found, "folding": partial(documents.folding_of, rows, TREE), "centre": 0, "seed": 1}
    groups = documents.wordnet_groups(np.arange(24), block=12, **settings)
    assert sorted(np.concatenate(groups).tolist()) == [*range(24)]
    assert min(map(len, groups)) >= 3
    whole = documents.wordnet_groups(np.arange(24), block=0, **settings)
    alone = meanings(rows, TREE).folding.groups(3)[0]
    assert np.concatenate(whole).tolist() == alone.tolist()
