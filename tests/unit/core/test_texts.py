"""Bytes of texts, and their numbers, as kernels take them."""

from itertools import pairwise

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.core import arrays
from coterie.core.arrays import bytes_of, numbered
from tests.helpers.examples import examples

some = st.lists(st.none() | st.text(st.sampled_from("ab é寿\0"), max_size=20), max_size=9)


@given(some, st.integers(0, 3), st.integers(1, 4))
@settings(max_examples=examples(100))
def test_the_bytes_of_texts(values, skipped, at_once):
    """Whatever stands before them, in however many pieces they are, and however many are put together."""
    column = pl.concat([pl.Series(["before"] * skipped, dtype=pl.String), pl.Series(values, dtype=pl.String)])[skipped:]
    before, arrays._AT_ONCE = arrays._AT_ONCE, at_once
    try:
        data, start = bytes_of(column)
    finally:
        arrays._AT_ONCE = before
    expected = [(value or "").encode() for value in values]
    assert [data[a:b].tobytes() for a, b in pairwise(start)] == expected
    assert (start.dtype, data.dtype, data.size) == (np.int64, np.uint8, max(1, sum(map(len, expected))))


@given(st.lists(st.text("ab", max_size=3), max_size=12))
@settings(max_examples=examples(50))
def test_numbers_of_texts(values):
    number, distinct = numbered(pl.Series(values, dtype=pl.String))
    assert [distinct[int(each)] for each in number] == values
    assert distinct.is_unique().all()
    assert distinct.len() == len(set(values))
