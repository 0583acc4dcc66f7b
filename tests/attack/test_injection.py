"""Planted accounts isolate a person where groups follow interests, and detect a query that one person typed."""

from dataclasses import replace

import pytest

import coterie
from coterie import measures
from coterie.errors import NotApplicableError
from coterie.measures.attacks import injection
from coterie.methods.interest_microaggregate import InterestMicroaggregate
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from tests.helpers.own_words import own_words, scores_of


@pytest.fixture(scope="module")
def log():
    return own_words(people=60)


def test_accounts_that_share_a_persons_interests_are_alone_with_them(log):
    release = coterie.anonymize(log, InterestMicroaggregate(k=3, publish="queries"), seed=1)
    found = scores_of(log, release, "injection")
    assert found["targets"] == injection.TARGETS
    assert found["accounts"] == 2
    assert found["isolated"] > 80
    assert found["control.isolated"] < 20
    assert found["read"] > 1
    assert 0 < found["read.share"] <= 100
    assert found["foreign"] == 0
    assert found["before.isolated"] == 100


def test_random_groups_are_not_drawn_to_a_person(log):
    found = scores_of(log, coterie.anonymize(log, Microaggregate(k=3, partition="random"), seed=1), "injection")
    assert found["isolated"] < 10


def test_an_oracle_for_the_query_of_one_person(log):
    release = coterie.anonymize(own_words(people=8, together=4), SuppressRare(k=4), seed=1)
    found = scores_of(log, release, "injection")
    assert found["detected"] == 100
    assert found["false_alarms"] == 0
    assert found["before.detected"] == 0


def test_it_is_taken_by_name_only(log):
    assert "injection" not in measures.names_of_all()
    release = coterie.anonymize(own_words(people=8, together=4), SuppressRare(k=4), seed=1)
    assert "injection" not in set(coterie.measure(release, original=log, seed=1)["name"])


def test_few_users_are_drawn(log, monkeypatch):
    monkeypatch.setattr(injection, "USERS", 30)
    monkeypatch.setattr(injection, "TARGETS", 5)
    release = coterie.anonymize(log, InterestMicroaggregate(k=3, publish="queries"), seed=1)
    first = scores_of(log, release, "injection")
    assert (first["users"], first["targets"]) == (30, 5)
    assert scores_of(log, release, "injection") == first


def test_a_method_that_is_not_there(log):
    release = coterie.anonymize(log, InterestMicroaggregate(k=3, publish="queries"), seed=1)
    for other in (replace(release, method="of_others"), replace(release, params={"q": 1}, record=None)):
        with pytest.raises(NotApplicableError, match="runs the method again"):
            scores_of(log, other, "injection")


def test_without_a_record_the_sidecar_is_enough(log):
    release = coterie.anonymize(log, InterestMicroaggregate(k=3, publish="queries"), seed=1)
    assert scores_of(log, replace(release, record=None), "injection") == scores_of(log, release, "injection")


def test_nobody_has_two_queries():
    log = own_words(people=8, queries=1)
    release = coterie.anonymize(log, InterestMicroaggregate(k=3, publish="queries"), seed=1)
    with pytest.raises(NotApplicableError, match="two different queries"):
        scores_of(log, release, "injection")
    shared = own_words(people=8, queries=2, together=8)
    with pytest.raises(NotApplicableError, match="one user alone"):
        scores_of(shared, coterie.anonymize(shared, SuppressRare(k=4), seed=1), "injection")
