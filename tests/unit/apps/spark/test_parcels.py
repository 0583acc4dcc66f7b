"""Rows on their way between tasks: nothing is lost, and what belongs together arrives together."""

from functools import partial

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from coterie.apps.spark import parcels
from coterie.engines.remote import Piece, said
from coterie.errors import InternalError
from tests.helpers.examples import examples

pytest.importorskip("pyarrow")

TEXTS = st.one_of(
    st.none(), st.sampled_from(["", "a", "b", "ab", "\0", "é", "a longer text than the others", "\U0010ffff"])
)
TABLES = st.lists(st.tuples(TEXTS, st.one_of(st.none(), st.integers(-3, 3))), max_size=30).map(
    lambda rows: pl.DataFrame(rows, schema={"key": pl.String, "value": pl.Int64}, orient="row")
)
SCHEMA = {"key": pl.String(), "value": pl.Int64()}
PARTS = st.integers(1, 5)


def as_frames(*tables):
    """Stands for what a task reads."""
    return lambda _: iter(tables)


def run(batches, *given):
    return list(batches(iter(given)))


def arrived(moved, parts):
    """The batches of each part, by Spark's own rule, some of them empty."""
    import pyarrow as pa

    found = [[] for _ in range(parts)]
    for batch in moved:
        places = parcels._murmur(batch.column("to").to_numpy().astype(np.uint32)) % parts
        for part in range(parts):
            found[part].append(batch.filter(pa.array(places == part)))
    return found


def rows_in(batches):
    return [parcel.content for parcel in parcels._parcels(iter(batches))]


def test_the_hash_is_that_of_spark():
    """SELECT hash(0), hash(1), hash(2), hash(100) says so."""
    numbers = np.array([0, 1, 2, 100], dtype=np.uint32)
    assert parcels._murmur(numbers).tolist() == [933211791, -559580957, 1765031574, 751823303]


@pytest.mark.parametrize("parts", [1, 2, 7, 200, 3000])
def test_every_part_has_an_address(parts):
    addresses = np.array(parcels._addresses(parts), dtype=np.uint32)
    assert (parcels._murmur(addresses) % parts).tolist() == list(range(parts))


@settings(max_examples=examples(40))
@given(TABLES, PARTS)
def test_equal_keys_go_to_one_part_and_nothing_is_lost(table, parts):
    found = arrived(run(parcels.cutting(as_frames(table.head(7), table.slice(7)), ["key"], parts)), parts)
    contents = [pl.concat([table.clear(), *rows_in(part)]) for part in found]
    assert_frame_equal(pl.concat(contents), table, check_row_order=False)
    keys = [set(rows["key"]) for rows in contents]
    assert sum(map(len, keys)) == len(set().union(*keys))


@pytest.mark.parametrize("other", [pl.UInt8, pl.UInt32, pl.Int16])
def test_tables_may_have_a_key_in_other_types(other):
    one, two = (pl.DataFrame({"key": pl.Series(range(100), dtype=dtype)}) for dtype in (pl.Int64, other))
    found = [arrived(run(parcels.cutting(as_frames(rows), ["key"], 5)), 5) for rows in (one, two)]
    for ours, theirs in zip(*found, strict=True):
        (mine,), (yours,) = rows_in(ours), rows_in(theirs)
        assert mine["key"].to_list() == yours["key"].to_list()


def test_several_keys_are_one():
    table = pl.DataFrame({"key": ["a", "a", "b", None] * 5, "value": [1, 2, 1, None] * 5})
    found = arrived(run(parcels.cutting(as_frames(table), ["key", "value"], 4)), 4)
    pairs = [set(pl.concat([table.clear(), *rows_in(part)]).rows()) for part in found]
    assert sum(map(len, pairs)) == 4


@settings(max_examples=examples(40))
@given(TABLES, PARTS)
def test_sorted_ranges_one_after_the_other_are_the_sorted_table(table, parts):
    by = ["key", "value"]
    bounds = parcels.bounds_of(table.sample(fraction=0.5, seed=1), by, parts)
    assert bounds.height == parts - 1
    found = arrived(run(parcels.ranging(as_frames(table.slice(5), table.head(5)), by, bounds)), parts)
    batches = [batch for part in found for batch in run(parcels.sorting(SCHEMA, by), *part)]
    assert_frame_equal(pl.concat([table.clear(), *rows_in(batches)]), table.sort(by))
    sizes = {}
    for parcel in parcels._parcels(iter(batches)):
        sizes[parcel.of] = sizes.get(parcel.of, 0) + parcel.content.height
    starts = {part: sum(size for other, size in sizes.items() if other < part) for part in sizes}
    numbered = pl.concat(
        [pl.DataFrame(schema={"at": pl.UInt32, **SCHEMA}), *parcels.placed(starts, "at")(iter(batches))]
    )
    assert_frame_equal(numbered, table.sort(by).with_row_index("at"))


def test_ranges_that_arrive_together_are_refused():
    bounds = pl.DataFrame({"value": [1]})
    moved = run(parcels.ranging(as_frames(pl.DataFrame({"value": [1, 2]})), ["value"], bounds))
    with pytest.raises(RuntimeError) as error:
        run(parcels.sorting({"value": pl.Int64()}, ["value"]), *moved)
    assert isinstance(said(str(error.value)), InternalError)


@settings(max_examples=examples(40))
@given(TABLES, TABLES, st.sampled_from(["inner", "left", "semi", "anti"]), PARTS)
def test_joins_of_parts_are_the_join(table, other, how, parts):
    other = other.rename({"value": "more"}).unique("key")
    schemas = (SCHEMA, dict(other.schema))
    moved = [
        *run(parcels.cutting(as_frames(other), ["key"], parts, 1)),
        *run(parcels.cutting(as_frames(table), ["key"], parts, 0)),
    ]
    join = parcels.joining(schemas, ["key"], how)
    expected = table.join(other, on="key", how=how)
    found = [rows for part in arrived(moved, parts) for rows in join(iter(part))]
    assert_frame_equal(pl.concat([expected.clear(), *found]), expected, check_row_order=False)


def test_a_block_has_the_rows_of_all_tables():
    tables = [pl.DataFrame({"key": ["a", "b"]}), pl.DataFrame({"key": ["b", "c"], "value": [1, 2]})]
    schemas = [dict(table.schema) for table in tables]
    piece = Piece(lambda one, two: pl.concat([one.select(n=pl.len()), two.select(n=pl.len())]), tuple(schemas))
    moved = [
        batch for at, table in enumerate(tables) for batch in run(parcels.cutting(as_frames(table), ["key"], 1, at))
    ]
    ((found),) = parcels.blocking(piece, schemas)(iter(moved))
    assert found["n"].to_list() == [2, 2]
    assert list(parcels.blocking(piece, schemas)(iter([]))) == []


def test_parcels_are_of_a_size_and_know_their_places(monkeypatch):
    monkeypatch.setattr(parcels, "ROWS_AT_ONCE", 3)
    table = pl.DataFrame({"value": range(8)})
    batches = run(parcels.packing(as_frames(table.head(1), table.slice(1)), ["value"]))
    found = list(parcels._parcels(iter(batches)))
    assert [parcel.content.height for parcel in found] == [3, 3, 2]
    assert [parcel.at for parcel in found] == [0, 3, 6]
    assert_frame_equal(pl.concat(rows_in(parcels.in_parcels(table).to_batches())), table)
    assert rows_in(parcels.in_parcels(table.clear()).to_batches())[0].schema == table.schema


def test_types_of_polars_stay():
    table = pl.DataFrame(
        {
            "unsigned": pl.Series([1, 2**64 - 1], dtype=pl.UInt64),
            "kind": pl.Series(["x", None], dtype=pl.Enum(["x"])),
            "list": [[1], None],
            "bytes": [b"\xff", None],
        }
    )
    assert_frame_equal(parcels.unpacked(parcels.packed(table)), table)


def test_what_goes_wrong_is_told_without_a_value():
    def fails(_):
        raise ValueError("canary")
        yield

    with pytest.raises(RuntimeError) as error:
        run(parcels.packing(fails))
    assert "canary" not in str(error.value)
    assert isinstance(said(str(error.value)), InternalError)


def test_some_rows_do_not_drag_the_text_of_others_along():
    text = pl.DataFrame({"text": [f"{'long ' * 20}{n * 7919 % 10007}" for n in range(5000)]})
    assert len(parcels.packed(text.gather_every(1000))) < len(parcels.packed(text)) / 20


def test_work_on_rows_that_are_together_already():
    piece = Piece(lambda rows: rows.select(pl.len()), (SCHEMA,))
    table = pl.DataFrame({"key": ["a", "b"], "value": [1, 2]}, schema=SCHEMA)
    (found,) = parcels.blocking_in_place(as_frames(table, table), piece)(iter([]))
    assert found.item() == 4
    assert list(parcels.blocking_in_place(as_frames(), piece)(iter([]))) == []


def test_a_sample_has_some_of_all_rows():
    take = partial(parcels.sampling(["value"]))
    assert take(pl.LazyFrame({"value": range(5000), "more": 0})).collect()["value"].to_list() == [0, 2000, 4000]
