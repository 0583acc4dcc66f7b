"""Does a clustering of users find the same clusters in the release as in the original?

κ-means with the distance of users and the common profile of paper 000 runs on both logs, from the same
κ random users, for κ = 2, 5, 10 and 20 (or those of `--kappa`) as far as there are more users. Of all pairs of
users, r are together in both, s only in the original, t only in the release, u in neither:

    rand_κ = (r + u) / (r + s + t + u)        jaccard_κ = r / (r + s + t)
    adjusted_rand_κ = (rand - e) / (1 - e)    e = what Rand is expected to be when clusters of these sizes are random

1 means the same clusters. Rand tends to 1 for many clusters whatever the data, so read adjusted Rand (0: no better than
chance) with it. Users of one group have one released profile and stay together: a release has no more clusters than
profiles (`clusters_κ`, and `clusters_κ.original`), and with k = 50 and many clusters Jaccard is small however
similar the groups are. `largest_κ` is the share of users in the largest cluster: where it is near 100%, agreement says
little.

It takes longer than all other measures together, so it is taken where it is named, or where `--kappa` is given. Above
300 users it is taken on a random sample of whole groups; `users` says so. Users with nothing in the release are left
out.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import comb
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from coterie.core.arrays import Ints
from coterie.core.scores import Score
from coterie.measures.comparison import Comparison
from coterie.measures.rates import figures_in, titled
from coterie.measures.subjects import Users, users_of

if TYPE_CHECKING:
    from coterie.algorithms.events import EncodedEvents

needs = frozenset({"record", "kappas"})
effort = 40
by_name_only = True
SHOWN = {
    "adjusted_rand_10": titled(
        "Same 10 clusters, adjusted Rand",
        "Users are sorted into 10 clusters by what they search for, in the original and in the release: 1 is "
        "the same clusters, 0 no better than chance.",
    ),
    "rand_10": titled(
        "Same 10 clusters, Rand",
        "Share of pairs of users that are together in both or apart in both. It is high for many clusters "
        "whatever the release is like.",
    ),
    "jaccard_10": titled(
        "Same 10 clusters, Jaccard",
        "Of the pairs of users together in either, the share together in both. Users of one group always are "
        "together in the release, so large groups lower it.",
    ),
}
figures = figures_in("utility", 70, SHOWN, before="1 of 1")
KAPPAS = (2, 5, 10, 20)  # the time it takes grows with κ
MOST_USERS = 300


def measure(comparison: Comparison) -> Iterator[Score]:
    """The three indices for each κ, and what the clusters look like."""
    users = users_of(comparison, MOST_USERS)
    n = users.members.height
    yield Score("users", n, users.unit)
    asked: tuple[int, ...] = comparison.given("kappas")
    kappas = [kappa for kappa in sorted(set(asked or KAPPAS)) if 1 < kappa < n]
    for kappa in sorted(set(asked) - set(kappas)):
        yield Score(f"rand_{kappa}", None, f"does not apply: {n} users")
    for kappa, (before, after) in zip(kappas, clusterings(users, kappas), strict=True):
        rand, jaccard, adjusted = agreement(before.tolist(), after.tolist())
        yield Score(f"rand_{kappa}", rand, "of 1")
        yield Score(f"jaccard_{kappa}", jaccard, "of 1")
        yield Score(f"adjusted_rand_{kappa}", adjusted, "of 1")
        for moment, clusters in (("", after), (".original", before)):
            sizes = np.unique(clusters, return_counts=True)[1]
            yield Score(f"clusters_{kappa}{moment}", sizes.size, "clusters")
            yield Score(f"largest_{kappa}{moment}", 100 * int(sizes.max()) / n, "% of users")


def clusterings(users: Users, kappas: Sequence[int]) -> list[tuple[Ints, Ints]]:
    """For each κ the cluster of each user in the original and in the release."""
    from coterie.algorithms.events import encode
    from coterie.algorithms.kernels.kmeans import kmeans

    logs = (
        (encode(users.before, users.scales_before, users.keys), _same(users.before)),
        (encode(users.after, users.scales_after, users.keys), _same(users.after)),
    )
    order = np.argsort(users.keys("κ-means", users.members["user"]), kind="stable")

    def cluster(job: tuple[int, tuple[EncodedEvents, Ints]]) -> Ints:
        kappa, (profiles, same) = job
        return kmeans(order[:kappa], same, profiles.events, profiles.strings)

    jobs = [(kappa, log) for kappa in sorted(kappas, reverse=True) for log in logs]  # the longest first
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        clusters = dict(zip(((kappa, id(log)) for kappa, log in jobs), pool.map(cluster, jobs), strict=True))
    return [(clusters[kappa, id(logs[0])], clusters[kappa, id(logs[1])]) for kappa in kappas]


def agreement(one: Sequence[int], other: Sequence[int]) -> tuple[float, float, float]:
    """Rand, Jaccard and adjusted Rand of two partitions, from how many elements each pair of clusters shares."""
    pairs = comb(len(one), 2)
    both = _pairs(zip(one, other, strict=True))
    in_one, in_other = _pairs(one), _pairs(other)
    either = in_one + in_other - both
    rand = (pairs - either + both) / pairs if pairs else 1.0
    jaccard = both / either if either else 1.0
    # The same as (rand - e) / (1 - e), multiplied out so that whole numbers are divided once. Nothing varies where
    # both partitions are one cluster or all alone: then they are the same.
    varies = (in_one + in_other) * pairs - 2 * in_one * in_other
    adjusted = 2 * (both * pairs - in_one * in_other) / varies if varies else 1.0
    return rand, jaccard, adjusted


def _pairs(clusters: Iterable[object]) -> int:
    """How many pairs are in the same cluster."""
    return sum(comb(size, 2) for size in Counter(clusters).values())


def _same(rows: pl.DataFrame) -> Ints:
    """For each user the first one with the same profile."""
    from coterie.algorithms.events import EVENT

    profiles = rows.group_by("user", maintain_order=True).agg(EVENT).with_row_index("place")
    return profiles.select(pl.col("place").first().over(EVENT).cast(pl.Int64)).to_series().to_numpy()
