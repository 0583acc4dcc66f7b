"""Test G1 of the paper: everybody has one query that nobody else has and searches for it 1,000 times; who submits it?

In the worst case all queries of a user are equal and can be linked. The author then hides among those who submitted
them: per author, over themselves and their friends,

    entropy      H / log2 |N[u]|: 100 % where all submit equally many
    largest      the share of the one who submits most
    own          the share that the author submits
    chi_square   the share of authors whose counts are not those of equal chances (p < 0.05; Wilson and Hilferty's
                 approximation)
    gini         0 % where all submit equally many

Sticky rules fail this test on purpose: one query always takes one way. Queries that were forwarded to others count for
none of these but `own`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from coterie.core.arrays import Floats, Ints
from coterie.core.scores import Score
from coterie.errors import NotApplicableError
from coterie.lab.simulate.case import Case

figures = ("entropy", "largest", "own")
TIMES = 1_000
_MOST_EVENTS = 20_000_000


def measure(case: Case) -> Iterator[Score]:
    """Means over authors with friends."""
    case.network()
    if getattr(case.protocol, "answer_repeats", False):
        raise NotApplicableError("everybody repeats one query, which this protocol answers at home")
    times = max(1, min(TIMES, _MOST_EVENTS // case.world.n_users))
    world = case.world.repeating(times, case.seed)
    seen = case.protocol.protect(world, case.seed)
    assert seen.network is not None  # noqa: S101 (it is the same protocol)
    graph, n = seen.network.graph, world.n_users
    yield Score("times", float(times), "times for each author")
    pairs, counts = np.unique(world.author.astype(np.int64) * n + seen.identity, return_counts=True)
    degrees = np.diff(graph.start)
    rows = []
    start = np.searchsorted(pairs, np.arange(n + 1) * n)
    for u in np.flatnonzero(seen.honest & (degrees > 0)).tolist():
        members = np.sort(np.append(graph.friend[graph.start[u] : graph.start[u + 1]], u))
        submitted = np.zeros(members.size)
        submitters = pairs[start[u] : start[u + 1]] - u * n
        at = np.searchsorted(members, submitters)
        within = (at < members.size) & (members[np.minimum(at, members.size - 1)] == submitters)
        submitted[at[within]] = counts[start[u] : start[u + 1]][within]
        rows.append((*spread(submitted), submitted[np.searchsorted(members, u)] / times))
    if not rows:
        raise NotApplicableError("nobody who does what the protocol says has friends")
    table = np.array(rows)
    yield Score("entropy", float(100 * table[:, 0].mean()), "% of the largest possible")
    yield Score("largest", float(100 * table[:, 1].mean()), "% of queries")
    yield Score("own", float(100 * table[:, 4].mean()), "% of queries")
    yield Score("chi_square", float(100 * (table[:, 2] < 0.05).mean()), "% of authors")
    yield Score("gini", float(100 * table[:, 3].mean()), "%")


def spread(counts: Floats) -> tuple[float, float, float, float]:
    """Normalized entropy, largest share, p-value against equal chances and Gini coefficient of counts."""
    total, n = counts.sum(), counts.size
    if total == 0 or n < 2:
        return 0.0, 0.0, 1.0, 0.0
    shares: Floats = counts / total
    there = shares[shares > 0]
    entropy = float(-(there * np.log2(there)).sum() / math.log2(n))
    square = float(((counts - total / n) ** 2).sum() / (total / n))
    rank: Ints = np.arange(1, n + 1)
    gini = float((2 * (rank * np.sort(shares)).sum() - (n + 1)) / n)
    return entropy, float(shares.max()), chi_square_tail(square, n - 1), gini


def chi_square_tail(square: float, freedom: int) -> float:
    """The probability of a χ² at least so large, by Wilson and Hilferty's approximation."""
    spread_of = 2 / (9 * freedom)
    z = ((square / freedom) ** (1 / 3) - (1 - spread_of)) / math.sqrt(spread_of)
    return 0.5 * math.erfc(z / math.sqrt(2))
