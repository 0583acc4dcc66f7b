"""Evidence that is forged or damaged is as good as none: a check that could not be made, never an error of ours."""

import polars as pl
import pytest

from coterie.promises import judge, k_theta_affinity
from coterie.promises.concept_k_anonymity import ConceptKAnonymity
from coterie.promises.k_theta_affinity import KThetaAffinity
from coterie.promises.user_k_anonymity import UserKAnonymity
from coterie.text.words import digest_of, name_of_topics
from tests.helpers.hand_made import DIGEST, NAMES, case_of, check_of, log_of

TYPED = [{"user": user, "query": f"{user} two three four"} for user in "pqrs"]
ROWS = [{"query": row["query"]} for row in TYPED]
SHARED = [{"user": name, "query": "dog"} for name in NAMES[:2]]
TOPICS = pl.LazyFrame({"topic": [0, 1], "word": ["rose", "car"]})
SUBJECTS = pl.LazyFrame({"original": ["p", "q"], "released": NAMES[:2]})
DAMAGED = {
    "another column": pl.LazyFrame({"another": ["dog"]}),
    "whole numbers": pl.LazyFrame({name: [1, 2] for name in ("word", "label", "path", "original")}),
    "nulls": pl.LazyFrame(
        {name: ["dog", None] for name in ("word", "label", "path", "item", "by", "original", "topic", "user")}
    ),
    "lists": pl.LazyFrame({name: [["dog"]] for name in ("word", "label", "path", "item", "by", "user", "topic")}),
    "no file": pl.scan_parquet("/nowhere/at/all.parquet", glob=False),
    "no rows": pl.LazyFrame(schema={"word": pl.String, "label": pl.String, "path": pl.String, "topic": pl.Int64}),
    "paths": pl.LazyFrame({"path": ["a\0b", "x" * 5000, "/", "/nowhere"]}),
}


@pytest.fixture(params=DAMAGED)
def damaged(request):
    return DAMAGED[request.param]


def _not_checked(promise, check, rows=ROWS, **evidence):
    verdict = judge(case_of(rows, log_of(TYPED), evidence=evidence), (promise,))
    looked_at = check_of(verdict, check)
    assert looked_at.status == "not checked"
    assert "run record" in looked_at.needs
    assert verdict.exit_code == 3 or verdict.broken


def test_function_words(damaged):
    _not_checked(KThetaAffinity(k=3, function_words=DIGEST), "cover.query", function_words=damaged)


def test_certificate(damaged, monkeypatch):
    monkeypatch.setattr(k_theta_affinity, "_SMALL_ITEMS", -1)
    _not_checked(KThetaAffinity(k=3), "cover.query", certificate=damaged)


def test_labels(damaged):
    _not_checked(UserKAnonymity(k=2, labels=digest_of(["dog"])), "labels", SHARED, taxonomy=damaged)


def test_taxonomy(damaged):
    _not_checked(ConceptKAnonymity(k=2, taxonomy=DIGEST), "items", taxonomy=damaged)


@pytest.mark.parametrize("name", ["topics", "subjects"])
def test_topics_and_who_became_whom(damaged, name):
    tables = {"topics": TOPICS, "subjects": SUBJECTS, name: damaged}
    _not_checked(UserKAnonymity(k=2, topics=name_of_topics(TOPICS.collect())), "topics", SHARED, **tables)


def test_topics_of_older_records_have_shorter_numbers():
    promise = UserKAnonymity(k=2, topics=name_of_topics(TOPICS.collect()))
    tables = {"topics": TOPICS.cast({"topic": pl.Int32}), "subjects": SUBJECTS}
    case = case_of(SHARED, log_of(TYPED[:2]), evidence=tables)
    assert check_of(judge(case, (promise,)), "topics").status == "passed"
