"""Sessions about the same things are put together again; sessions without anything in common are not."""

from dataclasses import replace

import polars as pl
import pytest

import coterie
from coterie.errors import NotApplicableError
from coterie.measures.attacks import relink
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from tests.helpers.own_words import own_words, scores_of

KINDS = ("words", "characters", "all", "best")


@pytest.fixture(scope="module")
def pairs():
    """Two people each have a word of their own, and three sessions."""
    return own_words(people=40, together=2)


def test_sessions_of_people_with_a_word_of_their_own(pairs):
    found = scores_of(pairs, coterie.anonymize(pairs, SuppressRare(k=2, users="session"), seed=1), "relink")
    assert found["after.names"] == 120
    assert found["after.chance"] == pytest.approx(100 * 2 / 119)
    for kind in KINDS:
        # The sessions of both people are alike: a session of the same three is the other person's same one, or own.
        assert found["before." + kind] == pytest.approx(found["after." + kind])
        assert found["after." + kind] <= 60
    assert found["lift"] == pytest.approx(found["after.best"] / found["after.chance"])


def test_people_alone_with_their_word_are_found():
    log = own_words(people=30)
    frame = log.frame.collect().with_columns(query=pl.col("query").str.replace("thing.", "thing"))
    twins = pl.concat([frame, frame.with_columns(user=pl.col("user") + "x")])
    log = replace(log, frame=twins.with_columns(row=pl.int_range(pl.len(), dtype=pl.UInt64)).lazy())
    release = coterie.anonymize(log, SuppressRare(k=2, users="session"), seed=1)
    found = scores_of(log, release, "relink")
    assert found["after.best"] == pytest.approx(40)  # of five sessions with the word two are their own
    assert found["after.best.low"] > 10 * found["after.chance"]


def test_sessions_that_have_nothing_in_common_are_not():
    rows = [(f"p{n:02}", f"thing{(n * 3 + turn) % 20}", turn) for n in range(40) for turn in range(3)]
    frame = pl.DataFrame(rows, schema=["user", "query", "turn"], orient="row")
    frame = frame.select("user", "query", time=pl.datetime(2020, 1, 1) + pl.duration(days=pl.col("turn")))
    log = coterie.log(frame.cast({"time": pl.Datetime("us")}))
    found = scores_of(log, coterie.anonymize(log, SuppressRare(k=2, users="session"), seed=1), "relink")
    assert found["after.words"] < 5  # equal queries are those of others


def test_hosts_tell(pairs):
    host = pl.lit("http://") + pl.col("query").str.slice(0, 6) + pl.lit(".example/page")
    query = pl.lit("thing") + pl.col("query").str.slice(-1)
    log = replace(pairs, frame=pairs.frame.with_columns(url=host, query=query))
    found = scores_of(log, coterie.anonymize(log, SuppressRare(k=2, users="session"), seed=1), "relink")
    assert found["before.hosts"] == pytest.approx(40)
    assert found["before.hosts"] > found["before.chance"]


def test_some_names_are_drawn(pairs, monkeypatch):
    monkeypatch.setattr(relink, "ATTACKED", 10)
    monkeypatch.setattr(relink, "NAMES", 50)
    release = coterie.anonymize(pairs, SuppressRare(k=2, users="session"), seed=1)
    first = scores_of(pairs, release, "relink")
    assert (first["after.names"], first["after.attacked"]) == (50, 10)
    assert scores_of(pairs, release, "relink") == first
    assert first["after.chance"] == pytest.approx(100 * 2 / 49)  # all names of attacked people are there


def test_where_there_is_nothing_to_put_together(pairs):
    for method, reason in (
        (SuppressRare(k=2), "has a name"),
        (SuppressRare(k=2, users="pseudonym"), "one name"),
        (Microaggregate(k=2), "one name"),
    ):
        with pytest.raises(NotApplicableError, match=reason):
            scores_of(pairs, coterie.anonymize(pairs, method, seed=1), "relink")
