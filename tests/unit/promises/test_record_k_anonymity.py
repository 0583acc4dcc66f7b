"""The promise about records of an access log, and its judge."""

from dataclasses import replace

import polars as pl
import pytest

import coterie
from coterie.core.promise import Case
from coterie.core.shapes import VISITS
from coterie.errors import BrokenPromiseError
from coterie.lab.microaggregate_visits.method import MicroaggregateVisits
from coterie.promises import judge
from coterie.promises.record_k_anonymity import RecordKAnonymity
from tests.helpers.broken_records import CAUGHT_BY, record_log
from tests.helpers.hand_made import case_of, check_of
from tests.helpers.random_visits import random_visits


@pytest.mark.parametrize(("method", "check"), CAUGHT_BY)
def test_a_broken_method_is_caught(method, check):
    with pytest.raises(BrokenPromiseError, match=rf"[.;] {check}: "):
        coterie.anonymize(record_log(), method(k=3), seed=1)


@pytest.mark.parametrize("params", [{}, {"visitors": False}, {"leftovers": "suppress"}])
def test_what_is_not_broken_is_not_caught(params):
    for log in (record_log(), random_visits(80, seed=3)):
        release = coterie.anonymize(log, MicroaggregateVisits(k=3, **params), seed=1)
        assert {check.status for check in release.checks} == {"passed"}
        assert release.verdict.largest_k >= 3


@pytest.fixture(scope="module")
def release():
    return coterie.anonymize(record_log(), MicroaggregateVisits(k=3), seed=1)


@pytest.fixture(scope="module")
def paper():
    return coterie.anonymize(record_log(), MicroaggregateVisits(k=3, visitors=False), seed=1)


def verdict_of(release, **changes):
    case = Case(rows=release.log.frame, shape=VISITS, original=record_log(), evidence=release.record.evidence)
    return judge(replace(case, **changes), release.promises)


def test_visitors_need_the_original_and_the_record(release):
    assert verdict_of(release).exit_code == 0
    for less in ({"original": None}, {"evidence": {}}):
        verdict = verdict_of(release, **less)
        assert verdict.exit_code == 3
        assert {check.name for check in verdict.unchecked} >= {"records", "visitors"}
        assert check_of(verdict, "copies").status == "passed"


def test_records_can_be_counted_in_the_release_alone(paper):
    verdict = verdict_of(paper, original=None, evidence={})
    assert verdict.exit_code == 0
    assert {check.name for check in verdict.unchecked} == {"ids", "records", "visitors"}


def test_the_paper_is_warned_of(paper):
    text = check_of(verdict_of(paper), "visitors").text
    assert text == "the k may come from one visitor (15.0 % of the records stand for one visitor); 6 looked at"
    (note,) = paper.warnings
    assert "16.7 % of the groups, with 15.0 % of the rows, are of one visitor" in note
    assert "they may all come from one visitor" in paper.verdict.sentence
    assert "hide nobody" in paper.promises[0].limits[0]
    assert paper.headline == "k = 3 records, not visitors"


def test_groups_that_were_said_twice_or_never(release):
    groups = release.record.tables["clusters"].collect()
    more = pl.DataFrame({"row": [10**6], "group": [0]}, schema=groups.schema)
    for said in (pl.concat([groups, groups.head(1)]), pl.concat([groups, more]), groups.tail(-1)):
        check = check_of(verdict_of(release, evidence={"clusters": said.lazy()}), "records")
        assert (check.status, check.broken > 0) == ("failed", True)


def test_a_larger_k_does_not_hold(release):
    verdict = judge(
        Case(rows=release.log.frame, shape=VISITS, original=record_log(), evidence=release.record.evidence),
        (RecordKAnonymity(k=30),),
    )
    assert check_of(verdict, "copies").status == check_of(verdict, "visitors").status == "failed"


def test_rows_of_others_are_counted():
    rows = [{"path": "/a", "agent": "x"}] * 3 + [{"path": "/a", "agent": "y"}] * 2
    promise = RecordKAnonymity.of_foreign({"k": 3}, named=False)
    verdict = judge(case_of(rows, shape=VISITS, foreign=True), (promise,))
    assert verdict.sentence.startswith("To be checked: every row of the file appears at least 3 times")
    (check,) = verdict.checks
    assert (check.broken, check.looked_at, check.largest_k) == (2, 5, 2)
