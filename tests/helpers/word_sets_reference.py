"""Plain Python version of the rule of `allowlist`: slow, obvious, and the oracle of the tests."""

from __future__ import annotations

from itertools import combinations


def allowed(rows, k, m, max_words):
    """The queries of rows (user, query) that stay: few words, and k users behind every m of them."""
    typed = {}
    for user, query in rows:
        typed.setdefault(query, set()).update({user} - {None})
    return {query for query in typed if _is_allowed(query, typed, k, m, max_words)}


def _is_allowed(query, typed, k, m, max_words):
    words = words_of(query)
    if not words or sum(1 for word in query.split(" ") if word) > max_words:
        return False
    size = len(words) if m == "all" else min(m, len(words))
    return all(len(users_of(some, typed)) >= k for some in combinations(sorted(words), size))


def users_of(words, typed):
    """Who typed all of these words together in one query."""
    return {user for query, users in typed.items() if set(words) <= words_of(query) for user in users}


def words_of(query):
    return {word for word in query.split(" ") if word}
