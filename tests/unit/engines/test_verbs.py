"""Every verb gives the same on every engine: rows here, in blocks, or scattered over processes."""

import polars as pl
import pytest

from coterie.core.run import sums
from coterie.engines.local import Local
from coterie.engines.remote import table_of
from coterie.errors import InputError, InternalError
from coterie.testing.scattered import Scattered

ROWS = pl.DataFrame(
    {
        "user": ["ann", "bob", None, "ann", "cyd", "bob", "ann", "dan"],
        "query": ["tea", "tea", "tea", "tea", "rum", None, "rum", "gin"],
        "rank": pl.Series([1, 2, 3, 4, 5, None, 7, 8], dtype=pl.Int32),
        "row": pl.Series(range(8), dtype=pl.UInt64),
    }
)
OTHER = pl.DataFrame({"query": ["tea", "gin", None, "ale"], "group": pl.Series([0, 1, 2, 3], dtype=pl.UInt32)})
ENGINES = {"one block": Local, "three blocks": lambda: Local(3), "scattered": Scattered}


@pytest.fixture(params=ENGINES)
def engine(request):
    return ENGINES[request.param]()


@pytest.fixture
def rows(engine):
    return engine.keep(ROWS.lazy())


def _set(frame):
    return sorted(frame.collect().rows(), key=repr)


def test_each_is_row_by_row(engine, rows):
    done = engine.each(rows, lambda given: given.filter(pl.col("rank") > 2).select("user", (pl.col("rank") * 2)))
    assert _set(done) == _set(ROWS.lazy().filter(pl.col("rank") > 2).select("user", pl.col("rank") * 2))
    assert done.collect_schema() == {"user": pl.String, "rank": pl.Int32}


def test_blocks_bring_equal_keys_of_all_tables_together(engine, rows):
    def work(given, other):
        counted = given.group_by("query").len()
        return other.join(counted, on="query", how="left", nulls_equal=True)

    done = engine.blocks(rows, work, ["query"], OTHER.lazy())
    assert _set(done) == sorted([("tea", 0, 4), ("gin", 1, 1), (None, 2, 1), ("ale", 3, None)], key=repr)


def test_crowds_count_distinct_subjects(engine, rows):
    done = engine.crowds(rows, ["query"], "user", "degree")
    assert _set(done) == [("gin", 1), ("rum", 2), ("tea", 2)]
    assert done.collect_schema()["degree"] == pl.UInt32


@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
@pytest.mark.parametrize("elsewhere", [True, False])
def test_nulls_join_nothing(engine, rows, how, elsewhere):
    other = OTHER.lazy()
    other = engine.blocks(other, lambda given: given, ["query"]) if elsewhere else other
    done = engine.join(rows, other, ["query"], how)
    assert _set(done) == _set(ROWS.lazy().join(OTHER.lazy(), on="query", how=how))


def test_sorted_rows_stay_in_order(engine, rows):
    done = engine.each(engine.sort(rows, ["user", "row"]), lambda given: given.select("user", "row"))
    expected = ROWS.sort("user", "row").select("user", "row")
    assert pl.concat(engine.parts(done)).equals(expected)
    assert done.collect().equals(expected)


def test_places_are_those_in_the_order(engine, rows):
    done = engine.numbered(rows, ["user", "row"], "place")
    assert done.collect().equals(ROWS.sort("user", "row").with_row_index("place"))


def test_totals_are_merged(engine, rows):
    counted = engine.total(rows, lambda given: given.select(pl.len(), pl.col("rank").sum()))
    assert counted.row(0) == (8, 30)
    largest = engine.total(rows, lambda given: given.select(pl.col("rank").max()), lambda parts: parts.max())
    assert largest.item() == 8
    nobody = engine.each(rows, lambda given: given.filter(pl.lit(False)))
    assert engine.total(nobody, lambda given: given.select(pl.len()), sums).item() == 0


def test_a_small_table_comes_as_a_whole(engine, rows):
    assert engine.small(rows).sort("row").equals(ROWS)
    assert engine.small(ROWS.lazy()).equals(ROWS)


def test_what_is_not_small_is_refused():
    engine = Scattered(limit=5)
    rows = engine.keep(ROWS.lazy())
    with pytest.raises(InputError, match="more than 5 rows on one machine"):
        engine.small(rows)
    with pytest.raises(InputError, match="more than 5 rows on one machine"):
        engine.small(rows.select("user"))


def test_the_rows_of_a_release_may_be_read_one_part_after_the_other():
    engine = Scattered(limit=5)
    done = engine.sort(ROWS.lazy(), ["row"])
    assert done.select("row").collect().height == 8
    assert engine.came == 0


def test_polars_reads_rows_that_are_elsewhere():
    engine = Scattered()
    rows = engine.keep(ROWS.lazy())
    assert table_of(rows) is not None
    assert rows.filter(pl.col("rank") > 2).select("user").head(2).collect().height == 2
    assert engine.came > 0


def test_no_value_comes_back_with_a_failure():
    engine = Scattered()
    rows = engine.keep(pl.LazyFrame({"query": ["canary"]}))
    with pytest.raises(InternalError, match="the rows are not shown") as failure:
        engine.each(rows, lambda given: given.select(pl.col("query").cast(pl.Int64)))
    assert "canary" not in str(failure.value)


def test_sentences_come_back_as_they_are():
    def refuse(given):
        if given.collect().height:
            raise InputError("Not these.")
        return given

    engine = Scattered()
    with pytest.raises(InputError, match=r"^Not these\.$"):
        engine.each(ROWS.lazy(), refuse)


def test_a_run_does_not_travel():
    from coterie.core.run import Run

    engine = Scattered()
    run = Run(engine=engine, seed=1)
    with pytest.raises(TypeError, match="run"):
        engine.each(ROWS.lazy(), lambda given: given.with_columns(pl.lit(run.seed)))
    keys = run.keys
    done = engine.each(
        ROWS.lazy().select("row"),
        lambda given: given.with_columns(pl.col("row").map_batches(lambda r: pl.Series(keys("x", r))).alias("key")),
    )
    assert done.collect().height == 8
