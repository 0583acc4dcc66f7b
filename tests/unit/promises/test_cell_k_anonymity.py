"""The judge of tables: every number is counted again, and so are the visitors of what is not there."""

import re
from dataclasses import dataclass, replace
from datetime import datetime

import polars as pl
import pytest

import coterie
from coterie import api
from coterie.core.plan import Draft, Plan
from coterie.core.promise import Case
from coterie.errors import BrokenPromiseError, ParameterError
from coterie.methods.count_visits import CountVisits
from coterie.promises import judge
from coterie.promises.cell_k_anonymity import CellKAnonymity
from coterie.testing import queries_log
from tests.helpers.broken_visits import visited


@pytest.fixture(scope="module")
def log():
    return visited()


@pytest.fixture(scope="module")
def release(log):
    return api.anonymize_prepared(log, CountVisits(k=3), seed=1)


def checks_of(release, log, rows=None, **changes):
    rows = release.to_polars() if rows is None else rows
    case = Case(rows=rows.sort(release.log.shape.order).lazy(), shape=release.log.shape, original=log)
    return {check.name: check for check in judge(case, (replace(release.promises[0], **changes),)).checks}


@dataclass(frozen=True, kw_only=True)
class CountsRequests(CountVisits):
    """Takes requests for visitors."""

    def learn(self, log, run):
        alone = log.frame.with_columns((pl.col("user") + pl.col("row").cast(pl.String)).alias("user"))
        return super().learn(replace(log, frame=alone), run)


@dataclass(frozen=True, kw_only=True)
class CountsAVisitorLess(CountVisits):
    """Releases what k - 1 visitors did."""

    def plan(self, learnt, log, run):
        return CountVisits(k=self.k - 1).plan(learnt, log, run)


@dataclass(frozen=True, kw_only=True)
class LeavesOneOut(CountVisits):
    """Leaves out what too few visitors did, and does not ask whether they are alone with it."""

    def plan(self, learnt, log, run):  # noqa: ARG002
        cells = (
            learnt.drop_nulls("item")
            .group_by("table", "item", "detail")
            .agg(pl.len().alias("crowd"), pl.col("count").sum())
        )
        return Plan(table=self.gives.completed(cells.filter(pl.col("crowd") >= self.k).lazy()))


@dataclass(frozen=True, kw_only=True)
class CountsNobody(CountVisits):
    """Counts a missing visitor as one."""

    def learn(self, log, run):
        return super().learn(replace(log, frame=log.frame.with_columns(pl.col("user").fill_null("nobody"))), run)


@dataclass(frozen=True, kw_only=True)
class CountsVisitors(CountVisits):
    """Releases the number of visitors where it promises that of requests."""

    def learn(self, log, run):
        return super().learn(log, run).with_columns(pl.lit(1, pl.Int64).alias("count"))


@dataclass(frozen=True, kw_only=True)
class MakesLongerVisits(CountVisits):
    """Lets a visit survive a whole day."""

    def learn(self, log, run):
        return super().learn(coterie.prepare(log, "sessions(minutes=1440)"), run)


@dataclass(frozen=True, kw_only=True)
class AddsTotals(CountVisits):
    """Releases the sum of each table."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        totals = draft.frame.group_by("table").agg(pl.lit("total").alias("item"), pl.col("count").sum())
        return replace(draft, frame=pl.concat([draft.frame, self.gives.completed(totals)]))


@dataclass(frozen=True, kw_only=True)
class RepeatsLines(CountVisits):
    """Releases every line twice."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        return Draft(frame=pl.concat([draft.frame, draft.frame]), subjects=draft.subjects)


@dataclass(frozen=True, kw_only=True)
class AddsATable(CountVisits):
    """Releases a table that it does not promise."""

    tables: str = "browsers"

    def learn(self, log, run):
        return CountVisits(k=self.k, tables="browsers,days").learn(log, run)


@pytest.mark.parametrize(("method", "check"), [
    (CountsRequests, "crowd.cell"),
    (CountsAVisitorLess, "crowd.cell"),
    (CountsNobody, "cells"),
    (CountsVisitors, "cells"),
    (MakesLongerVisits, "cells"),
    (AddsTotals, "cells"),
    (AddsTotals, "crowd.cell"),
    (RepeatsLines, "cells"),
    (AddsATable, "tables"),
])  # fmt: skip
def test_a_broken_method_is_caught(method, check, log):
    with pytest.raises(BrokenPromiseError, match=rf"\b{re.escape(check)}: .*?: \d+ "):
        api.anonymize_prepared(log, method(k=3), seed=1)


def test_whoever_is_alone_among_the_lines_left_out():
    """Three visitors requested /a, and one /b: whoever knows that there were four requests knows the fourth."""
    log = coterie.log(pl.DataFrame({"user": list("abcd"), "path": ["/a"] * 3 + ["/b"]}))
    with pytest.raises(BrokenPromiseError, match=r"left_out: .*1 of 7 have fewer, which concerns 1 visitors"):
        api.anonymize_prepared(log, LeavesOneOut(k=3), seed=1)
    assert api.anonymize_prepared(log, CountVisits(k=3), seed=1).to_polars().is_empty()


@pytest.mark.parametrize(("column", "table"), [
    ("agent", "browsers"), ("referrer", "referrers"), ("time", "days"), ("time", "hours"), ("time", "lengths"),
])  # fmt: skip
def test_whoever_is_alone_without_a_value(column, table):
    """`pages` counts seven requests and `table` six: the seventh would be that of the one visitor who has none."""
    given = {"agent": "Firefox/120.0", "referrer": "http://ref.example/", "time": datetime(2026, 3, 1)}
    rows = [{"user": user, "path": "/a", **given} for user in "abc" * 2]
    log = coterie.log(pl.DataFrame([*rows, {**rows[0], "user": "d", column: None}]))
    tables = f"pages,{table}"
    with pytest.raises(BrokenPromiseError, match=r"left_out: .*1 of 2 have fewer, which concerns 1 visitors"):
        api.anonymize_prepared(log, LeavesOneOut(k=3, tables=tables), seed=1)
    assert api.anonymize_prepared(log, CountVisits(k=3, tables=tables), seed=1).to_polars()["table"].to_list() == [
        "pages"
    ]


def test_all_tables_are_judged(release):
    assert all(check.status == "passed" for check in release.checks)
    assert release.to_polars()["table"].n_unique() == 7


def test_a_number_that_was_changed(release, log):
    rows = release.to_polars()
    for table in rows["table"].unique():
        one = pl.int_range(pl.len()) == rows["table"].index_of(table)
        more = rows.with_columns((pl.col("count") + one.cast(pl.Int64)).alias("count"))
        assert checks_of(release, log, more)["cells"].broken == 1


def test_a_line_that_is_left_out_must_not_be_alone(release, log):
    """`days` has few lines, all of which stay or enough are left out."""
    rows = release.to_polars()
    for at in range(rows.height):
        fewer = rows.filter(pl.int_range(pl.len()) != at)
        assert checks_of(release, log, fewer)["left_out"].status == "passed", "a line of k visitors may go"
    assert checks_of(release, log, rows.clear())["left_out"].status == "passed"


def test_what_needs_the_original(release, log):
    checks = checks_of(release, None)
    assert checks["tables"].status == "passed"
    assert {checks[name].status for name in ("cells", "crowd.cell", "left_out")} == {"not checked"}
    assert coterie.verify(release).exit_code == 3
    assert coterie.verify(release, log, k=12).exit_code == 1


@pytest.mark.parametrize("change", [
    {"table": pl.lit("totals")},
    {"table": pl.lit(None, pl.String)},
    {"count": pl.lit(None, pl.Int64)},
    {"low": pl.lit(1, pl.Int64)},
])  # fmt: skip
def test_lines_of_no_table(release, log, change):
    assert checks_of(release, log, release.to_polars().with_columns(**change))["tables"].status == "failed"


def test_it_is_for_tables_of_coterie(log, release):
    with pytest.raises(ParameterError, match="with a sidecar"):
        coterie.verify(log, log, promise="cell_k_anonymity", k=3)
    rows = Case(rows=queries_log().frame.select("user"), shape=queries_log().shape)
    assert [check.status for check in CellKAnonymity(k=2).check(rows)] == ["failed"]
    promise = CellKAnonymity(k=2, tables="pages,days")
    assert "pause" not in promise.sentence
    assert "half an hour" in CellKAnonymity(k=2).sentence
    assert "10 minutes" in CellKAnonymity(k=2, session_minutes=10).sentence


@pytest.mark.parametrize("kind", ["tsv", "csv.gz", "parquet", "jsonl"])
def test_files(release, log, tmp_path, kind):
    path = tmp_path / f"tables.{kind}"
    coterie.write(release, path)
    assert coterie.verify(path, log).exit_code == 0
    assert coterie.verify(path).exit_code == 3
    assert coterie.load_release(path).to_polars().equals(release.to_polars())
