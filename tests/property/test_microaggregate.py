"""Laws of microaggregate: groups of k, equal profiles, the plain answer, whatever the order, blocks and threads."""

from dataclasses import replace
from datetime import datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie import api, synth
from coterie.algorithms import groups
from coterie.algorithms.events import EVENT, EVENT_ORDER
from coterie.algorithms.words import word_hashes
from coterie.core import threads
from coterie.core.arrays import splitmix64
from coterie.core.shapes import QUERIES
from coterie.errors import BrokenPromiseError, InputError
from coterie.methods.concept_microaggregate import ConceptMicroaggregate
from coterie.methods.interest_microaggregate import InterestMicroaggregate
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.semantic_microaggregate import SemanticMicroaggregate
from coterie.promises import judge
from coterie.releasing import profiles as shared_profiles
from coterie.testing.strategies import logs
from coterie.text.hosts import host_of
from tests.helpers import reference
from tests.helpers.broken_methods import AltersOneRow
from tests.helpers.examples import examples
from tests.helpers.hand_made import case_of, check_of
from tests.helpers.microaggregation import SEED, priority, users_of
from tests.helpers.runs import a_run, plan_of

MODES = [
    {},
    {"eq1": "printed"},
    {"attrs": "same_string"},
    {"attrs": "drop"},
    {"partition": "random"},
    {"block_users": 4},
]
TIMES = ["drop", "quarter", "month", "week", "day", "hour"]


def _log(rows):
    schema = {name: QUERIES.schema[name] for name in ("row", *QUERIES.released)}
    return coterie.log(pl.DataFrame(rows, schema=schema, orient="row").drop("row"))


def _profiles(rows):
    """Each released name with everything published under it."""
    found = {}
    for user, *event in rows.select("user", *EVENT).rows():
        found.setdefault(user, []).append(tuple(event))
    return found


@settings(max_examples=examples(50))
@given(logs(min_users=4), st.integers(2, 4), st.sampled_from(["text", "printed"]), st.sampled_from(TIMES))
def test_it_is_the_plain_reference(log, k, eq1, times):
    frame = log.frame.select(QUERIES.released).collect().drop_nulls("user").sort("user", *EVENT_ORDER)
    users = users_of(frame)
    scale = reference.scales(users)
    expected = []
    for cluster in reference.microaggregate(users, k, priority, eq1):
        events, _ = reference.centroid([users[i] for i in sorted(cluster)], scale, priority, eq1, finest=times)
        expected += [events] * len(cluster)
    release = api.anonymize_prepared(log, Microaggregate(k=k, eq1=eq1, times=times), seed=SEED)
    got = [events for _, events in users_of(release.to_polars().select("user", *EVENT))]

    def ordered(profiles):
        return sorted(sorted(map(repr, profile)) for profile in profiles)

    assert ordered(got) == ordered(expected)


def test_a_rank_without_a_time_is_no_month_of_one_person():
    """Ann alone typed tea; that her profile has its rank tells no time."""
    rows = [("ann", "tea", 1), ("ann", "tea", None), ("bea", "0", 1), ("bea", "jam", None), ("cat", "tea", None),
            ("dan", "tea", None)]  # fmt: skip
    log = _log([(n, user, None, query, rank, None) for n, (user, query, rank) in enumerate(rows)])
    for times in TIMES:
        release = api.anonymize_prepared(log, Microaggregate(k=2, eq1="text", times=times), seed=SEED)
        assert release.to_polars()["rank"].drop_nulls().len()


@settings(max_examples=examples(30))
@given(logs(min_users=8, max_rows=60), st.sampled_from(MODES), st.integers(2, 9), st.randoms())
def test_order_and_blocks_do_not_matter(log, mode, blocks, random):
    method = Microaggregate(k=2, **mode)
    expected = api.anonymize_prepared(log, method, seed=1).to_polars()
    assert api.anonymize_prepared(log, method, seed=1, blocks=blocks).to_polars().equals(expected)
    rows = log.frame.collect()
    order = random.sample(range(rows.height), rows.height)
    shuffled = rows[order].with_columns(pl.int_range(pl.len(), dtype=pl.UInt64).alias("row"))
    assert api.anonymize_prepared(replace(log, frame=shuffled.lazy()), method, seed=1).to_polars().equals(expected)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("k", [2, 3, 5])
def test_groups_have_k_members_and_one_profile(mode, k):
    log = coterie.prepare(coterie.read("synth:users=60,seed=2"))
    release = api.anonymize_prepared(log, Microaggregate(k=k, **mode), seed=3)
    subjects = release.record.subjects.collect()
    sizes = subjects.group_by("group").len()["len"]
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1
    assert sorted(subjects["group"].unique()) == list(range(len(sizes)))
    profiles = _profiles(release.to_polars())
    assert set(profiles) == set(subjects["released"])
    for _, names in subjects.group_by("group").agg("released").rows():
        assert len({tuple(sorted(profiles[name], key=repr)) for name in names}) == 1


def test_released_queries_come_from_the_group():
    log = coterie.prepare(coterie.read("synth:users=40,seed=2"))
    release = api.anonymize_prepared(log, Microaggregate(k=4), seed=3)
    subjects = release.record.subjects.collect()
    typed = log.frame.collect().join(subjects, left_on="user", right_on="original").select("group", "query").unique()
    shown = release.to_polars().join(subjects, left_on="user", right_on="released").select("group", "query").unique()
    assert shown.join(typed, on=["group", "query"], how="anti").is_empty()


def test_threads_and_slices_do_not_matter(monkeypatch):
    log = coterie.prepare(coterie.read("synth:users=120,seed=2"))
    method = Microaggregate(k=3, block_users=10)
    expected = api.anonymize_prepared(log, method, seed=3).to_polars()
    monkeypatch.setattr(threads.os, "cpu_count", lambda: 7)
    monkeypatch.setattr(shared_profiles, "_ROWS_AT_ONCE", 1)
    assert api.anonymize_prepared(log, method, seed=3).to_polars().equals(expected)


@pytest.mark.parametrize(("users", "wanted", "k", "sizes"), [
    (100, 0, 3, {100}),
    (2000, 0, 3, {2000}),
    (2001, 0, 3, {200, 201}),
    (100, 30, 3, {33, 34}),
    (100, 1, 7, {14, 15}),  # never fewer than 2k
    (13, 6, 3, {6, 7}),
    (5, 1, 5, {5}),
])  # fmt: skip
def test_blocks(users, wanted, k, sizes):
    table = pl.DataFrame({"user": [f"u{i}" for i in range(users)], "size": [1 + i % 9 for i in range(users)]})
    table = table.with_columns(pl.col("user").hash().alias("word"))
    blocks = groups._with_blocks(table, k, wanted)
    assert set(blocks.group_by("block").len()["len"]) == sizes
    again = groups._with_blocks(table.reverse(), k, wanted)
    assert again.equals(blocks)


def test_users_with_one_query_and_one_with_very_many():
    rows = [(0, f"u{i}", None, f"word{i % 5}", None, None) for i in range(12)]
    rows += [(0, "busy", None, f"word{i} other{i % 977}", None, None) for i in range(100_000)]
    release = api.anonymize_prepared(_log(rows), Microaggregate(k=3), seed=1)
    profiles = release.to_polars().group_by("user").agg(pl.col("query").sort())
    assert profiles.height == 13
    assert profiles.group_by("query").len()["len"].min() >= 3
    assert profiles["query"].list.len().max() > 10_000  # hers is a third of what her group typed


def test_one_altered_row_is_caught():
    log = coterie.prepare(coterie.read("synth:users=60,seed=2"))
    with pytest.raises(BrokenPromiseError):
        api.anonymize_prepared(log, AltersOneRow(k=3), seed=1)


def test_too_few_users():
    with pytest.raises(InputError, match="needs at least 3 users"):
        api.anonymize_prepared(
            _log([(0, "a", None, "x", None, None), (1, "b", None, "x", None, None)]), Microaggregate(k=3)
        )


def test_ties_are_broken_by_the_seed():
    rows = [(0, f"u{i}", None, f"q{i}{j}", None, None) for i in range(9) for j in range(4)]
    releases = {
        tuple(api.anonymize_prepared(_log(rows), Microaggregate(k=3), seed=s).to_polars()["query"]) for s in range(4)
    }
    assert len(releases) > 1


def test_the_plan_is_a_table_of_groups():
    log = coterie.prepare(coterie.read("synth:users=30,seed=2"))
    plan = plan_of(Microaggregate(k=3), log).table.collect()
    assert plan.columns == ["subject", "group"]
    assert plan["subject"].is_sorted()
    assert plan["subject"].n_unique() == 30


def test_shares_of_the_work_are_told():
    log = coterie.prepare(coterie.read("synth:users=60,seed=2"))
    told = []
    method = Microaggregate(k=3, block_users=10)
    run = a_run(1, tell=told.append)
    plan = method.plan(None, log, run)
    assert len(told) == 6
    assert sorted(told) == told
    assert told[-1] == 1.0
    method.release(log, plan, run)
    assert told[-1] == 1.0
    assert len(told) > 6


def test_engine_blocks_of_a_file(tmp_path):
    path = tmp_path / "log.tsv"
    synth.write(path, 40, 3)
    log = coterie.prepare(coterie.read(path))
    whole, cut = (
        api.anonymize_prepared(log, Microaggregate(k=3), seed=1, blocks=blocks).to_polars() for blocks in (1, 3)
    )
    assert whole.equals(cut)


@given(st.lists(st.text(alphabet="ab é天 ", max_size=12), min_size=1, max_size=8))
def test_the_smallest_hash_of_words(texts):
    def hashed(word):
        value = 0xCBF29CE484222325
        for byte in word.encode():
            value = (value ^ byte) * 0x100000001B3 % 2**64
        return int(splitmix64(np.array([value], dtype=np.uint64))[0])

    got = word_hashes(pl.Series(["zzz", *texts])[1:]).to_list()
    assert got == [min((hashed(w) for w in text.split(" ") if w), default=2**64 - 1) for text in texts]


@pytest.mark.parametrize("attrs", ["nearest", "same_string"])
def test_what_comes_from_one_user_alone_is_not_released(attrs):
    """Others typed the same, but only one of them clicked, and only one has a time."""
    rows = [(i, user, None, "knee pain", None, None) for i, user in enumerate("bcd")]
    rows.append((3, "a", datetime(2020, 1, 5, 3, 17, 42), "knee pain", 7, "http://clinic.example.org/x"))
    release = api.anonymize_prepared(_log(rows), Microaggregate(k=4, attrs=attrs), seed=1)
    assert set(release.to_polars().select("time", "rank", "url").rows()) == {(datetime(2020, 1, 1), None, None)}
    assert release.warnings


@pytest.mark.parametrize("attrs", ["nearest", "same_string"])
def test_a_query_of_one_member_has_the_month_of_its_time(attrs):
    """What both typed has its hour; what one of them typed has no day."""
    when = datetime(2020, 1, 5, 3, 17, 42)
    rows = [(i, user, when, query, None, None) for user in "ab"
            for i, query in enumerate(("knee pain", "knee pain", f"only {user}", f"only {user}"))]  # fmt: skip
    release = api.anonymize_prepared(_log(rows), Microaggregate(k=2, attrs=attrs, times="hour"), seed=1)
    times = set(release.to_polars().select("query", "time").rows())
    assert ("knee pain", datetime(2020, 1, 5, 3)) in times
    assert {time for query, time in times if query != "knee pain"} == {datetime(2020, 1, 1)}


@pytest.mark.parametrize("method", [
    SemanticMicroaggregate(k=3, attrs="nearest"),
    InterestMicroaggregate(k=3, attrs="nearest", publish="queries"),
    Microaggregate(k=3, attrs="same_string"),
], ids=["semantic", "interest", "same_string"])  # fmt: skip
def test_times_of_other_profiles_are_months_unless_asked(method):
    log = coterie.prepare(coterie.read("synth:users=24,seed=3,kind=topics"))
    for times, shown in (("month", {(1, 0)}), ("quarter", {(1, 0)}), ("drop", {(None, None)})):
        release = api.anonymize_prepared(log, replace(method, times=times) if times != "month" else method, seed=1)
        assert [promise.times for promise in release.promises] == [times]
        day, hour = pl.col("time").dt.day().alias("day"), pl.col("time").dt.hour().alias("hour")
        assert set(release.to_polars().select(day, hour).rows()) == shown
    by_hour = api.anonymize_prepared(log, replace(method, times="hour"), seed=1).to_polars()
    hours, minutes = by_hour["time"].dt.hour(), by_hour["time"].dt.minute()
    assert (hours.max() > 0, minutes.max()) == (True, 0)


def test_queries_without_times_promise_that_there_are_none():
    log = coterie.prepare(coterie.read("synth:users=12,seed=3,kind=topics"))
    for method in (Microaggregate(k=3, attrs="drop", times="hour"), ConceptMicroaggregate(k=3)):
        release = api.anonymize_prepared(log, method, seed=1)
        assert [promise.times for promise in release.promises] == ["drop"]
        timed = release.to_polars().with_columns(pl.lit(datetime(2020, 1, 1)).cast(pl.Datetime("us")).alias("time"))
        verdict = judge(case_of(timed.sort(QUERIES.order), log), release.promises)
        assert check_of(verdict, "times").broken == timed.height


@pytest.mark.parametrize(("url", "host"), [
    ("http://www.X.org:80/a?b", "www.x.org"),
    ("example.com/?u=http://private.name.org/x", "example.com"),
    ("//example.com/x", "example.com"),
    ("C:\\Users\\john\\x.doc", ""),
    ("me@x.com", "x.com"),
    ("10.1.2.3", "10.1.2.3"),
    ("天气.cn", "天气.cn"),
])  # fmt: skip
def test_hosts(url, host):
    assert host_of(url) == host


def test_an_address_is_one_label():
    rows = [(i, u, None, "x", 1, f"http://{ip}/") for i, (u, ip) in enumerate([("a", "10.1.2.3"), ("b", "9.9.2.3")])]
    release = api.anonymize_prepared(_log(rows), Microaggregate(k=2), seed=1)
    assert release.to_polars()["url"].null_count() == 2


def test_groups_of_users_with_as_many_rows():
    rows = [
        (i, f"u{user}", None, f"q{i}", None, None) for i, user in enumerate(u for u in range(11) for _ in range(u + 1))
    ]
    log = coterie.log(
        pl.DataFrame(rows, schema={n: QUERIES.schema[n] for n in ("row", *QUERIES.released)}, orient="row")
    )
    release = api.anonymize_prepared(log, Microaggregate(k=3, partition="size"), seed=2)
    groups = release.record.subjects.collect().group_by("group").agg("original")["original"]
    assert sorted(sorted(int(user[1:]) for user in group) for group in groups) == [
        [0, 1, 2],
        [3, 4, 5],
        [6, 7, 8, 9, 10],
    ]
