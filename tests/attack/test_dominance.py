"""Who is behind a profile: counted by hand."""

import polars as pl
import pytest

import coterie
from coterie.errors import NotApplicableError
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from tests.helpers.own_words import own_words, scores_of, unchecked_release

ROWS = [
    ("a", "tea"),
    ("a", "red tea pot"),
    ("a", "maps"),
    ("b", "tea"),
    ("b", "rain"),
    ("c", "rain"),
    ("d", "snow"),
    ("d", "ice"),
]


@pytest.fixture(scope="module")
def log():
    return coterie.log(pl.DataFrame(ROWS, schema=["user", "query"], orient="row"))


def test_by_hand(log):
    """Of four rows tea is of a twice (the pot holds it) and of b once, maps of a, rain of b, ice of nobody here."""
    profile = [(0, "tea"), (0, "maps"), (0, "rain"), (0, "ice"), (1, "snow"), (1, "rain")]
    found = scores_of(log, unchecked_release(log, {"a": 0, "b": 0, "c": 1, "d": 1}, profile), "dominance")
    assert found["profiles"] == 2
    assert found["largest.max"] == 50  # of the second, c and d have one row each
    assert found["largest.median"] == pytest.approx((100 * (2 / 3 + 1) / 4 + 50) / 2)
    assert found["largest.above_half"] == 0
    assert found["alone"] == pytest.approx(100 * 4 / 6)  # maps, rain; snow, rain
    assert found["equal.median"] == 50
    assert found["before.alone"] == found["before.largest.median"] == 100


def test_one_member_is_all_of_it(log):
    found = scores_of(log, unchecked_release(log, {"a": 0, "b": 0}, [(0, "maps"), (0, "red tea pot")]), "dominance")
    assert found["largest.max"] == 100
    assert found["largest.above_half"] == 1
    assert found["alone"] == 100


def test_what_all_members_typed():
    log = own_words(people=12, together=4)
    groups = {f"p{person:03}": person // 4 for person in range(12)}
    rows = sorted({(groups[user], query) for user, query in log.frame.select("user", "query").collect().iter_rows()})
    found = scores_of(log, unchecked_release(log, groups, rows, k=4), "dominance")
    assert found["alone"] == 0
    assert found["largest.max"] == found["equal.median"] == 25


def test_rows_of_nobody(log):
    found = scores_of(log, unchecked_release(log, {"a": 0, "b": 0}, [(0, "elsewhere")]), "dominance")
    assert found["largest.max"] is None


def test_equal_people_in_random_groups():
    log = own_words()
    found = scores_of(log, coterie.anonymize(log, Microaggregate(k=4, partition="random"), seed=1), "dominance")
    assert found["alone"] == 100
    assert 25 <= found["largest.median"] < 50


def test_only_where_users_share_profiles():
    log = own_words(people=8, together=4)
    with pytest.raises(NotApplicableError, match="share a profile"):
        scores_of(log, coterie.anonymize(log, SuppressRare(k=3), seed=1), "dominance")
