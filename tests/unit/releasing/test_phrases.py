"""Releases of phrases: what is refused, what is said, and who is left out."""

from types import SimpleNamespace

import polars as pl
import pytest

import coterie
from coterie import api
from coterie.errors import InputError, ParameterError
from coterie.methods.concept_microaggregate import ConceptMicroaggregate
from coterie.methods.interest_microaggregate import InterestMicroaggregate
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.semantic_microaggregate import SemanticMicroaggregate
from coterie.promises.phrase_users import PhraseUsers
from coterie.releasing import profiles
from coterie.testing import queries_log


def _log(rows):
    return coterie.log(pl.DataFrame(rows, schema=["user", "query"], orient="row"))


def test_phrases_are_the_default_of_interests_and_m_is_k():
    method = InterestMicroaggregate(k=3)
    release = api.anonymize_prepared(queries_log(), method, seed=1)
    assert release.promises[1] == PhraseUsers(m=3)
    assert release.promises[0].phrases
    assert InterestMicroaggregate(k=3, phrase_users=2).promises(_facts(9))[1] == PhraseUsers(m=2)


def _facts(subjects):
    from coterie.core.plan import Facts

    return Facts(subjects=subjects, rows=100)


@pytest.mark.parametrize("cls", [Microaggregate, SemanticMicroaggregate, InterestMicroaggregate])
def test_phrases_have_no_times(cls):
    with pytest.raises(ParameterError, match="attrs = drop"):
        cls(publish="phrases", attrs="nearest")


@pytest.mark.parametrize("cls", [Microaggregate, SemanticMicroaggregate, InterestMicroaggregate])
def test_herding_is_about_whole_queries(cls):
    with pytest.raises(ParameterError, match="publish = queries"):
        cls(publish="phrases", attrs="drop", choice="herding")


def test_labels_are_no_phrases():
    with pytest.raises(ParameterError, match="Labels are not phrases"):
        ConceptMicroaggregate(publish="phrases", synthetic="label")


@pytest.mark.parametrize("wrong", [1, 0, -3, 2.5, True, "j", "5", None])
def test_the_number_of_users_is_a_whole_number_or_k(wrong):
    with pytest.raises(ParameterError, match="'phrase_users' parameter"):
        InterestMicroaggregate(phrase_users=wrong)


def test_more_users_than_there_are_cannot_have_a_phrase():
    with pytest.raises(InputError, match="Phrases of 20 users need at least 20 users"):
        api.anonymize_prepared(queries_log(), InterestMicroaggregate(k=2, phrase_users=20))


ALIKE = [(user, f"red rose {user}") for user in "abcd"]


def test_who_is_in_a_group_without_phrases_is_not_released_and_this_is_said():
    rows = [*ALIKE, *((user, f"own{user} word{user}") for user in "efgh")]
    release = api.anonymize_prepared(_log(rows), InterestMicroaggregate(k=4, phrase_users=2), seed=1)
    assert release.to_polars()["query"].unique().to_list() == ["red rose"]
    subjects = release.record.subjects.collect()
    assert subjects.filter(pl.col("released").is_null())["original"].to_list() == list("efgh")
    assert any("1 group has an empty profile, with 4 users" in warning for warning in release.warnings)


def test_a_profile_needs_two_members_who_give_something():
    rows = [("a", "red rose"), ("b", "x"), ("c", "y"), ("d", "red rose"), ("e", "red rose z"), ("f", "red rose")]
    release = api.anonymize_prepared(
        _log(rows), Microaggregate(k=3, publish="phrases", phrase_users=2, attrs="drop"), seed=3
    )
    names = release.record.subjects.collect()
    for group in release.to_polars()["user"].unique():
        members = names.filter(pl.col("group") == names.filter(pl.col("released") == group)["group"][0])["original"]
        assert len(set(members) & set("adef")) >= 2


def test_it_is_said_how_much_is_kept_and_what_keeps_more():
    release = api.anonymize_prepared(_log(ALIKE), InterestMicroaggregate(k=4), seed=1)
    assert (
        "100 % of all rows have a phrase that 4 users have, and 67 % of all words stand in one" in release.warnings[0]
    )
    assert any(warning.startswith("phrase_users = 3 keeps more") for warning in release.warnings)
    fewer = api.anonymize_prepared(_log(ALIKE), InterestMicroaggregate(k=4, phrase_users=3), seed=1)
    assert not any("keeps more" in warning for warning in fewer.warnings)


def test_stop_words_are_those_of_the_language():
    rows = [(user, f"x{user} der hund {user}y") for user in "abcd"]
    texts = {
        spoken: set(
            api.anonymize_prepared(_log(rows), InterestMicroaggregate(k=4, language=spoken), seed=1).to_polars()[
                "query"
            ]
        )
        for spoken in ("english", "german")
    }
    assert texts == {"english": {"der hund"}, "german": {"hund"}}


def test_codes_without_meaning_stop_nothing():
    rows = [*ALIKE, ("a", "red\ufdd0rose"), ("b", "手機"), ("c", "\ufffe")]
    release = api.anonymize_prepared(coterie.prepare(_log(rows)), InterestMicroaggregate(k=4), seed=1)
    assert set(release.to_polars()["query"]) == {"red rose"}
    with pytest.raises(InputError, match="normalize removes it"):
        api.anonymize_prepared(_log(rows), InterestMicroaggregate(k=4), seed=1)


def test_a_second_release_wants_everybody_of_the_groups(tmp_path):
    rows = [*ALIKE, ("e", "x@y.org"), ("f", "red rose f")]
    pl.DataFrame(rows, schema=["user", "query"], orient="row").write_csv(tmp_path / "log.csv")
    log = coterie.read(tmp_path / "log.csv")
    first = api.anonymize_prepared(coterie.prepare(log), Microaggregate(k=3), seed=1)
    scrubbed = coterie.prepare(log, ["normalize", "drop_empty", "scrub"])
    with pytest.raises(InputError, match="1 users of the earlier groups have no rows left"):
        api.anonymize_prepared(scrubbed, Microaggregate(k=3), seed=2, groups_of=first.record)


def test_blocks_and_threads_change_nothing():
    log = coterie.prepare(coterie.read("synth:users=60,seed=3"))
    one, many = (
        api.anonymize_prepared(log, InterestMicroaggregate(k=3), seed=5, blocks=blocks).to_polars() for blocks in (1, 7)
    )
    assert one.equals(many)


@pytest.mark.parametrize(("rows_of_users", "reason"), [
    ([2] * 999, "the log has fewer than 1,000 users"),
    ([2] * 1000, None),
    ([2] * 900 + [22] * 100, None),  # the mean is exactly twice the median
    ([2] * 900 + [23] * 100, "a few users have most rows"),
])  # fmt: skip
def test_fewer_users_for_each_phrase_are_suggested_where_that_keeps_more(rows_of_users, reason):
    found = SimpleNamespace(rows_kept=0.5, words_kept=0.5, rows_of_users=rows_of_users)
    nobody = pl.DataFrame(schema={"group": pl.UInt32})
    told = [text for text in profiles._phrase_warnings(found, nobody, 5) if "keeps more" in text]
    assert told == [] if reason is None else reason in told[0]
    assert not [text for text in profiles._phrase_warnings(found, nobody, 3) if "keeps more" in text]
