"""Who is behind rows that are equal."""

import polars as pl
import pytest

import coterie
from coterie.core.shapes import VISITS
from coterie.errors import NotApplicableError
from coterie.lab.microaggregate_visits.method import MicroaggregateVisits
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing import queries_log
from tests.helpers.broken_records import record_log
from tests.helpers.hand_made import log_of


def scores(log, release):
    return dict(coterie.measure(release, ["equal_rows"], original=log, seed=1).select("key", "value").iter_rows())


def test_rows_with_all_that_they_say():
    """Three equal rows of one visitor, and three of three; in the original their sizes tell them apart."""
    people = ["a"] * 3 + ["a", "b", "c"]
    paths = ["/own"] * 3 + ["/tea"] * 3
    rows = [{"user": user, "path": path, "bytes": n} for n, (user, path) in enumerate(zip(people, paths, strict=True))]
    log = log_of(rows, VISITS)
    release = coterie.anonymize(log, MicroaggregateVisits(k=3, visitors=False, weights="rest=0"), seed=1)
    found = scores(log, release)
    assert found["before.one"] == found["before.few"] == 100
    assert (found["before.kinds"], found["after.kinds"]) == (6, 2)
    assert found["after.one"] == found["after.few"] == 50
    assert found["after.people"] == 2  # one, or three


def test_k_visitors_are_behind_every_row():
    found = scores(record_log(), coterie.anonymize(record_log(), MicroaggregateVisits(k=3), seed=1))
    assert found["after.one"] == found["after.few"] == 0
    assert found["after.people"] >= 3


def test_rows_of_nobody_are_nobodys():
    log = coterie.log(pl.DataFrame({"user": ["a", "b", None, None], "query": ["tea"] * 2 + ["maps"] * 2}))
    assert scores(log, coterie.anonymize(log, SuppressRare(k=2), seed=1))["before.one"] == 50


def test_what_became_of_rows_must_be_known():
    log = queries_log()
    with pytest.raises(NotApplicableError, match="does not keep rows"):
        coterie.measure(coterie.anonymize(log, Microaggregate(k=3), seed=1), ["equal_rows"], original=log)
