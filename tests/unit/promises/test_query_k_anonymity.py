"""Query k-anonymity: k users behind every released item."""

import polars as pl
import pytest

from coterie.core.promise import ORIGINAL
from coterie.promises import judge
from coterie.promises.query_k_anonymity import QueryKAnonymity
from tests.helpers.hand_made import NAMES, case_of, check_of, log_of

TYPED = [
    *({"user": user, "query": "tea"} for user in "abc"),
    *({"user": user, "query": "maps"} for user in "ab"),
    *({"user": user, "query": "maps"} for user in ("b", None)),
]
RELEASED = [{"query": "tea"}] * 3 + [{"query": "maps"}] * 4


@pytest.mark.parametrize(("k", "broken", "concerns"), [(2, 0, None), (3, 1, 2), (4, 2, 3)])
def test_users_are_counted_and_not_rows(k, broken, concerns):
    check = check_of(judge(case_of(RELEASED, log_of(TYPED)), (QueryKAnonymity(k=k),)), "crowd.query")
    assert (check.broken, check.looked_at, check.concerns, check.largest_k) == (broken, 2, concerns, 2)
    assert check.carries_promise
    assert check.needs_original
    assert check.promise == "query_k_anonymity"


def test_counts_are_numbers_and_the_text_is_made_of_them():
    verdict = judge(case_of(RELEASED, log_of(TYPED)), (QueryKAnonymity(k=3),))
    check = check_of(verdict, "crowd.query")
    assert check.detail == "at least 3 users behind each released query"
    assert check.text == "at least 3 users behind each released query: 1 of 2 have fewer, which concerns 2 users"
    assert check.broken == 1
    rows = check_of(verdict, "rows.query")
    assert rows.text == "no query has more rows than in the original; 2 looked at"


def test_rows_that_nobody_typed():
    verdict = judge(case_of([*RELEASED, {"query": "tea"}, {"query": "zzz"}], log_of(TYPED)), (QueryKAnonymity(k=2),))
    rows, crowd = check_of(verdict, "rows.query"), check_of(verdict, "crowd.query")
    assert (rows.broken, rows.looked_at) == (2, 3)
    assert (crowd.broken, crowd.largest_k, crowd.concerns) == (1, 0, 0)


def test_without_the_original_only_names_of_people_can_be_counted():
    rows = [{"query": "tea", "user": name} for name in NAMES[:3]]
    counted = judge(case_of(rows), (QueryKAnonymity(k=3, users="pseudonym", attrs="keep"),))
    check = check_of(counted, "crowd.query")
    assert check.how == "counted by the names in the release"
    assert check.text.endswith("released query (counted by the names in the release); 1 looked at")
    assert not check.needs_original
    assert counted.exit_code == 3, "names, not people"
    for users in ("session", "drop"):
        verdict = judge(case_of(rows), (QueryKAnonymity(k=3, users=users, attrs="keep"),))
        check = check_of(verdict, "crowd.query")
        assert (check.status, check.needs) == ("not checked", ORIGINAL)
        assert check.text.endswith(f": needs {ORIGINAL}")
    nameless = judge(case_of(RELEASED), (QueryKAnonymity(k=2, users="pseudonym", attrs="keep"),))
    assert check_of(nameless, "crowd.query").status == "not checked"


def test_nothing_released_is_nothing_broken():
    for original in (None, log_of(TYPED)):
        verdict = judge(case_of([], original), (QueryKAnonymity(k=3, users="pseudonym"),))
        assert not verdict.broken
        assert verdict.largest_k is None


def test_details_are_counted_with_their_query():
    typed = [{"user": user, "query": query, "url": "u"} for user in "ab" for query in ("tea", "maps")]
    typed += [{"user": "c", "query": "tea", "url": "u"}]
    rows = [{"query": "tea", "url": "u"}] * 3
    assert judge(case_of(rows, log_of(typed)), (QueryKAnonymity(k=3),)).exit_code == 0
    verdict = judge(case_of([*rows, {"query": "maps", "url": "u"}], log_of(typed)), (QueryKAnonymity(k=3),))
    assert {check.name for check in verdict.broken} == {
        "crowd.query",
        "crowd.query.url.rank.time",
        "tuples.query",
    }


def test_a_name_links_what_one_user_typed():
    typed = [{"user": user, "query": query} for user in "ab" for query in ("tea", "maps", "zzz")]
    promise = QueryKAnonymity(k=2, users="pseudonym", attrs="keep")
    fine = [{"user": name, "query": query} for name in NAMES[:2] for query in ("tea", "maps")]
    assert check_of(judge(case_of(fine, log_of(typed)), (promise,)), "links").status == "passed"
    mixed = [{"user": name, "query": query} for name, query in zip(NAMES, ("tea", "tea", "maps", "maps"), strict=False)]
    check = check_of(judge(case_of(mixed, log_of(typed)), (promise,)), "links")
    assert (check.broken, check.looked_at) == (4, 4)
    assert check.text == "each name stands for one user of the original: 4 of 4 names do not"
    assert check_of(judge(case_of(mixed), (promise,)), "links").status == "not checked"


@pytest.mark.parametrize("named", [True, False])
def test_foreign_rows(named):
    promise = QueryKAnonymity.of_foreign({"k": 2}, named=named)
    assert promise == QueryKAnonymity(k=2, users="pseudonym" if named else "drop", attrs="keep")
    rows = [{"query": "tea", "user": user if named else None} for user in ("x", "y")]
    verdict = judge(case_of(pl.DataFrame(case_of(rows).rows.collect()).reverse(), foreign=True), (promise,))
    assert [check.name for check in verdict.checks] == ["details", "crowd.query", "rows.query"]
    assert verdict.exit_code == (0 if named else 3)
    assert verdict.sentence == "To be checked: every query in the file was issued by at least 2 different users."
    assert check_of(verdict, "details").text == (
        "the promise is about the query alone; nothing was looked for in time, rank, url or other columns"
    )


def test_what_it_says():
    promise = QueryKAnonymity(k=7, users="pseudonym", attrs="keep")
    assert promise.sentence.startswith("Every released query was issued by at least 7 different users. All rows")
    assert "Nothing is promised about times" in promise.sentence
    assert "AOL" in promise.sentence
    assert len(promise.limits) == len(QueryKAnonymity(k=7, attrs="drop").limits) + 2
    assert (promise.releases, promise.about, promise.evidence, promise.linkage_bound) == ("text", "items", (), None)
