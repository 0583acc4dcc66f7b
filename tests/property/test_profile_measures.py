"""partition_agreement and homogeneity agree with their plain references on random logs.

Covers: measures/utility/homogeneity.py, measures/utility/partition_agreement.py
"""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie import api
from coterie.algorithms.events import EVENT, EVENT_ORDER
from coterie.core import randomness
from coterie.core.shapes import QUERIES
from coterie.errors import NotApplicableError
from coterie.measures.comparison import Comparison
from coterie.measures.subjects import users_of as pairs_of
from coterie.measures.utility import homogeneity, partition_agreement
from coterie.measures.utility.partition_agreement import agreement
from coterie.methods.concept_microaggregate import ConceptMicroaggregate
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing._logs import visits_log
from coterie.testing.strategies import logs
from tests.helpers import reference
from tests.helpers.examples import examples
from tests.helpers.microaggregation import SEED, priority, users_of

labels = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=25)


@given(labels)
def test_the_indices_are_those_of_all_pairs(pairs):
    one, other = [a for a, _ in pairs], [b for _, b in pairs]
    assert agreement(one, other) == pytest.approx(reference.partition_agreement(one, other), abs=1e-12)
    assert agreement(one, one) == (1, 1, 1)


def test_the_indices_by_hand():
    # Clusters {0 1 2} {3 4 5} and {0 1} {2 3} {4 5}: r = 2, s = 4, t = 1, u = 8 of 15 pairs.
    rand, jaccard, adjusted = agreement([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2])
    assert rand == 10 / 15
    assert jaccard == 2 / 7
    # Hubert and Arabie: (Σ C(nij,2) - E) / ((6 + 3)/2 - E) with E = 6·3/15
    assert adjusted == pytest.approx((2 - 18 / 15) / (4.5 - 18 / 15))
    assert agreement([0, 0, 1, 1], [0, 1, 0, 1])[2] == pytest.approx(-0.5)
    assert agreement([], []) == (1, 1, 1)
    assert agreement([0, 0, 0], [0, 1, 2]) == (0, 0, 0)


def test_with_large_groups_jaccard_cannot_be_high():
    """20 groups of 50 have 24,500 pairs together, 500 clusters of 2 only 500."""
    groups = np.repeat(np.arange(20), 50)
    rand, jaccard, _ = agreement((np.arange(1000) // 2).tolist(), groups.tolist())
    assert jaccard == pytest.approx(500 / 24_500)
    assert rand > 0.95


def _plain(rows):
    return users_of(rows.select("user", *EVENT).drop_nulls("user").sort("user", *EVENT_ORDER))


def _before_and_after(log, release):
    """Plain users of both logs under their original names, and the group of each."""
    record = release.record.subjects.collect().sort("original")
    names = dict(record.select("released", "original").iter_rows())
    after = release.to_polars().with_columns(pl.col("user").replace(names))
    return _plain(log.frame.collect()), _plain(after), record["group"].to_list()


def _scores(log, release, name):
    return {key: value for _, key, value, *_ in coterie.measure(release, [name], original=log, seed=SEED).iter_rows()}


@settings(max_examples=examples(25))
@given(logs(min_users=4), st.integers(2, 3))
def test_partition_agreement(log, k):
    release = api.anonymize_prepared(log, Microaggregate(k=k), seed=SEED)
    before, after, _ = _before_and_after(log, release)
    assert [user for user, _ in before] == [user for user, _ in after]
    names = pl.Series([user for user, _ in before])
    order = np.argsort(randomness.keys(SEED, "κ-means", names), kind="stable").tolist()
    scores = _scores(log, release, "partition_agreement")
    assert scores["users"] == len(before)
    assert ("rand_5" in scores) == (len(before) > 5)
    for kappa in (kappa for kappa in (2, 5) if kappa < len(before)):
        one, other = (reference.kmeans(users, order[:kappa], priority) for users in (before, after))
        found = [scores[f"{index}_{kappa}"] for index in ("rand", "jaccard", "adjusted_rand")]
        assert found == pytest.approx(reference.partition_agreement(one, other), abs=1e-12)
        assert scores[f"clusters_{kappa}.original"] == len(set(one))
        assert scores[f"clusters_{kappa}"] == len(set(other))
        assert scores[f"largest_{kappa}"] == pytest.approx(100 * max(map(other.count, other)) / len(other))


@settings(max_examples=examples(25))
@given(logs(min_users=4), st.integers(2, 3), st.sampled_from(["text", "printed"]))
def test_homogeneity(log, k, eq1):
    release = api.anonymize_prepared(log, Microaggregate(k=k, eq1=eq1), seed=SEED)
    before, after, groups = _before_and_after(log, release)
    scale = reference.scales(before)
    middle, _ = reference.centroid(before, scale, priority, eq1, finest="exact")
    profiles = {group: events for group, (_, events) in zip(groups, after, strict=True)}
    expected = reference.homogeneity(before, groups, profiles, middle, scale, eq1)
    scores = _scores(log, release, "homogeneity")
    sse, mean, ssa = (scores[key] for key in ("sse", "mean_distance", "ssa"))
    assert (sse, mean, ssa) == pytest.approx(expected, abs=1e-12)
    assert scores["sst"] == pytest.approx(sse + ssa)
    assert scores["loss"] == pytest.approx(100 * sse / (sse + ssa) if sse + ssa else 0)

    order = np.argsort(randomness.keys(SEED, "random groups", pl.Series([user for user, _ in before])), kind="stable")
    sizes = np.unique(pairs_of(_comparison(log, release), 10**6).members["group"], return_counts=True)[1]
    random = np.empty(len(before), dtype=int)
    random[order] = np.repeat(np.arange(sizes.size), sizes)
    profiles = {
        group: reference.centroid([before[i] for i in members], scale, priority, eq1, finest="month")[0]
        for group, members in enumerate(np.flatnonzero(random == number) for number in range(sizes.size))
    }
    expected = reference.homogeneity(before, random.tolist(), profiles, middle, scale, eq1)
    assert [scores[f"{key}.random"] for key in ("sse", "mean_distance", "ssa")] == pytest.approx(expected, abs=1e-12)
    if expected[0]:
        assert scores["sse.ratio"] == pytest.approx(sse / expected[0])


def _comparison(log, release):
    return Comparison.of(log, release, SEED, show_values=False)


def _published(log):
    """A release that is the log itself, under other names."""
    release = api.anonymize_prepared(log, SuppressRare(k=2, users="pseudonym"), seed=SEED)
    rows = log.frame.select(QUERIES.released).collect().drop_nulls("user")
    names = {user: f"new {user[::-1]} {i}" for i, user in enumerate(rows["user"].unique().sort())}
    subjects = pl.DataFrame({"original": list(names), "released": list(names.values())})
    record = replace(
        release.record, subjects=subjects.with_columns(pl.lit(None, pl.UInt32).alias("group")).lazy(), rows=None
    )
    renamed = rows.with_columns(pl.col("user").replace(names)).sort("query", "user", "time", descending=True)
    return replace(release, log=replace(release.log, shape=QUERIES, frame=renamed.lazy()), record=record)


@settings(max_examples=examples(20))
@given(logs(min_users=4))
def test_a_log_agrees_with_itself(log):
    scores = _scores(log, _published(log), "partition_agreement")
    indices = [value for key, value in scores.items() if key.startswith(("rand", "jaccard", "adjusted"))]
    assert indices
    assert set(indices) == {1}


def test_groups_of_similar_users_are_better_than_random_ones():
    log = coterie.prepare(coterie.read("synth:users=60,seed=2"))
    similar, random = (
        _scores(log, api.anonymize_prepared(log, Microaggregate(k=4, partition=partition), seed=SEED), "homogeneity")
        for partition in ("mdav", "random")
    )
    assert similar["sse.ratio"] < 0.9
    assert similar["mean_distance.ratio"] < 0.95
    assert 0.85 < random["sse.ratio"] < 1.15
    assert (similar["users"], similar["groups"]) == (60, 15)


def test_random_profiles_lack_what_the_released_ones_lack():
    """Methods without times, ranks and hosts are compared with random groups without them."""
    log = coterie.prepare(coterie.read("synth:users=60,seed=2"))
    release = api.anonymize_prepared(log, ConceptMicroaggregate(k=4, partition="random"), seed=SEED)
    assert 0.85 < _scores(log, release, "homogeneity")["sse.ratio"] < 1.15


def test_a_sample_has_whole_groups():
    log = coterie.prepare(coterie.read("synth:users=60,seed=2"))
    release = api.anonymize_prepared(log, Microaggregate(k=4, partition="random"), seed=SEED)
    everybody = pairs_of(_comparison(log, release), 60)
    sample = pairs_of(_comparison(log, release), 30)
    assert everybody.members.height == everybody.total == sample.total == 60
    assert 20 < sample.members.height <= 30
    assert sample.unit == "of 60 users"
    whole = everybody.members.group_by("group").len()
    assert sample.members.group_by("group").len().join(whole, on=["group", "len"], how="anti").is_empty()
    for rows in (sample.before, sample.after):
        assert rows["user"].unique().sort().equals(sample.members["user"])
    other = pairs_of(replace(_comparison(log, release), seed=SEED + 1), 30)
    assert not other.members.equals(sample.members)
    assert pairs_of(_comparison(log, release), 1).members["group"].n_unique() == 1


def test_measures_of_a_sample_have_numbers(monkeypatch):
    log = coterie.prepare(coterie.read("synth:users=60,seed=2"))
    release = api.anonymize_prepared(log, Microaggregate(k=4, partition="random"), seed=SEED)
    for module in (homogeneity, partition_agreement):
        monkeypatch.setattr(module, "MOST_USERS", 20)
        scores = {score.key: score for score in module.measure(_comparison(log, release))}
        assert scores["users"].value <= 20
        assert scores["users"].unit == "of 60 users"
        assert all(np.isfinite(score.value) for score in scores.values())


@pytest.mark.parametrize("name", ["homogeneity", "partition_agreement"])
@pytest.mark.parametrize(
    ("users", "reason"), [("drop", "no row of the release has a name"), ("session", "several names")]
)
def test_without_one_profile_for_each_user_they_say_why(name, users, reason):
    log = coterie.prepare(coterie.read("synth:users=40,seed=2"))
    release = api.anonymize_prepared(log, SuppressRare(k=2, users=users), seed=SEED)
    with pytest.raises(NotApplicableError, match=reason):
        coterie.measure(release, [name], original=log, seed=SEED)
    said = []
    scores = coterie.measure(release, original=log, seed=SEED, left_out=said.append)
    assert name not in set(scores["name"])
    if name != "partition_agreement":  # which is taken on request
        assert any(text.startswith(f"{name}: ") and reason in text for text in said)


def test_no_groups_and_no_queries():
    log = coterie.prepare(coterie.read("synth:users=40,seed=2"))
    release = api.anonymize_prepared(log, SuppressRare(k=2, users="pseudonym"), seed=SEED)
    with pytest.raises(NotApplicableError, match="this release has none"):
        coterie.measure(release, ["homogeneity"], original=log, seed=SEED)
    visits = visits_log()
    release = api.anonymize_prepared(visits, SuppressRare(k=2, users="pseudonym"), seed=SEED)
    for name in ("homogeneity", "partition_agreement"):
        with pytest.raises(NotApplicableError, match="this log is"):
            coterie.measure(release, [name], original=visits, seed=SEED)
    assert coterie.measure(release, original=visits, seed=SEED).height
