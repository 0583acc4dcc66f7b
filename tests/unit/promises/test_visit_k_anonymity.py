"""The judge of visits: what it counts, what it compares, and what it says without the run record."""

import re
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie.core.promise import Case
from coterie.errors import BrokenPromiseError, ParameterError
from coterie.methods.generalize_visits import GeneralizeVisits
from coterie.promises import judge
from coterie.promises._visit_recount import browser_and_system, family, generalizes, host
from coterie.promises.visit_k_anonymity import VisitKAnonymity
from coterie.text.agents import VISITOR_PARTS, parse_agents
from coterie.text.hosts import host_of
from tests.helpers.broken_visits import CAUGHT_BY, CHROME, FIREFOX, visited
from tests.helpers.examples import examples


@pytest.fixture(scope="module")
def log():
    return visited()


@pytest.fixture(scope="module")
def release(log):
    return coterie.anonymize(log, GeneralizeVisits(k=3), seed=1)


def checks_of(release, log, rows=None, **changes):
    """Status of each check of a release, or of other rows in its place."""
    case = Case(
        rows=(release.to_polars() if rows is None else rows).lazy(),
        shape=release.log.shape,
        original=log,
        evidence=changes.pop("evidence", release.record.evidence),
    )
    promise = replace(release.promises[0], **changes)
    return {check.name: check for check in judge(case, (promise,)).checks}


@pytest.mark.parametrize(("method", "check"), CAUGHT_BY)
def test_a_broken_method_is_caught(method, check, log):
    with pytest.raises(BrokenPromiseError, match=rf"\b{re.escape(check)}: .*?: \d+ "):
        coterie.anonymize(log, method(k=3), seed=1)


def test_the_release_of_the_same_log_keeps_all_there_is(release):
    rows = release.to_polars()
    assert all(check.status == "passed" for check in release.checks)
    assert release.verdict.largest_k == 3
    assert {"/own/*", "/*"} < set(rows["path"]), "some paths were cut"
    assert "/tea/*" not in set(rows["path"]), "one visitor would be alone there"
    for column in ("referrer", "agent", "time"):
        assert 0 < rows[column].null_count() < rows.height, f"{column} stays in some rows and not in others"


def test_another_k_is_counted(release, log):
    assert checks_of(release, log, k=4)["crowd.row"].status == "failed"
    assert checks_of(release, log, k=2)["crowd.row"].status == "passed"
    assert coterie.verify(release, log, k=4).exit_code == 1


def test_without_the_record_there_is_an_upper_bound(release, log):
    checks = checks_of(release, log, evidence={})
    assert checks["bound.row"].status == "passed"
    assert "upper bound" in checks["bound.row"].text
    assert checks["visits"].status == checks["crowd.row"].status == "not checked"
    assert "--record" in checks["crowd.row"].needs
    assert coterie.verify(replace(release, record=None), log).exit_code == 3
    assert coterie.verify(replace(release, record=None)).exit_code == 3


def test_what_cannot_be_is_seen_without_the_record(release, log):
    rows = release.to_polars()
    beside = pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("nowhere.example")).otherwise("referrer")
    assert checks_of(release, log, rows.with_columns(beside.alias("referrer")), evidence={})["bound.row"].broken == 1
    invented = pl.concat([rows, *[rows.filter(pl.col("path") == "/maps")] * 9])
    assert checks_of(release, log, invented, evidence={})["bound.row"].status == "failed", "more than there were"
    assert checks_of(release, log, evidence={}, k=13)["bound.row"].status == "failed"


@pytest.mark.parametrize("kind", ["tsv", "csv.gz", "parquet"])
def test_files_are_judged_with_and_without_their_record(release, log, tmp_path, kind):
    path, record = tmp_path / f"visits.{kind}", tmp_path / "record"
    coterie.write(release, path, record=record)
    assert coterie.verify(path, log, record=record).exit_code == 0
    assert coterie.verify(path, log).exit_code == 3
    assert coterie.verify(path, record=record).exit_code == 3


def test_a_record_that_lies_is_not_believed(release, log):
    rows = release.record.rows.collect()
    lies = {
        "another row": rows.with_columns(pl.col("row").reverse()),
        "one row for all": rows.with_columns(pl.lit(0, pl.UInt64).alias("row")),
        "a row that is not there": rows.with_columns(pl.col("row") + 10**6),
        "rows left out": rows.head(5),
        "a row twice": pl.concat([rows, rows.head(1)]),
    }
    for name, lie in lies.items():
        assert checks_of(release, log, evidence={"rows": lie.lazy()})["visits"].status == "failed", name
    damaged = rows.select(pl.lit("x").alias("row"), "released_row").lazy()
    assert checks_of(release, log, evidence={"rows": damaged})["visits"].status == "not checked"


def test_rows_that_are_alike_are_counted_together_whatever_their_visitors(log):
    """Ten requests of one visitor are one visitor."""
    one = replace(log, frame=log.frame.with_columns(pl.lit("v").alias("user")))
    release = coterie.anonymize(log, GeneralizeVisits(k=3), seed=1)
    check = checks_of(release, one)["crowd.row"]
    assert (check.status, check.largest_k, check.concerns) == ("failed", 1, 1)


def test_a_promise_of_fewer_details_is_broken_by_more(release, log):
    checks = checks_of(release, log, details="referrer,browser")
    assert checks["details"].status == "failed"
    assert checks_of(release, log, details="referrer,browser,hour")["visits"].status == "failed", "days are no hours"


def test_it_is_for_releases_of_coterie(log):
    with pytest.raises(ParameterError, match="with a sidecar"):
        coterie.verify(log, log, promise="visit_k_anonymity", k=3)


@pytest.mark.parametrize(("details", "words"), [
    ("none", "(/a/*); nothing accompanies it. No"),
    ("day", "the day accompanies it only where as many share it all."),
    ("hour,status", "the hour and the status accompany it only where"),
])  # fmt: skip
def test_the_sentence_names_the_details(details, words):
    assert words in VisitKAnonymity(k=3, details=details).sentence


@pytest.mark.parametrize("details", ["", "referrer,", "referrer,referrer", "Referrer", "path", "referrer browser"])
def test_other_details_are_refused(details):
    with pytest.raises(ParameterError, match="'details' parameter"):
        VisitKAnonymity(k=3, details=details)


@pytest.mark.parametrize(("wide", "path", "stands"), [
    ("/a/b", "/a/b", True),
    ("/a/b", "/a/b?c", True),
    ("/a/b", "/a/b/c", False),
    ("/a/*", "/a/b", True),
    ("/a/*", "/a/", True),
    ("/a/*", "/a", False),
    ("/a/*", "/ab", False),
    ("/a*", "/ab", False),
    ("/a/*", "/x?y=/a/b", False),
    ("/x?y=/a/*", "/x?y=/a/b", False),
    ("/*", "/", True),
    ("/*", "x", False),
    ("*", "*", True),
    ("*", "/a", False),
    ("/a/b?c", "/a/b", False),
    ("/a/*", "/a/*", True),
])  # fmt: skip
def test_which_path_stands_for_which(wide, path, stands):
    told = pl.DataFrame({"wide": [wide], "path": [path]}).select(generalizes(pl.col("wide"), pl.col("path")))
    assert told.item() is stands


urls = st.lists(
    st.sampled_from(["http:", "//", "/", "?", "#", "@", ":", "80", ".", " ", "a.example", "İ", "ß", "b:", "x y", "*"]),
    max_size=7,
).map("".join)


@settings(max_examples=examples(200))
@given(st.one_of(urls, st.text(max_size=20)))
def test_hosts_are_those_of_the_method(url):
    assert host(url) == (host_of(url) or None)


@settings(max_examples=examples(30))
@given(
    st.one_of(st.text(max_size=60), st.sampled_from([FIREFOX.format(9), CHROME.format(9), "x" * 2000 + "Firefox/9"]))
)
def test_browsers_are_those_of_the_method(agent):
    parts = parse_agents(pl.Series([agent]))
    assert family(agent) == parts["browser"].item()
    assert browser_and_system(agent) == parts.select(VISITOR_PARTS).row(0)
