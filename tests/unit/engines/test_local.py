import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from coterie.engines.local import Local

ROWS = st.lists(st.tuples(st.one_of(st.none(), st.text(max_size=3)), st.integers(0, 5)), max_size=40)
SCHEMA = {"key": pl.String, "value": pl.Int64}


def _frame(rows):
    return pl.LazyFrame(rows, schema=SCHEMA, orient="row")


def _count(frame):
    return frame.group_by("key").agg(pl.col("value").sum(), pl.len())


@given(ROWS, st.integers(2, 9))
def test_blocks_never_change_the_answer(rows, blocks):
    one, many = Local(), Local(blocks)
    expected = one.blocks(_frame(rows), _count, by=["key"]).collect().sort("key")
    assert many.blocks(_frame(rows), _count, by=["key"]).collect().sort("key").equals(expected)


@given(ROWS, st.integers(2, 9))
def test_sorting_in_ranges_is_sorting(rows, blocks):
    expected = _frame(rows).sort("key", "value").collect()
    for engine in (Local(), Local(blocks)):
        assert engine.sort(_frame(rows), ["key", "value"]).collect().equals(expected)


def test_a_leading_column_of_nulls_is_passed_over():
    frame = _frame([(None, value) for value in (3, 1, 2, 1)])
    engine = Local(3)
    assert engine.sort(frame, ["key", "value"]).collect()["value"].to_list() == [1, 1, 2, 3]


def test_equal_keys_arrive_together():
    frame = _frame([(key, 1) for key in "abcabcabc"])
    seen = []

    def work(block):
        seen.append(set(block.collect()["key"]))
        return block

    engine = Local(4)
    engine.blocks(frame, work, by=["key"]).collect()
    assert len(seen) > 1
    assert sum(map(len, seen)) == 3


def test_scratch_files_disappear_with_the_engine():
    engine = Local(2)
    result = engine.keep(_frame([("a", 1)]))
    folder = engine._scratch.path
    assert result.collect().height == 1
    assert folder.stat().st_mode & 0o777 == 0o700
    del engine
    assert not folder.exists()
