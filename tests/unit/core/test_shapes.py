from copy import copy
from itertools import accumulate

import numpy as np
import polars as pl
import pytest

from coterie.core.log import Log
from coterie.core.shapes import COUNTS, QUERIES, SHAPES, TERMS, VISITS, sum_in_order
from coterie.errors import InputError
from coterie.testing import queries_log, visits_log


def test_released_columns_have_nothing_private():
    assert QUERIES.released == ("user", "time", "query", "rank", "url")
    assert QUERIES.order == ("user", "query", "time", "rank", "url")
    for shape in SHAPES.values():
        assert not set(shape.private) & set(shape.released)
        assert set(shape.identifying) <= set(shape.released)
        assert set(shape.never_given) <= set(shape.identifying)
        assert set(shape.details) <= set(shape.released)
    assert VISITS.never_given == ("address",)


def test_each_shape_has_its_nouns():
    nouns = {s: (s.subject_noun, s.subject_nouns, s.item_noun, s.item_nouns) for s in (QUERIES, VISITS, TERMS, COUNTS)}
    assert nouns == {
        QUERIES: ("user", "users", "query", "queries"),
        VISITS: ("visitor", "visitors", "page", "pages"),
        TERMS: ("document", "documents", "term", "terms"),
        COUNTS: ("subject", "subjects", "item", "items"),
    }


@pytest.mark.parametrize(("log", "shape"), [(queries_log(), QUERIES), (visits_log(), VISITS)])
def test_tiny_logs_have_their_shape(log, shape):
    assert shape.check(log.frame) is log.frame


def test_types_are_enforced_at_the_border():
    frame = queries_log().frame
    for wrong, column in (
        (frame.with_columns(pl.col("rank").cast(pl.String)), "rank"),
        (frame.drop("query"), "query"),
        (frame.with_columns(pl.lit(1).alias("secret_column")), "secret_column"),
    ):
        with pytest.raises(InputError, match=column):
            Log(frame=wrong, shape=QUERIES)


def test_further_details_make_one_shape_wherever_they_are_named():
    wide = QUERIES.with_details(["device", "country"])
    assert wide is QUERIES.with_details(iter(("device", "country"))) is wide.with_details(["device", "country"])
    assert wide is copy(wide)
    assert wide is not QUERIES.with_details(["country", "device"])
    assert wide.plain is QUERIES is QUERIES.plain is QUERIES.with_details(())
    assert wide.name == QUERIES.name
    assert wide.released == (*QUERIES.released, "device", "country")
    assert wide.details == ("url", "rank", "device", "country")
    assert not wide.may_come_from(QUERIES)
    assert wide.private == QUERIES.private


@pytest.mark.parametrize(
    "names", [["user"], ["bad"], ["into"], ["Device"], ["a-b"], [""], ["a", "a"], [f"a{n}" for n in range(11)]]
)
def test_names_that_a_detail_cannot_have(names):
    with pytest.raises(InputError, match="detail"):
        QUERIES.with_details(names)


def test_only_searches_have_further_details():
    with pytest.raises(InputError, match="logs of queries, and this table is VISITS"):
        VISITS.with_details(["device"])


def test_a_log_without_its_further_details():
    log = queries_log()
    wide = Log(frame=log.frame.with_columns(device=pl.lit("x")), shape=QUERIES.with_details(["device"]))
    assert wide.plain.to_polars().equals(log.to_polars())
    assert log.plain is log


def test_floats_are_added_from_the_smallest_on_whatever_polars_makes_of_it():
    """In `sort().sum()` polars drops the sort; most of these sums then have another last digit."""
    random = np.random.default_rng(1)
    rows = pl.DataFrame({"group": random.integers(0, 300, 20_000), "weight": random.random(20_000).round(3) / 7})
    grouped = rows.group_by("group").agg("weight")
    expected = {group: [*accumulate(sorted(weights))][-1] for group, weights in grouped.iter_rows()}
    for order in (rows, rows.reverse()):
        added = order.lazy().group_by("group").agg(sum_in_order("weight")).collect(engine="streaming")
        assert dict(added.iter_rows()) == expected
