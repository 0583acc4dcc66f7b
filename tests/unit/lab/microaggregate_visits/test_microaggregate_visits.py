"""Records of an access log, and what is said about them."""

from datetime import datetime, timedelta

import polars as pl
import pytest

import coterie
from coterie.core.shapes import VISITS
from coterie.errors import InputError, ParameterError
from coterie.lab.microaggregate_visits.method import MicroaggregateVisits, weights_in
from coterie.testing import check_method
from tests.helpers.broken_records import record_log
from tests.helpers.hand_made import log_of
from tests.helpers.random_visits import random_visits

START = datetime(2026, 3, 1)


@pytest.mark.parametrize("params", [
    {"visitors": False},
    {"leftovers": "suppress", "weights": "request=1,time=0", "block": 6},
    {"sessionid": True, "visitors": False, "block": 0},
])  # fmt: skip
def test_it_is_a_method_in_all_its_modes(params):
    check_method(MicroaggregateVisits, params, vary=False)


def behind(release, log):
    """The visitors behind each record of a release, and the number of its rows."""
    visitors = log.frame.select("row", "user").collect()
    groups = release.record.tables["clusters"].collect()
    return groups.join(visitors, on="row").group_by("group").agg(pl.col("user").n_unique(), pl.len())


def test_groups_have_k_visitors():
    log = random_visits(120, seed=8)
    of_visitors = behind(coterie.anonymize(log, MicroaggregateVisits(k=4), seed=1), log)
    assert of_visitors["user"].min() == 4
    of_records = behind(coterie.anonymize(log, MicroaggregateVisits(k=4, visitors=False), seed=1), log)
    assert of_records["user"].min() < 4
    assert (of_records["len"].min(), of_records["len"].max()) in [(4, size) for size in range(4, 8)]


def test_no_address_in_any_mode():
    log = log_of([{"user": f"{n % 4}", "address": "10.0.0.1", "path": "/a"} for n in range(12)], VISITS)
    for visitors in (True, False):
        release = coterie.anonymize(log, MicroaggregateVisits(k=3, visitors=visitors), seed=1)
        assert release.to_polars()["address"].null_count() == release.to_polars().height > 0


def test_records_in_place_of_rows():
    release = coterie.anonymize(record_log(), MicroaggregateVisits(k=3), seed=1)
    rows = release.to_polars()
    assert rows.height == 20
    assert "/secret/page" not in rows["path"].to_list()
    assert "/secret/page" in coterie.anonymize(
        record_log(), MicroaggregateVisits(k=3, visitors=False), seed=1
    ).to_polars()["path"].to_list()  # fmt: skip


def test_a_visit_is_nearest_to_its_own_session():
    """With `sessionid` a visit joins its session, without it what is like it."""
    rows = [
        {"user": user, "path": path, "time": START + timedelta(hours=12 * visit + step)}
        for user in "ab"
        for visit in range(2)
        for step, path in ((0, "/in"), (0.2, "/out/deep"))
    ]
    log = log_of(rows, VISITS)

    def paths(sessionid):
        method = MicroaggregateVisits(k=2, visitors=False, sessionid=sessionid, weights="session=9,time=0")
        return set(coterie.anonymize(log, method, seed=1).to_polars()["path"])

    assert paths(False) == {"/in", "/out/deep"}
    assert paths(True) == {"/*"}


def test_what_is_said_about_records_without_partners():
    rows = [{"user": user, "path": "/"} for user in ["a"] * 9 + ["b", "c"]] + [{"path": "/"}]
    log = log_of(rows, VISITS)
    joined = coterie.anonymize(log, MicroaggregateVisits(k=3), seed=1)
    nobodys = "1 rows without a visitor are left out."
    assert joined.warnings == (
        "8 of 11 records remained when fewer than 3 visitors did, and joined the nearest group.",
        nobodys,
    )
    left_out = coterie.anonymize(log, MicroaggregateVisits(k=3, leftovers="suppress"), seed=1)
    assert left_out.warnings == ("8 of 11 records remained when fewer than 3 visitors did: left out.", nobodys)
    assert left_out.to_polars().height == 3


def test_logs_without_anything_but_paths():
    log = coterie.log(pl.DataFrame({"user": list("abcabc"), "path": ["/x/1", "/x/2", "/x/3", "/y", "/y", "/y"]}))
    rows = coterie.anonymize(log, MicroaggregateVisits(k=3), seed=1).to_polars()
    assert rows["path"].to_list() == ["/x/*"] * 3 + ["/y"] * 3
    assert rows.drop("path").null_count().row(0) == (6,) * 8


def test_one_visitor_is_refused():
    log = log_of([{"user": "a", "path": "/"}] * 10, VISITS)
    for visitors in (True, False):
        with pytest.raises(InputError, match=r"needs at least 5 .*, and the log has 1"):
            coterie.anonymize(log, MicroaggregateVisits(visitors=visitors))


@pytest.mark.parametrize("text", [
    "request=", "request=0.3", "nothing=1", "request=-1", "request=101", "request", "=1", "request=nan",
    "request=0,referrer=0,agent=0,address=0,time=0,rest=0,session=0",
])  # fmt: skip
def test_weights_are_halves_of_known_parts(text):
    with pytest.raises(ParameterError, match="The 'weights' parameter of microaggregate_visits must be such as"):
        MicroaggregateVisits(weights=text)


def test_weights_that_are_not_named_are_the_usual_ones():
    assert weights_in("time=2.5, request=0") == {
        "request": 0, "referrer": 2, "agent": 2, "address": 2, "time": 2.5, "rest": 0.5, "session": 3,
    }  # fmt: skip


def test_a_null_character_is_a_letter_like_others():
    rows = [
        {"user": user, "path": f"/tea\0cup/{user}", "referrer": f"http://ref.example/\0/{user}"}
        for user in "abc"
    ]  # fmt: skip
    released = coterie.anonymize(log_of(rows, VISITS), MicroaggregateVisits(k=3), seed=1).to_polars()
    assert released.select("path", "referrer").unique().rows() == [("/tea\0cup/*", "ref.example/\0/*")]
    nothing_else = [{**row, "referrer": "\0"} for row in rows]
    assert coterie.anonymize(log_of(nothing_else, VISITS), MicroaggregateVisits(k=3), seed=1).to_polars().height == 3
