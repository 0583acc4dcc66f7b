"""Phrases as issue and evidence describe them, slow and obvious: the oracle of the model of phrases."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from itertools import chain

LONGEST = 6
_LETTER = re.compile("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")  # as much of scripts without spaces as tests need


def spans(query: str) -> list[tuple[int, int]]:
    """Where the words of a query begin and end; of scripts without spaces each letter is one."""
    found, begin = [], 0
    for word in query.split(" "):
        at = begin
        for place, letter in enumerate(word, begin):
            if _LETTER.match(letter):
                if at < place:
                    found.append((at, place))
                found.append((place, place + 1))
                at = place + 1
        if at < begin + len(word) or not word:
            found.append((at, begin + len(word)))
        begin += len(word) + 1
    return found


def parts(query: str) -> list[list[str]]:
    """All runs of up to LONGEST words, by where they begin."""
    words = spans(query)
    return [[query[a:b] for _, b in words[i : i + LONGEST]] for i, (a, _) in enumerate(words)]


def users_of_parts(rows: Collection[tuple[str, str]]) -> dict[str, int]:
    """How many users have each run of words in some query; rows are (user, query)."""
    having = defaultdict(set)
    for user, query in set(rows):
        for part in chain.from_iterable(parts(query)):
            having[part].add(user)
    return {part: len(users) for part, users in having.items()}


def users_of_queries(rows: Collection[tuple[str, str]]) -> dict[str, int]:
    """How many users typed each query."""
    return Counter(query for _, query in set(rows))


def cut(
    query: str, users: Mapping[str, int], whole: Mapping[str, int], m: int, stop_words: Collection[str]
) -> list[str]:
    """The phrases of a query, from left to right."""
    if whole[query] >= m:
        return [query]
    words = spans(query)

    def within(first: int, last: int) -> list[str]:
        for n in range(min(LONGEST, last - first), 0, -1):
            fits = []
            for i in range(first, last - n + 1):
                part = query[words[i][0] : words[i + n - 1][1]]
                ends = (query[slice(*words[i])], query[slice(*words[i + n - 1])])
                if users[part] >= m and not any(end == "" or end in stop_words for end in ends):
                    fits.append((users[part], i, part))
            if fits:
                _, i, part = min(fits)
                return [*within(first, i), part, *within(i + n, last)]
        return []

    return within(0, len(words))


def profile(members: Sequence[Sequence[str]], tie: Callable[[str], int]) -> list[str]:
    """The phrases that stand for a group, given those of its members, sorted; none where one alone has any."""
    giving = [Counter(phrases) for phrases in members if phrases]
    if len(giving) < 2:
        return []
    share: dict[str, Fraction] = defaultdict(Fraction)
    for own in giving:
        for phrase, n in own.items():
            share[phrase] += Fraction(n, own.total() * len(giving))
    size = (2 * sum(map(len, members)) + len(members)) // (2 * len(members))
    copies = {phrase: int(size * part) for phrase, part in share.items()}
    # Remainders that differ by less than a millionth of a row are equal: the kernel counts in whole numbers.
    rest = {phrase: round((size * part - copies[phrase]) * 2**20) for phrase, part in share.items()}
    left = size - sum(copies.values())
    for phrase in sorted(share, key=lambda phrase: (-rest[phrase], tie(phrase)))[:left]:
        copies[phrase] += 1
    chosen = sorted(chain.from_iterable([phrase] * n for phrase, n in copies.items()))
    return chosen if sum(any(phrase in own for phrase in chosen) for own in giving) > 1 else []
