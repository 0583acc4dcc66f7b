"""Log, Record and Release say names and counts about themselves, never a value."""

from dataclasses import replace

import polars as pl
import pytest

import coterie
from coterie.core.log import Log, Record, Release, Step
from coterie.core.promise import Check
from coterie.core.shapes import COUNTS, QUERIES, TERMS
from coterie.errors import CoterieError
from coterie.promises.query_k_anonymity import QueryKAnonymity
from coterie.testing import queries_log


def test_a_log_has_the_columns_of_its_shape():
    with pytest.raises(CoterieError, match="query"):
        Log(frame=queries_log().frame.drop("query"), shape=QUERIES)


def test_steps_are_what_was_done_after_reading():
    log = queries_log()
    assert repr(log) == "Log(QUERIES; read)"
    assert log.steps == ()
    after = log.then(log.frame.head(2), Step(name="sessions(minutes=10)", counts={"rows": 2}))
    assert after.steps == ("sessions(minutes=10)",)
    assert after.to_polars().height == 2
    assert log.steps == (), "the log itself stays as it is"


def test_only_a_made_up_log_is_synthetic():
    assert coterie.read("synth:users=2,seed=1").synthetic
    assert not queries_log().synthetic


def test_rows_leave_without_private_columns():
    log = queries_log()
    assert "row" in log.frame.collect_schema()
    assert log.to_polars().columns == list(QUERIES.released)
    assert log.to_pandas().shape == log.to_polars().shape


def _release(*statuses):
    checks = [Check(name=f"c{n}", status=status, detail="something") for n, status in enumerate(statuses)]
    return Release(
        log=queries_log(),
        promises=(QueryKAnonymity(k=5),),
        method="suppress_rare",
        params={"k": 5},
        checks=tuple(checks),
    )


def test_a_release_shows_its_headline_and_its_checks():
    release = _release("passed", "not checked")
    assert release.headline == "k = 5"
    assert repr(release) == "Release(suppress_rare, k = 5; 1 of 2 checks passed)"
    assert _release("passed", "failed").verdict.exit_code == 1
    assert release.to_pandas().shape == release.to_polars().shape


def test_a_record_shows_nobody():
    people = pl.LazyFrame({"original": ["ann"], "released": ["u_1"], "group": [0]})
    record = Record(run={"seed": 77}, subjects=people, tables={"certificate": people})
    assert repr(record) == "Record(rows: not kept)"
    assert repr(Record(run={}, subjects=people, rows=people)) == "Record(rows: kept)"
    assert set(record.evidence) == {"certificate", "subjects"}


def test_the_size_of_a_release_is_told_in_what_it_has():
    read = Step(name="read", counts={"lines": 8})
    queries = _release("passed")
    assert queries.size == f"{queries.rows:,} rows", "nothing is known about what was read"
    queries = replace(queries, log=queries.log.then(queries.log.frame.head(2), read))
    assert queries.size == "2 rows (25.0 % of the 8 read)"
    vectors = pl.LazyFrame({"doc": ["u_1", "u_1", "u_2"], "term": ["tea", "pot", "tea"], "weight": [0.5, 0.2, 0.5]})
    terms = Log(frame=vectors, shape=TERMS, history=(Step(name="read", counts={"lines": 4, "terms": 12}),))
    assert replace(queries, log=terms).size == "2 documents with 3 terms (12 were read)"
    numbers = COUNTS.completed(pl.LazyFrame({"item": ["/a"], "count": [7]}))
    counts = Log(frame=numbers, shape=COUNTS, history=(read,))
    assert replace(queries, log=counts).size == "1 numbers about the 8 rows read"
