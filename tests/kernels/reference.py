"""Plain Python versions, written from SPEC: slow, obvious, and the oracle of the tests."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations
from math import log2


def degrees(pairs):
    """Distinct users of each query; rows without a user count as nobody's."""
    users = defaultdict(set)
    for user, query in pairs:
        if user is not None:
            users[query].add(user)
    return {query: len(found) for query, found in users.items()}


def suppress_rare(rows, k):
    """SPEC 6.1 with users dropped and common details; rows are (user, time, query, rank, url)."""
    asked = degrees((user, query) for user, _, query, _, _ in rows)
    clicked = degrees((user, (query, url)) for user, _, query, _, url in rows if url is not None)
    released = []
    for _, time, query, rank, url in rows:
        if asked.get(query, 0) < k:
            continue
        day = time and time.replace(hour=0, minute=0, second=0, microsecond=0)
        common = url is not None and clicked.get((query, url), 0) >= k
        released.append((None, day, query, rank if common else None, url if common else None))
    return released


def entropy(counts):
    total = sum(counts.values())
    return -sum(n / total * log2(n / total) for n in counts.values() if n) if total else 0.0


def exposure(before, after):
    """SPEC 2.2: (exposed, channel) in percent for two multisets."""
    before, after = Counter(before), Counter(after)
    n = sum(before.values())
    r = {q: min(1, after[q] / before[q]) for q in before}
    if len(before) == 1:
        only = 100 * next(iter(r.values()))
        return only, only
    p = {q: count / n for q, count in before.items()}
    shown = sum(p[q] * r[q] * log2(1 / p[q]) for q in p)
    erased = sum(p[q] * (1 - r[q]) for q in p)
    absent = sum(p[q] * (1 - r[q]) * log2((1 - r[q]) / erased) for q in p if r[q] < 1)
    h = entropy(before)
    return 100 * shown / h, 100 * (shown + absent) / h


def information_loss(before, after):
    """SPEC 2.3 for two multisets."""
    h0, h1 = entropy(Counter(before)), entropy(Counter(after))
    if h0 == 0:
        return 0.0 if h1 == 0 else 100.0
    return 100 * abs(h0 - h1) / h0


def singled_out(profiles):
    """How many users are alone with one query, with one or two, with their whole set."""
    profiles = {user: set(queries) for user, queries in profiles.items()}

    def alone(user, queries):
        return sum(queries <= other for other in profiles.values()) == 1 and queries <= profiles[user]

    one = sum(any(alone(u, {q}) for q in qs) for u, qs in profiles.items())
    two = sum(
        any(alone(u, {q}) for q in qs) or any(alone(u, set(pair)) for pair in combinations(qs, 2))
        for u, qs in profiles.items()
    )
    whole = sum(list(profiles.values()).count(qs) == 1 for qs in profiles.values())
    return one, two, whole
