"""The judge of phrases: users are counted in whose queries a phrase stands, word for word."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie.core import randomness
from coterie.errors import BrokenPromiseError
from coterie.methods.interest_microaggregate import InterestMicroaggregate
from coterie.promises import _phrase_recount, judge
from coterie.promises._names import names_of
from coterie.promises._phrase_recount import QueryTexts, TypedQueries
from coterie.promises.phrase_users import PhraseUsers
from coterie.promises.user_k_anonymity import UserKAnonymity
from coterie.releasing import profiles as applied
from tests.helpers import phrase_reference as reference
from tests.helpers.examples import examples
from tests.helpers.hand_made import NAMES, case_of, check_of, log_of, run_of

RUN = run_of(11)
LOG = log_of([
    {"user": "a", "query": "red rose garden"},
    {"user": "b", "query": "a red rose"},
    {"user": "c", "query": "bored rosewood"},
    {"user": "a", "query": "red rose"},
])  # fmt: skip


def _phrases(*texts):
    return [{"user": NAMES[0], "query": text} for text in texts]


@pytest.mark.parametrize(("text", "m", "status"), [
    ("red rose", 2, "passed"),
    ("red rose", 3, "failed"),  # one user has it twice, and in "bored rosewood" it is not made of whole words
    ("rose garden", 2, "failed"),
    ("rose red", 2, "failed"),
    ("red garden", 2, "failed"),
    ("tulip", 2, "failed"),
])  # fmt: skip
def test_users_are_counted_in_whose_queries_a_phrase_stands(text, m, status):
    check = check_of(judge(case_of(_phrases(text), LOG), (PhraseUsers(m=m),)), "phrases")
    assert check.status == status
    assert check.carries_promise
    assert text not in check.text


def test_each_letter_of_a_script_without_spaces_is_a_word():
    log = log_of([{"user": "a", "query": "买手机壳"}, {"user": "b", "query": "手机"}, {"user": "c", "query": "手 机"}])
    phrases = ["手机", "手", "机壳", "壳 手"]
    assert TypedQueries(log).users_with(pl.Series("phrase", phrases)).tolist() == [2, 3, 1, 0]


WORDS = ["red", "rose", "of", "手", "手机", "x", ""]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)


@settings(max_examples=examples(100))
@given(queries=st.lists(texts, min_size=1, max_size=12, unique=True), phrases=st.lists(texts, max_size=8, unique=True))
def test_a_phrase_stands_where_the_plain_version_finds_it(queries, phrases):
    found = QueryTexts(pl.Series("query", queries)).with_phrases(pl.Series("phrase", phrases, dtype=pl.String))
    held = {query: {part for parts in reference.parts(query) for part in parts} for query in queries}
    expected = {(q, p) for q in queries for p in phrases if p in held[q] or p == q}
    assert {(queries[query], phrases[phrase]) for query, phrase in found.iter_rows()} == expected
    assert found.height == len(expected)


@settings(max_examples=examples(100))
@given(
    typed=st.lists(st.tuples(st.sampled_from("abcdef"), texts), min_size=1, max_size=20),
    phrases=st.lists(texts, max_size=8, unique=True),
    at_once=st.sampled_from([1, 2, 1_000]),
)
def test_users_and_owners_are_those_of_the_plain_version(typed, phrases, at_once):
    log = log_of([{"user": user, "query": query} for user, query in typed])
    having = {
        phrase: {u for u, q in typed if phrase == q or any(phrase in parts for parts in reference.parts(q))}
        for phrase in phrases
    }
    looked_for = pl.Series("phrase", phrases, dtype=pl.String)
    with pytest.MonkeyPatch.context() as patched:
        for name in ("_AT_ONCE", "_PEOPLE_AT_ONCE", "_GROUPS_AT_ONCE"):
            patched.setattr(_phrase_recount, name, at_once)
        everything = TypedQueries(log)
        assert everything.users_with(looked_for).tolist() == [len(having[phrase]) for phrase in phrases]
        group = {user: (ord(user) - ord("a")) // 2 - 1 for user in "abcdef"}  # a and b are in none
        wanted = [(g, p) for g in (1, 0) for p in range(len(phrases))]
        first, last = everything.owners_in(
            np.array([group[user] for user in everything.people]),
            np.array([g * len(phrases) + p for g, p in wanted], dtype=np.int64),
            looked_for,
        )
    users = [sorted(u for u in having[phrases[p]] if group[u] == g) for g, p in wanted]
    place = {user: at for at, user in enumerate(everything.people)}
    assert first.tolist() == [min((place[u] for u in some), default=-1) for some in users]
    assert last.tolist() == [max((place[u] for u in some), default=-1) for some in users]


def test_a_phrase_of_very_many_words_must_be_a_whole_query():
    long = " ".join(f"w{i}" for i in range(101))
    log = log_of([{"user": "a", "query": long}, {"user": "b", "query": long}, {"user": "c", "query": f"x {long}"}])
    assert TypedQueries(log).users_with(pl.Series("phrase", [long])).tolist() == [2]


def test_a_phrase_has_nothing_beside_it():
    rows = [{**row, "rank": 1} for row in _phrases("red rose")]
    assert check_of(judge(case_of(rows, LOG), (PhraseUsers(m=2),)), "alone").status == "failed"


def test_without_the_original_nothing_is_known():
    verdict = judge(case_of(_phrases("red rose")), (PhraseUsers(m=2),))
    assert check_of(verdict, "phrases").status == "not checked"
    assert verdict.exit_code == 3


def test_of_rows_without_a_sidecar_k_is_the_number():
    assert PhraseUsers.of_foreign({"k": 4}, named=True) == PhraseUsers(m=4)


# --- broken twins: methods that promise it and do not keep it -----------------------------------


@dataclass(frozen=True, kw_only=True)
class _WithRarerPhrases(InterestMicroaggregate):
    """Cuts queries into phrases of one user less than it promises."""

    def release(self, log, plan, run):
        return applied.release_phrases(log, plan, run, replace(self, phrase_users=2))


@dataclass(frozen=True, kw_only=True)
class _WithWholeQueries(InterestMicroaggregate):
    """Promises phrases, and releases whole queries."""

    def release(self, log, plan, run):
        return InterestMicroaggregate(k=self.k, publish="queries").release(log, plan, run)


@dataclass(frozen=True, kw_only=True)
class _OfAnotherGroup(InterestMicroaggregate):
    """Gives each group the profile of another one."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        names = draft.subjects.drop_nulls("group").collect()
        swapped = names.select(pl.col("released").alias("user"), pl.col("released").reverse().alias("to"))
        frame = draft.frame.collect().join(swapped, on="user").with_columns(user=pl.col("to")).drop("to")
        return type(draft)(frame=frame.lazy(), subjects=draft.subjects)


@dataclass(frozen=True, kw_only=True)
class _OutOfOrder(InterestMicroaggregate):
    """Says that its rows are in order, and they are not."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        return replace(draft, frame=draft.frame.reverse(), in_order=True)


ROWS = [(user, query) for user in "abcd" for query in (f"red rose {user}", f"tall tree {user}")]
ROWS += [(user, query) for user in "efgh" for query in (f"slow boat {user}", f"wide river {user}")]
ROWS += [("a", "odd socks"), ("b", "odd socks"), ("a", "green door"), ("b", "green door")]


@pytest.mark.parametrize("method", [_WithRarerPhrases, _WithWholeQueries, _OfAnotherGroup, _OutOfOrder])
def test_a_method_that_breaks_it_releases_nothing(method):
    log = coterie.log(pl.DataFrame(ROWS, schema=["user", "query"], orient="row"))
    values = {"k": 4, "phrase_users": 3}
    assert coterie.anonymize(log, InterestMicroaggregate(**values), seed=1).to_polars().height
    with pytest.raises(BrokenPromiseError):
        coterie.anonymize(log, method(**values), seed=1)


def test_a_profile_of_one_person_alone_is_none():
    """Names are people, each phrase is typed by many, and still all of it is one member's."""
    log = log_of([
        {"user": user, "query": query}
        for user, query in [("a", "odd socks"), ("a", "red rose"), ("b", "x"), ("c", "odd socks"), ("d", "red rose")]
    ])  # fmt: skip
    names = dict(zip("abcd", names_of(RUN, "abcd", "abcd"), strict=True))
    promises = (UserKAnonymity(k=2, phrases=True), PhraseUsers(m=2))
    for phrases, behind, status in ((("odd socks", "red rose"), "ab", "failed"), (("odd socks",), "ac", "passed")):
        rows = [{"user": names[user], "query": phrase} for user in behind for phrase in phrases]
        verdict = judge(case_of(rows, log, run=RUN), promises)
        assert check_of(verdict, "typed").status == "passed"
        assert check_of(verdict, "shares").status == status


def test_a_profile_has_the_phrases_of_its_people_in_equal_shares():
    typed = {"a": ["odd socks", "odd socks", "red rose"], "b": ["red rose"], "c": ["odd socks"]}
    log = log_of([{"user": user, "query": query} for user, queries in typed.items() for query in queries])
    names = dict(zip("abc", names_of(RUN, "abc", "abc"), strict=True))
    promises = (UserKAnonymity(k=2, phrases=True), PhraseUsers(m=2))
    # Of a's three phrases two are socks, of b's one none: 2 rows, 1/3 of them socks, which has the larger remainder.
    for phrases, status in (
        (["odd socks", "red rose"], "passed"),
        (["red rose", "red rose"], "failed"),
        (["odd socks", "odd socks"], "failed"),
        (["odd socks", "red rose", "red rose"], "failed"),
        (["red rose"], "failed"),
    ):
        rows = [{"user": names[user], "query": phrase} for user in "ab" for phrase in phrases]
        verdict = judge(case_of(rows, log, run=RUN), promises)
        assert check_of(verdict, "shared").status == status, phrases
        assert verdict.exit_code == (status == "failed")


def test_between_equal_remainders_the_seed_decides_and_nobody_else():
    own = {"a": ["p one", "p two", "p three"], "b": ["q one", "q two", "q three"]}
    typed = {**own, "c": [*own["a"], *own["b"]]}
    log = log_of([{"user": user, "query": query} for user, queries in typed.items() for query in queries])
    names = dict(zip("abc", names_of(RUN, "abc", "abc"), strict=True))
    promises = (UserKAnonymity(k=2, phrases=True), PhraseUsers(m=2))
    tie = dict(zip(typed["c"], randomness.keys(11, "tie between phrases", pl.Series(typed["c"])).tolist(), strict=True))
    order = sorted(typed["c"], key=tie.__getitem__)
    for phrases, status in ((order[:3], "passed"), ([*order[:2], order[3]], "failed"), (own["a"], None)):
        rows = [{"user": names[user], "query": phrase} for user in "ab" for phrase in phrases]
        found = check_of(judge(case_of(rows, log, run=RUN), promises), "shared").status
        assert found == (status or ("passed" if set(phrases) == set(order[:3]) else "failed"))


def test_a_larger_remainder_gets_the_row():
    # Shares of a: 3 of 5, 2 of 5; of b all: 3 rows, of which 0.9 and 0.6 are a's, and 1.5 b's.
    typed = {"a": ["red"] * 3 + ["blue"] * 2, "b": ["green"], "c": ["red", "blue", "green"]}
    log = log_of([{"user": user, "query": query} for user, queries in typed.items() for query in queries])
    names = dict(zip("abc", names_of(RUN, "abc", "abc"), strict=True))
    promises = (UserKAnonymity(k=2, phrases=True), PhraseUsers(m=2))
    for phrases, status in ((["red", "blue", "green"], "passed"), (["red", "green", "green"], "failed")):
        rows = [{"user": names[user], "query": phrase} for user in "ab" for phrase in phrases]
        assert check_of(judge(case_of(rows, log, run=RUN), promises), "shared").status == status


def test_groups_with_the_same_profile_are_told_apart_by_the_record_if_each_has_k_people():
    typed = {"a": ["x"], "b": ["x"], "c": ["x", "x", "x"], "d": ["x", "x", "x"]}
    log = log_of([{"user": user, "query": query} for user, queries in typed.items() for query in queries])
    names = dict(zip("abcd", names_of(RUN, "abcd", "abcd"), strict=True))
    rows = [{"user": names[user], "query": "x"} for user in "abcd"]
    promises = (UserKAnonymity(k=2, phrases=True), PhraseUsers(m=2))

    def found(rows, groups):
        table = {"original": list("abcd"), "released": list(names.values()), "group": groups}
        evidence = {"subjects": pl.LazyFrame(table, schema_overrides={"group": pl.UInt32})}
        return check_of(judge(case_of(rows, log, run=RUN, evidence=evidence), promises), "shared")

    assert found(rows, [0, 0, 1, 1]).broken == 1  # c and d have three rows each
    three = [*rows, *(row for row in rows for _ in range(2) if row["user"] in (names["c"], names["d"]))]
    assert found(three, [0, 0, 1, 1]).status == "passed"
    assert found([{**row} for row in rows for _ in range(2)], [0, 1, 2, 2]).status == "passed"  # a part of one is none
    assert found([{**row} for row in rows for _ in range(2)], [0, 0, 1, 1]).broken == 2
