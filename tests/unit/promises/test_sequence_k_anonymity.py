"""The judge of walks through a website."""

import re
from dataclasses import replace
from datetime import datetime, timedelta

import polars as pl
import pytest

import coterie
from coterie.core.promise import Case
from coterie.core.shapes import SEQUENCES
from coterie.errors import BrokenPromiseError, ParameterError
from coterie.methods.common_visits import CommonVisits
from coterie.promises import judge
from coterie.promises.sequence_k_anonymity import SequenceKAnonymity
from coterie.testing import queries_log
from tests.helpers.broken_walks import CAUGHT_BY, walk_log


@pytest.fixture(scope="module")
def log():
    return walk_log()


@pytest.fixture(scope="module")
def release(log):
    return coterie.anonymize(log, CommonVisits(k=3, paths="exact"), seed=1)


def kinds_of(release):
    walks = release.to_polars().sort("sequence", "position").group_by("sequence").agg("path", pl.col("time").first())
    counted = walks.group_by("path", "time").len().rows()
    return {(" ".join(path), None if day is None else day.day): count for path, day, count in counted}


def verdict(release, rows, log, **changed):
    case = Case(rows=rows.sort(SEQUENCES.order).lazy(), shape=SEQUENCES, original=log, promised=release.promises)
    return judge(case, [replace(promise, **changed) for promise in release.promises])


def failed(verdict):
    return {check.name for check in verdict.broken}


def test_what_the_broken_ones_come_from_is_fine(log, release):
    assert kinds_of(release) == {
        ("/tea /cups /pots", 3): 5,
        ("/tea /cups /pots", None): 4,
        ("/door", 3): 3,
        ("/stairs", 3): 3,
        ("/map", 4): 3,
        ("/map", 5): 3,
        ("/north", 6): 4,
        ("/south", 6): 4,
    }
    assert release.verdict.largest_k == 3
    assert coterie.verify(release, log).exit_code == 0


@pytest.mark.parametrize(("method", "check"), CAUGHT_BY)
def test_a_broken_method_is_caught(log, method, check):
    with pytest.raises(BrokenPromiseError, match=rf"\b{re.escape(check)}: .*?(; \d+ looked at)?: \d+ ") as error:
        coterie.anonymize(log, method(k=3), seed=1)
    values = {*log.to_polars()["path"]}
    assert not any(value in str(error.value) for value in values), "no message shows a value"


def test_another_k_is_counted_and_nothing_else(log, release):
    assert verdict(release, release.to_polars(), log, k=2).largest_k == 3
    four = coterie.verify(release, log, k=4)
    assert failed(four) == {"crowd.sequence", "crowd.sequence.time"}
    cut = coterie.anonymize(log, CommonVisits(k=2), seed=1)
    assert coterie.verify(cut, log, k=2).exit_code == 0
    assert failed(coterie.verify(cut, log, k=3)) == {"crowd.sequence", "crowd.sequence.time"}, (
        "paths are those of k = 2"
    )


def test_without_the_original_nothing_is_proven(tmp_path, log, release):
    coterie.write(release, tmp_path / "walks.tsv", record=tmp_path / "record")
    alone = coterie.verify(tmp_path / "walks.tsv")
    assert alone.exit_code == 3
    assert {check.name for check in alone.unchecked if check.carries_promise} == {
        "crowd.sequence",
        "rows.sequence",
        "crowd.sequence.time",
    }
    assert coterie.verify(tmp_path / "walks.tsv", log).exit_code == 0, "the original is enough"
    assert coterie.verify(tmp_path / "walks.tsv", log, record=tmp_path / "record").exit_code == 0


@pytest.mark.parametrize("kind", ["csv.gz", "parquet", "jsonl"])
def test_written_and_read_again(tmp_path, log, release, kind):
    path = tmp_path / f"walks.{kind}"
    coterie.write(release, path)
    assert coterie.verify(path, log).exit_code == 0
    assert coterie.load_release(path).to_polars().equals(release.to_polars())


def _changed(rows, **columns):
    """The rows with other values in the first row of a walk of several pages."""
    first = pl.int_range(pl.len()) == rows["position"].index_of(2) - 1
    return rows.with_columns(pl.when(first).then(value).otherwise(name).alias(name) for name, value in columns.items())


@pytest.mark.parametrize(("change", "caught"), [
    (lambda rows: rows.with_columns(pl.col("position") - 1), {"walks"}),
    (lambda rows: rows.with_columns(pl.col("position") * 2 - 1), {"walks"}),
    (lambda rows: _changed(rows, position=pl.lit(5_000, pl.Int32)), {"walks"}),
    (lambda rows: _changed(rows, position=pl.col("position").max() + 1), {"walks"}),
    (lambda rows: _changed(rows, path=pl.lit("/never")), {"crowd.sequence", "rows.sequence", "crowd.sequence.time"}),
    (lambda rows: _changed(rows, sequence=pl.lit("kim")), {"names", "walks"}),
    (lambda rows: rows.filter(pl.col("sequence") != pl.col("sequence").min()), {"rows.sequence"}),
    (lambda rows: rows.with_columns(pl.col("time") + timedelta(days=1)), {"rows.sequence", "crowd.sequence.time"}),
    (lambda rows: rows.with_columns(pl.col("time") + timedelta(hours=1)), {"times", "rows.sequence"}),
])  # fmt: skip
def test_tampered_rows_are_caught(log, release, change, caught):
    rows = change(release.to_polars())
    found = failed(verdict(release, rows, log))
    assert caught <= found, found


def test_days_on_which_fewer_walked_are_no_secret_where_they_are_not_shown(log, release):
    """Leaving out all days keeps the promise; leaving out some of one kind does not, unless k remain."""
    rows = release.to_polars()
    assert verdict(release, rows.with_columns(pl.lit(None, pl.Datetime("us")).alias("time")), log).exit_code == 0
    fifth = pl.col("time") == datetime(2020, 2, 5)
    some = rows.with_columns(pl.when(~fifth).then("time").alias("time"))
    assert verdict(release, some, log).exit_code == 0
    one = rows.filter(fifth)["sequence"][0]
    single = rows.with_columns(pl.when(pl.col("sequence") != one).then("time").alias("time"))
    assert "rows.sequence" in failed(verdict(release, single, log))


def test_an_empty_release_keeps_its_promise(log, release):
    assert verdict(release, release.to_polars().clear(), log).exit_code == 0


def test_rows_without_places_are_no_walks():
    log = queries_log()
    case = Case(rows=log.frame.select(log.shape.released).sort(log.shape.order), shape=log.shape, original=log)
    assert "walks" in failed(judge(case, [SequenceKAnonymity(k=3)]))


def test_rows_of_others_cannot_be_checked(log):
    with pytest.raises(ParameterError, match="only for releases with a sidecar"):
        coterie.verify(log, log, promise="sequence_k_anonymity", k=3)


def test_it_says_what_it_promises():
    exact = SequenceKAnonymity(k=2, paths="exact", days=False, session_minutes=10)
    assert exact.releases == "text"
    assert "without a pause of more than 10 minutes" in exact.sentence
    assert exact.sentence.endswith("No row has a time. Nothing links two names.")
    assert any("from one address" in limit for limit in exact.limits)
    cut = SequenceKAnonymity(k=7)
    assert cut.releases == "phrases"
    assert "A path of fewer than 7 visitors is cut" in cut.sentence
    assert any("from 6 addresses" in limit for limit in cut.limits)


def test_the_record_tells_whose_names_these_are(log, release):
    case = Case(
        rows=release.log.frame, shape=SEQUENCES, original=log, run=release.record.run, promised=release.promises
    )
    seeded = {check.name: check for check in judge(case, release.promises).checks}["seeded"]
    assert seeded.status == "passed"
    other = replace(case, run={**release.record.run, "seed": 2})
    assert failed(judge(other, release.promises)) == {"seeded"}
