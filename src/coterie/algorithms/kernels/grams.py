"""Words and n-grams of distinct queries as numbers, and how many users and events have them (paper 001).

Queries are numbered 0..n-1. Their text is one array of UTF-8 bytes, `text[start[q]:start[q + 1]]`; their tokens stand
side by side, `tokens[token_start[q]:token_start[q + 1]]`; an n-gram has the position of its first token. Numbers are
given in order of first appearance. Two words are the same if their bytes are: the hash only says where to look.
"""

from __future__ import annotations

import numpy as np

from coterie.algorithms.kernels._arrays import (
    FNV_START,
    Bytes,
    Ints,
    Lists,
    Masks,
    Short,
    fnv_step,
    murmur64,
    next_slot,
    owners_by,
)
from coterie.algorithms.kernels._jit import inlined, jit

NO_TIME = np.iinfo(np.int64).min
_FEW = 24  # up to this many numbers are sorted by insertion
_SPACE = 32


@jit
def people(start: Ints, user: Short, time: Ints) -> tuple[Ints, Ints, Short]:
    """Events of each query, and its distinct users: `users[user_start[q]:user_start[q + 1]]`, ascending.

    The rows of query q are start[q]..start[q + 1]; they are sorted in place. An event is a distinct (user, time); rows
    without a time are events of their own.
    """
    n = start.size - 1
    events = np.zeros(n, dtype=np.int64)
    user_start = np.zeros(n + 1, dtype=np.int64)
    users = np.empty(user.size, dtype=np.int32)
    at = 0
    for q in range(n):
        first, last = start[q], start[q + 1]
        if last - first > _FEW:
            order = np.argsort(time[first:last], kind="mergesort")
            by_time = user[first:last][order]
            times = time[first:last][order]
            order = np.argsort(by_time, kind="mergesort")
            user[first:last] = by_time[order]
            time[first:last] = times[order]
        else:
            for i in range(first + 1, last):
                u, t, j = user[i], time[i], i
                while j > first and (user[j - 1] > u or (user[j - 1] == u and time[j - 1] > t)):
                    user[j], time[j] = user[j - 1], time[j - 1]
                    j -= 1
                user[j], time[j] = u, t
        for i in range(first, last):
            other = i == first or user[i] != user[i - 1]
            if other:
                users[at] = user[i]
                at += 1
            if other or time[i] != time[i - 1] or time[i] == NO_TIME:
                events[q] += 1
        user_start[q + 1] = at
    return events, user_start, users[:at].copy()


@jit
def words(text: Bytes, start: Ints) -> tuple[Ints, Short, int]:
    """token_start, tokens (numbers of words) and the number of words; words are what stands between spaces."""
    n = start.size - 1
    token_start = np.zeros(n + 1, dtype=np.int64)
    for q in range(n):
        count = 0
        for i in range(start[q], start[q + 1]):
            if text[i] != _SPACE and (i == start[q] or text[i - 1] == _SPACE):
                count += 1
        token_start[q + 1] = token_start[q] + count
    tokens = np.empty(token_start[n], dtype=np.int32)
    capacity = 1 << 12
    slots = np.zeros(capacity, dtype=np.uint64)  # upper half of the hash, then number of the word + 1
    begin = np.empty(capacity // 2, dtype=np.int64)  # where a word stands in the text
    end = np.empty(capacity // 2, dtype=np.int64)
    n_words = 0
    for q in range(n):
        at, i = token_start[q], start[q]
        while i < start[q + 1]:
            if text[i] == _SPACE:
                i += 1
                continue
            first = i
            while i < start[q + 1] and text[i] != _SPACE:
                i += 1
            key = _hash(text, first, i)
            place = _place(slots, key, text, first, i, begin, end)
            if slots[place] == 0:
                if n_words == begin.size:  # half full: a table twice as large
                    slots = np.zeros(2 * slots.size, dtype=np.uint64)
                    begin = np.append(begin, np.empty(begin.size, dtype=np.int64))
                    end = np.append(end, np.empty(end.size, dtype=np.int64))
                    for w in range(n_words):
                        old = _hash(text, begin[w], end[w])
                        slots[_free(slots, old)] = _slot(old, w)
                    place = _free(slots, key)
                slots[place] = _slot(key, n_words)
                begin[n_words], end[n_words] = first, i
                n_words += 1
            tokens[at] = np.int64(slots[place] & np.uint64(0xFFFFFFFF)) - 1
            at += 1
    return token_start, tokens, n_words


@inlined
def _hash(text: Bytes, first: int, last: int) -> np.uint64:
    """FNV-1a with a final mix."""
    value = FNV_START
    for i in range(first, last):
        value = fnv_step(value, text[i])
    return np.uint64(murmur64(value))


@inlined
def _slot(key: np.uint64, number: int) -> np.uint64:
    return (key & np.uint64(0xFFFFFFFF00000000)) | np.uint64(number + 1)


@inlined
def _free(slots: Masks, key: np.uint64) -> np.int64:
    """The first empty slot for a key that is not in the table."""
    place = np.int64(key & np.uint64(slots.size - 1))
    while slots[place] != 0:
        place = next_slot(slots, place)
    return place


@inlined
def _place(slots: Masks, key: np.uint64, text: Bytes, first: int, last: int, begin: Ints, end: Ints) -> np.int64:
    """The slot that holds the word text[first:last], or the empty one where it belongs."""
    place = np.int64(key & np.uint64(slots.size - 1))
    while slots[place] != 0:
        slot = slots[place]
        if slot >> np.uint64(32) == key >> np.uint64(32):
            w = np.int64(slot & np.uint64(0xFFFFFFFF)) - 1
            if end[w] - begin[w] == last - first:
                i = 0
                while i < last - first and text[begin[w] + i] == text[first + i]:
                    i += 1
                if i == last - first:
                    return place
        place = next_slot(slots, place)
    return place


@jit
def pairs(token_start: Ints, part: Short, n_parts: int) -> tuple[Short, Ints]:
    """Numbers of the n-grams that consist of two neighbouring parts, by position, and n_parts * left + right of each.

    `part[i]` is a number below n_parts or -1 for none. With words as parts the n-grams are bigrams, with bigrams
    they are trigrams.
    """
    gram = np.full(part.size, -1, dtype=np.int32)
    capacity = 1 << 12
    slots = np.full(capacity, -1, dtype=np.int32)
    keys = np.empty(capacity // 2, dtype=np.int64)
    n_grams = 0
    for q in range(token_start.size - 1):
        for i in range(token_start[q], token_start[q + 1] - 1):
            if part[i] < 0 or part[i + 1] < 0:
                continue
            key = np.int64(part[i]) * n_parts + part[i + 1]
            place = _seek(slots, keys, key)
            if slots[place] < 0:
                if n_grams == keys.size:
                    slots = np.full(2 * slots.size, -1, dtype=np.int32)
                    keys = np.append(keys, np.empty(keys.size, dtype=np.int64))
                    for g in range(n_grams):
                        slots[_seek(slots, keys, keys[g])] = g
                    place = _seek(slots, keys, key)
                slots[place] = n_grams
                keys[n_grams] = key
                n_grams += 1
            gram[i] = slots[place]
    return gram, keys[:n_grams].copy()


@inlined
def _seek(slots: Short, keys: Ints, key: int) -> np.int64:
    place = np.int64(murmur64(np.uint64(key)) & np.uint64(slots.size - 1))
    while slots[place] >= 0 and keys[slots[place]] != key:
        place = next_slot(slots, place)
    return place


@jit
def tally(
    token_start: Ints, gram: Short, n_grams: int, events: Ints, users: Lists, n_users: int, enough: int
) -> tuple[Short, Ints, Ints, Short]:
    """For each n-gram: distinct users (counted up to `enough`), occurrences, events containing it, and queries.

    `gram[i]` is the number of the n-gram at position i, or -1. Queries are visited n-gram by n-gram, and a stamp on
    each user says for which n-gram they were counted last.
    """
    queries = np.zeros(n_grams, dtype=np.int32)
    begin, having = owners_by(Lists(token_start, gram), n_grams)
    owners = np.zeros(n_grams, dtype=np.int32)
    occurrences = np.zeros(n_grams, dtype=np.int64)
    containing = np.zeros(n_grams, dtype=np.int64)
    stamp = np.full(n_users, -1, dtype=np.int32)
    for g in range(n_grams):
        before = -1
        for i in range(begin[g], begin[g + 1]):
            q = having[i]
            occurrences[g] += events[q]
            if q == before:
                continue
            before = q
            queries[g] += 1
            containing[g] += events[q]
            if owners[g] >= enough:
                continue
            for u in users.items[users.start[q] : users.start[q + 1]]:
                if stamp[u] != g:
                    stamp[u] = g
                    owners[g] += 1
    return owners, occurrences, containing, queries
