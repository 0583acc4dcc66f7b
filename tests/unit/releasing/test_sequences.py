"""Visits cut into planned sequences: rows, names and days, worked out by hand."""

from datetime import datetime, timedelta

import polars as pl
import pytest

import coterie
from coterie.core.plan import Plan
from coterie.core.run import Run
from coterie.core.shapes import SEQUENCES
from coterie.core.threads import Counted
from coterie.engines.local import Local
from coterie.releasing.sequences import DAYS_TABLE, SEQUENCES_TABLE, release_sequences

DAY = datetime(2020, 2, 3)
VISITS = [
    ("ann", 0, "/a"), ("ann", 1, "/b"), ("ann", 2, "/b"), ("ann", 3, "/c"), ("ann", 4, "/x"), ("ann", 5, "/a"),
    ("bob", 1500, "/a/1"), ("bob", 1501, "/a"), ("bob", 1502, "/b"),
    ("cyd", 0, "/x"),
]  # fmt: skip


@pytest.fixture(scope="module")
def log():
    rows = [(who, DAY + timedelta(minutes=at), path) for who, at, path in VISITS]
    return coterie.log(pl.DataFrame(rows, schema=["user", "time", "path"], orient="row"))


@pytest.fixture
def plan():
    """a b, a and /a/*; c only after a b, and x never."""
    into = {"/a": "/a", "/b": "/b", "/c": "/c", "/a/1": "/a/*"}
    kinds = [(7, 1, "/a"), (7, 2, "/b"), (3, 1, "/a"), (9, 1, "/a/*"), (4, 1, "/a"), (4, 2, "/b"), (4, 3, "/c")]
    day = (DAY - datetime(1970, 1, 1)).days
    return Plan(
        table=pl.LazyFrame({"item": list(into), "into": list(into.values())}),
        tables={
            SEQUENCES_TABLE: pl.LazyFrame(
                kinds, schema={"kind": pl.Int32, "place": pl.Int32, "page": pl.String}, orient="row"
            ),
            DAYS_TABLE: pl.LazyFrame(
                [(4, day), (7, day), (9, day + 1)], schema={"kind": pl.Int32, "day": pl.Int32}, orient="row"
            ),
        },
    )


def test_each_part_is_a_walk_of_its_own(log, plan):
    told = []
    draft = release_sequences(log, plan, SEQUENCES, Run(engine=Local(), seed=1, tell=told.append))
    rows = draft.frame.collect()
    assert told == [Counted(1, 2)]
    assert rows.columns == ["row", *SEQUENCES.released]
    assert {name: rows.schema[name] for name in SEQUENCES.released} == SEQUENCES.schema
    walks = rows.group_by("sequence", maintain_order=True).agg("row", "position", "path", "time")
    assert walks.drop("sequence").rows() == [
        ([0, 1, 3], [1, 2, 3], ["/a", "/b", "/c"], [DAY] * 3),  # the first of two rows for the same page
        ([5], [1], ["/a"], [None]),  # no day is planned for it
        ([6], [1], ["/a/*"], [DAY + timedelta(days=1)]),
        ([7, 8], [1, 2], ["/a", "/b"], [None, None]),  # not the planned day
    ]
    assert walks["sequence"].is_unique().all()
    assert walks["sequence"].str.contains("^u_[a-z2-7]{16}$").all()
    subjects = draft.subjects.collect()
    assert subjects.columns == ["original", "released", "group"]
    assert subjects.schema["group"] == pl.UInt32
    assert subjects["original"].to_list() == ["ann", "ann", "bob", "bob", "cyd"]
    assert set(subjects["released"].drop_nulls()) == set(walks["sequence"])
    assert subjects["released"].null_count() == 1, "nothing of cyd is released, and the record knows cyd"
    of_ann = subjects.filter(pl.col("original") == "ann")["released"]
    assert set(of_ann) == set(walks["sequence"][:2])


def test_names_come_from_numbers_and_the_seed(log, plan):
    run = Run(engine=Local(), seed=1)
    rows = release_sequences(log, plan, SEQUENCES, run).frame.collect().sort("sequence", "position")
    walks = dict(rows.group_by("sequence").agg("path").iter_rows())
    numbered = run.pseudonyms(pl.Series(["0", "1", "2", "3"]), taken=pl.Series(["ann", "bob", "cyd"]))
    assert [walks[name] for name in numbered] == [["/a"], ["/a", "/b"], ["/a", "/b", "/c"], ["/a/*"]], (
        "numbers follow the pages, not the visits"
    )
    taken = run.pseudonyms(pl.Series(["0"]), taken=pl.Series([""]))[0]
    renamed = log.frame.with_columns(pl.col("user").replace({"cyd": taken}))
    again = release_sequences(coterie.log(renamed.collect()), plan, SEQUENCES, run).frame.collect()["sequence"]
    assert taken not in again, "a name that a visitor has is not given"


def test_a_plan_without_kinds_releases_nothing(log, plan):
    nothing = Plan(table=plan.table.clear(), tables={name: table.clear() for name, table in plan.tables.items()})
    draft = release_sequences(log, nothing, SEQUENCES, Run(engine=Local(), seed=1))
    assert draft.frame.collect().is_empty()
    assert draft.subjects.collect()["original"].to_list() == ["ann", "bob", "cyd"]
