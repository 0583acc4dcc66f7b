"""κ-means of users with the distance of users and the common profile C of paper 000 as centre.

    centres = profiles of the starting users
    repeat:  each user to the nearest centre (ties to the lowest number); stop when that was so in an earlier round
             a cluster without users starts again from the user farthest from their centre (ties to the lowest index)
             centre = C(users of the cluster)

It ends after 30 rounds at the latest. Users with identical profiles stay together, so distances are computed for one of
them; there are no more clusters than different profiles, and no two clusters start again from the same profile.

Between rounds only what changed is computed: a centre stays when its users do, and a user whose centre stayed looks
only at those that did not. The result is that of the plain version.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coterie.algorithms.kernels._arrays import Flags, Floats, Ints
from coterie.algorithms.kernels._jit import jit
from coterie.algorithms.kernels.hausdorff import INFINITE, EventArrays, Workspace, new_workspace, user_distance_below
from coterie.algorithms.kernels.mdav import NEAREST, QueryStrings, averages

ROUNDS = 30
_FIELDS = ("time", "rank", "host", "depth", "query", "length")


@jit
def nearest_centres(
    users: Ints, first: int, changed: Flags, near: Ints, gap: Floats, events: EventArrays, workspace: Workspace
) -> None:
    """Update the nearest centre of each user and the distance to it; centre c is user first + c of `events`.

    `near` is -1 where nothing is known yet; `changed` says which centres are not those of the round before.
    """
    for u in users:
        at = near[u]
        best, nearest = INFINITE, -1
        if at >= 0:
            best, nearest = gap[u], at
            if changed[at]:
                best = user_distance_below(u, first + at, INFINITE, events, workspace)
        for c in range(changed.size):
            if c == at or (at >= 0 and not changed[at] and not changed[c]):
                continue
            d = user_distance_below(u, first + c, best, events, workspace)
            if d < best or (d == best and c < nearest):
                best, nearest = d, c
        near[u], gap[u] = nearest, best


@jit
def distances(ones: Ints, others: Ints, events: EventArrays, workspace: Workspace) -> Floats:
    """The distance of each pair of users."""
    result = np.empty(ones.size, dtype=np.float64)
    for i in range(ones.size):
        result[i] = user_distance_below(ones[i], others[i], INFINITE, events, workspace)
    return result


def kmeans(start: Ints, same: Ints, events: EventArrays, strings: QueryStrings) -> Ints:
    """The cluster of each user; `start` are the users to start from, same[u] is the first user with u's profile."""
    different = np.unique(same)
    kappa = min(start.size, different.size)
    centres = [_profile(u, events) for u in dict.fromkeys(same[start].tolist())]
    changed = np.ones(len(centres), dtype=np.bool_)
    near = np.full(same.size, -1, dtype=np.int64)
    gap = np.zeros(same.size, dtype=np.float64)
    seen: set[bytes] = set()
    workspace = new_workspace(events)
    for _ in range(ROUNDS):
        before = near.copy()
        placed = _with_centres(events, same.size, centres)
        # What is remembered is about events, and those of the centres are new, so memory starts empty.
        nearest_centres(different, same.size, changed, near, gap, placed, new_workspace(placed))
        near, gap = near[same], gap[same]
        if near.tobytes() in seen:
            break
        seen.add(near.tobytes())
        centres += [_profile(0, events)] * (kappa - len(centres))  # without users, so each of them starts again
        moved = near != before
        empty = np.setdiff1d(np.arange(kappa), near)
        rebuilt = np.setdiff1d(np.union1d(near[moved], before[moved & (before >= 0)]), empty)
        farthest = different[np.argsort(-gap[different], kind="stable")]
        for c, u in zip(empty, farthest, strict=False):
            centres[c] = _profile(u, events)
        members = [np.flatnonzero(near == c) for c in rebuilt]
        for c, centre in zip(rebuilt, _averages(members, events, strings, workspace), strict=True):
            centres[c] = centre
        changed = np.zeros(kappa, dtype=np.bool_)
        changed[empty] = changed[rebuilt] = True
    return near


def _profile(user: int, events: EventArrays) -> Ints:
    """The events of a user, one row for each field."""
    own = slice(events.user_start[user], events.user_start[user + 1])
    return np.stack([getattr(events, name)[own] for name in _FIELDS])


def _averages(clusters: Sequence[Ints], events: EventArrays, strings: QueryStrings, workspace: Workspace) -> list[Ints]:
    """C of each cluster, as `_profile` gives users."""
    start = np.cumsum([0, *(members.size for members in clusters)])
    centres = averages(np.concatenate(clusters), start, NEAREST, events, strings, workspace)
    query, length = events.query[centres.event], events.length[centres.event]
    columns = np.stack([centres.time, centres.rank, centres.host, centres.depth, query, length])
    return [columns[:, centres.start[i] : centres.start[i + 1]] for i in range(len(clusters))]


def _with_centres(events: EventArrays, n_users: int, centres: Sequence[Ints]) -> EventArrays:
    """The events with the centres as further users, each event a run of its own, and no bundles."""
    n_events, n_runs = int(events.user_start[n_users]), int(events.user_runs[n_users])
    sizes = np.cumsum([centre.shape[1] for centre in centres])
    columns = np.concatenate(centres, axis=1)
    fields = {
        name: np.concatenate([getattr(events, name)[:n_events], column])
        for name, column in zip(_FIELDS, columns, strict=True)
    }
    return events._replace(
        user_start=np.concatenate([events.user_start[: n_users + 1], n_events + sizes]),
        user_runs=np.concatenate([events.user_runs[: n_users + 1], n_runs + sizes]),
        user_bundles=np.append(events.user_bundles[: n_users + 1], np.full(sizes.size, events.user_bundles[n_users])),
        run_start=np.concatenate([events.run_start[:n_runs], np.arange(n_events, n_events + sizes[-1] + 1)]),
        **fields,
    )
