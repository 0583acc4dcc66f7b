"""The one-user share is that of the plain count."""

from collections import Counter

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import coterie
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from tests.helpers import units_reference as plain
from tests.helpers.own_words import scores_of

_ROWS = st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from(["q", "r", "s", "t"])), min_size=4, max_size=20)


def _log(rows):
    return coterie.log(pl.DataFrame(rows, schema=["user", "query"], orient="row"))


@given(_ROWS)
def test_the_plain_count(rows):
    assume(len({user for user, _ in rows}) >= 2)
    log = _log(rows)
    release = coterie.anonymize(log, Microaggregate(k=2), seed=1)
    found = scores_of(log, release, "one_user_share")
    for moment, released in (("before", [q for _, q in rows]), ("after", release.to_polars()["query"].to_list())):
        distinct, share = plain.one_user_share(rows, released)
        assert found[f"{moment}.distinct"] == pytest.approx(100 * float(distinct))
        assert found[f"{moment}.rows"] == pytest.approx(100 * float(share))
        assert found[f"{moment}.rows.low"] <= found[f"{moment}.rows"] + 1e-9
    alone = {query for query, n in Counter(q for _, q in set(rows)).items() if n == 1}
    there = alone & set(release.to_polars()["query"])
    assert found["kept"] == (pytest.approx(100 * len(there) / len(alone)) if alone else None)


def test_thresholds_on_queries_release_none():
    rows = [(user, "maps") for user in "abc"] + [("a", "mine"), ("b", "mine too"), ("a", "tea"), ("b", "tea")]
    log = _log(rows)
    found = scores_of(log, coterie.anonymize(log, SuppressRare(k=3), seed=1), "one_user_share")
    assert (found["before.distinct"], found["after.distinct"], found["after.rows"]) == (50, 0, 0)
    assert (found["kept"], found["kept.shared"], found["after.few"]) == (0, 50, 0)


def test_nothing_released():
    log = _log([("a", "x"), ("b", "y"), ("c", "z")])
    found = scores_of(log, coterie.anonymize(log, SuppressRare(k=2), seed=1), "one_user_share")
    assert (found["before.distinct"], found["after.distinct"], found["after.few"]) == (100, None, None)
