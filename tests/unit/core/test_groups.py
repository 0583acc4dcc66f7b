"""Groups of an earlier release: by what they are known, and which records tell of none."""

import polars as pl
import pytest

from coterie.core.log import Record, earlier_groups, groups_digest
from coterie.errors import InputError


def subjects(*rows):
    schema = {"original": pl.String, "released": pl.String, "group": pl.UInt32}
    return pl.LazyFrame(rows, schema=schema, orient="row")


PAIRS = subjects(("ann", "x1", 0), ("bob", "x2", 0), ("cyd", "x3", 7), ("dan", "x4", 7), ("eve", None, None))


def record(table, **run):
    return Record(run={"method": "microaggregate", **run}, subjects=table)


def test_who_is_in_which_group():
    groups = earlier_groups(record(PAIRS))
    assert groups.table.collect().rows() == [("ann", 0), ("bob", 0), ("cyd", 7), ("dan", 7)]
    assert groups.digests == (groups_digest(PAIRS),)
    assert len(groups_digest(PAIRS)) == 64


def test_groups_are_known_by_their_members_and_by_nothing_else():
    others = subjects(("dan", "y1", 1), ("cyd", "y2", 1), ("bob", "y3", 5), ("ann", "y4", 5))
    assert groups_digest(others) == groups_digest(PAIRS)
    moved = others.with_columns(pl.when(pl.col("original") == "dan").then(5).otherwise("group").alias("group"))
    assert groups_digest(moved) != groups_digest(PAIRS)
    renamed = others.with_columns(pl.col("original").replace({"dan": "eve"}))
    assert groups_digest(renamed) != groups_digest(PAIRS)


def test_what_they_are_unions_of_is_remembered():
    assert earlier_groups(record(PAIRS, groups_of=["b", "a"])).digests == (groups_digest(PAIRS), "b", "a")


@pytest.mark.parametrize(
    "table",
    [PAIRS.filter(pl.col("group").is_null()), PAIRS.clear()],
    ids=["nobody", "empty"],
)
def test_a_record_without_groups(table):
    assert groups_digest(table) == ""
    with pytest.raises(InputError, match=r"by microaggregate, which made no groups of users.*Give the record"):
        earlier_groups(record(table))


@pytest.mark.parametrize(
    "table",
    [
        pl.concat([PAIRS, PAIRS]),
        pl.concat([PAIRS, subjects((None, "x9", 3))]),
        PAIRS.drop("group"),
        PAIRS.with_columns(pl.lit("secret").alias("group")),
    ],
)
def test_a_damaged_record(table):
    with pytest.raises(InputError, match="is damaged") as refused:
        earlier_groups(record(table))
    assert "ann" not in str(refused.value)
    assert "secret" not in str(refused.value)
