"""Bags against counters: who has what how often, and the parts of it."""

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.algorithms.kernels.bags import Parts, bags, columns_of_owners, owners_of_parts, owners_with
from tests.helpers.examples import examples

OWNERS, THINGS, PARTS = 5, 6, 7
lines = st.lists(st.tuples(st.integers(0, OWNERS - 1), st.integers(0, THINGS - 1)), max_size=40)
made_of = st.lists(st.lists(st.integers(0, PARTS - 1), max_size=4), min_size=THINGS, max_size=THINGS)


def _short(values):
    return np.array(values, dtype=np.int32)


def _bags(had):
    return bags(_short([owner for owner, _ in had]), _short([thing for _, thing in had]), OWNERS)


def _parts(lists):
    return Parts(np.cumsum([0, *map(len, lists)]), _short([part for parts in lists for part in parts]))


def _counters(had, lists):
    return [Counter(part for who, thing in had if who == owner for part in lists[thing]) for owner in range(OWNERS)]


@settings(max_examples=examples(100))
@given(had=lines)
def test_what_each_owner_has(had):
    found = _bags(had)
    for owner in range(OWNERS):
        some = slice(found.start[owner], found.start[owner + 1])
        expected = sorted(Counter(thing for who, thing in had if who == owner).items())
        assert list(zip(found.thing[some].tolist(), found.times[some].tolist(), strict=True)) == expected


@settings(max_examples=examples(100))
@given(had=lines, lists=made_of, chosen=st.sets(st.integers(0, OWNERS - 1)), wanted=st.sets(st.integers(0, PARTS - 1)))
def test_who_has_which_parts(had, lists, chosen, wanted):
    counters = _counters(had, lists)
    counted = owners_of_parts(np.array(sorted(chosen), dtype=np.int64), _bags(had), _parts(lists), PARTS)
    assert counted.tolist() == [sum(part in counters[owner] for owner in chosen) for part in range(PARTS)]
    flags = np.array([part in wanted for part in range(PARTS)])
    assert owners_with(flags, _bags(had), _parts(lists)).tolist() == [bool(wanted & set(each)) for each in counters]


@settings(max_examples=examples(100))
@given(
    had=lines,
    lists=made_of,
    ends=st.tuples(st.integers(0, OWNERS), st.integers(0, OWNERS)).map(sorted),
    kept=st.permutations(range(PARTS)).map(lambda order: order[:4]),
)
def test_how_often_owners_have_the_parts_that_count(had, lists, ends, kept):
    column_of = np.full(PARTS, -1, dtype=np.int32)
    column_of[kept] = np.arange(len(kept))
    sizes, column, value = columns_of_owners(*ends, _bags(had), _parts(lists), column_of, len(kept))
    expected = []
    for each in _counters(had, lists)[slice(*ends)]:
        expected.append(sorted((column_of[part], n) for part, n in each.items() if part in kept))
    assert sizes.tolist() == [len(entries) for entries in expected]
    flat = [entry for entries in expected for entry in entries]
    assert list(zip(column.tolist(), value.tolist(), strict=True)) == flat
