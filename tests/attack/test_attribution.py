"""Who knows a few queries tells which others are the same person's, unless all members of the group have them."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import coterie
from coterie import api
from coterie.algorithms import profiles as profile_model
from coterie.errors import NotApplicableError
from coterie.measures import learning
from coterie.measures.attacks import attribution
from coterie.measures.attacks._profiles import draw_known, everybody_alone, find_groups, parts_of, profiles_of
from coterie.measures.comparison import Comparison
from coterie.methods.interest_microaggregate import InterestMicroaggregate
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.promises import _people
from tests.helpers.own_words import own_words, scores_of, unchecked_release


@pytest.fixture(scope="module")
def own():
    """People with words of their own, grouped at random: every query of a profile tells whose it is."""
    log = own_words()
    return scores_of(log, coterie.anonymize(log, Microaggregate(k=4, partition="random"), seed=3), "attribution")


def test_the_adversary_wins_on_the_raw_log(own):
    assert own["before.one_query"] > 90
    assert own["before.five_queries"] > 90
    assert own["days.before.half"] > 90


def test_and_where_people_can_be_told_apart(own):
    assert own["users"] == 40
    assert own["bound"] == 25
    assert own["after.five_queries.found"] > 90
    assert own["after.five_queries"] > 60
    assert own["excess.low"] > own["bound"]
    assert own["excess"] > own["excess.random"] + 30
    assert own["absent"] < 10


def test_a_random_guess_gains_the_share_of_a_member(own):
    assert 10 < own["given.random"] < 30
    assert own["absent.random"] < 2


@pytest.mark.parametrize(("times", "unit"), [("day", "1d"), ("week", "1w"), ("month", "1mo"), ("quarter", "1q")])
def test_who_knows_days_looks_for_what_holds_them(times, unit):
    """For a month in a release where months stand there; the log itself has days."""
    log = own_words()
    release = coterie.anonymize(log, Microaggregate(k=4, partition="random", times=times), seed=3)
    typed = log.frame.select(pl.col("time").dt.truncate(unit).dt.date().cast(pl.Int32)).collect()["time"]
    comparison = Comparison.of(log, release, seed=1, show_values=False)
    profiles = profiles_of(comparison)
    assert set(profiles.typed_days["day"]) == set(typed)
    of_that_level = release.to_polars().filter(pl.col("time_level") == times)
    said = of_that_level.select("query", pl.col("time").dt.date().cast(pl.Int32)).unique().rows()
    assert set(profiles.days.join(profiles.texts, on="item").select("text", "day").rows()) == set(said)
    days = log.frame.select(pl.col("time").dt.date().cast(pl.Int32)).collect()["time"]
    assert set(everybody_alone(comparison).typed_days["day"]) == set(days)


def test_nothing_is_gained_where_all_members_typed_the_same():
    log = own_words(together=4)
    groups = {f"p{person:03}": person // 4 for person in range(40)}
    typed = log.frame.select("user", "query").collect()
    rows = [(groups[user], query) for user, query in typed.unique().iter_rows() if user.endswith(("0", "4", "8"))]
    rows = sorted({(group, query) for group, query in rows})
    found = scores_of(log, unchecked_release(log, groups, rows, k=4), "attribution")
    assert found["given"] > 90  # what all have in common is told about each of them
    assert found["absent"] == found["given"]
    assert found["excess"] == 0
    assert found["days.excess"] is None  # the release has no times


def test_groups_of_one_are_the_worst():
    log = own_words(people=20)
    groups = {f"p{person:03}": person for person in range(20)}
    rows = [(groups[user], query) for user, query in log.frame.select("user", "query").collect().iter_rows()]
    found = scores_of(log, unchecked_release(log, groups, rows), "attribution")
    assert found["excess"] > 95
    assert found["after.five_queries"] > 95
    assert found["before.given"] == pytest.approx(found["excess"])  # it is the original under other names
    assert found["before.given"] == pytest.approx(found["given"])


def test_what_is_known_is_no_guess():
    """One query is left beside what is known: whoever guesses anything else is wrong."""
    log = own_words(people=12, queries=2)
    groups = {f"p{person:03}": person // 3 for person in range(12)}
    known = [(groups[user], query) for user, query in log.frame.select("user", "query").collect().iter_rows()]
    found = scores_of(log, unchecked_release(log, groups, known), "attribution")
    assert found["given"] > 90
    only_known = [(group, query) for group, query in known if query.endswith("thinga")]
    some = scores_of(log, unchecked_release(log, groups, only_known), "attribution")
    assert some["given"] <= 60  # about half of the people: the string that is there is the one that is known


def test_novel_and_specific_guesses():
    log = own_words(people=30, queries=10)
    every = pl.DataFrame({"user": [f"p{person:03}" for person in range(30)]})
    more = every.select("user", query=pl.lit("weather"), time=pl.lit(None, pl.Datetime("us")))
    alone = every.select("user", query=pl.lit("zzz") + pl.col("user"), time=pl.lit(None, pl.Datetime("us")))
    rows = pl.concat([log.frame.select("user", "query", "time").collect(), more, alone], how="vertical")
    log = coterie.log(rows)
    groups = {f"p{person:03}": person // 3 for person in range(30)}
    profile = sorted({(groups[user], query) for user, query in rows.select("user", "query").iter_rows()})
    found = scores_of(log, unchecked_release(log, groups, profile), "attribution")
    assert found["given.novel"] > 60  # weather, which everybody typed; some know it already
    assert found["excess.novel"] < 20
    assert found["given.specific"] < 60  # one of three strings


def test_days_tell_more_than_words(monkeypatch):
    """All words are everybody's; only the days are one's own. With the days cut to months they tell nothing."""
    log = own_words(people=40, together=40)
    frame = log.frame.collect().with_columns(
        query=pl.concat_str(pl.lit("thing"), (pl.int_range(pl.len()) * 7919 % 480).cast(pl.String))
    )
    number = pl.col("user").rank("dense").cast(pl.Int64)
    frame = frame.with_columns(time=pl.datetime(2020, 3, 1) + pl.duration(days=number % 31))  # all in one month
    log = replace(log, frame=frame.lazy())
    method = Microaggregate(k=4, partition="random")
    found = scores_of(log, coterie.anonymize(log, method, seed=3), "attribution")
    assert found["days.given"] < found["given"] + 5
    columns = ["group", "time", "query", "rank", "url", "time_level", "alone"]
    day = {"time": pl.col("time").dt.truncate("1d"), "time_level": pl.lit("day")}
    cut = "_with_times_cut"
    monkeypatch.setattr(profile_model, cut, lambda profiles, *_: profiles.with_columns(**day).select(columns))
    monkeypatch.setattr(_people, "_FINER_THAN_MONTHS", ())  # the judge would not let such a release pass
    monkeypatch.setattr(_people, "_of_one_at", lambda *_: dict.fromkeys(("fine", "at_one", "beside_one"), 0))
    found = scores_of(log, coterie.anonymize(log, replace(method, times="day"), seed=3), "attribution")
    assert found["days.given"] > found["given"] + 30
    assert found["days.excess.low"] > found["excess.high"]


def test_a_profile_without_the_person_by_hand():
    """Strings of the person alone go, shared ones stay in proportion, others come in."""
    rows = [("a", "tea"), ("a", "rare a"), ("a", "x"), ("b", "tea"), ("b", "maps"), ("c", "rain"), ("c", "snow")]
    log = coterie.log(pl.DataFrame(rows, schema=["user", "query"], orient="row"))
    release = unchecked_release(log, dict.fromkeys("abc", 0), [(0, "tea"), (0, "rare a"), (0, "maps"), (0, "rain")])
    comparison = Comparison.of(log, release, 1, show_values=False)
    profiles = profiles_of(comparison)
    known = draw_known(profiles, 1, 10)
    shown = profiles.rows.select(pl.col("group").cast(pl.Int64).alias("profile"), "item", "n")
    without, _ = attribution._without(profiles, known, attribution._Relations.of(profiles, known, shown), 1)
    names = without.join(profiles.texts, on="item")
    of = {user: -1 - number for number, user in enumerate(known.users["user"])}
    profile = {
        user: dict(names.filter(pl.col("profile") == number).select("text", "n").iter_rows())
        for user, number in of.items()
    }
    assert profile["a"] == {"tea": 0.5, "maps": 1, "rain": 1, "snow": 1}  # nothing else is left to fill the gap with
    assert profile["b"].keys() == {"tea", "rare a", "rain", "x", "snow"}
    assert profile["c"].keys() >= {"tea", "rare a", "maps"}
    assert "rain" not in profile["c"]


def test_texts_that_stand_in_others():
    texts = pl.DataFrame(
        {"item": [0, 1, 2, 3], "text": ["red tea", "tea", "the red tea pot", "red teapot"]},
        schema_overrides={"item": pl.UInt32},
    )
    pairs = set(parts_of(texts, texts).iter_rows())
    assert pairs == {(0, 0), (1, 1), (2, 2), (3, 3), (1, 0), (0, 2), (1, 2)}


def test_the_model_is_a_maximum():
    """At the weights that were found, no small change makes the answers more likely."""
    rng = np.random.default_rng(1)
    n = 400
    table = pl.DataFrame({
        "total": rng.integers(1, 9, n) * 1_000_000, "shared": rng.integers(0, 3, n) * 1_000_000,
        "best": rng.integers(0, 3, n) * 1_000_000, "shared_rarity": rng.integers(0, 3, n) * 1_000_000,
        "best_rarity": rng.integers(0, 3, n) * 1_000_000, "day_weight": rng.integers(0, 3, n) * 1_000_000,
        "rare": rng.random(n), "often": rng.random(n), "length": rng.integers(1, 5, n), "theirs": rng.random(n) < 0.3,
    })  # fmt: skip
    columns, right = attribution._columns(table), table["theirs"].to_numpy()
    weights = learning.fit(columns, right.astype(float))

    def likely(some):
        chance = 1 / (1 + np.exp(-learning.weighed(columns, some)))
        return np.log(np.where(right, chance, 1 - chance)).sum() - learning.RIDGE / 2 * (some**2).sum()

    for place in range(weights.size):
        for step in (-0.01, 0.01):
            other = weights.copy()
            other[place] += step
            assert likely(other) < likely(weights)


def test_the_group_is_found_by_stems():
    rows = [
        (f"p{person}", f"{word}{end}")
        for person, word in enumerate(["garden", "cat", "train", "ship"])
        for end in ("s", "")
    ]
    log = coterie.log(pl.DataFrame(rows, schema=["user", "query"], orient="row"))
    release = unchecked_release(log, {"p0": 0, "p1": 0, "p2": 1, "p3": 1}, [(0, "garden cat"), (1, "train ship")])
    profiles = profiles_of(Comparison.of(log, release, 1, show_values=False))
    known = draw_known(profiles, 1, 10)
    found = find_groups(profiles, known, ["one_query"])["one_query"]
    assert (found == known.users["group"].to_numpy()).mean() >= 0.5


def test_users_are_drawn_by_the_seed(monkeypatch):
    monkeypatch.setattr(attribution, "ATTACKED", 15)
    monkeypatch.setattr(attribution, "COUNTED", 20)
    log = own_words()
    release = coterie.anonymize(log, Microaggregate(k=4, partition="random"), seed=3)
    first = scores_of(log, release, "attribution", seed=1)
    assert first["users"] == 15
    assert scores_of(log, release, "attribution", seed=1) == first
    assert scores_of(log, release, "attribution", seed=2) != first


def test_only_where_users_share_profiles():
    log = own_words(people=8, together=4)
    release = coterie.anonymize(log, SuppressRare(k=3, users="pseudonym"), seed=1)
    with pytest.raises(NotApplicableError, match="share a profile"):
        scores_of(log, release, "attribution")


def test_real_people(real_data):
    """56 rows of 432 people: about as on a thousand others, +64 points and +17 for a random guess."""
    log = coterie.prepare(coterie.read(real_data / "aol_clicks_users.tsv.gz"))
    first = pl.int_range(pl.len()).over("user", order_by="time") < 56
    log = replace(log, frame=log.frame.filter(first).collect().lazy())
    queries = InterestMicroaggregate(k=5, publish="queries", attrs="nearest")
    found = scores_of(log, coterie.anonymize(log, queries, seed=7), "attribution", seed=5)
    assert 55 < found["excess"] < 75
    assert 12 < found["excess.random"] < 20
    assert found["days.excess"] > found["excess"]
    assert found["after.one_query"] < found["after.two_queries"] < found["after.five_queries"]


def test_real_people_and_phrases(real_data):
    """The same people, phrases of five users each: no more than one in k, nor much more than a random guess."""
    log = coterie.prepare(coterie.read(real_data / "aol_clicks_users.tsv.gz"))
    first = pl.int_range(pl.len()).over("user", order_by="time") < 56
    log = replace(log, frame=log.frame.filter(first).collect().lazy())
    found = scores_of(log, coterie.anonymize(log, InterestMicroaggregate(k=5), seed=7), "attribution", seed=5)
    assert 10 < found["excess"] < found["bound"] == 20
    assert found["excess"] < found["excess.random"] + 5


def test_parts_that_all_members_have_cost_nothing():
    """Parts of queries in place of queries: everybody has them, so they are right about everybody, there or not."""
    log = own_words(people=40, queries=8)
    groups = {f"p{person:03}": person // 4 for person in range(40)}
    parts = [(group, f"thing{letter}") for group in range(10) for letter in "abcdefgh"]
    found = scores_of(log, unchecked_release(log, groups, parts, k=4), "attribution")
    assert found["given"] == found["absent"] == 100
    assert found["excess"] == found["excess.random"] == 0


def test_the_original_is_attacked_once_for_all_its_releases(monkeypatch):
    log, calls = own_words(), []
    alone = attribution.everybody_alone
    monkeypatch.setattr(attribution, "everybody_alone", lambda given: (calls.append(1), alone(given))[1])
    releases = [api.anonymize_prepared(log, Microaggregate(k=k, partition="random"), seed=3) for k in (2, 4)]
    first, second = (scores_of(log, release, "attribution") for release in releases)
    assert len(calls) == 1  # with days and without
    assert first["before.five_queries"] == second["before.five_queries"]
    scores_of(log, releases[0], "attribution", seed=8)
    assert len(calls) == 2
