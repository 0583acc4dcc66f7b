"""The kinds of arrays that kernels take and give, and lists of numbers as two arrays.

Hashes of our own, in whole numbers: the same on every machine and in every version.

How kernels that can work in parts are given threads: they know none themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.algorithms.kernels._jit import inlined, jit

Ints = NDArray[np.int64]
Short = NDArray[np.int32]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Masks = NDArray[np.uint64]
Bytes = NDArray[np.uint8]


# --- lists ------------------------------------------------------------------------------------------


class Lists(NamedTuple):
    """A list for each of some things, one behind the other: items[start[i]:start[i + 1]] are those of i."""

    start: Ints
    items: Any
    """Whole numbers, often Short."""

    def of(self, thing: int) -> Any:
        """The list of one of them; not for kernels."""
        return self.items[self.start[thing] : self.start[thing + 1]]


def taken(start: Ints, which: Ints | Short) -> tuple[Ints, Ints]:
    """The lists of some things one behind the other: where each begins then, and where all its items stood before."""
    sizes = start[which + 1] - start[which]
    begin = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return begin, np.repeat(start[which] - begin[:-1], sizes) + np.arange(begin[-1])


@jit
def starts(numbers: Any, n: int) -> Ints:
    """Where the list of each of n numbers begins if things are sorted by their numbers; below 0 is no number."""
    start = np.zeros(n + 1, dtype=np.int64)
    for number in numbers:
        if number >= 0:
            start[number + 1] += 1
    for number in range(n):
        start[number + 1] += start[number]
    return start


@jit
def places_by(numbers: Any, n: int) -> Any:
    """Where each of n numbers stands, as lists of ascending places of the same type as the numbers."""
    start = starts(numbers, n)
    at, places = start[:-1].copy(), np.empty(start[n], dtype=numbers.dtype)
    for place in range(numbers.size):
        number = numbers[place]
        if number >= 0:
            places[at[number]] = place
            at[number] += 1
    return Lists(start, places)


@jit
def owners_by(lists: Lists, n: int) -> Lists:
    """Whose lists have each of n numbers, ascending, once for each time; below 0 is no number."""
    start = starts(lists.items, n)
    at, owners = start[:-1].copy(), np.empty(start[n], dtype=np.int32)
    for owner in range(lists.start.size - 1):
        for number in lists.items[lists.start[owner] : lists.start[owner + 1]]:
            if number >= 0:
                owners[at[number]] = owner
                at[number] += 1
    return Lists(start, owners)


@inlined
def enter(d: float, x: int, best: Floats, nearest: Ints) -> None:
    """Put x at distance d into the list of the nearest, which has a fixed length; ties go to the smallest number."""
    at = best.size - 1
    if d > best[at] or (d == best[at] and x > nearest[at]):
        return
    while at > 0 and (d < best[at - 1] or (d == best[at - 1] and x < nearest[at - 1])):
        best[at], nearest[at] = best[at - 1], nearest[at - 1]
        at -= 1
    best[at], nearest[at] = d, x


# --- hashes -----------------------------------------------------------------------------------------


FNV_START = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(0x100000001B3)


@inlined
def fnv_step(value: Any, byte: Any) -> Any:
    """One byte more of FNV-1a, which begins with FNV_START."""
    return (value ^ np.uint64(byte)) * _FNV_PRIME


@inlined
def splitmix64(value: Any) -> Any:
    """The finalizer of splitmix64: every bit of the result depends on every bit of the value."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


STEP = np.uint64(0x9E3779B97F4A7C15)
"""Between the numbers of a stream, whose finalizers are its random words."""


@inlined
def share_of(word: Any) -> float:
    """A random word as a number of at least 0 and below 1."""
    return np.float64(word >> np.uint64(11)) * 2.0**-53


@inlined
def murmur64(value: Any) -> Any:
    """The finalizer of MurmurHash3, for places in the tables of n-grams."""
    value = (value ^ (value >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    value = (value ^ (value >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return value ^ (value >> np.uint64(33))


@inlined
def next_slot(slots: Any, place: Any) -> np.int64:
    """The slot after a slot in a hash table whose size is a power of two."""
    return np.int64(np.uint64(place + 1) & np.uint64(slots.size - 1))


# --- threads ----------------------------------------------------------------------------------------


SideBySide = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]
"""Runs work on each of some parts, in their order or in threads; the results are in the order of the parts."""


def one_after_the_other(work: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
    """Without threads."""
    return [work(part) for part in parts]
