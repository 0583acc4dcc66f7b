"""Small units of what people did, against a plain loop."""

from datetime import datetime, timedelta

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coterie.algorithms.kernels import sequences
from tests.helpers import reference

ROWS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 90), st.sampled_from("tuv")), min_size=1, max_size=30)


@given(ROWS, st.integers(1, 4), st.sampled_from([1, 10, 30]))
def test_units_are_the_plain_ones(rows, most, minutes):
    rows = sorted(rows)
    before = [None, *rows[:-1]]
    new = [[last is None or last[at] != row[at] for last, row in zip(before, rows, strict=True)] for at in (0, 2)]
    moment = np.array([row[1] for row in rows], dtype=np.int64)
    units = sequences.numbered(*map(np.array, new), moment, most, minutes)
    start = datetime(2020, 1, 1)
    typed = [(user, start + timedelta(minutes=at), query) for user, at, query in rows]
    expected = reference.few_queries(typed, most, minutes)
    assert [(row[0], unit) for row, unit in zip(rows, units.tolist(), strict=True)] == expected
