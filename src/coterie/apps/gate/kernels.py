"""The table of the gate: who asked for what, as tags, until k people have asked.

A table with open addressing has one entry for each distinct text: the halves of its tag, where its list begins, and
`facts` (USED, OPEN, and the number of distinct people in the list). A list has one node for each (person, day): the
person's tag, which is keyed by the text as well, the day and how many events. Nodes are as small as they can be,
because there are many millions of them: places in 32 bits, days in 16. Where k people are listed on a day, that day is
known to be common, and further events of it are added to a node that is there; so a list stays short.

SipHash-2-4, a hash under a secret key: whoever has no key can neither test a guess nor prepare two equal tags.

J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF" (2012), and its version of 128 bits. Words are
little-endian; the last one holds the bytes that are left over and, in its highest byte, the length.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.algorithms.kernels._arrays import Bytes, Flags, Ints, Masks
from coterie.algorithms.kernels._jit import inlined, jit, uncounted

Small = NDArray[np.uint32]
Days = NDArray[np.uint16]

NOWHERE = np.uint32(0xFFFFFFFF)
USED, OPEN = np.uint32(1 << 31), np.uint32(1 << 30)
MOST_PEOPLE = 0xFFFF
_PEOPLE = np.uint32(MOST_PEOPLE)
ENTRIES, NODES, FREE, UNUSED = 0, 1, 2, 3
"""Places in `book`: how many entries and nodes there are, the first free node (-1: none), and how many are free."""
NOBODY = np.uint64(0)
WHOLE = -1
"""In place of a day: events whose day is not told."""


@inlined
def _place(low: Any, size: Any) -> Any:
    """Where the search for a tag begins: its upper half as a share of the table."""
    return np.int64(((low >> np.uint64(32)) * np.uint64(size)) >> np.uint64(32))


@inlined
def _slot(low: Any, high: Any, lows: Any, highs: Any, facts: Any) -> Any:
    """The slot of a tag, or the empty one where it belongs."""
    at = _place(low, lows.size)
    while facts[at] != 0 and (lows[at] != low or highs[at] != high):
        at += 1
        if at == lows.size:
            at = 0
    return at


@jit
def offer(
    keys: Masks, k: int, most: int, book: Ints,
    lows: Masks, highs: Masks, heads: Small, facts: Small,
    people: Masks, nexts: Small, events: Small, days: Days,
    item_start: Ints, item_data: Bytes, user_start: Ints, user_data: Bytes, named: Flags, day: Days,
    first: int, last: int, crossed: Ints,
) -> tuple[int, int]:  # fmt: skip
    """Count the events first..last-1. Returns how far it came, and how many of them bring a text that is wanted.

    It stops where the table has `most` entries, or where no node is left: then either has to grow. `crossed` holds the
    events whose text is wanted: they made their entry OPEN, or are the first of an open entry since it was taken.
    `keys`: two words for tags of texts, two for those of people.
    """
    found = 0
    for i in range(first, last):
        if book[ENTRIES] >= most or (book[NODES] == people.size and book[FREE] < 0):
            return i, found
        low, high = siphash_128(keys[0], keys[1], item_data, item_start[i], item_start[i + 1])
        person = NOBODY
        if named[i]:
            person = siphash_behind(keys[2], keys[3], low, high, user_data, user_start[i], user_start[i + 1])
            if person == NOBODY:
                person = np.uint64(1)
        at = _slot(low, high, lows, highs, facts)
        if facts[at] == 0:
            lows[at], highs[at], heads[at], facts[at] = low, high, NOWHERE, USED
            book[ENTRIES] += 1
        node, today, on_day, known = heads[at], day[i], 0, False
        while node != NOWHERE:
            if days[node] == today:
                on_day += people[node] != NOBODY
                if people[node] == person or on_day >= k:
                    events[node] += np.uint32(1)
                    break
            known |= people[node] == person
            node = nexts[node]
        if node != NOWHERE:
            continue
        if book[FREE] >= 0:
            node = np.uint32(book[FREE])
            book[FREE] = -1 if nexts[node] == NOWHERE else np.int64(nexts[node])
            book[UNUSED] -= 1
        else:
            node = np.uint32(book[NODES])
            book[NODES] += 1
        wanted = facts[at] & OPEN and heads[at] == NOWHERE
        people[node], nexts[node], events[node], days[node] = person, heads[at], np.uint32(1), today
        heads[at] = node
        if person != NOBODY and not known and (facts[at] & _PEOPLE) < _PEOPLE:
            facts[at] += np.uint32(1)
            if (facts[at] & _PEOPLE) >= k and not facts[at] & OPEN:
                facts[at] |= OPEN
                wanted = True
        if wanted:
            crossed[found] = i
            found += 1
    return last, found


@jit
def moved(
    lows: Masks, highs: Masks, heads: Small, facts: Small, size: int
) -> tuple[Masks, Masks, Small, Small]:  # fmt: skip
    """The same entries in a table of another size."""
    # Zeros, also in empty slots: a snapshot has whole arrays, and memory that was used before may hold lines of a log.
    to_low, to_high = np.zeros(size, np.uint64), np.zeros(size, np.uint64)
    to_head, to_facts = np.zeros(size, np.uint32), np.zeros(size, np.uint32)
    for i in range(lows.size):
        if facts[i] != 0:
            at = _slot(lows[i], highs[i], to_low, to_high, to_facts)
            to_low[at], to_high[at], to_head[at], to_facts[at] = lows[i], highs[i], heads[i], facts[i]
    return to_low, to_high, to_head, to_facts


@inlined
def _is_due(fact: Any, head: Any, k: Any, rest: Any) -> Any:
    """Whether an entry has events to give: k people are behind them, or `rest` is to be given as well."""
    return (fact & OPEN) != 0 and head != NOWHERE and (rest or (fact & _PEOPLE) >= k)


@jit
def count_due(heads: Small, facts: Small, nexts: Small, k: int, rest: bool) -> tuple[int, int]:
    """How many entries are due, and how many nodes they have."""
    entries, nodes = 0, 0
    for at in range(heads.size):
        if _is_due(facts[at], heads[at], k, rest):
            entries += 1
            node = heads[at]
            while node != NOWHERE:
                nodes += 1
                node = nexts[node]
    return entries, nodes


@inlined
def _forget(node: Any, people: Any, nexts: Any, events: Any, days: Any) -> None:
    """Wipe the nodes of a list: a snapshot has free nodes, too, and who asked is not needed any more."""
    while node != NOWHERE:
        people[node], events[node], days[node] = NOBODY, np.uint32(0), np.uint16(0)
        node = nexts[node]


@jit
def take_due(
    k: int, rest: bool, book: Ints,
    lows: Masks, highs: Masks, heads: Small, facts: Small,
    people: Masks, nexts: Small, events: Small, days: Days,
    low: Masks, high: Masks, crowd: Flags, entry: Ints, day: Ints, count: Ints,
) -> int:  # fmt: skip
    """Take the events of all entries that are due. Returns how many lines `entry`, `day` and `count` got.

    `low`, `high` and `crowd` are those of the entries: their tags, and whether k people are behind them. A line is told
    its day where k people are listed on it; all others of an entry are one line, with WHOLE for its day. The entries
    stay, open and without a list.
    """
    lines, place = 0, 0
    for at in range(heads.size):
        if not _is_due(facts[at], heads[at], k, rest):
            continue
        low[place], high[place] = lows[at], highs[at]
        crowd[place] = (facts[at] & _PEOPLE) >= k
        whole, first, node, last = 0, lines, heads[at], heads[at]
        while node != NOWHERE:
            others, on_day = heads[at], 0
            while others != NOWHERE:
                on_day += days[others] == days[node] and people[others] != NOBODY
                others = nexts[others]
            if on_day < k:
                whole += int(events[node])
            else:
                line = first
                while line < lines and day[line] != days[node]:
                    line += 1
                if line == lines:
                    entry[line], day[line], count[line] = place, np.int64(days[node]), 0
                    lines += 1
                count[line] += np.int64(events[node])
            book[UNUSED] += 1
            last, node = node, nexts[node]
        _forget(heads[at], people, nexts, events, days)
        if whole:
            entry[lines], day[lines], count[lines] = place, WHOLE, whole
            lines += 1
        nexts[last] = NOWHERE if book[FREE] < 0 else np.uint32(book[FREE])
        book[FREE] = np.int64(heads[at])
        heads[at] = NOWHERE
        facts[at] = USED | OPEN
        place += 1
    return lines


@jit
def laid_out(
    heads: Small, people: Masks, nexts: Small, events: Small, days: Days, facts: Small, total: int
) -> tuple[Small, Masks, Small, Small, Days]:  # fmt: skip
    """Heads and nodes with lists one behind the other, by the slots of their entries, which follow from tags alone.

    Nodes are used in the order in which people asked, so that neighbours are often of one person; and those that are
    free are left out.
    """
    to_head, to_next = np.full(heads.size, NOWHERE, np.uint32), np.full(total, NOWHERE, np.uint32)
    to_people, to_events, to_days = np.empty(total, np.uint64), np.empty(total, np.uint32), np.empty(total, np.uint16)
    place = 0
    for at in range(heads.size):
        node = heads[at] if facts[at] != 0 else NOWHERE
        if node != NOWHERE:
            to_head[at] = np.uint32(place)
        while node != NOWHERE:
            to_people[place], to_events[place], to_days[place] = people[node], events[node], days[node]
            node = nexts[node]
            place += 1
            if node != NOWHERE:
                to_next[place - 1] = np.uint32(place)
    return to_head, to_people, to_next, to_events, to_days


def census(facts: Small) -> tuple[int, int]:
    """How many entries are held, and how many are open."""
    opened = int(np.count_nonzero(facts & OPEN))
    return int(np.count_nonzero(facts)) - opened, opened


@jit
def owners(heads: Small, facts: Small, people: Masks, nexts: Small, share: int) -> tuple[Masks, Ints]:
    """The tags of people in lists, of which one in `share` is chosen by the tag, and the slot of their entry."""
    total = 0
    for fill in range(2):
        if fill:
            tag, slot = np.empty(total, np.uint64), np.empty(total, np.int64)
        total = 0
        for at in range(heads.size):
            node = heads[at] if facts[at] != 0 else NOWHERE
            while node != NOWHERE:
                if people[node] != NOBODY and people[node] % np.uint64(share) == 0:
                    if fill:
                        tag[total], slot[total] = people[node], at
                    total += 1
                node = nexts[node]
    return tag, slot


_START = (
    np.uint64(0x736F6D6570736575),
    np.uint64(0x646F72616E646F6D),
    np.uint64(0x6C7967656E657261),
    np.uint64(0x7465646279746573),
)
_WIDE, _FIRST, _SECOND, _NARROW = np.uint64(0xEE), np.uint64(0xEE), np.uint64(0xDD), np.uint64(0xFF)


@inlined
def _turned(value: Any, by: Any) -> Any:
    return (value << np.uint64(by)) | (value >> np.uint64(64 - by))


@inlined
def _round(v0: Any, v1: Any, v2: Any, v3: Any) -> Any:
    """One SipRound."""
    v0 = v0 + v1
    v1 = _turned(v1, 13) ^ v0
    v0 = _turned(v0, 32)
    v2 = v2 + v3
    v3 = _turned(v3, 16) ^ v2
    v0 = v0 + v3
    v3 = _turned(v3, 21) ^ v0
    v2 = v2 + v1
    v1 = _turned(v1, 17) ^ v2
    v2 = _turned(v2, 32)
    return v0, v1, v2, v3


@inlined
def _word_in(v0: Any, v1: Any, v2: Any, v3: Any, word: Any) -> Any:
    """One word of the text: two rounds."""
    v0, v1, v2, v3 = _round(v0, v1, v2, v3 ^ word)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return v0 ^ word, v1, v2, v3


@inlined
def _bytes_in(v0: Any, v1: Any, v2: Any, v3: Any, data: Any, start: Any, end: Any, before: Any) -> Any:
    """The words of data[start:end], which `before` other bytes preceded."""
    at = start
    while at + 8 <= end:
        word = np.uint64(0)
        for i in range(8):
            word |= np.uint64(data[at + i]) << np.uint64(8 * i)
        v0, v1, v2, v3 = _word_in(v0, v1, v2, v3, word)
        at += 8
    word = np.uint64((before + end - start) & 255) << np.uint64(56)
    place = 0
    while at < end:
        word |= np.uint64(data[at]) << np.uint64(8 * place)
        at += 1
        place += 1
    return _word_in(v0, v1, v2, v3, word)


@inlined
def _four_rounds(v0: Any, v1: Any, v2: Any, v3: Any) -> Any:
    for _ in range(4):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return v0, v1, v2, v3


@uncounted
def siphash_128(key: Any, other: Any, data: Any, start: Any, end: Any) -> Any:
    """The two halves of the tag of data[start:end] under the key (key, other), the low one first."""
    v0, v1, v2, v3 = _START[0] ^ key, _START[1] ^ other ^ _WIDE, _START[2] ^ key, _START[3] ^ other
    v0, v1, v2, v3 = _bytes_in(v0, v1, v2, v3, data, start, end, 0)
    v0, v1, v2, v3 = _four_rounds(v0, v1, v2 ^ _FIRST, v3)
    low = v0 ^ v1 ^ v2 ^ v3
    v0, v1, v2, v3 = _four_rounds(v0, v1 ^ _SECOND, v2, v3)
    return low, v0 ^ v1 ^ v2 ^ v3


@uncounted
def siphash_behind(key: Any, other: Any, low: Any, high: Any, data: Any, start: Any, end: Any) -> Any:
    """The tag of 64 bits of a tag (low, high) and data[start:end] behind it."""
    v0, v1, v2, v3 = _START[0] ^ key, _START[1] ^ other, _START[2] ^ key, _START[3] ^ other
    v0, v1, v2, v3 = _word_in(v0, v1, v2, v3, low)
    v0, v1, v2, v3 = _word_in(v0, v1, v2, v3, high)
    v0, v1, v2, v3 = _bytes_in(v0, v1, v2, v3, data, start, end, 16)
    v0, v1, v2, v3 = _four_rounds(v0, v1, v2 ^ _NARROW, v3)
    return v0 ^ v1 ^ v2 ^ v3


@jit
def tags(key: Masks, start: Ints, data: Bytes) -> tuple[Masks, Masks]:
    """The halves of the tags of the texts data[start[i]:start[i+1]]."""
    low, high = np.empty(start.size - 1, np.uint64), np.empty(start.size - 1, np.uint64)
    for i in range(start.size - 1):
        low[i], high[i] = siphash_128(key[0], key[1], data, start[i], start[i + 1])
    return low, high
