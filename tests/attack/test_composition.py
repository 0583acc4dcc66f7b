"""Two releases with other groups give away what one does not; the same release twice gives away nothing more."""

from dataclasses import replace

import polars as pl
import pytest

import coterie
from coterie.core.log import Record
from coterie.errors import InputError, NotApplicableError, ParameterError
from coterie.methods.interest_microaggregate import InterestMicroaggregate
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.semantic_microaggregate import SemanticMicroaggregate
from coterie.methods.suppress_rare import SuppressRare
from tests.helpers.own_words import own_words, scores_of, unchecked_release


def people_of(log):
    return sorted(log.frame.select("user").unique().collect()["user"])


def everything_of(log, groups):
    typed = log.frame.select("user", "query").unique().collect()
    return sorted({(groups[user], query) for user, query in typed.iter_rows()})


@pytest.fixture(scope="module")
def log():
    return own_words(people=36)


@pytest.fixture(scope="module")
def rows_and_columns(log):
    """Two releases whose groups meet in one person each: people in a square, by rows and by columns."""
    people = people_of(log)
    by_rows = {user: place // 6 for place, user in enumerate(people)}
    by_columns = {user: place % 6 for place, user in enumerate(people)}
    return [unchecked_release(log, groups, everything_of(log, groups), k=6) for groups in (by_rows, by_columns)]


def test_groups_that_meet_in_one_person(log, rows_and_columns):
    first, second = rows_and_columns
    found = scores_of(log, first, "composition", second=second)
    assert found["released.single"] == 100
    assert found["both.theirs"] == 100  # what stands in both is of the one who is in both
    assert found["both.read"] == 100
    assert found["one.theirs"] < 20
    assert found["excess.low"] > 80
    assert found["before.theirs"] == 100
    assert found["control.theirs"] is None or found["control.theirs"] < 50


def test_the_same_release_twice_adds_nothing(log, rows_and_columns):
    first, _ = rows_and_columns
    found = scores_of(log, first, "composition", second=first)
    assert found["released.single"] == 0
    assert found["both.theirs"] == found["one.theirs"]
    assert found["excess"] == found["excess.low"] == found["excess.high"] == 0


def test_nested_groups_add_nothing(log, rows_and_columns):
    first, _ = rows_and_columns
    larger = {user: place // 12 for place, user in enumerate(people_of(log))}
    found = scores_of(log, first, "composition", second=unchecked_release(log, larger, everything_of(log, larger)))
    assert found["released.single"] == 0
    assert found["excess"] == 0


def test_two_random_partitions(log):
    releases = [coterie.anonymize(log, Microaggregate(k=4, partition="random"), seed=seed) for seed in (1, 2)]
    found = scores_of(log, releases[0], "composition", second=releases[1])
    assert found["released.single"] > 50
    assert found["excess.low"] > 0


@pytest.mark.parametrize("k", [4, 12])
def test_a_second_release_on_the_same_groups_adds_nothing(log, k):
    """Where the same method on groups of its own would."""
    first = coterie.anonymize(log, Microaggregate(k=4, partition="random"), seed=1)
    second = coterie.anonymize(log, Microaggregate(k=k), seed=2, groups_of=first.record)
    found = scores_of(log, first, "composition", second=second)
    assert found["released.single"] == 0
    assert found["excess.low"] <= 0
    alone = coterie.anonymize(log, Microaggregate(k=k, partition="random"), seed=2)
    assert scores_of(log, first, "composition", second=alone)["released.single"] > 20


@pytest.fixture(scope="module")
def sharing():
    """120 made-up people who have words in common, and a release of their phrases."""
    log = coterie.prepare(coterie.read("synth:users=120,seed=7"))
    method = Microaggregate(k=4, partition="random", publish="phrases", phrase_users=2, attrs="drop")
    return log, method, coterie.anonymize(log, method, seed=1)


@pytest.mark.parametrize(("k", "most"), [(4, 1.0), (12, 8.0)])
def test_phrases_on_the_same_groups_add_nothing_and_on_unions_little(sharing, k, most):
    log, method, first = sharing
    second = coterie.anonymize(log, replace(method, k=k), seed=2, groups_of=first.record)
    found = scores_of(log, first, "composition", second=second)
    assert found["released.single"] == 0
    assert found["both.strings"] > 1  # there is something to look at
    assert abs(found["excess"]) < most


def test_phrases_on_other_groups_are_the_persons(sharing):
    log, method, first = sharing
    found = scores_of(log, first, "composition", second=coterie.anonymize(log, method, seed=2))
    assert found["released.single"] > 80
    assert found["excess.low"] > 20


def test_real_people(real_data):
    """56 rows of 432 people: on the same groups, on unions, on groups of its own, by another method."""
    log = coterie.prepare(coterie.read(real_data / "aol_clicks_users.tsv.gz"))
    first_rows = pl.int_range(pl.len()).over("user", order_by="time") < 56
    log = replace(log, frame=log.frame.filter(first_rows).collect().lazy())
    first = coterie.anonymize(log, InterestMicroaggregate(k=5, publish="queries"), seed=1)

    def excess(method, **given):
        second = coterie.anonymize(log, method, seed=2, **given)
        found = scores_of(log, first, "composition", second=second, seed=5)
        return found["released.single"], found["excess"]

    for again in (
        InterestMicroaggregate(k=5, publish="queries"),
        InterestMicroaggregate(k=10, publish="queries"),
        SemanticMicroaggregate(k=5),
    ):
        single, more = excess(again, groups_of=first.record)
        assert single == 0
        assert -2 < more < 2
    assert excess(InterestMicroaggregate(k=10, publish="queries"))[1] > 8
    assert excess(SemanticMicroaggregate(k=5))[1] > 40


def test_phrases_of_real_people(real_data):
    """The same with phrases of three users."""
    log = coterie.prepare(coterie.read(real_data / "aol_clicks_users.tsv.gz"))
    first_rows = pl.int_range(pl.len()).over("user", order_by="time") < 56
    log = replace(log, frame=log.frame.filter(first_rows).collect().lazy())
    method = InterestMicroaggregate(k=5, phrase_users=3)
    first = coterie.anonymize(log, method, seed=1)

    def excess(method, **given):
        second = coterie.anonymize(log, method, seed=2, **given)
        found = scores_of(log, first, "composition", second=second, seed=5)
        return found["released.single"], found["excess"]

    for k, most in ((5, 1), (10, 5)):
        single, more = excess(replace(method, k=k), groups_of=first.record)
        assert single == 0
        assert abs(more) < most
    assert excess(replace(method, k=10))[1] > 6
    assert excess(replace(method, partition="random"))[1] > 40


def test_what_must_be_given(log, rows_and_columns):
    first, second = rows_and_columns
    with pytest.raises(NotApplicableError, match="second=OUT"):
        scores_of(log, first, "composition")
    with pytest.raises(NotApplicableError, match="second_record=DIR"):
        scores_of(log, first, "composition", second=replace(second, record=None))
    found = scores_of(log, first, "composition", second=replace(second, record=None), second_record=second.record)
    assert found["released.single"] == 100
    with pytest.raises(ParameterError, match="second is a release"):
        scores_of(log, first, "composition", second="b.tsv")


def test_releases_of_other_logs_are_refused(log, rows_and_columns):
    first, second = rows_and_columns

    def made_from(release, digest):
        return replace(release, record=replace(release.record, run={"input_sha256": [digest]}))

    with pytest.raises(InputError, match="same log"):
        scores_of(log, made_from(first, "aa"), "composition", second=made_from(second, "bb"))
    assert (
        scores_of(log, made_from(first, "aa"), "composition", second=made_from(second, "aa"))["released.single"] == 100
    )
    strangers = unchecked_release(log, {"someone": 0, "else": 0}, [(0, "tea")])
    with pytest.raises(InputError, match="no user in common"):
        scores_of(log, first, "composition", second=strangers)
    foreign = replace(second, sha256="aa", record=replace(second.record, run={"released_sha256": "bb"}))
    with pytest.raises(InputError, match="another release"):
        scores_of(log, first, "composition", second=foreign)


def test_a_second_release_without_groups(log, rows_and_columns):
    together = own_words(people=36, together=4)
    second = coterie.anonymize(together, SuppressRare(k=3), seed=1)
    with pytest.raises(NotApplicableError, match="share a profile"):
        scores_of(
            log,
            rows_and_columns[0],
            "composition",
            second=replace(second, record=Record(run={}, subjects=second.record.subjects)),
        )


def test_users_that_only_one_release_has(log, rows_and_columns):
    first, second = rows_and_columns
    some = second.record.subjects.filter(pl.col("original") < "p030")
    found = scores_of(log, first, "composition", second=replace(second, record=replace(second.record, subjects=some)))
    assert found["users.both"] == 30
