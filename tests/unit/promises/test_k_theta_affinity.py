"""k-θ-affinity: k users behind every released item and the released ones affine to it."""

import polars as pl
import pytest

from coterie.promises import judge
from coterie.promises import k_theta_affinity as module
from coterie.promises.k_theta_affinity import KThetaAffinity
from coterie.text.language import name_of_words
from tests.helpers.hand_made import DIGEST, case_of, check_of, log_of

# Three users typed nearly the same, each of them alone; four typed something common.
RING = {"p": "one two three four five six", "q": "one two three four five", "r": "two three four five six"}
TYPED = [{"user": user, "query": query} for user, query in RING.items()]
TYPED += [{"user": user, "query": "weather"} for user in "abcd"]
TYPED += [{"user": "e", "query": "zzz weather"}]
ALL = [{"query": row["query"]} for row in TYPED[:-1]]
CERTIFICATE = pl.DataFrame(
    [(item, by, user) for own, item in RING.items() for user, by in RING.items() if user != own],
    schema={"item": pl.String, "by": pl.String, "user": pl.String},
    orient="row",
)


def _promise(**more):
    return KThetaAffinity(**{"k": 3, "theta": 0.5, "min_users": 2, **more})


def _verdict(rows=ALL, promise=None, **evidence):
    return judge(case_of(rows, log_of(TYPED), evidence=evidence), (promise or _promise(),))


@pytest.fixture
def large(monkeypatch):
    monkeypatch.setattr(module, "_SMALL_ITEMS", -1)


def test_affine_queries_cover_each_other():
    check = check_of(_verdict(), "cover.query")
    assert (check.status, check.broken, check.looked_at, check.largest_k) == ("passed", 0, 4, 3)
    assert check.how == "concepts have at least 2 users; all pairs compared"
    assert check.carries_promise
    assert check_of(_verdict(promise=_promise(k=4)), "cover.query").broken == 3
    assert check_of(_verdict(promise=_promise(theta=1)), "cover.query").broken == 3


def test_only_what_is_released_covers():
    check = check_of(_verdict(ALL[1:]), "cover.query")
    assert (check.broken, check.looked_at, check.largest_k) == (2, 3, 2)
    assert check.text.endswith(": 2 of 3 have fewer")


def test_queries_of_k_users_need_no_others(large):
    check = check_of(_verdict(ALL[3:]), "cover.query")
    assert (check.status, check.how, check.largest_k) == ("passed", "", 4)


def test_a_certificate_is_compared_where_pairs_are_too_many(large):
    check = check_of(_verdict(certificate=CERTIFICATE.lazy()), "cover.query")
    assert (check.status, check.largest_k) == ("passed", 3)
    assert "6 lines of the certificate compared, which prove no larger k" in check.how
    forged = CERTIFICATE.with_columns(pl.lit("a").alias("user"))
    assert check_of(_verdict(certificate=forged.lazy()), "cover.query").broken == 3
    missing = check_of(_verdict(), "cover.query")
    assert missing.status == "not checked"
    assert missing.text.endswith(": needs the run record (--record DIR): there are too many pairs to compare them all")


def test_rows_that_nobody_typed():
    check = check_of(_verdict([*ALL, {"query": "weather"}]), "rows.query")
    assert (check.status, check.broken, check.looked_at) == ("failed", 1, 4)


def test_strict_finds_rare_words():
    assert not any(check.name == "words.query" for check in _verdict().checks)
    promise = _promise(strict=True)
    assert check_of(_verdict(promise=promise), "words.query").status == "passed"
    check = check_of(_verdict([*ALL, {"query": "zzz weather"}], promise), "words.query")
    assert (check.broken, check.looked_at, check.carries_promise) == (1, 5, True)
    assert check.text == "no released query has a word of fewer than 2 users: 1 of 5 have one"


@pytest.mark.parametrize("way", ["alone", "pairs", "certificate", "needs"])
def test_the_original_is_recounted_once(way, monkeypatch):
    calls = []
    recount = module.recount
    monkeypatch.setattr(module, "recount", lambda *given: calls.append(given[1]) or recount(*given))
    if way in ("certificate", "needs"):
        monkeypatch.setattr(module, "_SMALL_ITEMS", -1)
    evidence = {"certificate": CERTIFICATE.lazy()} if way == "certificate" else {}
    verdict = _verdict(ALL[3:] if way == "alone" else ALL, _promise(strict=True), **evidence)
    assert len(calls) == 1
    assert calls[0].height == (1 if way == "alone" else 4)
    assert check_of(verdict, "words.query").status == "passed"
    assert check_of(verdict, "cover.query").status == ("not checked" if way == "needs" else "passed")


@pytest.mark.usefixtures("large")
def test_a_certificate_cannot_hide_a_rare_word():
    rows = [*ALL, {"query": "zzz weather"}]
    verdict = _verdict(rows, _promise(strict=True), certificate=CERTIFICATE.lazy())
    assert {check.name for check in verdict.broken} == {"words.query", "cover.query"}
    # A rare word of a query that is claimed to cover and was not released is nobody's business.
    claims = pl.concat([CERTIFICATE, CERTIFICATE[:1].with_columns(pl.lit("zzz weather").alias("by"))])
    assert check_of(_verdict(ALL, _promise(strict=True), certificate=claims.lazy()), "words.query").broken == 0


def test_function_words_of_ones_own():
    words = ["one", "two"]
    promise = _promise(function_words=name_of_words(words))
    assert promise.evidence == ("certificate", "function_words")
    assert any("list of function words" in limit for limit in promise.limits)
    for evidence in ({}, {"function_words": pl.LazyFrame({"word": ["one"]})}):
        check = check_of(_verdict(promise=promise, **evidence), "cover.query")
        assert (check.status, check.carries_promise) == ("not checked", True)
        assert check.needs == "the function words, which are in the run record (--record DIR)"
    given = {"function_words": pl.LazyFrame({"word": words})}
    assert check_of(_verdict(promise=promise, **given), "cover.query").status == "passed"


def test_without_the_original():
    verdict = judge(case_of(ALL), (_promise(users="pseudonym", attrs="keep"),))
    assert verdict.exit_code == 3
    unchecked = {check.name for check in verdict.unchecked}
    assert unchecked == {"ids", "seeded", "cover.query", "rows.query", "tuples.query", "links"}


def test_foreign_rows():
    promise = KThetaAffinity.of_foreign({"k": 3}, named=False)
    assert promise == KThetaAffinity(k=3, users="drop", attrs="keep")
    verdict = judge(case_of(ALL[3:], log_of(TYPED), foreign=True), (promise,))
    assert [check.name for check in verdict.checks] == ["details", "rows.query", "cover.query"]
    assert verdict.exit_code == 0
    assert verdict.sentence == (
        "To be checked: behind every query in the file and those with an affinity of at least 0.9 to it are at least 3 "
        "different users."
    )


def test_what_it_says():
    promise = KThetaAffinity(k=6, theta=0.75, strict=True, min_term_users=3)
    assert "affinity of at least 0.75" in promise.sentence
    assert "No released query has a word of fewer than 3 users." in promise.sentence
    assert "No released query has a word" not in KThetaAffinity(k=6).sentence
    assert promise.evidence == ("certificate",)
    assert (promise.releases, promise.about, promise.linkage_bound) == ("text", "items", None)
    assert KThetaAffinity(k=6, function_words=DIGEST).limits != KThetaAffinity(k=6).limits
