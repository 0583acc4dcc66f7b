"""κ-means of users with the distance of users (SPEC 4.2) and the common profile C (SPEC 4.3) as centre.

    centres = profiles of the starting users
    repeat:  each user to her nearest centre (ties to the lowest number); stop when that was so in an earlier round
             a cluster without users starts again from the user farthest from her centre (ties to the lowest index)
             centre = C(users of the cluster)

It ends after 30 rounds at the latest. Users with identical profiles stay together, so distances are computed for one of
them; there are no more clusters than different profiles, and no two clusters start again from the same profile.

Between rounds only what changed is computed: a centre stays when its users do, and a user whose centre stayed looks
only at those that did not. The result is that of the plain version.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coterie.kernels._jit import jit
from coterie.kernels.hausdorff import INFINITE, Floats, Ints, Scratch, Trees, new_scratch, user_distance_below
from coterie.kernels.mdav import NEAREST, Strings, averages

ROUNDS = 30
_FIELDS = ("time", "rank", "host", "depth", "query", "length")


@jit
def nearest_centres(
    users: Ints, first: int, changed: NDArray[np.bool_], near: Ints, gap: Floats, trees: Trees, scratch: Scratch
) -> None:
    """Update the nearest centre of each user and the distance to it; centre c is user first + c of the trees.

    `near` is -1 where nothing is known yet; `changed` says which centres are not those of the round before.
    """
    for u in users:
        at = near[u]
        best, found = INFINITE, -1
        if at >= 0:
            best, found = gap[u], at
            if changed[at]:
                best = user_distance_below(u, first + at, INFINITE, trees, scratch)
        for c in range(changed.size):
            if c == at or (at >= 0 and not changed[at] and not changed[c]):
                continue
            d = user_distance_below(u, first + c, best, trees, scratch)
            if d < best or (d == best and c < found):
                best, found = d, c
        near[u], gap[u] = found, best


@jit
def distances(ones: Ints, others: Ints, trees: Trees, scratch: Scratch) -> Floats:
    """The distance of each pair of users."""
    found = np.empty(ones.size, dtype=np.float64)
    for i in range(ones.size):
        found[i] = user_distance_below(ones[i], others[i], INFINITE, trees, scratch)
    return found


def kmeans(start: Ints, same: Ints, trees: Trees, strings: Strings) -> Ints:
    """The cluster of each user; `start` are the users to start from, same[u] is the first user with u's profile."""
    different = np.unique(same)
    kappa = min(start.size, different.size)
    centres = [_profile(u, trees) for u in dict.fromkeys(same[start].tolist())]
    changed = np.ones(len(centres), dtype=np.bool_)
    near = np.full(same.size, -1, dtype=np.int64)
    gap = np.zeros(same.size, dtype=np.float64)
    seen: set[bytes] = set()
    scratch = new_scratch(trees)
    for _ in range(ROUNDS):
        before = near.copy()
        placed = _with_centres(trees, same.size, centres)
        # What is remembered is about events, and those of the centres are new: it begins anew.
        nearest_centres(different, same.size, changed, near, gap, placed, new_scratch(placed))
        near, gap = near[same], gap[same]
        if near.tobytes() in seen:
            break
        seen.add(near.tobytes())
        centres += [_profile(0, trees)] * (kappa - len(centres))  # nobody's, so each of them starts again
        moved = near != before
        empty = np.setdiff1d(np.arange(kappa), near)
        rebuilt = np.setdiff1d(np.union1d(near[moved], before[moved & (before >= 0)]), empty)
        farthest = different[np.argsort(-gap[different], kind="stable")]
        for c, u in zip(empty, farthest, strict=False):
            centres[c] = _profile(u, trees)
        members = [np.flatnonzero(near == c) for c in rebuilt]
        for c, centre in zip(rebuilt, _averages(members, trees, strings, scratch), strict=True):
            centres[c] = centre
        changed = np.zeros(kappa, dtype=np.bool_)
        changed[empty] = changed[rebuilt] = True
    return near


def _profile(user: int, trees: Trees) -> Ints:
    """The events of a user, one row for each field."""
    events = slice(trees.user_start[user], trees.user_start[user + 1])
    return np.stack([getattr(trees, name)[events] for name in _FIELDS])


def _averages(clusters: Sequence[Ints], trees: Trees, strings: Strings, scratch: Scratch) -> list[Ints]:
    """C of each cluster, as `_profile` gives users."""
    start = np.cumsum([0, *(members.size for members in clusters)])
    found = averages(np.concatenate(clusters), start, NEAREST, trees, strings, scratch)
    query, length = trees.query[found.event], trees.length[found.event]
    columns = np.stack([found.time, found.rank, found.host, found.depth, query, length])
    return [columns[:, found.start[i] : found.start[i + 1]] for i in range(len(clusters))]


def _with_centres(trees: Trees, n_users: int, centres: Sequence[Ints]) -> Trees:
    """The trees with the centres as further users, each event a run of its own, and no bundles."""
    n_events, n_runs = int(trees.user_start[n_users]), int(trees.user_runs[n_users])
    sizes = np.cumsum([centre.shape[1] for centre in centres])
    columns = np.concatenate(centres, axis=1)
    fields = {
        name: np.concatenate([getattr(trees, name)[:n_events], column])
        for name, column in zip(_FIELDS, columns, strict=True)
    }
    return trees._replace(
        user_start=np.concatenate([trees.user_start[: n_users + 1], n_events + sizes]),
        user_runs=np.concatenate([trees.user_runs[: n_users + 1], n_runs + sizes]),
        user_bundles=np.append(trees.user_bundles[: n_users + 1], np.full(sizes.size, trees.user_bundles[n_users])),
        run_start=np.concatenate([trees.run_start[:n_runs], np.arange(n_events, n_events + sizes[-1] + 1)]),
        **fields,
    )
