"""How similar are the users who got a common profile, compared with random groups?

With d the distance of users of paper 000 (SPEC 4.2), c_i the profile that was released for group C_i and c̄ the common
profile of all users:

    sse = Σ_i Σ_{x in C_i} d(x, c_i)²      mean_distance = mean of d(x, c_i) over users
    ssa = Σ_i |C_i| d(c_i, c̄)²             sst = sse + ssa             loss = 100 sse / sst

`sse.random` and so on are the same for random groups of the same sizes, with common profiles of SPEC 4.3, without
times, ranks and hosts where the release has none; `sse.ratio` and `mean_distance.ratio` compare the two. 1 means that
the groups are no better than random ones; smaller is better.
sst is not the same for all k, so compare losses of one k only.

Above 2,000 users it is taken on a random sample of whole groups; `users` says so.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from coterie.errors import NotApplicableError
from coterie.kernels.hausdorff import new_workspace
from coterie.kernels.kmeans import distances
from coterie.measures import Comparison, Score
from coterie.measures.users import Users, users_of
from coterie.models.events import EVENT, EVENT_ORDER, encode
from coterie.models.profiles import centroids, load_kernels

needs_record = True
compares_text = True
MOST_USERS = 2_000


def measure(comparison: Comparison) -> Iterator[Score]:
    """The sums for the groups of the release and for random ones, and their ratios."""
    users = users_of(comparison, MOST_USERS)
    load_kernels()
    groups = users.members["group"]
    if groups.n_unique() == groups.len():
        raise NotApplicableError("It is about groups of users with a common profile, and this release has none.")
    params = comparison.release.params
    # Random profiles lack what the released ones lack, also where a method has no choice but to leave it out.
    bare = all(users.after[name].null_count() == users.after.height for name in EVENT if name != "query")
    eq1, attrs = params.get("eq1", "text"), params.get("attrs", "drop" if bare else "nearest")
    first = users.members.filter(pl.col("user") == pl.col("user").min().over("group"))
    released = users.after.join(first, on="user").select("group", *EVENT)
    ours = sums(users, users.members, released, eq1, attrs)
    shuffled = random_groups(users)
    grouped = users.before.join(shuffled, on="user").sort("group", "user", *EVENT_ORDER)
    random = sums(users, shuffled, centroids(grouped, users.scales_before, users.keys, eq1, attrs), eq1, attrs)
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


def sums(users: Users, members: pl.DataFrame, profiles: pl.DataFrame, eq1: str, attrs: str) -> dict[str, float]:
    """SSE, mean distance, SSA, SST and L for groups (user, group) and their profiles (group and EVENT)."""
    n = members.height
    group = members["group"].rank("dense").cast(pl.Int64).to_numpy() - 1
    sizes = np.bincount(group)
    everybody = users.before.with_columns(pl.lit(0, pl.UInt32).alias("group")).select("group", "user", *EVENT)
    overall = centroids(everybody, users.scales_before, users.keys, eq1, attrs)
    numbered = [
        _numbered(users.before, "user", 0),
        _numbered(profiles.sort("group", *EVENT_ORDER), "group", n),
        _numbered(overall.sort("group", *EVENT_ORDER), "group", n + sizes.size),
    ]
    events = encode(pl.concat(numbered), users.scales_before, users.keys, eq1).events
    workspace = new_workspace(events)
    to_profile = distances(np.arange(n), n + group, events, workspace)
    middle = np.full(sizes.size, n + sizes.size)
    to_middle = distances(n + np.arange(sizes.size), middle, events, workspace)
    sse, ssa = float((to_profile**2).sum()), float((sizes * to_middle**2).sum())
    loss = 100 * sse / (sse + ssa) if sse + ssa else 0.0
    return {"sse": sse, "mean_distance": float(to_profile.mean()), "ssa": ssa, "sst": sse + ssa, "loss": loss}


def _numbered(rows: pl.DataFrame, owner: str, first: int) -> pl.DataFrame:
    """Sorted rows with the place of their owner as user, so that owners of all kinds have different names."""
    return rows.select((pl.col(owner).rle_id().cast(pl.Int64) + first).alias("user"), *EVENT)
