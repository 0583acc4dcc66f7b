"""Phrases: runs of words that enough users have, queries cut into them, and the common profile of several users.

Queries are stretches of words (numbers), users are stretches of queries. A run of n words is frequent only if both runs
of n - 1 words in it are, so runs are counted length by length, and of each length only what can be frequent.

    cut        a query that m users typed stays whole; of any other, the longest frequent run (of several, the one with
               the fewest users; of several, the first), then what is left and right of it likewise
    profile    the mean of the members' shares of each phrase, every member weighing the same; round(mean number of the
               members' phrases, half up) rows are filled by largest remainders. Shares are whole numbers of 2^-40, and
               remainders that round to the same 2^-20 of a row are equal: a tie, which the seed decides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.algorithms.kernels._arrays import Flags, Ints, Short
from coterie.algorithms.kernels._jit import jit
from coterie.algorithms.kernels.bags import Bags, Parts, owners_of_parts
from coterie.algorithms.kernels.mdav import sorting

LONGEST = 6
"""Most words of a phrase; queries that stay whole may have more."""
NOBODY, SEVERAL = -1, -2
_SHARE_BITS = 40
_REST = 2**20


class Queries(NamedTuple):
    """The words of distinct queries, and who typed them how often."""

    start: Ints
    """Where the words of each query begin, and where the last one ends."""
    word: Short
    """The number of each word, another one where it follows the word before it without a space."""
    first: Short
    """The same as if a text began there."""
    stop: Flags
    """Whether a phrase may neither begin nor end with it."""
    user_start: Ints
    """Where the queries of each user begin."""
    typed: Short
    """The distinct queries of each user."""
    times: Short
    """How often each was typed."""


class Runs(NamedTuple):
    """Frequent runs of words."""

    number: Short
    """By length - 1 and first word: the number of the run, or -1."""
    users: Ints
    """How many users have each."""


class Cuts(NamedTuple):
    """The phrases of each query."""

    start: Ints
    phrase: Short
    query: Short
    """Of each phrase number: a query that has it,"""
    begin: Short
    """its first word, counted from the beginning of the query,"""
    length: Short
    """and how many words it has; 0 where no query was cut into it."""


def frequent_runs(queries: Queries, m: int) -> Runs:
    """The runs of up to LONGEST words that at least m users have."""
    total = queries.word.size
    levels, users, base = [], [], 0
    everybody = np.arange(queries.user_start.size - 1)
    asked = Bags(queries.user_start, queries.typed, queries.times)
    candidate, n_candidates = queries.first, int(queries.first.max(initial=-1)) + 1
    for length in range(1, LONGEST + 1):
        counted = owners_of_parts(everybody, asked, Parts(queries.start, candidate), n_candidates)
        is_frequent = counted >= m
        if not is_frequent.any():
            break
        dense = np.where(is_frequent, np.cumsum(is_frequent) - 1, -1).astype(np.int32)
        level = np.full(total, -1, dtype=np.int32)
        known = candidate >= 0
        level[known] = dense[candidate[known]]
        levels.append(np.where(level >= 0, level + base, -1).astype(np.int32))
        users.append(counted[is_frequent])
        base += users[-1].size
        keys = pairs_of_runs(level, length, queries)
        places = np.flatnonzero(keys >= 0)
        if places.size == 0:
            break
        distinct, which = np.unique(keys[places], return_inverse=True)
        candidate, n_candidates = np.full(total, -1, dtype=np.int32), distinct.size
        candidate[places] = which
    if not levels:
        return Runs(np.full((1, total), -1, dtype=np.int32), np.zeros(0, dtype=np.int64))
    return Runs(np.stack(levels), np.concatenate(users))


@jit
def pairs_of_runs(level: Short, length: int, queries: Queries) -> Ints:
    """For each word the run of one word more that begins there, as (run, further word); -1 where it is not frequent."""
    keys = np.full(level.size, -1, dtype=np.int64)
    for query in range(queries.start.size - 1):
        for word in range(queries.start[query], queries.start[query + 1] - length):
            if level[word] >= 0 and level[word + 1] >= 0:
                keys[word] = (np.int64(level[word]) << 32) | np.int64(queries.word[word + length])
    return keys


@jit
def cut(queries: Queries, runs: Runs, m: int) -> Cuts:
    """The phrases of each query. Whole queries of more words than runs have get numbers of their own."""
    n = queries.start.size - 1
    typers = np.zeros(n, dtype=np.int64)
    for query in queries.typed:
        typers[query] += 1
    n_runs = runs.users.size
    start, phrase = np.zeros(n + 1, dtype=np.int64), np.empty(queries.word.size, dtype=np.int32)
    of_query = np.zeros(n_runs + n, dtype=np.int32)
    begin, length = np.zeros(n_runs + n, dtype=np.int32), np.zeros(n_runs + n, dtype=np.int32)
    count = 0
    todo = np.empty((queries.word.size + 1, 2), dtype=np.int64)
    for query in range(n):
        first, last = queries.start[query], queries.start[query + 1]
        if typers[query] >= m:
            words = last - first
            number = runs.number[words - 1, first] if words <= runs.number.shape[0] else n_runs + query
            of_query[number], begin[number], length[number] = query, 0, words
            phrase[count] = number
            count += 1
        else:
            open_parts = 1
            todo[0, 0], todo[0, 1] = first, last
            while open_parts:
                open_parts -= 1
                a, b = todo[open_parts, 0], todo[open_parts, 1]
                words, at = longest_run(a, b, queries, runs)
                if words == 0:
                    continue
                number = runs.number[words - 1, at]
                of_query[number], begin[number], length[number] = query, at - first, words
                phrase[count] = number
                count += 1
                for x, y in ((a, at), (at + words, b)):
                    if y > x:
                        todo[open_parts, 0], todo[open_parts, 1] = x, y
                        open_parts += 1
        start[query + 1] = count
    return Cuts(start, phrase[:count].copy(), of_query, begin, length)


@jit
def longest_run(a: int, b: int, queries: Queries, runs: Runs) -> tuple[int, int]:
    """Length and first word of the run to take from the words a..b; length 0 where there is none."""
    for words in range(min(runs.number.shape[0], b - a), 0, -1):
        best = at = -1
        for word in range(a, b - words + 1):
            run = runs.number[words - 1, word]
            if run < 0 or queries.stop[word] or queries.stop[word + words - 1]:
                continue
            if best < 0 or runs.users[run] < best:
                best, at = runs.users[run], word
        if best >= 0:
            return words, at
    return 0, -1


def numbers_of_phrases(queries: Queries, cuts: Cuts) -> Ints:
    """How many phrases the rows of each user have together."""
    phrases = np.cumsum(queries.times * np.diff(cuts.start)[queries.typed])
    return np.diff(np.append(0, phrases)[queries.user_start])


@jit
def profiles(
    members: Ints, group_start: Ints, totals: Ints, tie: Ints, queries: Queries, cuts: Cuts
) -> tuple[Ints, Short, Short]:
    """Where the profile of each group begins, its distinct phrases, and how often each stands there.

    Groups are stretches of `members`; `tie` is the place of each phrase in the order that decides between equals. A
    profile to which fewer than two members give something is empty.
    """
    n_groups = group_start.size - 1
    start, sizes = np.zeros(n_groups + 1, dtype=np.int64), np.zeros(n_groups, dtype=np.int64)
    for group in range(n_groups):
        own = totals[members[group_start[group] : group_start[group + 1]]]
        sizes[group] = (2 * own.sum() + own.size) // (2 * own.size)
    phrase, copies = np.empty(sizes.sum(), dtype=np.int32), np.empty(sizes.sum(), dtype=np.int32)
    share, owner = np.zeros(tie.size, dtype=np.int64), np.full(tie.size, NOBODY, dtype=np.int64)
    own_rows, met = np.zeros(tie.size, dtype=np.int64), np.empty(tie.size, dtype=np.int64)
    count = 0
    for group in range(n_groups):
        ours = members[group_start[group] : group_start[group + 1]]
        unit = np.int64(1) << _bits(sizes[group] * ours.size)
        seen, giving = _add_shares(ours, unit, totals, queries, cuts, share, owner, own_rows, met)
        if giving > 1:
            chosen, number = _largest_remainders(sizes[group], giving, unit, share, tie, met[:seen])
            if _several_owners(chosen, owner):
                phrase[count : count + chosen.size] = chosen
                copies[count : count + chosen.size] = number
                count += chosen.size
        for at in range(seen):
            share[met[at]], owner[met[at]] = 0, NOBODY
        start[group + 1] = count
    return start, phrase[:count].copy(), copies[:count].copy()


@jit
def _bits(rows: int) -> int:
    """How finely shares are counted, so that a number of rows times a share fits into 63 bits."""
    bits = 61
    while rows > 0:
        rows >>= 1
        bits -= 1
    return min(_SHARE_BITS, bits)


@jit
def _add_shares(
    group: Ints, unit: np.int64, totals: Ints, queries: Queries, cuts: Cuts, share: Ints, owner: Ints, own_rows: Ints,
    met: Ints,
) -> tuple[int, int]:  # fmt: skip
    """Add the members' shares of each phrase; returns how many phrases were met, and how many members have one.

    `owner` of a phrase becomes the one member who has it, or SEVERAL.
    """
    seen = giving = 0
    for member in group:
        if totals[member] == 0:
            continue
        giving += 1
        for step in range(2):  # the first time each phrase is counted, the second time its share is added
            for place in range(queries.user_start[member], queries.user_start[member + 1]):
                query = queries.typed[place]
                for at in range(cuts.start[query], cuts.start[query + 1]):
                    number = cuts.phrase[at]
                    if step == 0:
                        own_rows[number] += queries.times[place]
                    elif own_rows[number] > 0:
                        if owner[number] == NOBODY:
                            met[seen] = number
                            seen += 1
                            owner[number] = member
                        else:
                            owner[number] = SEVERAL
                        share[number] += (own_rows[number] * unit + totals[member] // 2) // totals[member]
                        own_rows[number] = 0
    return seen, giving


@jit
def _largest_remainders(
    size: int, giving: int, unit: np.int64, share: Ints, tie: Ints, met: Ints
) -> tuple[Ints, Ints]:  # fmt: skip
    """The phrases with at least one row, and how many rows each has."""
    rows, rank = np.empty(met.size, dtype=np.int64), np.empty(met.size, dtype=np.int64)
    for at in range(met.size):
        wanted = size * share[met[at]]
        rows[at] = wanted // (giving * unit)
        rest = (wanted - rows[at] * giving * unit) / (giving * unit)
        rank[at] = (_REST - np.int64(np.floor(rest * _REST + 0.5))) * tie.size + tie[met[at]]
    for at in sorting(rank)[: max(0, size - rows.sum())]:
        rows[at] += 1
    taken = np.flatnonzero(rows > 0)
    return met[taken], rows[taken]


@jit
def _several_owners(chosen: Ints, owner: Ints) -> bool:
    """Whether more than one member has some of the chosen phrases."""
    owners = owner[chosen]
    return bool(np.any(owners == SEVERAL) or np.any(owners != owners[0]))
