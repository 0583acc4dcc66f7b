"""Which words, and which sets of words, enough users typed together in one query.

Queries are numbered 0..n-1. The distinct words of query q are `words[start[q]:start[q + 1]]`, ascending, and its users
`users[user_start[q]:user_start[q + 1]]`. Where `enough[q]`, the query has k users by itself: then so has each set of its
words, and its users are never looked at. Only queries of fewer users have to be counted together.
"""

from __future__ import annotations

import numpy as np

from coterie.kernels._arrays import Flags, Ints, Short
from coterie.kernels._jit import inlined, jit

_ENOUGH = np.int64(0xFFFFFFFF)  # stands for the users of a query that has k by itself


@jit
def distinct(token_start: Ints, tokens: Short) -> tuple[Ints, Short]:
    """start, words: the distinct words of each query, ascending."""
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
    return start, words[:at].copy()


@jit
def postings(start: Ints, words: Short, n_words: int) -> tuple[Ints, Short]:
    """queries_start, queries: the queries that have each word, ascending."""
    queries_start = np.zeros(n_words + 1, dtype=np.int64)
    for word in words:
        queries_start[word + 1] += 1
    queries_start = np.cumsum(queries_start)
    free = queries_start[:-1].copy()
    queries = np.empty(words.size, dtype=np.int32)
    for q in range(start.size - 1):
        for i in range(start[q], start[q + 1]):
            queries[free[words[i]]] = q
            free[words[i]] += 1
    return queries_start, queries


@jit
def crowded_words(
    queries_start: Ints, queries: Short, user_start: Ints, users: Short, enough: Flags, n_users: int, k: int
) -> Flags:
    """Which words at least k users typed."""
    n_words = queries_start.size - 1
    crowded = np.zeros(n_words, dtype=np.bool_)
    last = np.full(n_users, -1, dtype=np.int32)  # the last word that a user was counted for
    for word in range(n_words):
        count = 0
        for q in queries[queries_start[word] : queries_start[word + 1]]:
            count = k if enough[q] else _counted(word, user_start[q], user_start[q + 1], users, last, count)
            if count >= k:
                crowded[word] = True
                break
    return crowded


@inlined
def _counted(mark: int, first: int, end: int, users: Short, last: Short, count: int) -> int:
    """`count` and those of some users who were not counted for `mark` before."""
    for at in range(first, end):
        if last[users[at]] != mark:
            last[users[at]] = mark
            count += 1
    return count


@jit
def crowded_pairs(
    queries_start: Ints,
    queries: Short,
    start: Ints,
    words: Short,
    useful: Flags,
    user_start: Ints,
    users: Short,
    enough: Flags,
    k: int,
) -> tuple[Ints, Short]:
    """partner_start, partners: for each word the larger ones that at least k users typed together with it.

    Only pairs of `useful` words are looked at. A pair is counted under its smaller word: of its larger words and their
    users, as one whole number each, sorted, the distinct ones are counted.
    """
    n_words = queries_start.size - 1
    partner_start = np.zeros(n_words + 1, dtype=np.int64)
    partners = np.empty(1 << 12, dtype=np.int32)
    keys = np.empty(1 << 12, dtype=np.int64)
    found = 0
    for word in range(n_words):
        size = 0
        if useful[word]:
            for q in queries[queries_start[word] : queries_start[word + 1]]:
                people = 1 if enough[q] else user_start[q + 1] - user_start[q]
                needed = size + people * (start[q + 1] - start[q])
                if needed > keys.size:
                    keys = np.append(keys, np.empty(max(keys.size, needed - keys.size), dtype=np.int64))
                for i in range(start[q + 1] - 1, start[q] - 1, -1):
                    if words[i] <= word:
                        break
                    if not useful[words[i]]:
                        continue
                    key = np.int64(words[i]) << 32
                    if enough[q]:
                        keys[size] = key | _ENOUGH
                        size += 1
                        continue
                    for at in range(user_start[q], user_start[q + 1]):
                        keys[size] = key | np.int64(users[at])
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
def with_crowded_pairs(start: Ints, words: Short, asked: Flags, partner_start: Ints, partners: Short) -> Flags:
    """Which of the queries `asked` about have no other pairs of words than crowded ones."""
    allowed = asked.copy()
    for q in range(start.size - 1):
        if not asked[q]:
            continue
        for i in range(start[q], start[q + 1] - 1):
            of_word = partners[partner_start[words[i]] : partner_start[words[i] + 1]]
            for j in range(i + 1, start[q + 1]):
                place = np.searchsorted(of_word, words[j])
                if place == of_word.size or of_word[place] != words[j]:
                    allowed[q] = False
                    break
            if not allowed[q]:
                break
    return allowed


@jit
def with_crowded_sets(
    start: Ints,
    words: Short,
    asked: Flags,
    queries_start: Ints,
    queries: Short,
    user_start: Ints,
    users: Short,
    enough: Flags,
    n_users: int,
    k: int,
) -> Flags:
    """Which of the queries `asked` about have all their words in queries of at least k users.

    They are looked for among the queries that have the word which fewest queries have.
    """
    allowed = np.zeros(asked.size, dtype=np.bool_)
    last = np.full(n_users, -1, dtype=np.int32)
    for q in range(start.size - 1):
        if not asked[q] or start[q] == start[q + 1]:
            continue
        rarest = words[start[q]]
        for i in range(start[q], start[q + 1]):
            if _width(queries_start, words[i]) < _width(queries_start, rarest):
                rarest = words[i]
        count = 0
        for other in queries[queries_start[rarest] : queries_start[rarest + 1]]:
            if not _holds(words, start[other], start[other + 1], start[q], start[q + 1]):
                continue
            count = k if enough[other] else _counted(q, user_start[other], user_start[other + 1], users, last, count)
            if count >= k:
                allowed[q] = True
                break
    return allowed


@inlined
def _width(start: Ints, at: int) -> int:
    return start[at + 1] - start[at]


@inlined
def _holds(words: Short, first: int, end: int, small: int, small_end: int) -> bool:
    """Whether words[first:end] has all of words[small:small_end], both ascending."""
    for at in range(first, end):
        if small == small_end:
            break
        if words[at] == words[small]:
            small += 1
    return small == small_end
