"""Semantic microaggregation and SRP (paper 003) in plain Python, written from the formulas: the oracle.

Users are (name, list of queries with repetitions). `paths(query)` gives the categories of the terms of a query, each as
the list of nodes from below the root down to it.
"""

from __future__ import annotations

from collections import Counter
from math import sqrt

from tests.helpers.reference import capped

PASSES = 3


def category_counts(queries, paths, levels):
    """Algorithm 1: for each level how often each path prefix of that length occurs."""
    counts = {level: Counter() for level in range(1, levels + 1)}
    for query in queries:
        for path in paths(query):
            for level in range(1, levels + 1):
                if len(path) >= level:
                    counts[level][tuple(path[:level])] += 1
    return counts


def similarity(a, b):
    """ODPsim: the multiset intersection over all levels."""
    return sum(min(count, b[level][c]) for level in a for c, count in a[level].items() if c in b[level])


def matrix(counts, normalize="none"):
    """M': the similarity of each two users; nothing on the diagonal."""
    total = [similarity(a, a) for a in counts]
    cells = {}
    for i in range(len(counts)):
        for j in range(i):
            value = similarity(counts[i], counts[j])
            if normalize == "cosine" and value > 0:
                value = value / sqrt(total[i] * total[j])
            cells[i, j] = cells[j, i] = float(value)
    return cells


def partition(n, cells, k, leftovers="merge"):
    """Algorithms 3 and 4, corrected: lists of members; who is in none of them is not released."""
    cells, left, clusters = dict(cells), list(range(n)), []
    while len(left) >= (2 * k if leftovers == "merge" else k):
        i, other = max(
            ((i, j) for i in left for j in left if i < j), key=lambda pair: (cells[pair], -pair[0], -pair[1])
        )
        cluster = [i, other]
        while len(cluster) < k:
            rest = [j for j in left if j not in cluster]
            for j in rest:  # the merged user keeps the index i
                cells[i, j] += cells[other, j]
            other = max(rest, key=lambda j: (cells[i, j], -j))
            cluster.append(other)
        left = [j for j in left if j not in cluster]
        clusters.append(cluster)
    if leftovers == "merge":
        clusters.append(left)
    if leftovers == "nearest":
        original = matrix_of(cells, clusters, left)
        joined = [list(cluster) for cluster in clusters]
        for j in left:
            joined[max(range(len(clusters)), key=lambda z: (original[j, z], -z))].append(j)
        clusters = joined
    return clusters


def matrix_of(cells, clusters, left):
    """The sum of the similarities of users left over to the members of each cluster; their cells never changed."""
    return {(j, z): sum(cells[j, m] for m in sorted(members)) for j in left for z, members in enumerate(clusters)}


def draw(priority, number):
    """The random number of that number which belongs to a query of a user: splitmix64 as a fraction."""
    value = (priority + (number + 1) * 0x9E3779B97F4A7C15) % 2**64
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB % 2**64
    return ((value ^ (value >> 31)) >> 11) / 2**53


def profile(members, priority, max_share=1):
    """Algorithm 5, corrected: the queries of the common profile of members (name, queries).

    `priority(user, query)` is a random number of a query of a user, `priority(user, None)` one of a user.
    """
    total, n = sum(len(queries) for _, queries in members), len(members)
    size = (2 * total + n) // (2 * n)
    quotas = [len(queries) // n for _, queries in members]
    by_remainder = sorted(range(n), key=lambda i: (-(len(members[i][1]) % n), -priority(members[i][0], None)))
    for i in by_remainder[: size - sum(quotas)]:
        quotas[i] += 1
    sizes, priorities = [len(queries) for _, queries in members], [priority(user, None) for user, _ in members]
    quotas = capped(quotas, sizes, max_share, priorities)
    chosen = []
    for (user, queries), quota in zip(members, quotas, strict=True):
        chosen += _of_user(user, Counter(queries), quota, len(queries), total, priority)
    return sorted(chosen)


def _of_user(user, repetitions, quota, size, total, priority):
    unused, chosen = Counter(repetitions), []
    by_priority = sorted(repetitions, key=lambda query: (-priority(user, query), query))
    for number in range(PASSES):
        for query in sorted(by_priority, key=lambda query: -repetitions[query]):
            share = size * repetitions[query]
            wanted = share // total + (draw(priority(user, query), number) < share % total / total)
            taken = min(wanted, quota - len(chosen), unused[query])
            unused[query] -= taken
            chosen += [query] * taken
    rest = [query for query in by_priority for _ in range(unused[query])]
    drawn = sorted(range(len(rest)), key=lambda u: draw(priority(user, rest[u]), PASSES + u))
    return chosen + [rest[u] for u in drawn[: quota - len(chosen)]]


def remaining(before, after, levels):
    """SRP in % of category counts before and after at some levels, and the overlap of relative frequencies."""
    one, other = (Counter({(lv, c): n for lv in levels for c, n in m[lv].items()}) for m in (before, after))
    have, got = sum(one.values()), sum(other.values())
    if have == 0:
        return None
    common = 100 * sum(min(n, other[c]) for c, n in one.items()) / have
    relative = 100 * sum(min(n / have, other[c] / got) for c, n in one.items()) if got else 0.0
    return common, relative
