"""A witness of one rare query, or of any search: what `users` changes, and that the attack is the plain one."""

from dataclasses import replace
from datetime import datetime, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coterie
from coterie.measures.attacks.witness import fits, known, targets_of
from coterie.measures.rates import Shares
from coterie.methods.affinity import Affinity
from tests.helpers.own_words import own_words, scores_of
from tests.helpers.units_reference import witness

_START = datetime(2020, 3, 1, 8)
_KINDS = ("one_query", "query_and_day", "two_queries")


@pytest.fixture(scope="module")
def learnt():
    log = coterie.prepare(coterie.read("synth:users=300,seed=7"))
    scores_by_users = {}
    for users in ("drop", "session", "pseudonym"):
        release = coterie.anonymize(log, Affinity(k=2, users=users), seed=1)
        scores = coterie.measure(release, ["witness"], original=log, seed=1)
        scores_by_users[users] = {key: value for _, key, value, *_ in scores.iter_rows()}
    return scores_by_users


def test_the_raw_log_gives_everybody_away(learnt):
    assert learnt["drop"]["before.unique"] > 80
    assert learnt["drop"]["before.share"] > 80


def test_pseudonyms_are_risky_sessions_less_and_nothing_is_read_without_names(learnt):
    shares = [learnt[users]["after.share"] for users in ("drop", "session", "pseudonym")]
    assert shares[0] == 0
    assert 0 < shares[1] < shares[2] / 2
    assert shares[2] < learnt["pseudonym"]["before.share"]
    assert learnt["pseudonym"]["after.unique"] > 5


def test_one_search_and_two(learnt):
    """Two searches find more than one where they are linked, and nothing where they are not."""
    assert learnt["pseudonym"]["before.two_queries"] > learnt["pseudonym"]["before.one_query"] > 50
    assert learnt["drop"]["after.two_queries"] == learnt["drop"]["before.two_queries"] == 0
    assert learnt["drop"]["after.one_query"] < learnt["drop"]["before.one_query"]
    assert learnt["pseudonym"]["after.one_query.read"] > learnt["session"]["after.one_query.read"]


_QUERIES = st.sampled_from(["maps", "tide tables", "bread", "a rare illness"])
_SEARCHES = st.lists(st.tuples(_QUERIES, st.integers(0, 2)), min_size=1, max_size=5)


@given(st.dictionaries(st.sampled_from(["ann", "bob", "cyd"]), _SEARCHES, min_size=2), st.sampled_from(_KINDS))
def test_units_that_fit_are_those_of_the_plain_attack(people, kind):
    rows = [
        (number, person, query, _START + timedelta(days=day, minutes=place))
        for number, (person, searches) in enumerate(people.items())
        for place, (query, day) in enumerate(searches)
    ]
    schema = {"unit": pl.Int64, "person": pl.String, "item": pl.String, "time": pl.Datetime("us")}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    units = {n: [(query, time.date()) for m, _, query, time in rows if m == n] for n in range(len(people))}
    owner = dict(enumerate(people))
    seen = table.select("item", "time", subject="person").with_row_index("row")
    hits = fits(known(seen, kind), table.with_columns(level=pl.lit(None, pl.String)), kind)
    rate = Shares.of(targets_of(hits, 0.25))
    attacked = hits["subject"].unique().sort().to_list()
    by_time = {person: [] for person in people}
    for _, person, query, time in sorted(rows, key=lambda row: (row[3], row[2])):
        by_time[person].append((query, time.date()))
    expected = {person: witness(by_time[person], units, owner, person, kind) for person in people}
    assert dict(zip(attacked, rate.every.tolist(), strict=True)) == {
        person: pytest.approx(float(share)) for person, share in expected.items() if share is not None
    }


def test_a_week_fits_each_of_its_days():
    monday, thursday = datetime(2020, 3, 2), datetime(2020, 3, 5, 8)
    schema = {"unit": pl.Int64, "person": pl.String, "item": pl.String, "time": pl.Datetime("us"), "level": pl.String}
    rows = pl.DataFrame(
        [(0, "ann", "maps", monday, "week"), (1, "bob", "maps", None, None)], schema=schema, orient="row"
    )
    seen = pl.DataFrame({"row": [0], "subject": ["ann"], "item": ["maps"], "time": [thursday]}).cast(
        {"time": pl.Datetime("us")}
    )
    clue = known(seen, "query_and_day")
    assert fits(clue, rows, "query_and_day")["units"].to_list() == [2]
    of_the_day = rows.with_columns(level=pl.lit(None, pl.String))
    assert fits(clue, of_the_day, "query_and_day")["units"].to_list() == [1]  # the one without a time


def test_outsiders_are_found_by_mistake_only():
    log = own_words(people=20)
    strangers = replace(log, frame=log.frame.with_columns(user="x" + pl.col("user")).head(24))
    found = scores_of(log, coterie.anonymize(log, Affinity(k=2, users="session"), seed=1), "witness")
    assert "before.one_query.outsiders" not in found
    found = scores_of(
        log, coterie.anonymize(log, Affinity(k=2, users="session"), seed=1), "witness", outsiders=strangers
    )
    assert found["outsiders"] == 2
    assert found["before.one_query"] == 100  # nobody else typed it
    assert found["before.one_query.outsiders"] == 100  # two strangers who typed what somebody in the log did
    assert found["before.one_query.read"] == 3
    own = replace(log, frame=log.frame.with_columns(user="y" + pl.col("user"), query="z" + pl.col("query")))
    found = scores_of(log, coterie.anonymize(log, Affinity(k=2), seed=1), "witness", outsiders=own)
    assert found["before.one_query.outsiders"] == 0


@pytest.mark.parametrize("times", ["day", "week", "month", "quarter"])
def test_times_that_were_cut_for_everybody_do_not_hide_a_search(times):
    """Each search is typed once, and a day is known: a coarser time in the release does not make it another search."""
    rows = [{"user": f"u{n % 20}", "query": f"search {n}", "time": datetime(2026, 1, 6 + n % 9, 10)} for n in range(60)]
    log = coterie.log(pl.DataFrame(rows))
    release = coterie.anonymize(log, "unprotected", users="drop", times=times, seed=1)
    score = dict(coterie.measure(release, ["witness"], original=log, seed=1).select("key", "value").iter_rows())
    assert score["after.query_and_day"] == score["after.one_query"] == 100
