"""Days, sessions and rows about the same things are put together again; those without anything in common are not."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

import coterie
from coterie.errors import NotApplicableError
from coterie.measures.attacks import relink
from coterie.measures.attacks.relink import Crowd, People
from coterie.measures.subjects import cut
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.text.language import language
from tests.helpers import units_reference as plain
from tests.helpers.own_words import own_words, scores_of

ENGLISH = language("english")


def _crowd(units, seed=1):
    return Crowd.of(units, People.of(units, seed), ENGLISH, seed)


@pytest.fixture(scope="module")
def pairs():
    """Two people each have a word of their own, and three sessions of four searches."""
    return own_words(people=40, together=2)


def test_people_who_are_alone_with_their_word_are_found_and_pairs_are_taken_for_each_other(pairs):
    release = coterie.anonymize(pairs, SuppressRare(k=2, users="session"), seed=1)
    found = scores_of(pairs, release, "relink")
    # 13 people rehearse; of 27 others, whose sessions have a word of two people, few lack their other half.
    assert (found["after.people"], found["after.units"], found["after.attacked"]) == (27, 81, 81)
    # Of each session the two others of the same person are something new; so are all of others but one.
    assert found["released.hit.control"] == pytest.approx(100 * 2 / 80, rel=0.05)
    assert 45 < found["after.hit"] < 70
    assert found["after.hit"] == pytest.approx(found["before.hit"], abs=10)
    assert found["after.read"] == 4
    assert found["lift"] == pytest.approx(found["after.hit"] / found["released.hit.control"])
    assert (found["released.hit"], found["released.hit.people"]) == (found["after.hit"], 27)
    assert found["after.hit.low"] <= found["after.hit"] <= found["after.hit.high"]


@pytest.fixture(scope="module")
def alone():
    """Each person has a word of their own, which is in all their searches."""
    return own_words(people=45)


@pytest.mark.parametrize("kind", ["row", "mini", "session", "day"])
def test_a_word_of_their_own_links_everything(alone, kind):
    crowd = _crowd(cut(alone, kind))
    attack = crowd.attack(30, 1, crowd.model())
    assert attack["hit"].mean() == 1
    assert attack["chance"].mean() < 0.05


def test_what_has_nothing_in_common_is_not_found():
    """Person n asks for three things of forty; others ask for the same, and nothing else tells them apart."""
    rows = [(f"p{n:02}", f"thing{(n * 7 + turn * 11) % 40}", turn) for n in range(60) for turn in range(3)]
    frame = pl.DataFrame(rows, schema=["user", "query", "turn"], orient="row")
    frame = frame.select("user", "query", time=pl.datetime(2020, 1, 1) + pl.duration(days=pl.col("turn")))
    log = coterie.log(frame.cast({"time": pl.Datetime("us")}))
    for users in ("session", "drop"):
        found = scores_of(log, coterie.anonymize(log, SuppressRare(k=2, users=users), seed=1), "relink")
        assert found["after.hit"] == 0  # all that is alike is equal, and then nothing is new


def test_hosts_tell(alone):
    host = pl.lit("http://") + pl.col("query").str.slice(0, 6) + pl.lit(".example/page")
    query = pl.lit("thing") + pl.col("query").str.slice(-1)
    log = replace(alone, frame=alone.frame.with_columns(url=host, query=query))
    crowd = _crowd(cut(log, "session"))
    assert crowd.attack(30, 1, crowd.model())["hit"].mean() == 1
    without = _crowd(cut(replace(log, frame=log.frame.with_columns(url=pl.lit(None, pl.String))), "row"))
    assert without.attack(30, 1, without.model())["hit"].mean() == 0


def test_smaller_pools_are_easier(monkeypatch):
    """Words are shared by seven people each, so that it matters how many of them are there."""
    log = own_words(people=84, together=7)
    monkeypatch.setattr(relink, "POOLS", (7, 14, 28, 56))
    monkeypatch.setattr(relink, "POOL", 56)
    release = coterie.anonymize(log, SuppressRare(k=2, users="session"), seed=1)
    found = scores_of(log, release, "relink")
    rates = [found[f"after.among_{size}"] for size in (7, 14, 28, 56)]
    assert found["after.hit"] == rates[-1]
    assert all(small >= large for small, large in pairwise(rates))
    assert rates[0] > 1.5 * rates[-1]


def test_candidates_and_features_are_the_plain_ones(alone):
    rows = cut(alone, "session")
    crowd = _crowd(rows, 3)
    attacked = crowd._attacked(0, 30)[:10]
    left, right, _ = crowd._candidates(attacked, 0, 30)
    features = crowd._features(attacked[left], right)
    texts = {unit: [] for unit in rows["unit"].unique()}
    for unit, item in rows.select("unit", "item").iter_rows():
        texts[unit] += plain.words(item)
    # Units are drawn: those of the model are found again by their words.
    cosines = plain.vectors(list(texts.values()))
    expected = {
        round(plain.cosine(one, other), 9) for one in cosines for other in cosines if plain.cosine(one, other) > 0
    }
    assert {round(value, 9) for value in features[1]} <= expected
    assert left.size > 10
    assert (crowd.person[right] < 30).all()
    assert (features[5] == (features[4] == 0)).all()  # no day between them: the same day


def test_some_units_are_drawn(pairs, monkeypatch):
    monkeypatch.setattr(relink, "ATTACKED", 10)
    monkeypatch.setattr(relink, "UNITS_EACH", 2)
    release = coterie.anonymize(pairs, SuppressRare(k=2, users="session"), seed=1)
    first = scores_of(pairs, release, "relink")
    assert (first["after.units"], first["after.attacked"]) == (54, 10)
    assert scores_of(pairs, release, "relink") == first
    assert scores_of(pairs, release, "relink", seed=2) != first


def test_a_few_people_are_enough():
    """Nobody is left to rehearse on, and what has more in common comes first: here, the same things of the other."""
    crowd = _crowd(cut(own_words(people=2), "session"))
    assert (crowd.pool, crowd.attack(2, 1, crowd.model())["hit"].to_list()) == (2, [0.0] * 6)
    assert np.isfinite(crowd.model()).all()


def test_where_there_is_nothing_to_put_together(pairs):
    for method in (SuppressRare(k=2, users="pseudonym"), Microaggregate(k=2)):
        with pytest.raises(NotApplicableError, match="one name"):
            scores_of(pairs, coterie.anonymize(pairs, method, seed=1), "relink")
