"""Sequences of pages that enough visitors walked, and visits cut into them.

Visits are stretches of steps: the pages of visit v are `page[start[v]:start[v + 1]]`, numbers below n_pages, or -1 for
a page that is never released. Visits stand in the order of their visitors, so that a visitor was counted already if and
only if they were counted last.

A kind of sequence is a node of a tree: its last page, below the node of the pages before. All beginnings of a sequence
that k visitors walked were walked by k, so these sequences are a tree; and so is its end, which is why sequences are
counted length by length, and of each length only those whose beginning and end of one page less have k visitors.

    cut    from the left the longest allowed sequence, then from where it ends; a step that begins none is left out

Cut what each person did into small units: few items, in a short time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.algorithms.kernels._arrays import Flags, Ints, Short, murmur64, next_slot
from coterie.algorithms.kernels._jit import inlined, jit


class Steps(NamedTuple):
    """Visits as stretches of steps."""

    start: Ints
    """Where the steps of each visit begin, and where the last one ends."""
    visitor: Short
    """The visitor of each visit, ascending."""
    page: Short
    """The page of each step, or -1."""


class Tree(NamedTuple):
    """Kinds of sequences, each below that of its beginning."""

    parent: Short
    """The kind without its last page, or -1; smaller than its own number."""
    page: Short
    """Its last page."""
    slots: Short
    """A table of hashes of (parent, page): which kind it is, or -1."""


class Parts(NamedTuple):
    """What visits are cut into, in the order of visits."""

    visit: Short
    begin: Ints
    """The first step."""
    length: Short
    kind: Short


def tree_of(parent: Short, page: Short) -> Tree:
    """The tree of these kinds."""
    return Tree(parent, page, _table(parent, page))


def common_kinds(walks: Steps, n_pages: int, k: int, longest: int) -> Tree:
    """All sequences of up to `longest` pages that at least k visitors walked within one visit."""
    owner = np.repeat(walks.visitor, np.diff(walks.start)).astype(np.int32)
    left = np.repeat(walks.start[1:], np.diff(walks.start)) - np.arange(walks.page.size)
    parents, pages = [], []
    # By step: the kind of the last length that begins there, or -1.
    known, number, base = walks.page, n_pages, 0
    last_page = walks.page
    parent_of, page_of = np.full(n_pages, -1, np.int32), np.arange(n_pages, dtype=np.int32)
    for length in range(1, longest + 1):
        enough = visitors_of(known, owner, number) >= k
        if not enough.any():
            break
        dense = np.where(enough, np.cumsum(enough) - 1 + base, -1).astype(np.int32)
        parents.append(parent_of[enough])
        pages.append(page_of[enough])
        base += int(enough.sum())
        here = np.where(known >= 0, dense[known], np.int32(-1)).astype(np.int32)
        last_page = np.append(last_page[1:], np.int32(-1))
        keys = _extended(here, last_page, left, length, n_pages)
        places = np.flatnonzero(keys >= 0)
        distinct, which = np.unique(keys[places], return_inverse=True)
        known, number = np.full(keys.size, -1, dtype=np.int32), distinct.size
        known[places] = which
        parent_of, page_of = (distinct // n_pages).astype(np.int32), (distinct % n_pages).astype(np.int32)
    nothing = np.zeros(0, dtype=np.int32)
    return tree_of(np.concatenate([nothing, *parents]), np.concatenate([nothing, *pages]))


def cut_until_common(walks: Steps, tree: Tree, k: int) -> Parts:
    """Visits cut into kinds of the tree each of which at least k visitors have.

    Kinds that fewer visitors have are not allowed the next time, until there are none.
    """
    allowed = np.ones(tree.page.size, dtype=np.bool_)
    while True:
        parts = cut(walks, tree, allowed)
        crowd = visitors_of(parts.kind, walks.visitor[parts.visit], tree.page.size)
        few = (crowd > 0) & (crowd < k)
        if not few.any():
            return parts
        allowed &= ~few


@jit
def visitors_of(number: Short, owner: Short, size: int) -> Ints:
    """How many different owners have each of `size` numbers; owners ascend, and -1 is no number."""
    count = np.zeros(size, dtype=np.int64)
    last = np.full(size, -1, dtype=np.int32)
    for i in range(number.size):
        n = number[i]
        if n >= 0 and last[n] != owner[i]:
            last[n] = owner[i]
            count[n] += 1
    return count


def _extended(here: Short, last_page: Short, left: Ints, length: int, n_pages: int) -> Ints:
    """Where a sequence of one page more begins whose beginning and end are common: (beginning, last page), else -1."""
    keys = np.full(here.size, -1, dtype=np.int64)
    begins = np.flatnonzero((here[:-1] >= 0) & (left[:-1] > length) & (here[1:] >= 0))
    keys[begins] = here[begins].astype(np.int64) * n_pages + last_page[begins]
    return keys


@jit
def cut(walks: Steps, tree: Tree, allowed: Flags) -> Parts:
    """The parts of all visits: from the left the longest allowed kind."""
    total = walks.page.size
    visit, begin = np.empty(total, dtype=np.int32), np.empty(total, dtype=np.int64)
    length, kind = np.empty(total, dtype=np.int32), np.empty(total, dtype=np.int32)
    parts = 0
    for v in range(walks.start.size - 1):
        i = walks.start[v]
        while i < walks.start[v + 1]:
            node, best, steps = np.int64(-1), np.int64(-1), 1
            j = i
            while j < walks.start[v + 1] and walks.page[j] >= 0:
                node = np.int64(tree.slots[_slot(tree.slots, tree.parent, tree.page, node, np.int64(walks.page[j]))])
                if node < 0:
                    break
                j += 1
                if allowed[node]:
                    best, steps = node, j - i
            if best >= 0:
                visit[parts], begin[parts], length[parts], kind[parts] = v, i, steps, best
                parts += 1
            i += steps
    return Parts(visit[:parts].copy(), begin[:parts].copy(), length[:parts].copy(), kind[:parts].copy())


@jit
def _table(parent: Short, page: Short) -> Short:
    size = 16
    while size < 2 * page.size:
        size *= 2
    slots = np.full(size, -1, dtype=np.int32)
    for node in range(page.size):
        slots[_slot(slots, parent, page, np.int64(parent[node]), np.int64(page[node]))] = node
    return slots


@inlined
def _slot(slots: Short, parent: Short, page: Short, above: np.int64, last: np.int64) -> np.int64:
    """The slot of a kind, or the empty one where it would be."""
    key = (np.uint64(above + 1) << np.uint64(32)) | np.uint64(last)
    place = np.int64(murmur64(key) & np.uint64(slots.size - 1))
    while slots[place] >= 0 and not (parent[slots[place]] == above and page[slots[place]] == last):
        place = next_slot(slots, place)
    return place


# --- small units ----------------------------------------------------------------------------------


@jit
def numbered(new_subject: Flags, new_item: Flags, moment: Ints, most: int, span: int) -> Ints:
    """The number of the unit of each row among those of its subject, from 0 on.

    Rows are sorted by (subject, moment, item); the flags say where subject and item differ from those of the row
    before. A unit holds rows from `moment` of its first one to `span` later, and at most `most` runs of equal items.
    """
    unit = np.zeros(moment.size, dtype=np.int64)
    number, begin, items = np.int64(0), np.int64(0), 0
    for row in range(moment.size):
        if new_subject[row]:
            number, begin, items = np.int64(0), moment[row], 1
        elif moment[row] - begin > span or (new_item[row] and items == most):
            number, begin, items = number + 1, moment[row], 1
        elif new_item[row]:
            items += 1
        unit[row] = number
    return unit
