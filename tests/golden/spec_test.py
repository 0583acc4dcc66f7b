"""Worked examples of measures, computed by hand."""

from collections import Counter

import polars as pl
import pytest

from coterie.measures.privacy.exposure import exposure_levels
from tests.helpers import reference

VECTORS = [
    # X = {a:2, b:1, c:1}, Y = {a:1, b:1, z:3}: H = 1.5, exposed 50 %, channel 66.7 %
    ({"a": 2, "b": 1, "c": 1}, {"a": 1, "b": 1, "z": 3}, 50.0, 200 / 3),
    # Uniform thinning by 3: 33.33 % in both modes
    ({"a": 3, "b": 6, "c": 9}, {"a": 1, "b": 2, "c": 3}, 100 / 3, 100 / 3),
    # (i) equal profiles, (ii) disjoint ones, and the edge cases below it
    ({"a": 2, "b": 1}, {"a": 2, "b": 1}, 100.0, 100.0),
    ({"a": 2, "b": 1}, {"z": 5}, 0.0, 0.0),
    ({"a": 4}, {"a": 1}, 25.0, 25.0),
    ({"a": 2, "b": 1}, {}, 0.0, 0.0),
]


@pytest.mark.parametrize(("before", "after", "exposed", "channel"), VECTORS)
def test_profile_exposure_level(before, after, exposed, channel):
    x, y = Counter(before), Counter(after)
    rows = [("u", q, x[q], y[q]) for q in sorted(set(x) | set(y))]
    frame = pl.DataFrame(rows, schema=["subject", "item", "before", "after"], orient="row")
    assert exposure_levels(frame).row(0)[1:] == pytest.approx((exposed, channel))
    assert reference.exposure(x.elements(), y.elements()) == pytest.approx((exposed, channel))


def test_entropy_of_the_vector():
    assert reference.entropy(Counter({"a": 2, "b": 1, "c": 1})) == pytest.approx(1.5)
