"""Word k-anonymity: k users behind every m words of a released query."""

import re

import pytest

import coterie
from coterie.core.promise import ORIGINAL
from coterie.errors import BrokenPromiseError
from coterie.methods.allowlist import Allowlist
from coterie.methods.unprotected import Unprotected
from coterie.promises import judge
from coterie.promises.word_k_anonymity import WordKAnonymity
from tests.helpers.broken_rules import CAUGHT_BY, words_log
from tests.helpers.hand_made import NAMES, case_of, check_of, log_of

TYPED = [
    *({"user": user, "query": "red tea"} for user in "abc"),
    *({"user": user, "query": "tea cup"} for user in "ab"),
    *({"user": user, "query": "red cup"} for user in ("a", "d", "d", None)),
    {"user": "c", "query": "cup of red tea"},
    {"user": "c", "query": "red tea cup"},
]


def _words(released, k, m, original=TYPED):
    rows = [{"query": query} for query in released]
    verdict = judge(case_of(rows, original and log_of(original)), (WordKAnonymity(k=k, m=m, attrs="drop"),))
    return check_of(verdict, "crowd.words.query")


@pytest.mark.parametrize(("k", "m", "broken", "largest"), [
    (3, 1, 0, 3), (4, 1, 1, 3), (3, 2, 0, 3), (4, 2, 1, 3), (2, "all", 1, 1), (3, "all", 1, 1),
])  # fmt: skip
def test_users_of_words_are_counted_together(k, m, broken, largest):
    """Tea has three users, the others four; each two words have three; all three together were typed by one."""
    check = _words(["red tea cup"], k, m)
    assert (check.broken, check.looked_at, check.largest_k) == (broken, 1, largest)
    assert check.concerns == (1 if broken else None)
    assert check.carries_promise
    assert check.needs_original


def test_a_query_with_more_words_counts_for_those_it_has():
    assert _words(["cup tea"], 3, "all").broken == 0  # in 'tea cup', 'cup of red tea' and 'red tea cup'
    assert _words(["cup tea"], 4, "all").broken == 1


def test_a_query_of_enough_users_needs_nothing_else():
    for m in (1, 2, "all"):
        assert _words(["red tea"], 3, m).broken == 0
    assert _words(["red tea"], 3, 1).largest_k == 3


def test_words_that_nobody_typed():
    for m in (1, 2, "all"):
        assert _words(["red tea", "red coffee"], 2, m).broken == 1
        assert _words([" "], 2, m).broken == 1


def test_one_word_said_twice_is_one_word():
    typed = [{"user": user, "query": "tea"} for user in "ab"]
    for m in (1, 2, "all"):
        assert _words(["tea tea"], 2, m, typed).broken == 0
        assert _words(["tea tea"], 3, m, typed).broken == 1


def test_the_length_is_seen_without_the_original():
    promise = WordKAnonymity(k=2, max_words=2)
    verdict = judge(case_of([{"query": "one two three"}, {"query": "one  two"}]), (promise,))
    check = check_of(verdict, "length.query")
    assert (check.broken, check.looked_at, check.needs_original) == (1, 2, False)
    words = check_of(verdict, "crowd.words.query")
    assert (words.status, words.needs, words.carries_promise) == ("not checked", ORIGINAL, True)
    assert verdict.exit_code == 1


def test_what_it_says():
    sentences = {m: WordKAnonymity(k=7, m=m).sentence for m in (1, 2, "all")}
    assert sentences[1].startswith(
        "Whoever knows one word of a released query finds at least 7 different users who typed it; the query itself "
        "can come from one user alone. No released query has more than 10 words."
    )
    assert sentences[2].startswith(
        "Whoever knows up to two words of a released query finds at least 7 different users who typed them together "
        "in one query; the query itself can come from one user alone."
    )
    assert sentences["all"].startswith("Whoever knows some words, however many, of a released query finds at least 7")
    assert WordKAnonymity(k=7).headline == "k = 7, m = 2"
    limits = WordKAnonymity(k=7).limits
    assert any("typed by one person alone, word for word" in limit for limit in limits)
    assert any("Three words" in limit for limit in limits)


@pytest.mark.parametrize("named", [True, False])
def test_foreign_rows(named):
    promise = WordKAnonymity.of_foreign({"k": 2}, named=named)
    rows = [{"query": "red tea cup", "user": NAMES[0] if named else None}]
    verdict = judge(case_of(rows, log_of(TYPED), foreign=True), (promise,))
    assert [check.name for check in verdict.checks] == ["details", "rows.query", "crowd.words.query"]
    assert verdict.exit_code == 0
    assert verdict.sentence.startswith("To be checked: every two words of every query in the file")


def test_what_the_broken_ones_come_from_is_fine():
    release = coterie.anonymize(words_log(), Allowlist(k=3), seed=1)
    assert set(release.to_polars()["query"]) == {"red tea", "red cup", "tea cup", "red tea cup", "hat", "oak", "elm"}
    whole = coterie.anonymize(words_log(), Allowlist(k=3, words="all"), seed=1)
    assert "red tea cup" not in set(whole.to_polars()["query"])


@pytest.mark.parametrize(("method", "log", "check"), CAUGHT_BY)
def test_a_broken_method_is_caught(method, log, check):
    with pytest.raises(BrokenPromiseError, match=rf"\b{re.escape(check)}: .*?(; \d+ looked at)?: \d+ "):
        coterie.anonymize(log(), method(**({} if issubclass(method, Unprotected) else {"k": 3})), seed=1)
