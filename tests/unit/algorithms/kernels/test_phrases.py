"""Phrases against the plain version: what queries are cut into, and the profiles of groups."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie.algorithms import phrases as model
from coterie.algorithms.kernels.phrases import Cuts, Queries, numbers_of_phrases, profiles
from coterie.core.run import Run
from coterie.engines.local import Local
from coterie.methods.microaggregate import Microaggregate
from coterie.text.language import language
from tests.helpers import phrase_reference as reference
from tests.helpers.examples import examples

WORDS = ["red", "rose", "of", "the", "garden", "手", "机", "手机", "x1", ""]
USERS = ["ann", "bob", "cyd", "dan", "eve", "fay"]
queries = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)
rows = st.lists(st.tuples(st.sampled_from(USERS), queries), min_size=2, max_size=40)


def _found(typed, m, blocks=1, seed=7):
    log = coterie.log(pl.DataFrame(typed, schema=["user", "query"], orient="row"))
    run = Run(engine=Local(blocks), seed=seed)
    return model.phrases(log, run, m, language("english")), run


def _cut_by_reference(typed, m):
    users, whole = reference.users_of_parts(typed), reference.users_of_queries(typed)
    stops = language("english").stop_words
    return {query: reference.cut(query, users, whole, m, stops) for query in whole}


@settings(max_examples=examples(100))
@given(typed=rows, m=st.integers(2, 4), blocks=st.sampled_from([1, 3]))
def test_members_have_the_phrases_of_the_plain_version(typed, m, blocks):
    found, _ = _found(typed, m, blocks)
    cut = _cut_by_reference(typed, m)
    start, texts, by_user = found.cuts.start, found.texts.to_list(), {}
    for place, user in enumerate(found.users):
        theirs = []
        for at in range(found.queries.user_start[place], found.queries.user_start[place + 1]):
            query = found.queries.typed[at]
            parts = [texts[number] for number in found.cuts.phrase[start[query] : start[query + 1]]]
            theirs += parts * int(found.queries.times[at])
        by_user[user] = sorted(theirs)
    expected = {user: sorted(p for u, q in typed if u == user for p in cut[q]) for user, _ in typed}
    assert by_user == expected


@settings(max_examples=examples(100))
@given(typed=rows, m=st.integers(2, 4), cut_at=st.integers(1, 5), seed=st.integers(0, 3))
def test_profiles_are_those_of_the_plain_version(typed, m, cut_at, seed):
    found, run = _found(typed, m, seed=seed)
    users = found.users.to_list()
    groups = pl.DataFrame(
        {"subject": users, "group": [int(place >= cut_at) for place in range(len(users))]},
        schema_overrides={"group": pl.UInt32},
    )
    profiles = model.profiles_of_groups(found, groups, run)
    cut = _cut_by_reference(typed, m)
    key = dict(zip(found.texts.to_list(), run.keys("tie between phrases", found.texts).tolist(), strict=True))
    for group in (0, 1):
        members = groups.filter(pl.col("group") == group)["subject"].to_list()
        phrases = [[p for u, q in typed if u == member for p in cut[q]] for member in members]
        expected = reference.profile(phrases, key.__getitem__) if members else []
        got = profiles.filter(pl.col("group") == group)
        assert sorted(t for t, n in got.select("text", "n").iter_rows() for _ in range(n)) == expected


@settings(max_examples=examples(25))
@given(typed=rows, m=st.integers(2, 3), k=st.integers(2, 3), seed=st.integers(0, 3))
def test_the_judge_finds_the_same_with_code_of_its_own(typed, m, k, seed):
    log = coterie.log(pl.DataFrame(typed, schema=["user", "query"], orient="row"))
    # Empty queries are left out before anything is released, and who typed nothing else with them.
    if len({user for user, query in typed if query.strip()}) < max(k, m):
        return
    method = Microaggregate(k=k, publish="phrases", phrase_users=m, attrs="drop", partition="random")
    release = coterie.anonymize(log, method, seed=seed)
    (shared,) = [check for check in release.checks if check.name == "shared"]
    profiles = release.record.subjects.drop_nulls("released").select(pl.col("group").n_unique()).collect().item()
    assert (shared.status, shared.looked_at) == ("passed", profiles)


def test_a_cut_is_the_longest_phrase_and_then_what_is_left_and_right_of_it():
    typed = [("ann", "cheap red rose garden tour"), ("bob", "red rose"), ("cyd", "rose garden"), ("dan", "tour of")]
    typed += [("eve", "cheap"), ("eve", "tour"), ("bob", "rose garden"), ("cyd", "red rose")]
    cut = _cut_by_reference(typed, 2)
    # Both pairs have three users: the first one is taken, and garden stays behind with two.
    assert cut["cheap red rose garden tour"] == ["cheap", "red rose", "garden", "tour"]
    found, _ = _found(typed, 2)
    assert sorted(found.texts.to_list()) == ["cheap", "garden", "red rose", "rose garden", "tour"]


def test_shares_of_rows_and_words_are_counted():
    found, _ = _found([("ann", "red rose"), ("ann", "red rose"), ("bob", "red"), ("cyd", "tulip")], 2)
    assert found.rows_kept == pytest.approx(3 / 4)
    assert found.words_kept == pytest.approx(3 / 6)


def test_a_profile_of_a_million_rows_fits_into_whole_numbers():
    n = 500_000
    typed = [
        ("ann", "red", n + 1),
        ("ann", "blue", n),
        ("bob", "green", 2 * n + 2),
        ("cyd", "red", 1),
        ("cyd", "blue", 1),
    ]
    typed += [("cyd", "green", 1)]
    log = coterie.log(pl.DataFrame(typed, schema=["user", "query", "n"], orient="row").select(
        pl.col("user", "query").repeat_by("n").explode()))  # fmt: skip
    run = Run(engine=Local(1), seed=1)
    found = model.phrases(log, run, 2, language("english"))
    groups = pl.DataFrame({"subject": ["ann", "bob"], "group": [0, 0]}, schema_overrides={"group": pl.UInt32})
    profile = dict(model.profiles_of_groups(found, groups, run).select("text", "n").iter_rows())
    size = (2 * n + 1 + 2 * n + 2 + 1) // 2  # half up
    share = size / 2 * (n + 1) / (2 * n + 1)
    assert sum(profile.values()) == size
    assert abs(profile["red"] - share) < 1
    assert abs(profile["green"] - size / 2) < 1


def _rows_of(members, tie):
    """The profile of a group whose members have so many rows of each phrase, by the kernel: phrase -> rows."""
    none = np.zeros(0, dtype=np.int32)
    n = len(tie)
    queries = Queries(
        start=np.arange(n + 1),
        word=none,
        first=none,
        stop=none.astype(bool),
        user_start=np.cumsum([0, *map(len, members)]),
        typed=np.array([phrase for own in members for phrase in own], dtype=np.int32),
        times=np.array([rows for own in members for rows in own.values()], dtype=np.int32),
    )
    cuts = Cuts(np.arange(n + 1), np.arange(n, dtype=np.int32), none, none, none)  # each query is one phrase
    totals = numbers_of_phrases(queries, cuts)
    everybody = np.arange(len(members)), np.array([0, len(members)])
    _, phrase, copies = profiles(*everybody, totals, np.array(tie), queries, cuts)
    return dict(zip(phrase.tolist(), copies.tolist(), strict=True))


@pytest.mark.parametrize(
    ("rows", "winner"),
    [
        (1_000, 0),  # remainders of 0.5005 and 0.5: the larger one gets the row, whatever the seed prefers
        (2**21, 2),  # they differ by less than a millionth of a row: the seed decides
    ],
)
def test_remainders_are_equal_within_a_millionth_of_a_row(rows, winner):
    ann, bob = {0: 1, 1: rows - 1}, {2: 1, 3: rows}
    profile = _rows_of([ann, bob], tie=[3, 1, 0, 2])
    assert profile.keys() == {1, 3, winner}
    assert profile[winner] == 1


@pytest.mark.parametrize("rows", [2**23, 2**26])
def test_a_profile_of_many_millions_of_rows_fits_into_whole_numbers(rows):
    both = {0: rows // 2, 1: rows // 2}
    assert _rows_of([both, both], tie=[0, 1]) == both
