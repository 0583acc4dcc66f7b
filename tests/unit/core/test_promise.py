"""What a check says in words, and what follows from checks; tests/unit/promises has the judges."""

from dataclasses import asdict

import pytest

from coterie.core.promise import Check, Verdict, from_dict, promise_class, to_dict, with_k
from coterie.errors import InputError, ParameterError, UnknownNameError
from coterie.promises.query_k_anonymity import QueryKAnonymity
from coterie.promises.user_k_anonymity import UserKAnonymity
from tests.helpers.cell_k import CellK

FIVE = QueryKAnonymity(k=5)


@pytest.mark.parametrize(("check", "text"), [
    ({"status": "passed"}, "each has k users"),
    ({"status": "passed", "looked_at": 1234}, "each has k users; 1,234 looked at"),
    ({"status": "passed", "looked_at": 0}, "each has k users; 0 looked at"),
    ({"status": "passed", "how": "by the certificate"}, "each has k users (by the certificate)"),
    ({"status": "failed", "broken": 2, "fault": "have fewer"}, "each has k users: 2 have fewer"),
    ({"status": "failed", "broken": 2000, "looked_at": 9000, "fault": "have fewer"},
     "each has k users: 2,000 of 9,000 have fewer"),
    ({"status": "failed", "broken": 1, "looked_at": 3, "fault": "has fewer", "concerns": 1400, "how": "counted"},
     "each has k users (counted): 1 of 3 has fewer, which concerns 1,400 users"),
    ({"status": "failed", "broken": 1, "fault": "has fewer", "concerns": 0},
     "each has k users: 1 has fewer, which concerns 0 users"),
    ({"status": "not checked", "needs": "the original log"}, "each has k users: needs the original log"),
    ({"status": "not checked", "looked_at": 3}, "each has k users"),
])  # fmt: skip
def test_a_check_in_words(check, text):
    assert Check(name="k", detail="each has k users", **check).text == text


def test_a_check_as_plain_data_is_the_same_check():
    check = Check(name="k", status="failed", detail="d", looked_at=3, broken=1, largest_k=2, promise="p")
    assert Check(**asdict(check)) == check


def _check(status, *, carries=False, largest_k=None):
    return Check(name="c", status=status, detail="d", carries_promise=carries, largest_k=largest_k)


PASSED, FAILED = _check("passed", carries=True, largest_k=9), _check("failed", carries=True, largest_k=3)
ORDER, NOT_CHECKED = _check("not checked"), _check("not checked", carries=True)


@pytest.mark.parametrize(("checks", "code", "largest_k"), [
    ((), 0, None),
    ((PASSED,), 0, 9),
    ((PASSED, _check("passed", largest_k=7)), 0, 7),
    ((PASSED, ORDER), 0, 9),
    ((PASSED, FAILED), 1, 3),
    ((PASSED, NOT_CHECKED), 3, None),
    ((FAILED, NOT_CHECKED), 1, None),
    ((_check("failed"), ORDER), 1, None),
])  # fmt: skip
def test_what_follows_from_checks(checks, code, largest_k):
    verdict = Verdict(promises=(FIVE,), checks=checks)
    assert verdict.exit_code == code
    assert verdict.largest_k == largest_k
    assert verdict.broken == tuple(check for check in checks if check.status == "failed")
    assert verdict.unchecked == tuple(check for check in checks if check.status == "not checked")


def test_a_verdict_says_all_its_promises():
    users = UserKAnonymity(k=4)
    verdict = Verdict(promises=(FIVE, users), checks=())
    assert verdict.sentence == f"{FIVE.sentence} {users.sentence}"


def test_rows_of_others_have_a_sentence_of_their_own():
    class Foreign:
        sentence = "ours"
        foreign_sentence = "theirs"

    verdict = Verdict(promises=(Foreign(), CellK(least=2)), checks=(), foreign=True)
    assert verdict.sentence == f"theirs {CellK(least=2).sentence}"
    assert Verdict(promises=(Foreign(),), checks=()).sentence == "ours"


def test_another_k_takes_the_place_of_that_of_each_promise_that_has_one():
    assert with_k((FIVE, CellK(least=2)), 3) == (QueryKAnonymity(k=3), CellK(least=2))
    assert with_k((FIVE,), 5) == (FIVE,), "the same k is no error"


def test_a_promise_without_k_has_no_other_k():
    with pytest.raises(ParameterError, match=f"{CellK.name} has no k that could be checked instead: leave out k"):
        with_k((CellK(least=2),), 3)


def test_a_promise_as_plain_data_is_the_same_promise():
    data = to_dict(FIVE)
    assert data["name"] == "query_k_anonymity"
    assert data["k"] == 5
    assert data["sentence"] == FIVE.sentence
    assert from_dict(data) == FIVE


@pytest.mark.parametrize("data", [{}, {"k": 5}, {"name": 5}, [], "query_k_anonymity", None])
def test_a_promise_without_a_name_is_refused(data):
    with pytest.raises(InputError, match=r"A promise has no name\."):
        from_dict(data)


@pytest.mark.parametrize("numbers", [{"k": 5, "more": 1}, {}])
def test_a_promise_with_other_numbers_is_refused(numbers):
    with pytest.raises(InputError, match="'query_k_anonymity' has a number too many, or lacks one"):
        from_dict({"name": "query_k_anonymity", **numbers})


def test_a_promise_nobody_knows_is_refused_with_the_nearest_name():
    with pytest.raises(UnknownNameError, match="Did you mean 'query_k_anonymity'"):
        promise_class("query_k_anonimity")
