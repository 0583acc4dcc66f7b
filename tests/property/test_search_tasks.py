"""What a release is good for in search: completion and train_on_release against plain Python, and by hand.

Covers: measures/utility/completion.py, measures/utility/train_on_release.py
"""

from collections import defaultdict
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coterie
from coterie import api
from coterie.core.log import chronological
from coterie.core.shapes import QUERIES
from coterie.errors import NotApplicableError
from coterie.measures.comparison import Comparison
from coterie.measures.utility import completion, train_on_release
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from tests.helpers import search_tasks_reference as reference

WORDS = ["dogs", "dog food", "dog show", "cats", "cat food", "violin", "violins for rent", "guitar", "guitar strings",
         "bread", "bread recipe", "wine", "red wine", "cars", "car parts", "the", "tea", "of the dogs"]  # fmt: skip


def log_of(rows):
    """A log of (user, query), one minute after the other."""
    start = datetime(2006, 3, 1)
    table = [(i, user, start + timedelta(minutes=i), query, None, None) for i, (user, query) in enumerate(rows)]
    schema = {name: QUERIES.schema[name] for name in ("row", *QUERIES.released)}
    return coterie.prepare(coterie.log(pl.DataFrame(table, schema=schema, orient="row")))


def random_log(seed, users=15):
    rng = np.random.default_rng(seed)
    taste = {f"u{user:02}": rng.dirichlet(np.full(len(WORDS), 0.4)) for user in range(users)}
    return log_of([
        (user, WORDS[rng.choice(len(WORDS), p=taste[user])]) for _ in range(20) for user in taste
    ])  # fmt: skip


def items_of(log):
    found = defaultdict(list)
    for user, query in log.frame.select("user", "query").collect().iter_rows():
        found[user].append(query)
    return dict(found)


def own_profiles(early, release):
    """A release of what users typed, each under their own name."""
    users = early.frame.select("user").unique().collect()["user"].sort()
    names = pl.DataFrame({"original": users, "released": users, "group": range(len(users))})
    return replace(release, log=early, record=replace(release.record, subjects=names.lazy()))


def profiles_of(release):
    released, names = items_of(release.log), release.record.subjects.collect()
    return {row["original"]: released[row["released"]] for row in names.iter_rows(named=True)}


def in_phrases(release):
    """The same release, with the words of queries in place of queries: more rows, shorter strings."""
    words = release.log.frame.with_columns(query=pl.col("query").str.split(" ")).explode("query")
    return replace(release, log=replace(release.log, frame=words))


def measured(name, early, release, later, seed=4):
    return dict(
        coterie.measure(release, [name], original=early, seed=seed, later=later).select("key", "value").iter_rows()
    )


@pytest.fixture(scope="module", params=[(0, "queries"), (1, "queries"), (2, "phrases")], ids=str)
def case(request):
    seed, publish = request.param
    early, later = chronological(random_log(seed))
    release = api.anonymize_prepared(early, Microaggregate(k=3), seed=1)
    return early, later, release if publish == "queries" else in_phrases(release)


# --- completion ------------------------------------------------------------------------------------


def test_completion(case):
    early, later, release = case
    got = measured("completion", early, release, later)
    before, after = items_of(early), profiles_of(release)
    everything = {"before.": list(chain(*before.values())), "": list(chain(*items_of(release.log).values()))}
    people = early.frame.select(subject="user").unique().collect()
    given = Comparison.of(early, release, 4, False, {"later": later}).given("later")
    typed = completion._typed(given.join(people, on="subject", how="semi"), 4)
    asked = defaultdict(list)
    for user, query in typed.iter_rows():
        assert len(query) > 3
        asked[user].append(query)
    for user, queries in asked.items():
        there = [query for query in items_of(later)[user] if len(query) > 3]
        assert len(queries) == min(6, len(there))
        assert all(queries.count(query) <= there.count(query) for query in queries)
    assert got["users"] == len(asked)
    assert got["queries"] == sum(map(len, asked.values()))
    for prefix, profiles in (("", after), ("before.", before)):
        for key, with_profile in (("with_profile", True), ("without_profile", False)):
            values = [
                np.mean([float(reference.reciprocal_rank(query, everything[prefix], profiles[user] * with_profile))
                         for query in queries])
                for user, queries in sorted(asked.items())
            ]  # fmt: skip
            assert got[prefix + key] == pytest.approx(100 * np.mean(values))
            assert got[f"{prefix}{key}.low"] <= got[prefix + key] <= got[f"{prefix}{key}.high"]


_STRINGS = st.sampled_from(["abcd", "abce", "abcf", "abcg", "abc", "abd", "abdefg", "ab", ""])


@given(st.lists(_STRINGS, min_size=1, max_size=12), st.lists(_STRINGS, max_size=5), _STRINGS)
def test_the_value_of_a_suggestion(log, profile, query):
    items = pl.DataFrame({"item": log}).group_by("item").agg(pl.len().cast(pl.Int64).alias("n"))
    profiles = pl.DataFrame([("u", item) for item in profile], schema=["subject", "item"], orient="row")
    typed = pl.DataFrame({"subject": ["u", "v"], "item": [query, query]})
    trials = completion._trials(items, typed, profiles.cast(pl.String))
    without = float(reference.reciprocal_rank(query, log))
    assert trials["without_profile"].to_list() == pytest.approx([without, without])
    with_profile = float(reference.reciprocal_rank(query, log, profile))
    assert trials["with_profile"].to_list() == pytest.approx([with_profile, without])


def test_completion_by_hand():
    """Ten times dogma; Ann typed dogs, Bob doghouse, and both will again."""
    rows = [("ann", "dogs"), ("bob", "doghouse"), *[(f"u{i}", "dogma") for i in range(10)]]
    early, later = log_of(rows), log_of(rows[:2])
    release = own_profiles(early, api.anonymize_prepared(early, Microaggregate(k=2), seed=1))
    got = measured("completion", early, release, later)
    assert got["with_profile"] == 100  # 1/12 + 1 against 10/12
    assert got["without_profile"] == pytest.approx(100 * (1 / 2 + 1 / 3) / 2)  # dogma first, then one of the two
    nothing = replace(release, log=replace(release.log, frame=release.log.frame.clear()))
    assert measured("completion", early, nothing, later)["with_profile"] == 0
    with pytest.raises(NotApplicableError, match="more than 3 letters"):
        measured("completion", early, release, log_of([("ann", "dog"), ("carl", "cat")]))


def test_without_names_there_is_no_profile():
    early, later = chronological(random_log(3))
    release = api.anonymize_prepared(early, SuppressRare(k=3), seed=1)
    got = measured("completion", early, release, later)
    assert "with_profile" not in got
    assert 0 < got["without_profile"] <= got["before.without_profile"] + 5
    named = api.anonymize_prepared(early, SuppressRare(k=3, users="pseudonym"), seed=1)
    assert "with_profile" in measured("completion", early, named, later)
    unknown = measured("completion", early, replace(named, record=None), later)
    assert unknown["without_profile"] == measured("completion", early, named, later)["without_profile"]
    assert "with_profile" not in unknown


# --- train_on_release -------------------------------------------------------------------------------


def people_of(early, release, later):
    comparison = Comparison.of(early, release, 4, False, {"later": later})
    earlier = comparison.original.select("subject", "item")
    return dict(train_on_release._people(comparison, earlier).iter_rows())


def test_train_on_release(case):
    early, later, release = case
    got = measured("train_on_release", early, release, later)
    part = people_of(early, release, later)
    for prefix, profiles in (("", profiles_of(release)), ("before.", items_of(early))):
        expected, users = reference.train_on_release(items_of(early), items_of(later), profiles, part)
        assert got["users"] == users
        keys = [prefix + key for key in ("model", "with_popularity", "popularity")]
        assert [got[key] for key in keys] == pytest.approx(expected)
        assert 0 < got[keys[0]] < 100


def test_groups_are_in_one_part(case):
    early, later, release = case
    part = people_of(early, release, later)
    groups = defaultdict(set)
    for user, group in release.record.subjects.select("original", "group").collect().iter_rows():
        groups[group].add(part[user])
    assert all(len(parts) == 1 for parts in groups.values())
    assert set(part.values()) == {0, 1, 2}
    assert set(part) == set(items_of(early))


def test_nobody_is_in_the_model_they_are_tried_on(case):
    """What is released for a group changes nothing for it, nor for those who are tried together with it."""
    early, later, release = case
    comparison = Comparison.of(early, release, 4, False, {"later": later})
    tables = []
    part = people_of(early, release, later)
    chosen = sorted(part)[0]
    groups = dict(release.record.subjects.select("original", "group").collect().iter_rows())
    for change in (False, True):
        rows = pl.DataFrame(
            [(user, item if not change or groups[user] != groups[chosen] else "dogs wine")
             for user, items in profiles_of(release).items() for item in items],
            schema=["subject", "item"], orient="row")  # fmt: skip
        before, after = (
            each.frame.select(subject="user", item="query").collect() if hasattr(each, "frame") else each
            for each in (early, rows)
        )
        spelled = train_on_release._stems(
            reference.language("english"),
            pl.concat([before["item"], comparison.given("later")["item"], after["item"], pl.Series(["dogs wine"])]),
        )
        counts = [train_on_release._counts(each, spelled) for each in (before, comparison.given("later"), after)]
        people = pl.DataFrame([*part.items()], schema=["subject", "part"], orient="row").sort("subject")
        truth = train_on_release._truth(counts[0], counts[1], people, 4)
        tables.append(train_on_release._trials(counts[2], counts[0], truth, people, 4))
    here = [user for user in tables[0]["subject"] if part[user] == part[chosen]]
    unchanged = [table.filter(pl.col("subject").is_in(here)) for table in tables]
    assert here
    assert unchanged[0].equals(unchanged[1])
    assert not tables[0].equals(tables[1])


def test_a_release_of_everything_is_as_good_as_the_original(case):
    early, later, release = case
    got = measured("train_on_release", early, own_profiles(early, release), later)
    for key in ("model", "with_popularity", "popularity"):
        assert got[key] == got[f"before.{key}"]


def test_words_that_go_together_are_learnt():
    """Half of the people like music, half cook; one of each has still to find the trumpet, or honey."""
    music, food = ["violin", "guitar", "piano", "trumpet"], ["bread", "butter", "cheese", "honey"]
    rows = [(f"u{user:02}", word) for user in range(20) for word in (music if user % 2 else food)]
    rows += [("ann", word) for word in music[:3]] + [("bob", word) for word in food[:3]]
    early, later = log_of(rows), log_of([("ann", "trumpet"), ("bob", "honey"), ("ann", "nobody typed this")])
    release = own_profiles(early, api.anonymize_prepared(early, Microaggregate(k=2), seed=1))
    got = measured("train_on_release", early, release, later)
    assert got["users"] == 2
    assert got["model"] == 100
    assert got["popularity"] < 100
    with pytest.raises(NotApplicableError, match="new to them"):
        measured("train_on_release", early, release, early)
    with pytest.raises(NotApplicableError, match="one profile for each user"):
        measured("train_on_release", early, api.anonymize_prepared(early, SuppressRare(k=2), seed=1), later)


def test_directions_are_those_of_a_singular_value_decomposition():
    """60 users, of whom all but noise lies in 24 directions."""
    rng = np.random.default_rng(5)
    topics = [rng.choice(400, 12, replace=False) for _ in range(24)]
    rows = [(f"u{user:02}", int(stem), int(n)) for user in range(60)
            for stem, n in zip(topics[user % 24], rng.integers(5, 9, 12), strict=True)]  # fmt: skip
    schema = {"subject": pl.String, "stem": pl.Int64, "n": pl.Int64}
    table = pl.DataFrame(rows, schema=schema, orient="row").unique(["subject", "stem"]).sort("subject", "stem")
    model = train_on_release._Model.of(table, 3)
    sparse = model.weighted(table)
    dense = np.zeros((60, model.stems.size))
    for user in range(60):
        for entry in range(sparse.start[user], sparse.start[user + 1]):
            dense[user, sparse.column[entry]] = sparse.value[entry]
    assert np.linalg.norm(dense, axis=1) == pytest.approx(1)
    v = np.linalg.svd(dense)[2][:24]
    assert model.directions @ model.directions.T == pytest.approx(v.T @ v, abs=1e-5)
    assert model.scores(table) == pytest.approx(dense @ v.T @ v, abs=2e-6)
    assert train_on_release._Model.of(table, 4).scores(table) == pytest.approx(model.scores(table), abs=2e-6)


@given(
    st.lists(st.integers(-2, 6), max_size=300), st.sets(st.integers(0, 299)), st.sets(st.integers(0, 320), min_size=1)
)
def test_ndcg(scores, known, truth):
    words = {place: float(score) for place, score in enumerate(scores)}
    known = np.array(sorted(known & words.keys()), dtype=np.int64)
    wanted = np.array(sorted(truth & words.keys()), dtype=np.int64)
    got = train_on_release.ndcg(np.array(scores, dtype=np.float64), known, wanted, len(truth))
    assert got == pytest.approx(reference.ndcg(words, set(known.tolist()), truth))


# --- both -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["completion", "train_on_release"])
def test_the_order_of_rows_changes_nothing_and_other_seeds_draw_others(case, name):
    early, later, release = case
    got = measured(name, early, release, later)
    shuffled = [
        replace(log, frame=log.frame.collect().sample(fraction=1, shuffle=True, seed=3).lazy())
        for log in (early, later, release.log)
    ]
    assert measured(name, shuffled[0], replace(release, log=shuffled[2]), shuffled[1]) == got
    assert measured(name, early, release, later, seed=5) != got


@pytest.mark.parametrize("name", ["completion", "train_on_release"])
def test_later_queries_are_needed(case, name):
    early, _, release = case
    with pytest.raises(NotApplicableError, match="later="):
        coterie.measure(release, [name], original=early)
