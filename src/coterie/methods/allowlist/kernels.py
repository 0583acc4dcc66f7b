"""Which words, and which sets of words, enough users typed together in one query.

Where a query has k users by itself, each set of its words has k users, and who they are is never looked at. Only
queries of fewer users have to be counted together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.algorithms.kernels._arrays import Flags, Ints, Lists, Short
from coterie.algorithms.kernels._jit import inlined, jit

_ENOUGH = np.int64(0xFFFFFFFF)  # stands for the users of a query that has k by itself


class People(NamedTuple):
    """The distinct users of query q: users[start[q]:start[q + 1]]; and whether they are enough by themselves."""

    start: Ints
    users: Short
    enough: Flags


@jit
def distinct(token_start: Ints, tokens: Short) -> Lists:
    """The distinct words of each query, ascending."""
    n = token_start.size - 1
    start = np.zeros(n + 1, dtype=np.int64)
    words = np.empty(tokens.size, dtype=np.int32)
    at = 0
    for q in range(n):
        sorted_tokens = np.sort(tokens[token_start[q] : token_start[q + 1]])
        for i in range(sorted_tokens.size):
            if i == 0 or sorted_tokens[i] != sorted_tokens[i - 1]:
                words[at] = sorted_tokens[i]
                at += 1
        start[q + 1] = at
    return Lists(start, words[:at].copy())


@jit
def crowded_words(having: Lists, people: People, n_users: int, k: int) -> Flags:
    """Which words at least k users typed."""
    n_words = having.start.size - 1
    crowded = np.zeros(n_words, dtype=np.bool_)
    last = np.full(n_users, -1, dtype=np.int32)  # the last word that a user was counted for
    for word in range(n_words):
        count = 0
        for q in having.items[having.start[word] : having.start[word + 1]]:
            count = k if people.enough[q] else _counted(word, q, people, last, count)
            if count >= k:
                crowded[word] = True
                break
    return crowded


@inlined
def _counted(mark: int, q: int, people: People, last: Short, count: int) -> int:
    """`count` and those users of a query who were not counted for `mark` before."""
    for at in range(people.start[q], people.start[q + 1]):
        user = people.users[at]
        if last[user] != mark:
            last[user] = mark
            count += 1
    return count


@jit
def crowded_pairs(having: Lists, of: Lists, useful: Flags, people: People, k: int) -> tuple[Ints, Short]:
    """partner_start, partners: for each word the larger ones that at least k users typed together with it.

    Only pairs of `useful` words are looked at. A pair is counted under its smaller word: of its larger words and their
    users, as one whole number each, sorted, the distinct ones are counted.
    """
    n_words = having.start.size - 1
    partner_start = np.zeros(n_words + 1, dtype=np.int64)
    partners = np.empty(1 << 12, dtype=np.int32)
    keys = np.empty(1 << 12, dtype=np.int64)
    found = 0
    for word in range(n_words):
        size = 0
        if useful[word]:
            for q in having.items[having.start[word] : having.start[word + 1]]:
                users = people.users[people.start[q] : people.start[q + 1]]
                needed = size + max(users.size, 1) * (of.start[q + 1] - of.start[q])
                if needed > keys.size:
                    keys = np.append(keys, np.empty(max(keys.size, needed - keys.size), dtype=np.int64))
                for i in range(of.start[q + 1] - 1, of.start[q] - 1, -1):
                    other = of.items[i]
                    if other <= word:
                        break
                    if not useful[other]:
                        continue
                    if people.enough[q]:
                        keys[size] = np.int64(other) << 32 | _ENOUGH
                        size += 1
                        continue
                    for user in users:
                        keys[size] = np.int64(other) << 32 | np.int64(user)
                        size += 1
        if size:
            used = keys[:size]
            used.sort()
            first = 0
            while first < size:
                partner, count, i = used[first] >> 32, 0, first
                while i < size and used[i] >> 32 == partner:
                    if i == first or used[i] != used[i - 1]:
                        count += 1
                    i += 1
                if count >= k or used[i - 1] & _ENOUGH == _ENOUGH:
                    if found == partners.size:
                        partners = np.append(partners, np.empty(partners.size, dtype=np.int32))
                    partners[found] = partner
                    found += 1
                first = i
        partner_start[word + 1] = found
    return partner_start, partners[:found].copy()


@jit
def with_crowded_pairs(of: Lists, asked: Flags, partner_start: Ints, partners: Short) -> Flags:
    """Which of the queries `asked` about have no other pairs of words than crowded ones."""
    allowed = asked.copy()
    for q in range(of.start.size - 1):
        if not asked[q]:
            continue
        words = of.items[of.start[q] : of.start[q + 1]]
        for i in range(words.size - 1):
            with_it = partners[partner_start[words[i]] : partner_start[words[i] + 1]]
            for other in words[i + 1 :]:
                place = np.searchsorted(with_it, other)
                if place == with_it.size or with_it[place] != other:
                    allowed[q] = False
                    break
            if not allowed[q]:
                break
    return allowed


@jit
def with_crowded_sets(of: Lists, asked: Flags, having: Lists, people: People, n_users: int, k: int) -> Flags:
    """Which of the queries `asked` about have all their words in queries of at least k users.

    They are looked for among the queries that have the word which fewest queries have.
    """
    allowed = np.zeros(asked.size, dtype=np.bool_)
    last = np.full(n_users, -1, dtype=np.int32)
    for q in range(of.start.size - 1):
        if not asked[q] or of.start[q] == of.start[q + 1]:
            continue
        words = of.items[of.start[q] : of.start[q + 1]]
        rarest = words[0]
        for word in words:
            if having.start[word + 1] - having.start[word] < having.start[rarest + 1] - having.start[rarest]:
                rarest = word
        count = 0
        for other in having.items[having.start[rarest] : having.start[rarest + 1]]:
            if not _holds(of.items[of.start[other] : of.start[other + 1]], words):
                continue
            count = k if people.enough[other] else _counted(q, other, people, last, count)
            if count >= k:
                allowed[q] = True
                break
    return allowed


@inlined
def _holds(many: Short, some: Short) -> bool:
    """Whether `many` has all of `some`, both ascending."""
    found = 0
    for word in many:
        if found < some.size and word == some[found]:
            found += 1
    return found == some.size
