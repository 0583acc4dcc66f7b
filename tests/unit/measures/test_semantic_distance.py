"""semantic_distance beside its plain version, and a case to check by hand."""

import numpy as np
import pytest

import coterie
from coterie import taxonomies
from coterie.methods.concept_microaggregate import ConceptMicroaggregate
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from tests.helpers.concepts import frame_of, reference_of

WORDS = [
    "dog",
    "cat",
    "poodle",
    "horse",
    "bank",
    "loan",
    "cheap loan",
    "money",
    "wine",
    "claret",
    "entity",
    "qwxz",
    "zzq",
]


def _scores(log, release):
    return dict(coterie.measure(release, ["semantic_distance"], original=log, seed=1).select("key", "value").rows())


def _plain(log, release):
    """Mean distance, and linkage to groups and to members, in %."""
    before = dict(log.frame.collect().group_by("user").agg("query").rows())
    after = dict(release.to_polars().group_by("user").agg("query").rows())
    subjects = release.record.subjects.collect().drop_nulls("released")
    reference = reference_of(
        [query for some in (before, after) for queries in some.values() for query in queries],
        taxonomies.load("wordnet"),
        5,
    )
    groups = {}  # a profile of each group, and its members
    for original, released, group in subjects.select("original", "released", "group").rows():
        if released in after:
            groups.setdefault(original if group is None else group, (after[released], []))[1].append(original)
    gaps, hits, right = [], [], []
    for own, (_, members) in groups.items():
        for user in members:
            meant = [reference.means[query] for query in before[user]]
            all_gaps = {
                key: reference.distance(meant, [reference.means[query] for query in profile])
                for key, (profile, _) in groups.items()
            }
            nearest = [key for key, gap in all_gaps.items() if gap == min(all_gaps.values())]
            gaps.append(all_gaps[own])
            hits.append((own in nearest) / len(nearest))
            right.append(hits[-1] / len(members))
    return np.mean(gaps), 100 * np.mean(hits), 100 * np.mean(right)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", [
    ConceptMicroaggregate(k=3), ConceptMicroaggregate(k=2, synthetic="label"), Microaggregate(k=3, partition="random"),
    SuppressRare(k=4, users="pseudonym"),
])  # fmt: skip
def test_it_is_the_plain_version(method, seed):
    rng = np.random.default_rng(seed)
    log = coterie.log(frame_of([rng.choice(WORDS, rng.integers(1, 7)).tolist() for _ in range(14)]))
    release = coterie.anonymize(log, method, seed=1)
    scores = _scores(log, release)
    distance, group, member = _plain(log, release)
    assert scores["distance"] == pytest.approx(distance)
    assert scores["linkage.group"] == pytest.approx(group)
    assert scores["linkage"] == pytest.approx(member)


def test_by_hand():
    """Two groups with nothing in common; everybody gets what everybody of the group typed."""
    log = coterie.log(frame_of([["dog"], ["dog"], ["qwxz"], ["qwxz"]]))
    scores = _scores(log, coterie.anonymize(log, ConceptMicroaggregate(k=2), seed=1))
    assert scores["distance"] == 0
    assert scores["linkage.group"] == 100
    assert scores["linkage"] == 50
    assert scores["unmapped.original"] == scores["unmapped.released"] == 50
