"""Exposure from sorted counts, against the measure of releases."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.lab.simulate.measures.exposure import exposure, exposure_to
from coterie.measures.privacy.exposure import exposure_levels

QUERIES = 6
events = st.lists(st.tuples(st.integers(0, 4), st.integers(0, QUERIES - 1)), max_size=40)


def _counted(pairs):
    keys = np.array([who * QUERIES + query for who, query in pairs], dtype=np.int64)
    return np.unique(keys, return_counts=True)


def _expected(asked, seen):
    """exposed and channel by person, of the measure."""
    columns = {"subject": pl.Int64, "item": pl.Int64}
    before = pl.DataFrame(asked, schema=columns, orient="row").group_by("subject", "item").len("before")
    after = pl.DataFrame(seen, schema=columns, orient="row").group_by("subject", "item").len("after")
    joined = before.join(after, on=["subject", "item"], how="left").with_columns(pl.col("after").fill_null(0))
    levels = exposure_levels(joined.sort("subject", "item"))
    return {subject: (exposed, channel) for subject, exposed, channel in levels.iter_rows()}


@given(events, events)
def test_it_is_the_measure_of_releases(asked, seen):
    expected = _expected(asked, seen)
    exposed, channel = exposure(*_counted(asked), *_counted(seen), QUERIES, 5)
    for person in range(5):
        if person in expected:
            assert (exposed[person], channel[person]) == pytest.approx(expected[person], abs=1e-9)
        else:
            assert np.isnan(exposed[person])


@given(events, events, st.permutations(range(5)))
def test_groups_see_their_owners(asked, seen, owner):
    """Group g looks at person owner[g]: the same as if it was all that was seen of them."""
    shown = exposure_to(*_counted(asked), *_counted(seen), np.array(owner, dtype=np.int64), QUERIES)
    renamed = [(owner[group], query) for group, query in seen]
    expected = _expected(asked, renamed)
    for group in range(5):
        assert shown[group] == pytest.approx(expected.get(owner[group], (0.0, 0.0))[0], abs=1e-9)
