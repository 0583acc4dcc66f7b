"""A run hands work to its engine, and random numbers to whoever they belong to."""

import polars as pl
import pytest

from coterie.core import randomness
from coterie.core.run import Run
from coterie.core.shapes import GROUPS
from coterie.engines.local import Local
from coterie.errors import CoterieError
from tests.helpers.runs import a_run

PEOPLE = pl.Series("user", ["ann", "bob", "cyd"])
ROWS = pl.LazyFrame({"subject": ["ann", "bob", "cyd", "ann"], "group": pl.Series([0, 0, 1, 0], dtype=pl.UInt32)})


@pytest.mark.parametrize("blocks", [1, 3])
def test_rows_that_belong_together_reach_the_work_together(blocks):
    run = a_run(blocks=blocks)  # its files live as long as it does
    counted = run.blocks(ROWS, lambda rows: rows.group_by("subject").len("rows"), by=["subject"])
    assert sorted(counted.collect().rows()) == [("ann", 2), ("bob", 1), ("cyd", 1)]


def test_a_result_has_the_shape_that_was_asked_for():
    run = a_run()
    assert run.blocks(ROWS, pl.LazyFrame.unique, by=["subject"], out=GROUPS).collect().height == 3
    with pytest.raises(CoterieError):
        run.blocks(ROWS, lambda rows: rows.drop("group"), by=["subject"], out=GROUPS)


def test_collected_rows_are_computed_once():
    calls = []

    def counted(value):
        calls.append(value)
        return value

    rows = pl.LazyFrame({"n": [1]}).with_columns(pl.col("n").map_elements(counted, return_dtype=pl.Int64))
    collected = a_run().keep(rows)
    assert collected.collect().equals(collected.collect())
    assert len(calls) == 1


def test_random_numbers_are_those_of_the_seed():
    run = a_run(seed=5)
    assert run.stream("a", "ann").random() == randomness.stream(5, "a", "ann").random()
    assert run.keys("a", PEOPLE).tolist() == randomness.keys(5, "a", PEOPLE).tolist()
    assert run.pseudonyms(PEOPLE, PEOPLE).equals(randomness.pseudonyms(5, PEOPLE, PEOPLE))


def test_a_run_without_a_seed_has_one_that_nobody_sees():
    first, second = Run(engine=Local()), Run(engine=Local())
    assert first.seed != second.seed
    assert str(first.seed) not in repr(first)
    first.tell(0.5)  # nobody listens, and nothing happens
