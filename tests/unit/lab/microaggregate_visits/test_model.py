"""Visits as numbers, and blocks of them."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl

from coterie.core.run import Run
from coterie.core.shapes import VISITS
from coterie.engines.local import Local
from coterie.lab.microaggregate_visits.kernels import MISSING, UNIT
from coterie.lab.microaggregate_visits.model import clusters, encode, log_scale, scaled
from tests.helpers.hand_made import log_of
from tests.helpers.random_visits import random_visits

RUN = Run(engine=Local(), seed=1)
WEIGHTS = (3, 2, 2, 2, 1, 0.5, 0)


def groups(records, k=3, block=0, visitors=True, join=True):
    return clusters(records, k, WEIGHTS, RUN, block=block, visitors=visitors, join=join)


def test_numbers_between_the_smallest_and_the_largest():
    assert scaled(pl.Series([10, 30, None, 20])).tolist() == [0, UNIT, MISSING, UNIT // 2]
    assert scaled(pl.Series([7, 7])).tolist() == [0, 0]
    assert scaled(pl.Series([None], dtype=pl.Int64)).tolist() == [MISSING]


def test_sizes_are_compared_by_powers_of_two():
    assert log_scale(pl.Series([0, 1, 3, 7, 2])).to_list() == [0, UNIT, 2 * UNIT, 3 * UNIT, 3 * UNIT // 2]
    assert log_scale(pl.Series([2**40 - 1, 2**62, -5, None])).to_list() == [40 * UNIT, 62 * UNIT, 0, None]


def test_records_do_not_depend_on_the_order_of_rows():
    log = random_visits(80, seed=3)
    shuffled = replace(log, frame=log.frame.collect().sample(fraction=1, shuffle=True, seed=5).lazy())
    first, second = (encode(each, sessionid=True) for each in (log, shuffled))
    assert np.array_equal(first.columns, second.columns)
    values = [each.rows.join(log.frame.collect(), on="row").drop("row").sort(pl.all()) for each in (first, second)]
    assert values[0].equals(values[1])


def test_rows_without_a_visitor_are_counted():
    log = log_of([{"user": user, "path": "/"} for user in ("a", None, "b", None)], VISITS)
    records = encode(log, sessionid=False)
    assert (len(records), records.nobodys) == (2, 2)
    assert records.rows["row"].sort().to_list() == [0, 2]


def test_blocks_are_as_equal_as_can_be():
    """Tables of a block are its own, so a block gives the groups that its records alone give."""
    log = random_visits(90, seed=4)
    records = encode(log, sessionid=False)
    whole = groups(records, block=40, visitors=False).table.collect()
    n = len(records)
    assert n > 80
    bounds = [0, n // 3, 2 * n // 3, n]
    first = 0
    for start, end in pairwise(bounds):
        own = records.rows.filter(pl.col("_record").is_between(start, end - 1)).with_columns(pl.col("_record") - start)
        part = replace(records, columns=records.columns[start:end], rows=own)
        alone = groups(part, visitors=False).table.collect()
        assert alone["group"].n_unique() >= 8
        own = whole.join(alone, on="row").select(pl.col("group").cast(pl.Int64) - pl.col("group_right").cast(pl.Int64))
        assert set(own["group"]) == {first}
        first += alone["group"].n_unique()
    assert groups(records, k=30, block=10, visitors=False).table.collect()["group"].n_unique() == 2  # of 2k and more


def test_what_becomes_of_records_without_partners():
    """One visitor has nine records, two others two each: two groups of three visitors, and seven records are left."""
    people = ["a"] * 9 + ["b", "c"] * 2
    log = log_of([{"user": user, "path": f"/{number}"} for number, user in enumerate(people)], VISITS)
    records = encode(log, sessionid=False)
    joined, left_out = groups(records), groups(records, join=False)
    assert (joined.joined, joined.left_out, joined.table.collect().height) == (7, 0, 13)
    assert (left_out.joined, left_out.left_out, left_out.table.collect().height) == (0, 7, 6)
    nobody = groups(records, k=4)
    assert (nobody.joined, nobody.left_out, nobody.table.collect().height) == (0, 13, 0)
    assert groups(records, visitors=False).joined == 0
