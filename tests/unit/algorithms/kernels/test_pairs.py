"""Who is singled out by two items: the plain answer, on random sets of few items."""

from itertools import combinations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from coterie.algorithms.kernels.clues import singled_out_by_two
from coterie.core.arrays import offsets


def _plain(subjects: list[set[int]]) -> list[bool]:
    """Whether no other subject has one of its items, or two of its items."""

    def alone(items: set[int], others: list[set[int]]) -> bool:
        pairs = [{a} for a in items] + [set(pair) for pair in combinations(items, 2)]
        return any(not any(pair <= other for other in others) for pair in pairs)

    return [alone(items, [*subjects[:u], *subjects[u + 1 :]]) for u, items in enumerate(subjects)]


def _arrays(subjects: list[set[int]]) -> tuple[np.ndarray, ...]:
    """The items of each subject, rarest first, and the owners of each item."""
    owners = [[u for u, items in enumerate(subjects) if item in items] for item in range(7)]
    items = [sorted(each, key=lambda item: (len(owners[item]), item)) for each in subjects]
    flat = [np.array([x for each in lists for x in each], dtype=np.int32) for lists in (items, owners)]
    starts = [offsets(np.array([len(each) for each in lists], dtype=np.int64)) for lists in (items, owners)]
    return starts[0], flat[0], starts[1], flat[1]


@given(st.lists(st.sets(st.integers(0, 6), max_size=5), max_size=7))
@example([set(), {0, 1}, {0, 1}])
@example([{0, 1, 2}, {0, 1}, {1, 2}, {0, 2}])
def test_it_is_its_plain_version(subjects):
    assert singled_out_by_two(*_arrays(subjects)).tolist() == _plain(subjects)
