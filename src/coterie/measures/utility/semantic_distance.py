"""How far in meaning is what users got from what they searched for?

Queries and released texts are mapped to concepts of WordNet, or of a taxonomy that is given, up to five each; d of two
of them is 0 for the same concept and 1 where nothing is in common or one has no concept (and is another text). The
distance D of two profiles is the mean, over the searches of both, of d to the nearest one of the other.

    distance             mean over users of D(original profile, released profile), 0 to 1; 0 keeps all meaning
    linkage.group        % of users whose nearest released profile, of all there are, is the one of their group
    linkage              the same, divided by the size of the group: how often guessing a member is right
    unmapped.original    % of searches without a concept; unmapped.released: of released rows

Equally near profiles share the guess. Above 1,000 users it is taken on a random sample of whole groups; `users` says
so. Labels in place of queries are read as anybody would read them: as words, which may mean several things.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from coterie import taxonomies
from coterie.core.scores import Figure, Score
from coterie.measures.comparison import Comparison
from coterie.measures.subjects import renumbered, users_of

needs = frozenset({"record", "taxonomy"})
effort = 3
figures: tuple[Figure, ...] = ()
MOST_USERS = 1_000
CATEGORIES = 5


def measure(comparison: Comparison) -> Iterator[Score]:
    """The mean distance, record linkage by meaning, and the shares of what has no concept."""
    from coterie.algorithms.concepts import encode
    from coterie.algorithms.kernels.concept_sets import distances

    users = users_of(comparison, MOST_USERS)
    tree = taxonomies.load(comparison.given("taxonomy"))
    n = users.members.height
    group = users.members["group"].rank("dense").cast(pl.Int64).to_numpy() - 1
    released = users.profiles.sort("group")
    rows = pl.concat([renumbered(users.before, "user", 0, ["query"]), renumbered(released, "group", n, ["query"])])
    meanings = encode(rows, tree, CATEGORIES, users.keys)
    sets, everybody = meanings.sets, np.arange(n)
    own, nearest, equal = np.empty(n), np.full(n, np.inf), np.zeros(n)
    for number in range(int(group.max()) + 1):
        profile = slice(sets.user_start[n + number], sets.user_start[n + number + 1])
        gap = distances(sets.kinds[profile], sets.counts[profile], everybody, sets)
        own = np.where(group == number, gap, own)
        equal = np.where(gap < nearest, 1, equal + (gap == nearest))
        nearest = np.minimum(nearest, gap)
    hit = np.where(own == nearest, 1 / equal, 0.0)
    before = rows.height - released.height
    yield Score("users", n, users.unit)
    yield Score("distance", float(own.mean()), "of 1")
    yield Score("linkage.group", float(100 * hit.mean()), "% of users")
    yield Score("linkage", float(100 * (hit / np.bincount(group)[group]).mean()), "% of users")
    yield Score("unmapped.original", float(100 * meanings.unmapped[:before].mean()), "% of searches")
    yield Score("unmapped.released", float(100 * meanings.unmapped[before:].mean()), "% of profiles' rows")
