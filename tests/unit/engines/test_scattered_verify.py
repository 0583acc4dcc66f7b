"""A written release is verified wherever the rows of its original are, with the same checks and the same numbers."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import coterie
from coterie.core import registry
from coterie.core.digests import BLOCK
from coterie.core.plan import refuse_engine
from coterie.core.shapes import VISITS
from coterie.engines.local import Local
from coterie.errors import InputError, ParameterError
from coterie.steps import facts_of
from coterie.testing.scattered import Scattered
from tests.unit.engines.test_scattered_methods import case_of, log_for, scattered

CASES = [
    ("suppress_rare", {"k": 3}, "tsv"),
    ("suppress_rare", {"k": 3, "users": "session"}, "parquet"),
    ("suppress_rare", {"k": 3, "users": "pseudonym", "attrs": "keep"}, "jsonl"),
    ("microaggregate", {"k": 3, "block_users": 20}, "tsv.gz"),
    ("concept_microaggregate", {"k": 3, "synthetic": "label"}, "tsv"),
    ("affinity", {"k": 3}, "tsv"),
    ("generalize", {"k": 3, "users": "pseudonym"}, "tsv"),
    ("common_visits", {"k": 3}, "parquet"),
    ("suppress_rare", {"k": 3, "k_details": 2, "times": "week"}, "parquet"),
    ("generalize", {"k": 3, "k_details": 5, "times": "hour"}, "tsv"),
    ("suppress_rare", {"k": 3, "k_details": 2, "times": "month", "users": "session", "details": True}, "jsonl"),
    ("affinity", {"k": 3, "k_details": 2, "times": "day", "details": True}, "parquet"),
]


@pytest.fixture(scope="module", params=CASES, ids=str)
def written(request, tmp_path_factory):
    """The log, a release of it in three parts, and its record."""
    name, params, kind = request.param
    method, log = case_of(name, params)
    folder = tmp_path_factory.mktemp("written")
    rows = scattered(log) if name == "common_visits" else log  # what is judged by the order of lines is judged here
    coterie.write(
        coterie.anonymize(rows, method, seed=5), folder / f"safe.{kind}", record=folder / "record", parts=3
    )  # fmt: skip
    return log, folder / f"safe.{kind}", folder / "record"


def _both(path, log, **given):
    here, there = (coterie.verify(path, original, **given) for original in (log, scattered(log)))
    # How many users broken items concern cannot always be added up over blocks.
    assert [replace(check, concerns=None) for check in there.checks] == [
        replace(check, concerns=None) for check in here.checks
    ]
    assert all(a.concerns in (None, b.concerns) for a, b in zip(there.checks, here.checks, strict=True))
    assert there.exit_code == here.exit_code
    return there


def test_with_the_record(written):
    log, path, record = written
    assert _both(path, log, record=record).exit_code == 0


def test_without_the_record(written):
    log, path, _ = written
    _both(path, log)


def test_a_larger_k(written):
    log, path, record = written
    assert _both(path, log, record=record, k=30).exit_code == 1


def test_another_original(written):
    """Rows of some people are missing there, so that items have too few users."""
    log, path, _ = written
    people = log.frame.select(log.shape.subject).drop_nulls().unique().collect().to_series().sort()
    frame = log.frame.filter(~pl.col(log.shape.subject).is_in(people[:20].to_list())).collect().lazy()
    assert _both(path, replace(log, frame=frame)).exit_code == 1


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    log = log_for(registry.method("suppress_rare").accepts[0])
    folder = tmp_path_factory.mktemp("named")
    release = coterie.anonymize(log, "suppress_rare", k=3, users="pseudonym", seed=5)
    coterie.write(release, folder / "safe.tsv", record=folder / "record")
    return log, folder / "safe.tsv", folder / "record"


FOUND_BY = {
    "rows swapped": {"order"},
    "a name changed": {"order", "links"},
    "a query invented": {
        "order", "crowd.query", "rows.query", "tuples.query", "crowd.query.url.rank.time", "links"
    },
    "a column added": {"canonical", "columns"},
    "a row less": {"tuples.query", "links"},
}  # fmt: skip


@pytest.mark.parametrize("how", FOUND_BY)
@pytest.mark.parametrize("with_record", [True, False])
def test_what_was_changed_is_found_there_too(named, tmp_path, how, with_record):
    log, path, record = named
    lines = path.read_text().splitlines()
    user = lines[0].split("\t").index("user")
    cells = [line.split("\t") for line in lines]
    if how == "rows swapped":
        cells[1], cells[-1] = cells[-1], cells[1]
    elif how == "a name changed":
        cells[1][user] = "u_" + "a" * 16
    elif how == "a query invented":
        cells[1][lines[0].split("\t").index("query")] = "nobody typed this"
    elif how == "a column added":
        cells = [[*row, "x"] for row in cells]
    else:
        del cells[5]
    (tmp_path / path.name).write_text("".join("\t".join(row) + "\n" for row in cells))
    (tmp_path / f"{path.name}.json").write_bytes(path.with_name(f"{path.name}.json").read_bytes())
    given = {"record": record} if with_record else {}
    verdict = _both(tmp_path / path.name, log, **given)
    assert verdict.exit_code == 1
    # The digest of the file tells of any change; these checks tell of this one by themselves.
    found = {check.name for check in verdict.checks if check.status == "failed"} - {"digest"}
    assert found == FOUND_BY[how] | ({"seeded"} if how == "a name changed" and with_record else set())


def test_no_row_of_the_log_comes_here(named):
    log, path, record = named
    elsewhere = scattered(log)
    coterie.verify(path, elsewhere, record=record)
    assert elsewhere.engine.came == 0


@pytest.mark.parametrize(("name", "params"), [
    ("suppress_rare", {"users": "mini"}), ("suppress_rare", {"window": "1d"}), ("generalize_visits", {}),
    ("affinity", {"window": "30d"}), ("generalize", {"window": "30d"}),
    ("microaggregate", {"publish": "phrases", "attrs": "drop"}), ("common_visits", {}),
])  # fmt: skip
def test_what_is_judged_on_one_machine_says_so(tmp_path, name, params):
    log = log_for(registry.method(name).accepts[0])
    release = coterie.anonymize(log, name, k=3, seed=5, **params)
    coterie.write(release, tmp_path / "safe.parquet")
    with pytest.raises(ParameterError, match=r"is judged on one machine; leave out session\."):
        coterie.verify(tmp_path / "safe.parquet", scattered(log))


@pytest.mark.parametrize("name", ["suppress_rare", "affinity", "generalize"])
@pytest.mark.parametrize("users", ["drop", "session", "pseudonym", "day", "mini"])
@pytest.mark.parametrize("window", ["all", "30d"])
def test_what_a_method_refuses_its_judge_refuses(name, users, window):
    """Else a release could be verified on a cluster that could not have been made there, or the other way round."""
    method = registry.method(name)(k=3, users=users, window=window)
    (promise,) = method.promises(facts_of(log_for(method.accepts[0]), Local()))
    try:
        refuse_engine(method)
    except ParameterError:
        assert not promise.anywhere
    else:
        assert promise.anywhere


def test_a_release_that_is_elsewhere_itself():
    log = scattered(log_for(registry.method("suppress_rare").accepts[0]))
    release = coterie.anonymize(log, "suppress_rare", k=3, seed=5)
    again = coterie.verify(release, log)
    assert [check.text for check in again.checks] == [check.text for check in release.checks]


def test_a_release_too_large_to_be_sent(named):
    log, path, record = named
    with pytest.raises(InputError, match=r"more than 100 rows.*Write it as Parquet"):
        coterie.verify(path, scattered(log, limit=100), record=record)


def test_other_rows_on_the_cluster_are_refused(named, monkeypatch):
    log, path, _ = named
    monkeypatch.setattr(
        Scattered, "placed", lambda self, rows, _, name: self.sort(rows.head(9).with_row_index(name), [name])
    )
    with pytest.raises(InputError, match=r"reads other rows in safe\.tsv than this machine"):
        coterie.verify(path, scattered(log))


@pytest.mark.parametrize("rows", [0, 1, BLOCK, BLOCK + 7])
def test_the_digest_of_rows_that_are_elsewhere(rows):
    table = pl.DataFrame({"number": range(rows)}, schema={"number": pl.Int32}).with_columns(
        text=pl.col("number").cast(pl.String)
    )
    engine = Scattered(3)
    brought = engine.bring(table.lazy(), [Path("safe.tsv")], table.columns)
    assert engine.small(brought).sort("number").equals(table)
    others = (
        table.lazy().with_columns(pl.lit("other").alias("text"))
        if rows
        else pl.LazyFrame({"number": [1], "text": ["1"]}, schema=table.schema)
    )
    engine.placed = lambda rows, _, name: engine.sort(others.with_row_index(name), [name])
    with pytest.raises(InputError, match=r"reads other rows in safe\.tsv"):
        engine.bring(table.lazy(), [Path("safe.tsv")], table.columns)


def test_a_log_of_visits_is_one_of_them():
    assert any(registry.method(name).accepts[0] is VISITS for name, _, _ in CASES)
