"""Bags: how often each owner has each of some things, and each of the parts that things are made of.

Owners, things and parts are numbers: users, their distinct queries, and the words of these.

The smallest hash of the words of a text: texts that share words tend to share it (minhash).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.algorithms.kernels._arrays import FNV_START, Bytes, Flags, Ints, Masks, Short, fnv_step, splitmix64, starts
from coterie.algorithms.kernels._jit import jit


class Bags(NamedTuple):
    """The things of each owner."""

    start: Ints
    """Where those of each owner begin, and where those of the last one end."""
    thing: Short
    """Distinct within an owner, sorted."""
    times: Short
    """How often they have it."""


class Parts(NamedTuple):
    """What things are made of."""

    start: Ints
    part: Short
    """A part that a thing has twice stands there twice."""


@jit
def bags(owner: Short, thing: Short, n_owners: int) -> Bags:
    """What each owner has, from one line for each time that somebody has something."""
    start = starts(owner, n_owners)
    at = start[:-1].copy()
    things = np.empty(thing.size, dtype=np.int32)
    for line in range(thing.size):
        things[at[owner[line]]] = thing[line]
        at[owner[line]] += 1
    times = np.empty(thing.size, dtype=np.int32)
    count = 0
    for each in range(n_owners):
        theirs = np.sort(things[start[each] : start[each + 1]])
        start[each] = count
        for place in range(theirs.size):
            if place > 0 and theirs[place] == theirs[place - 1]:
                times[count - 1] += 1
            else:
                things[count], times[count] = theirs[place], 1
                count += 1
    start[n_owners] = count
    return Bags(start, things[:count].copy(), times[:count].copy())


@jit
def owners_of_parts(owners: Ints, owned: Bags, parts: Parts, n_parts: int) -> Ints:
    """How many of these owners have each part; below 0 is no part."""
    counted, last = np.zeros(n_parts, dtype=np.int64), np.full(n_parts, -1, dtype=np.int64)
    for owner in owners:
        for at in range(owned.start[owner], owned.start[owner + 1]):
            thing = owned.thing[at]
            for place in range(parts.start[thing], parts.start[thing + 1]):
                part = parts.part[place]
                if part >= 0 and last[part] != owner:
                    last[part] = owner
                    counted[part] += 1
    return counted


@jit
def owners_with(wanted: Flags, owned: Bags, parts: Parts) -> Flags:
    """Which owners have one of the wanted parts."""
    found = np.zeros(owned.start.size - 1, dtype=np.bool_)
    for owner in range(found.size):
        for at in range(owned.start[owner], owned.start[owner + 1]):
            thing = owned.thing[at]
            for place in range(parts.start[thing], parts.start[thing + 1]):
                if wanted[parts.part[place]]:
                    found[owner] = True
    return found


@jit
def columns_of_owners(
    first: int, last: int, owned: Bags, parts: Parts, column_of_part: Short, width: int
) -> tuple[Ints, Short, Ints]:
    """How often owners first..last-1 have parts: for each the number of its entries, columns in order, how often.

    `column_of_part` is -1 for parts that do not count.
    """
    room = 0
    for at in range(owned.start[first], owned.start[last]):
        room += parts.start[owned.thing[at] + 1] - parts.start[owned.thing[at]]
    column, value = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int64)
    sizes, counted = np.zeros(last - first, dtype=np.int64), np.zeros(width, dtype=np.int64)
    end = 0
    for owner in range(first, last):
        begin = end
        for at in range(owned.start[owner], owned.start[owner + 1]):
            thing = owned.thing[at]
            for place in range(parts.start[thing], parts.start[thing + 1]):
                c = column_of_part[parts.part[place]]
                if c < 0:
                    continue
                if counted[c] == 0:
                    column[end] = c
                    end += 1
                counted[c] += owned.times[at]
        column[begin:end] = np.sort(column[begin:end])
        for entry in range(begin, end):
            value[entry] = counted[column[entry]]
            counted[column[entry]] = 0
        sizes[owner - first] = end - begin
    return sizes, column[:end].copy(), value[:end].copy()


_SPACE = 32


@jit
def smallest_word_hashes(start: Ints, data: Bytes) -> Masks:
    """For each text data[start[i]:start[i+1]] the smallest hash of its words, the largest number where it has none.

    FNV-1a of the bytes of a word, finished as in splitmix64: the same on every machine and in every version.
    """
    result = np.full(start.size - 1, np.uint64(0xFFFFFFFFFFFFFFFF))
    for i in range(start.size - 1):
        at = start[i]
        while at < start[i + 1]:
            value, length = FNV_START, 0
            while at < start[i + 1] and data[at] != _SPACE:
                value = fnv_step(value, data[at])
                length += 1
                at += 1
            at += 1
            if length > 0:
                result[i] = min(result[i], splitmix64(value))
    return result
