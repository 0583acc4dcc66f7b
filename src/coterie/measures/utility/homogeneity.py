"""How similar are the users who got a common profile, compared with random groups?

With d the distance of users of paper 000, c_i the profile that was released for group C_i and c̄ the common
profile of all users:

    sse = Σ_i Σ_{x in C_i} d(x, c_i)²      mean_distance = mean of d(x, c_i) over users
    ssa = Σ_i |C_i| d(c_i, c̄)²             sst = sse + ssa             loss = 100 sse / sst

`sse.random` and so on are the same for random groups of the same sizes, with common profiles as in paper 000, without
times, ranks and hosts where the release has none; `sse.ratio` and `mean_distance.ratio` compare the two. 1 means that
the groups are no better than random ones; smaller is better.
sst is not the same for all k, so compare losses of one k only.

Above 2,000 users it is taken on a random sample of whole groups; `users` says so.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from coterie.core.scores import Score
from coterie.core.shapes import QUERIES
from coterie.errors import NotApplicableError
from coterie.measures.comparison import Comparison
from coterie.measures.rates import figures_in, titled
from coterie.measures.subjects import Users, renumbered, users_of
from coterie.text.words import digest_of

needs = frozenset({"record", "text"})
effort = 4
SHOWN = {
    "mean_distance": titled(
        "Distance of users to their profile",
        "How far users are from the common profile they got, from 0 (the same) to 1; mean over users.",
        before="0",
    ),
    "sse.ratio": titled(
        "Spread within groups",
        "Squared distances of users to their common profile, compared with random groups of the same sizes. "
        "Below 1 the groups are of similar users; near 1 grouping at random would have done as well.",
    ),
}
figures = figures_in("utility", 60, SHOWN)
MOST_USERS = 2_000


def measure(comparison: Comparison) -> Iterator[Score]:
    """The sums for the groups of the release and for random ones, and their ratios."""
    from coterie.algorithms.events import EVENT, EVENT_ORDER
    from coterie.algorithms.profiles import EXACT, centroids

    users = users_of(comparison, MOST_USERS)
    groups = users.members["group"]
    if groups.n_unique() == groups.len():
        raise NotApplicableError("It is about groups of users with a common profile, and this release has none.")
    params = comparison.release.params
    # Random profiles lack what the released ones lack, also where a method has no choice but to leave it out.
    details = [name for name in EVENT if name != QUERIES.item]
    bare = all(users.after[name].null_count() == users.after.height for name in details)
    eq1, attrs = params.get("eq1", "text"), params.get("attrs", "drop" if bare else "nearest")
    times = params.get("times", EXACT)
    released = users.profiles.select("group", *EVENT)
    # The same users, whatever the release: the middle of them all, and random groups of the same sizes.
    asked = (__name__, comparison.seed, eq1, attrs, digest_of(users.members["user"]))
    middle = comparison.of_log(asked, lambda: _middle(users, eq1, attrs))
    ours = sums(users, users.members, released, middle, eq1)

    def at_random() -> dict[str, float]:
        shuffled = random_groups(users)
        grouped = users.before.join(shuffled, on="user").sort("group", "user", *EVENT_ORDER)
        profiles = centroids(grouped, users.scales_before, users.keys, eq1, attrs, times=times)
        return sums(users, shuffled, profiles, middle, eq1)

    random = comparison.of_log((*asked, times, groups.sort().to_numpy().tobytes()), at_random)
    yield Score("users", users.members.height, users.unit)
    yield Score("groups", groups.n_unique(), "groups")
    for key, value in ours.items():
        unit = "%" if key == "loss" else "distance" if key == "mean_distance" else "squared distances"
        yield Score(key, value, unit)
        yield Score(f"{key}.random", random[key], unit)
    for key in ("sse", "mean_distance"):
        yield Score(f"{key}.ratio", ours[key] / random[key] if random[key] else None, "× random")


def random_groups(users: Users) -> pl.DataFrame:
    """user, group: a random partition into groups of the same sizes."""
    order = np.argsort(users.keys("random groups", users.members["user"]), kind="stable")
    columns = {"user": users.members["user"].gather(order), "group": users.members["group"].sort()}
    return pl.DataFrame(columns).sort("user")


def _middle(users: Users, eq1: str, attrs: str) -> pl.DataFrame:
    """The common profile of all users (group and EVENT)."""
    from coterie.algorithms.events import EVENT
    from coterie.algorithms.profiles import centroids

    everybody = users.before.select(pl.lit(0, pl.UInt32).alias("group"), "user", *EVENT)
    return centroids(everybody, users.scales_before, users.keys, eq1, attrs)


def sums(
    users: Users, members: pl.DataFrame, profiles: pl.DataFrame, overall: pl.DataFrame, eq1: str
) -> dict[str, float]:
    """SSE, mean distance, SSA, SST and L for groups (user, group) and their profiles, and the one of all users."""
    from coterie.algorithms.events import EVENT, EVENT_ORDER, encode
    from coterie.algorithms.kernels import kmeans
    from coterie.algorithms.kernels.hausdorff import new_workspace

    n = members.height
    group = members["group"].rank("dense").cast(pl.Int64).to_numpy() - 1
    sizes = np.bincount(group)
    shared, middle = (each.sort("group", *EVENT_ORDER) for each in (profiles, overall))
    owners = ((users.before, "user", 0), (shared, "group", n), (middle, "group", n + sizes.size))
    rows = pl.concat(renumbered(*each, EVENT) for each in owners)
    events = encode(rows, users.scales_before, users.keys, eq1).events
    workspace, distances = new_workspace(events), kmeans.distances
    to_profile = distances(np.arange(n), n + group, events, workspace)
    everybody = np.full(sizes.size, n + sizes.size)
    to_middle = distances(n + np.arange(sizes.size), everybody, events, workspace)
    sse, ssa = float((to_profile**2).sum()), float((sizes * to_middle**2).sum())
    loss = 100 * sse / (sse + ssa) if sse + ssa else 0.0
    return {"sse": sse, "mean_distance": float(to_profile.mean()), "ssa": ssa, "sst": sse + ssa, "loss": loss}
