"""The nearest sparse vectors are those that all inner products, taken one by one, say."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coterie.algorithms.kernels import nearest
from coterie.core.arrays import offsets

FEATURES = 5
_vector = st.dictionaries(st.integers(0, FEATURES - 1), st.sampled_from([0.0, 0.25, 0.5, 1.0]), max_size=4)
_vectors = st.lists(_vector, min_size=1, max_size=7)


def _rows(vectors):
    start = offsets(np.array([len(each) for each in vectors], dtype=np.int64))
    pairs = [pair for each in vectors for pair in sorted(each.items())]
    feature = np.array([f for f, _ in pairs], dtype=np.int64)
    return start, feature, np.array([w for _, w in pairs], dtype=np.float64)


def _product(one, other):
    return sum(weight * other.get(feature, 0.0) for feature, weight in one.items())


@given(_vectors, _vectors, st.integers(1, 4))
def test_nearest(asking, vectors, most):
    lists = nearest.columns_of(*_rows(vectors), FEATURES)
    near, product = nearest.nearest(*_rows(asking), *lists, len(vectors), most)
    for place, one in enumerate(asking):
        ranked = sorted((-_product(one, other), v) for v, other in enumerate(vectors) if _product(one, other) > 0)
        expected = ranked[:most]
        assert near[place].tolist() == [v for _, v in expected] + [-1] * (most - len(expected))
        assert product[place, : len(expected)].tolist() == [-score for score, _ in expected]


_unit = st.tuples(_vector, st.sets(st.integers(0, 4), min_size=1, max_size=3), st.integers(0, 2))


@given(st.lists(_unit, min_size=2, max_size=8), st.data())
def test_nearest_others(units, data):
    vectors, items, person = ([unit[part] for unit in units] for part in range(3))
    last = data.draw(st.integers(1, len(units)))
    first = data.draw(st.integers(0, last - 1))
    attacked = np.arange(first, last, dtype=np.int64)
    flat = np.array([item for each in items for item in sorted(each)], dtype=np.int64)
    starts = offsets(np.array([len(each) for each in items], dtype=np.int64))
    rows = _rows(vectors)
    lists = nearest.columns_of(*rows, FEATURES)
    whose = np.array(person, dtype=np.int64)
    near, others, own = nearest.nearest_others(attacked, first, last, whose, *rows, *lists, starts, flat, 3)
    for place, a in enumerate(attacked.tolist()):
        eligible = [v for v in range(first, last) if v != a and items[v] - items[a]]
        assert others[place] == len(eligible)
        assert own[place] == sum(person[v] == person[a] for v in eligible)
        ranked = sorted((-_product(vectors[a], vectors[v]), v) for v in eligible)
        expected = [v for score, v in ranked if score < 0][:3]
        assert near[place].tolist() == expected + [-1] * (3 - len(expected))


@given(_vectors)
def test_products(vectors):
    left, right = (np.array(each, dtype=np.int64) for each in np.indices((len(vectors),) * 2).reshape(2, -1))
    found = nearest.products(*_rows(vectors), left, right)
    assert found.tolist() == [_product(vectors[i], vectors[j]) for i, j in zip(left, right, strict=True)]
