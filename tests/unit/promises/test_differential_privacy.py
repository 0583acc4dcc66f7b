"""The judge of differential privacy: what is published, who has it, and what the tables cost."""

from dataclasses import replace
from datetime import datetime

import polars as pl
import pytest

import coterie
from coterie import api
from coterie.core.promise import Case
from coterie.methods.private_counts import PrivateCounts
from coterie.promises import judge

DELTA = 1e-6


def log():
    rows = [(f"u{n}", query) for n in range(600) for query in ("maps", "weather")]
    return coterie.prepare(coterie.log(pl.DataFrame(rows, schema=["user", "query"], orient="row")))


@pytest.fixture(scope="module")
def release():
    return api.anonymize_prepared(log(), PrivateCounts(epsilon=4.0, delta=DELTA))


def case_of(release, **changed):
    evidence = {**release.record.evidence, **changed.pop("evidence", {})}
    case = Case(
        rows=release.log.frame, shape=release.log.shape, original=log(), evidence=evidence, run=release.record.run
    )
    return replace(case, **changed)


def verdict(release, **changed):
    return judge(case_of(release, **changed), release.promises)


def edited(release, table, **columns):
    frame = release.record.evidence[table].collect()
    return {"evidence": {table: frame.with_columns(**columns).lazy()}}


def test_an_honest_release_passes_and_says_nothing_that_depends_on_the_log(release):
    found = verdict(release)
    assert found.exit_code == 0
    assert found.largest_k is None
    assert {check.concerns for check in found.checks} == {None}


def test_without_the_record_the_cost_is_not_known(release):
    found = judge(replace(case_of(release), evidence={}), release.promises)
    assert found.exit_code == 3


def test_without_the_original_nobody_is_counted(release):
    assert verdict(release, original=None).exit_code == 3


FALLS = "a release table that falls, or does not begin with 0"
COUNTS = "another share for counts than the promise has"
BUDGETS = "budgets of users that are too large"
PRICE = "a price that does not cover what it pays for"
NOTHING = "a part without its numbers"
DELTA_SPENT = "noise or thresholds that cost more than delta"
RAISED = pl.when(pl.col("weight") == 1).then(pl.lit(2**63, pl.UInt64)).otherwise("below")


@pytest.mark.parametrize(("table", "columns", "faults"), [
    ("private_prices", {"cost": pl.col("cost") - (pl.col("weight") == 3).cast(pl.Int64) * 10_000}, PRICE),
    ("private_prices", {"cost": pl.col("cost").reverse()}, "prices that fall, or do not begin with 0"),
    ("private_prices", {"mass": pl.col("mass") // 2}, "a mass that does not cover what one user alone can release"),
    ("private_prices", {"weight": pl.col("weight") + 1}, "tables with lines missing"),
    ("private_table", {"weight": pl.col("weight") + 1}, "tables with lines missing"),
    ("private_table", {"below": RAISED}, FALLS),
    ("private_table", {"below": pl.col("below").reverse()}, FALLS),
    ("private_stages", {"cost_budget": pl.col("cost_budget") * 2}, BUDGETS),
    ("private_stages", {"mass_budget": pl.col("mass_budget") * 2}, BUDGETS),
    ("private_stages", {"sketch_variance": pl.col("sketch_variance") // 2}, "too little noise in the sketch"),
    ("private_stages", {"count_variance": pl.col("count_variance") // 2}, "too little noise in counts"),
    ("private_stages", {"epsilon": pl.col("epsilon") * 2},
     "parts whose epsilon sums to more than the promise's; noise tables that are too coarse for delta"),
    ("private_stages", {"delta": pl.col("delta") * 2}, "parts whose delta sums to more than the promise's"),
    ("private_stages", {"alpha": pl.col("alpha") * 1.5}, PRICE),
    ("private_stages", {"alpha": pl.lit(1.01)}, "an order that leaves nothing to spend"),
    ("private_stages", {"alpha": pl.lit(1.0)}, "shares that are none"),
    ("private_stages", {"alpha": pl.lit(None, pl.Float64)}, NOTHING),
    ("private_stages", {"mass_budget": pl.lit(None, pl.Int64)}, NOTHING),
    ("private_stages", {"share": pl.lit(1.5)}, "shares that are none"),
    ("private_stages", {"share": pl.lit(0.0)}, "shares that are none"),
    ("private_stages", {"counts": pl.lit(0.1)}, f"{COUNTS}; too little noise in counts"),
    ("private_stages", {"counted": pl.lit(1, pl.Int64)}, COUNTS),
    ("private_stages", {"stage": pl.lit("words")}, "other parts than the promise has"),
    ("private_stages", {"sketch_unit": pl.col("sketch_unit") * 2}, "too little noise in the sketch"),
])  # fmt: skip
def test_tables_that_cost_more_are_caught(release, table, columns, faults):
    found = verdict(release, **edited(release, table, **columns))
    assert found.exit_code == 1
    assert [(check.name, check.fault) for check in found.broken] == [("accounts", f"faults: {faults}")]


def rows_with(release, **columns):
    return release.log.frame.with_columns(**columns)


@pytest.mark.parametrize(("columns", "check"), [
    ({"item": pl.lit("nobody typed this").alias("item")}, "users"),
    ({"count": pl.lit(2, pl.Int64)}, "numbers"),
    ({"count": pl.lit(None, pl.Int64)}, "numbers"),
    ({"high": pl.col("high") + pl.int_range(pl.len())}, "intervals"),
    ({"table": pl.lit("days")}, "tables"),
])  # fmt: skip
def test_rows_that_were_changed_are_caught(release, columns, check):
    found = verdict(release, rows=rows_with(release, **columns))
    assert check in {each.name for each in found.broken}


def test_an_item_of_few_users_is_caught(release):
    few = log()
    few = replace(few, frame=few.frame.filter((pl.col("query") != "maps") | (pl.col("user").str.len_chars() < 2 + 1)))
    kept = few.frame.filter(pl.col("query") == "maps", pl.col("user").is_in(["u1", "u2", "u3", "u4"]))
    original = replace(few, frame=pl.concat([few.frame.filter(pl.col("query") != "maps"), kept]))
    found = verdict(release, original=original)
    assert [check.name for check in found.broken] == ["users"]


@pytest.mark.parametrize(("params", "cheaper", "lower"), [
    ({"mechanism": "wgm"}, DELTA_SPENT, DELTA_SPENT),
    ({"mechanism": "sips"}, DELTA_SPENT, DELTA_SPENT),
    ({"mechanism": "korolova", "queries_per_user": 2}, "too little noise", "a threshold that is too low"),
])  # fmt: skip
def test_other_mechanisms_are_accounted_for_as_well(params, cheaper, lower):
    release = api.anonymize_prepared(log(), PrivateCounts(epsilon=4.0, delta=DELTA, counts=0.0, **params))
    assert verdict(release).exit_code == 0
    changes = [
        (cheaper, {"scale": pl.col("scale") / 2}),
        (lower, {"threshold": pl.col("threshold") - 2}),
        (NOTHING, {"threshold": pl.lit(None, pl.Float64)}),
    ]
    for faults, columns in changes:
        found = verdict(release, **edited(release, "private_stages", **columns))
        assert [(check.name, check.fault) for check in found.broken] == [("accounts", f"faults: {faults}")]


@pytest.mark.parametrize(("below", "faults"), [
    (pl.col("below").shift(-2).fill_null(strategy="forward"), FALLS),
    (pl.when(pl.col("weight") > 0).then(pl.col("below").shift(-2)).otherwise("below").fill_null(strategy="forward"),
     "a release table that rises too fast"),
])  # fmt: skip
def test_the_table_for_one_query_of_each_user_is_accounted_for(below, faults):
    release = api.anonymize_prepared(log(), PrivateCounts(epsilon=4.0, delta=DELTA, counts=0.0, queries_per_user=1))
    assert verdict(release).exit_code == 0
    found = verdict(release, **edited(release, "private_table", below=below))
    assert [(check.name, check.fault) for check in found.broken] == [("accounts", f"faults: {faults}")]


@pytest.mark.parametrize(("columns", "faults"), [
    ({"count_variance": pl.col("count_variance") // 4}, "too little noise in numbers by day"),
    ({"counted": pl.lit(1, pl.Int64)}, NOTHING),
    ({"alpha": pl.lit(None, pl.Float64)}, NOTHING),
])  # fmt: skip
def test_numbers_by_day_are_accounted_for(columns, faults):
    original = coterie.log(log().to_polars().with_columns(time=pl.lit(datetime(2006, 3, 1, 9))))
    release = api.anonymize_prepared(
        original, PrivateCounts(epsilon=8.0, delta=1e-4, counts=0.0, days="2006-03-01..2006-03-02")
    )
    assert verdict(release, original=original).exit_code == 0
    of_days = {
        name: pl.when(pl.col("stage") == "days").then(value).otherwise(pl.col(name)) for name, value in columns.items()
    }
    found = verdict(release, original=original, **edited(release, "private_stages", **of_days))
    assert [(check.name, check.fault) for check in found.broken] == [("accounts", f"faults: {faults}")]


def test_each_round_is_accounted_for():
    release = api.anonymize_prepared(log(), PrivateCounts(epsilon=4.0, delta=DELTA, counts=0.0, mechanism="sips"))
    for place in range(3):
        lower = pl.when(pl.int_range(pl.len()) == place).then(pl.col("threshold") / 2).otherwise("threshold")
        broken = verdict(release, **edited(release, "private_stages", threshold=lower)).broken
        assert [check.name for check in broken] == ["accounts"], place


def test_clicks_are_queries_with_their_pages():
    rows = [(f"u{n}", "maps", "http://maps.example") for n in range(900)]
    original = coterie.log(pl.DataFrame(rows, schema=["user", "query", "url"], orient="row"))
    release = api.anonymize_prepared(original, PrivateCounts(epsilon=8.0, delta=1e-4, items="clicks", counts=0.0))
    assert release.to_polars()["table"].to_list() == ["clicks", "queries"]
    case = Case(rows=release.log.frame, shape=release.log.shape, original=original, evidence=release.record.evidence)
    assert judge(case, release.promises).exit_code == 0
    nowhere = pl.when(pl.col("table") == "clicks").then(pl.lit("http://x.example")).otherwise("detail")
    changed = replace(case, rows=case.rows.with_columns(detail=nowhere))
    assert [check.name for check in judge(changed, release.promises).broken] == ["users"]


def test_words_and_phrases_are_looked_for_inside_queries():
    rows = [(f"u{n}", "cheap flights to rome") for n in range(900)]
    original = coterie.log(pl.DataFrame(rows, schema=["user", "query"], orient="row"))
    release = api.anonymize_prepared(original, PrivateCounts(epsilon=8.0, delta=1e-4, items="phrases", counts=0.0))
    case = Case(rows=release.log.frame, shape=release.log.shape, original=original, evidence=release.record.evidence)
    assert judge(case, release.promises).exit_code == 0
    crossed = case.rows.with_columns(pl.col("item").str.replace("cheap flights$", "heap fligh"))
    assert "users" in {check.name for check in judge(replace(case, rows=crossed), release.promises).broken}
