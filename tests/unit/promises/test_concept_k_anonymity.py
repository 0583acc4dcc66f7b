"""Concept k-anonymity: k users, or queries, behind every released concept."""

from datetime import datetime, timedelta

import polars as pl
import pytest

from coterie import taxonomies
from coterie.core.promise import ORIGINAL
from coterie.errors import ParameterError
from coterie.promises import judge
from coterie.promises.concept_k_anonymity import ConceptKAnonymity
from tests.helpers.hand_made import DIGEST, NAMES, case_of, check_of, log_of

START = datetime(2020, 2, 3, 9)
TYPED = [
    {"user": user, "query": query, "time": START + n * timedelta(days=1)}
    for n, (user, query) in enumerate([("a", "dog"), ("b", "wolf"), ("c", "dog"), ("c", "zzqx")])
]


@pytest.fixture(scope="module")
def canine():
    """The deepest concept that dogs and wolves are, too."""
    tree = taxonomies.load("wordnet")
    names = tree.names.to_list()
    assert "canine (2)" in names
    return "canine (2)"


def _released(concept, week=True):
    """All three typed it in the week of that Monday."""
    said = {"time": START.replace(hour=0), "time_level": "week"} if week else {}
    return [{"query": concept, **said} for _ in TYPED[:3]]


@pytest.mark.parametrize(("k", "broken"), [(3, 0), (4, 1)])
def test_users_behind_a_concept(canine, k, broken):
    verdict = judge(case_of(_released(canine), log_of(TYPED)), (ConceptKAnonymity(k=k),))
    check = check_of(verdict, "crowd.query")
    assert (check.broken, check.looked_at, check.largest_k) == (broken, 1, 3)
    beside = {"crowd.query.url.rank.time", "meaning.query"}
    assert {check.name for check in verdict.broken} == ({"crowd.query", *beside} if broken else set())


@pytest.mark.parametrize(("k", "broken"), [(2, 0), (3, 1)])
def test_queries_behind_a_concept(canine, k, broken):
    verdict = judge(case_of(_released(canine), log_of(TYPED)), (ConceptKAnonymity(k=k, size="queries"),))
    check = check_of(verdict, "crowd.query")
    assert (check.broken, check.looked_at, check.largest_k) == (broken, 1, 2)
    assert check.detail == f"at least {k} different queries behind each released concept"


def test_the_rows_of_a_concept_are_those_of_its_queries(canine):
    fine = _released(canine)
    for rows, broken in (
        (fine, 0),
        (fine[:2], 1),
        ([*fine, fine[0]], 1),
        ([*fine[:2], {**fine[2], "time": None, "time_level": None}], 2),
        ([*fine[:2], {**fine[2], "url": "x"}], 2),
        ([*fine[:2], {**fine[2], "rank": 1}], 2),
        ([*fine, {"query": "asteroid"}], 1),
        ([{**row, "query": "asteroid"} for row in fine], 1),
    ):
        check = check_of(judge(case_of(rows, log_of(TYPED)), (ConceptKAnonymity(k=3),)), "meaning.query")
        assert check.broken == broken, rows
        assert check.carries_promise
    assert check.looked_at == 1


def test_what_accompanies_concepts_is_compared_as_promised(canine):
    exact = [{"query": canine, "time": row["time"]} for row in TYPED[:3]]
    bare = _released(canine, week=False)
    for attrs, rows in (("keep", exact), ("drop", bare), ("common", _released(canine))):
        verdict = judge(case_of(rows, log_of(TYPED)), (ConceptKAnonymity(k=3, attrs=attrs),))
        assert verdict.exit_code == 0, attrs
    wrong = judge(case_of(_released(canine), log_of(TYPED)), (ConceptKAnonymity(k=3, attrs="keep"),))
    assert [check.name for check in wrong.broken] == ["meaning.query"]


def test_items_are_concepts():
    check = check_of(judge(case_of([{"query": "dog zzqx"}, {"query": "asteroid"}]), (ConceptKAnonymity(k=2),)), "items")
    assert (check.status, check.broken, check.looked_at) == ("failed", 1, 2)


def test_without_the_original_or_the_taxonomy(canine):
    rows = _released(canine)
    unseen = judge(case_of(rows), (ConceptKAnonymity(k=3),))
    assert unseen.exit_code == 3
    assert check_of(unseen, "crowd.query").needs == ORIGINAL
    assert check_of(unseen, "items").status == "passed"
    for size in ("users", "queries"):
        unknown = judge(case_of(rows, log_of(TYPED)), (ConceptKAnonymity(k=3, size=size, taxonomy=DIGEST),))
        assert unknown.exit_code == 3
        for name in ("items", "meaning.query", "crowd.query"):
            assert check_of(unknown, name).text.endswith(
                ": needs the taxonomy's file, whose path is in the run record (--record DIR)"
            )


def test_a_name_links_sessions_as_they_were_with_rows_that_are_left_out(canine):
    """The query in the middle has no concept and still holds its session together."""
    minutes = [("a", "dog", 0), ("a", "zzqx", 25), ("a", "dog", 50), ("b", "wolf", 0)]
    typed = log_of([{"user": u, "query": q, "time": START + timedelta(minutes=m)} for u, q, m in minutes])
    promise = ConceptKAnonymity(k=2, users="session", attrs="drop")
    one = [{"user": name, "query": canine} for name in (NAMES[0], NAMES[0], NAMES[1])]
    assert not judge(case_of(one, typed), (promise,)).broken
    two = [{"user": name, "query": canine} for name in NAMES[:3]]
    assert [check.name for check in judge(case_of(two, typed), (promise,)).broken] == ["links"]


def test_foreign_rows_do_not_say_which_concepts_are_meant():
    with pytest.raises(ParameterError, match="can be checked only for releases with a sidecar: it says which concepts"):
        ConceptKAnonymity.of_foreign({"k": 3}, named=True)


def test_what_it_says():
    promise = ConceptKAnonymity(k=3, size="queries")
    assert "at least 3 different queries, which may all come from one user" in promise.sentence
    assert any(limit.startswith("One person who typed 3 different queries") for limit in promise.limits)
    assert len(ConceptKAnonymity(k=3).limits) == len(promise.limits) - 1
    assert promise.evidence == ()
    assert ConceptKAnonymity(k=3, taxonomy=DIGEST).evidence == ("taxonomy",)
    assert (promise.releases, promise.about, promise.linkage_bound) == ("concepts", "items", None)


def test_nothing_released(canine):
    frame = case_of(_released(canine)).rows.collect().clear()
    assert isinstance(frame, pl.DataFrame)
    rare = log_of([{"user": "a", "query": "zzqx"}])
    for size in ("users", "queries"):
        verdict = judge(case_of(frame, rare), (ConceptKAnonymity(k=3, size=size),))
        assert verdict.exit_code == 0
        assert verdict.largest_k is None
