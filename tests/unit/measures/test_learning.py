"""The logistic model is where its loss has no slope."""

import numpy as np
import pytest

from coterie.measures.learning import RIDGE, fit, weighed


def test_no_slope_is_left():
    stream = np.random.default_rng(3)
    columns = np.stack([np.ones(400), *stream.standard_normal((3, 400))])
    right = (stream.random(400) < 1 / (1 + np.exp(-weighed(columns, np.array([-1.0, 2.0, 0.0, -0.5]))))).astype(float)
    weights = fit(columns, right)
    chance = 1 / (1 + np.exp(-(weights @ columns)))
    assert columns @ (right - chance) - RIDGE * weights == pytest.approx(np.zeros(4), abs=1e-9)
    assert weights == pytest.approx([-1, 2, 0, -0.5], abs=0.4)
