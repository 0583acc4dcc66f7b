"""Sequences of pages against the plain version, on visits of numbered pages."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.algorithms.kernels.sequences import Steps, common_kinds, cut, cut_until_common, tree_of, visitors_of
from coterie.core.arrays import offsets
from tests.helpers import sequence_reference as reference
from tests.helpers.examples import examples

PAGES = 4
steps = st.lists(st.integers(-1, PAGES - 1), min_size=0, max_size=12)
visits = st.lists(st.tuples(st.integers(0, 4), steps), min_size=0, max_size=20).map(sorted)


def walks_of(found):
    pages = [page for _, walk in found for page in walk]
    return Steps(
        start=offsets(np.array([len(walk) for _, walk in found], dtype=np.int64)),
        visitor=np.array([visitor for visitor, _ in found], dtype=np.int32),
        page=np.array(pages, dtype=np.int32),
    )


def plainly(found):
    return [(visitor, [(None, None if page < 0 else page) for page in walk]) for visitor, walk in found]


def spelled(tree, kind):
    pages = []
    while kind >= 0:
        pages.append(int(tree.page[kind]))
        kind = tree.parent[kind]
    return tuple(reversed(pages))


@settings(max_examples=examples(200))
@given(visits, st.integers(1, 4), st.integers(1, 13))
def test_kinds_and_parts_are_those_of_the_plain_version(found, k, longest):
    walks = walks_of(found)
    tree = common_kinds(walks, PAGES, k, longest)
    kinds = [spelled(tree, kind) for kind in range(tree.page.size)]
    assert len(set(kinds)) == len(kinds)
    assert set(kinds) == reference.frequent(plainly(found), k, longest)
    parts = cut_until_common(walks, tree, k)
    expected = reference.fragments(plainly(found), k, longest)
    assert [(walks.visitor[visit], kinds[kind]) for visit, kind in zip(parts.visit, parts.kind, strict=True)] == [
        (visitor, kind) for visitor, kind, _ in expected
    ]
    for begin, length, kind in zip(parts.begin, parts.length, parts.kind, strict=True):
        assert tuple(walks.page[begin : begin + length]) == kinds[kind]


@settings(max_examples=examples(100))
@given(visits, st.sets(st.lists(st.integers(0, PAGES - 1), min_size=1, max_size=4).map(tuple), max_size=6))
def test_any_kinds_can_be_cut_off(found, kinds):
    """Also such that no beginning of one is allowed itself."""
    nodes = sorted(
        {kind[:end] for kind in kinds for end in range(1, len(kind) + 1)}, key=lambda node: (len(node), node)
    )
    number = {node: place for place, node in enumerate(nodes)} | {(): -1}
    tree = tree_of(
        np.array([number[node[:-1]] for node in nodes], dtype=np.int32),
        np.array([node[-1] for node in nodes], dtype=np.int32),
    )
    parts = cut(walks_of(found), tree, np.array([node in kinds for node in nodes], dtype=np.bool_))
    expected = [kind for _, walk in plainly(found) for kind, _ in reference.cut(walk, kinds, 4)]
    assert [nodes[kind] for kind in parts.kind] == expected


def test_visitors_are_counted_once():
    number = np.array([0, 0, 1, -1, 0, 1], dtype=np.int32)
    owner = np.array([3, 3, 3, 4, 5, 5], dtype=np.int32)
    assert visitors_of(number, owner, 3).tolist() == [2, 2, 0]
