"""A case that is judged in parts: numbers add up, whom they concern does not; what no part can tell is asked once."""

from dataclasses import replace

import polars as pl
import pytest

import coterie
from coterie.core.promise import Case, Check
from coterie.core.run import HERE
from coterie.core.shapes import QUERIES
from coterie.engines.remote import divided
from coterie.testing.scattered import Scattered

RELEASED = coterie.log(
    pl.DataFrame({"user": [None] * 6, "query": list("aabbbc")}, schema_overrides={"user": pl.String})
)
ORIGINAL = coterie.log(pl.DataFrame({"user": list("uvuvwx"), "query": list("aabbbc")}))


def _case(engine):
    released, original = (engine.keep(log.frame) for log in (RELEASED, ORIGINAL))
    log = replace(ORIGINAL, frame=original, engine=engine, resources=())
    return Case(rows=released, shape=QUERIES, original=log, engine=engine)


def _rows(case):
    rows = case.rows.select(pl.len()).collect().item()
    yield Check(name="rows", status="failed", detail="none", looked_at=rows, broken=rows, concerns=1, largest_k=rows)


def _pairs(case):
    both = case.rows.join(case.original.frame, on="query").select(pl.len()).collect().item()
    yield Check(name="pairs", status="passed", detail="all", looked_at=both)


@pytest.mark.parametrize("seed", [1, 2])
def test_numbers_of_parts_are_added_up(seed):
    (here,) = HERE.judged(_case(HERE), _rows)
    (there,) = Scattered(seed).judged(_case(Scattered(seed)), _rows)
    assert (here.looked_at, here.broken, here.concerns) == (6, 6, 1)
    assert (there.looked_at, there.broken, there.concerns) == (6, 6, None)
    assert there.largest_k <= here.largest_k


def test_rows_that_belong_together_are_in_one_part():
    by = ("query", "query")
    (here,), (there,) = HERE.judged(_case(HERE), _pairs, by), divided(engine := Scattered(3), _case(engine), _pairs, by)
    assert there == here
    assert here.looked_at == 2 * 2 + 3 * 3 + 1


def test_what_no_part_can_tell_is_asked_of_the_whole_case():
    def apart(case):
        yield Check(name="apart", status="passed", detail="asked")

    assert [check.name for check in HERE.judged(_case(HERE), _rows, apart=apart)] == ["rows"]
    engine = Scattered(4)
    assert [check.name for check in engine.judged(_case(engine), _rows, apart=apart)] == ["rows", "apart"]
