"""The average of users and the partition of users into groups of similar ones, MDAV (paper 000).

    while |X| >= 3k:  x̄ = C(X);  x_r = argmax d(x, x̄);  group x_r with its k - 1 nearest;
                      x_s = argmax d(x, x_r);            group x_s with its k - 1 nearest
    if |X| >= 2k:     once more with x̄ and x_r alone
    the rest, k to 2k - 1 users, is the last group

C(X) has round(mean |φ|) events (half up). Each user contributes |φ*|·|φ_i| / Σ|φ_j| of them, at most a share that may
be set, and each of their query strings its share of that, all by largest remainders. Every event of X stands behind the
nearest chosen one (chosen ones behind themselves), and a chosen event has the mean time, the mean rank and the common
right-hand part of the hosts behind it; of what comes from one user alone only the day of the time stays, and neither
rank nor host.

Between rounds only what changed is computed: events keep their nearest chosen one until it is no longer chosen. Ties go
to the smallest index. The result is that of the plain version.

Where events times chosen events are more than `pairs`, as for a user with 100,000 queries, events stand behind the
first chosen event with the same query string instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.algorithms.kernels._arrays import Flags, Floats, Ints, Masks, SideBySide, enter, one_after_the_other
from coterie.algorithms.kernels._jit import inlined, jit
from coterie.algorithms.kernels.hausdorff import (
    INFINITE,
    MISSING,
    EventArrays,
    Workspace,
    size_distance,
    user_distance_above,
    user_distance_below,
)
from coterie.algorithms.kernels.stand_ins import Assignment, assign, assign_strings, new_assignment

NEAREST, SAME_STRING = 0, 1
PAIRS = 2**24
"""Events times chosen events up to which the nearest ones are looked for."""
_DAY = 86400
_ANY, _TIME, _RANK, _HOST = 0, 1, 2, 3


class QueryStrings(NamedTuple):
    """The distinct query strings of each user, in the order in which ties between them are broken."""

    user_place: Ints
    """The place of each user in the order in which ties between users are broken."""
    string_start: Ints
    """Strings of a user."""
    event_start: Ints
    """Events of a string, into `events`."""
    events: Ints
    priority: Masks
    """A random number for each string of each user; the order is by it, decreasing."""


ChooseQueries = Callable[[Ints, Ints, QueryStrings], Ints]
"""(members, user_start, strings) -> the events that make the common profile of the members, sorted."""
ChooseWithLimit = Callable[[Ints, Ints, QueryStrings, float], Ints]
"""The same, and the largest share of the profile that one of them may give."""


class Averages(NamedTuple):
    """Chosen events of several groups with what stands behind them."""

    start: Ints
    event: Ints
    """The event whose query string was chosen."""
    time: Ints
    rank: Ints
    host: Ints
    depth: Ints
    alone: Ints
    """1 where a single user stands behind it, or behind its time, rank or host."""


@jit
def sorting(values: NDArray[np.generic]) -> Ints:
    """The order of numbers below 2^53, equal ones by index. One sort for all of them: sorts are slow to compile."""
    return np.argsort(values.astype(np.float64), kind="mergesort")


@jit
def apportion(seats: int, weights: Ints) -> Ints:
    """Largest remainders: floor(seats·w / Σw) each, what is left by remainder, ties to the smallest index."""
    total = weights.sum()
    given: Ints = seats * weights // total
    order = sorting(-(seats * weights % total))
    for i in range(seats - given.sum()):
        given[order[i]] += 1
    return given


@jit
def capped(quotas: Ints, sizes: Ints, max_share: float) -> Ints:
    """Quotas of which none is more than `max_share` of their sum, nor than it would be if all were equal.

    What is above is given to the others in proportion to their sizes, by largest remainders, at most their sizes. The
    sum becomes smaller only where the others have too little. Quotas that are small enough stay as they are.
    """
    seats = quotas.sum()
    if quotas.max() <= _most(seats, quotas.size, max_share):
        return quotas
    while np.minimum(sizes, _most(seats, quotas.size, max_share)).sum() < seats:
        seats -= 1
    most = np.minimum(sizes, _most(seats, quotas.size, max_share))
    given, weights = np.zeros(quotas.size, dtype=np.int64), sizes.copy()
    while True:
        shares = apportion(seats - given.sum(), weights)
        if (shares <= most).all():
            return given + shares
        for i in range(quotas.size):
            if shares[i] > most[i]:
                given[i], weights[i] = most[i], 0


@jit
def _most(seats: int, members: int, max_share: float) -> int:
    return max(int(seats * max_share + 1e-9), (seats + members - 1) // members)


@jit
def choose(members: Ints, user_start: Ints, strings: QueryStrings, max_share: float) -> Ints:
    """Steps 1-3 of C: the chosen events, sorted."""
    ranked = members[sorting(strings.user_place[members])]
    sizes = user_start[ranked + 1] - user_start[ranked]
    total = sizes.sum()
    size = max(1, (2 * total + members.size) // (2 * members.size))
    quotas = capped(apportion(size, sizes), sizes, max_share)
    chosen = np.empty(quotas.sum(), dtype=np.int64)
    n = 0
    for i in range(ranked.size):
        if quotas[i] == 0:
            continue
        s0, s1 = strings.string_start[ranked[i]], strings.string_start[ranked[i] + 1]
        shares = apportion(quotas[i], strings.event_start[s0 + 1 : s1 + 1] - strings.event_start[s0:s1])
        for s in range(s0, s1):
            first = strings.event_start[s]
            for e in range(first, first + shares[s - s0]):
                chosen[n] = strings.events[e]
                n += 1
    return chosen[sorting(chosen)]


def choose_by_shares(members: Ints, user_start: Ints, strings: QueryStrings) -> Ints:
    """The same without a limit."""
    return choose(members, user_start, strings, 1.0)


@jit
def _common_labels(a: int, n_a: int, b: int, n_b: int, events: EventArrays) -> int:
    """How many labels two hosts have in common from the right."""
    n = 0
    at_a, at_b = events.host_start[a], events.host_start[b]
    while n < n_a and n < n_b and events.host_labels[at_a + n] == events.host_labels[at_b + n]:
        n += 1
    return n


@jit
def _half_up(total: int, count: int) -> int:
    return (2 * total + count) // (2 * count)


@inlined
def _count_user(user: int, part: int, slot: int, one: Ints, several: Flags) -> None:
    """Remember that a user contributes to a part of a chosen event, and whether others do too."""
    if one[part, slot] >= 0 and one[part, slot] != user:
        several[part, slot] = True
    one[part, slot] = user


@jit
def _summarize(
    members: Ints, chosen: Ints, events: EventArrays, assignment: Assignment, out: Averages, at: int
) -> None:
    """Step 4 of C: time, rank and host of each chosen event, written to out from `at` on.

    Of what comes from one user alone, a time becomes its day, and a rank or a host is left out.
    """
    n = chosen.size
    times, n_times = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    ranks, n_ranks = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    hosts, depths = np.full(n, MISSING, dtype=np.int64), np.zeros(n, dtype=np.int64)
    one, several = np.full((4, n), -1, dtype=np.int64), np.zeros((4, n), dtype=np.bool_)
    for i in range(n):
        assignment.slot[chosen[i]] = i
    for u in members:
        for e in range(events.user_start[u], events.user_start[u + 1]):
            if assignment.near[e] < 0:
                continue
            s = assignment.slot[assignment.near[e]]
            _count_user(u, _ANY, s, one, several)
            if events.time[e] != MISSING:
                times[s] += events.time[e]
                n_times[s] += 1
                _count_user(u, _TIME, s, one, several)
            if events.rank[e] != MISSING:
                ranks[s] += events.rank[e]
                n_ranks[s] += 1
                _count_user(u, _RANK, s, one, several)
            if events.host[e] != MISSING:
                _count_user(u, _HOST, s, one, several)
                if hosts[s] == MISSING:
                    hosts[s], depths[s] = events.host[e], events.depth[e]
                else:
                    depths[s] = _common_labels(hosts[s], depths[s], events.host[e], events.depth[e], events)
    for i in range(n):
        s = assignment.slot[assignment.near[chosen[i]]]
        o = at + i
        out.event[o] = chosen[i]
        from_one_user = not several[_ANY, s]
        for part in (_TIME, _RANK, _HOST):
            from_one_user = from_one_user or (one[part, s] >= 0 and not several[part, s])
        out.alone[o] = 1 if from_one_user else 0
        out.time[o] = _half_up(times[s], n_times[s]) if n_times[s] > 0 else MISSING
        if not several[_TIME, s] and n_times[s] > 0:
            out.time[o] = out.time[o] // _DAY * _DAY
        out.rank[o] = _half_up(ranks[s], n_ranks[s]) if several[_RANK, s] else MISSING
        out.host[o] = hosts[s] if several[_HOST, s] and depths[s] > 0 else MISSING
        out.depth[o] = depths[s]


def _events_of(members: Ints, events: EventArrays) -> int:
    return int((events.user_start[members + 1] - events.user_start[members]).sum())


def averages(
    members: Ints,
    group_start: Ints,
    attrs: int,
    events: EventArrays,
    strings: QueryStrings,
    workspace: Workspace,
    pairs: int = PAIRS,
    choose_queries: ChooseQueries = choose_by_shares,
) -> Averages:
    """C of each group; members[group_start[g]:group_start[g+1]] are its users. `choose_queries` gives C its events."""
    n_groups, n_events = group_start.size - 1, events.time.size
    assignment = new_assignment(n_events)
    room = n_events + n_groups
    out = Averages(np.zeros(n_groups + 1, dtype=np.int64), *np.zeros((6, room), dtype=np.int64))
    nothing = np.empty(0, dtype=np.int64)
    at = 0
    for g in range(n_groups):
        group = np.sort(members[group_start[g] : group_start[g + 1]])
        chosen = choose_queries(group, events.user_start, strings)
        if attrs == NEAREST and _events_of(group, events) * chosen.size <= pairs:
            assign(group, chosen, nothing, events, workspace, assignment)
        else:
            assign_strings(group, chosen, events, assignment)
        _summarize(group, chosen, events, assignment, out, at)
        at += chosen.size
        out.start[g + 1] = at
    return out


@jit
def _farthest(
    source: int, left: Ints, hint: Floats, events: EventArrays, workspace: Workspace
) -> tuple[float, int]:  # fmt: skip
    """The largest distance to source, and the user who has it; those that were far before are tried first."""
    best, farthest = -1.0, -1
    for i in sorting(-hint[left]):
        x = left[i]
        d = user_distance_above(source, x, best, events, workspace)
        if d >= 0.0:
            hint[x] = d
            if d > best or (d == best and x < farthest):
                best, farthest = d, x
    return best, farthest


@jit
def _nearest(
    source: int, left: Ints, count: int, events: EventArrays, workspace: Workspace
) -> tuple[Floats, Ints]:  # fmt: skip
    """The `count` smallest distances to source, and the users who have them, without source; -1 where there are few."""
    sizes = np.empty(left.size, dtype=np.float64)
    for i in range(left.size):
        sizes[i] = size_distance(source, left[i], events)
    best = np.full(count, INFINITE, dtype=np.float64)
    nearest = np.full(count, -1, dtype=np.int64)
    for i in sorting(sizes):
        x = left[i]
        if x == source:
            continue
        d = user_distance_below(source, x, best[count - 1], events, workspace)
        if d < INFINITE:
            enter(d, x, best, nearest)
    return best, nearest


def mdav(
    k: int,
    events: EventArrays,
    strings: QueryStrings,
    workspace: Workspace,
    pairs: int = PAIRS,
    more: Sequence[Workspace] = (),
    side_by_side: SideBySide = one_after_the_other,
) -> tuple[Ints, Ints]:
    """Members of all groups and where each group starts; each group is led by the user it was built around.

    The arrays of events have room for the average record after the last user's events. With `more` workspaces distances
    are computed in as many parts, which `side_by_side` may run in threads; the groups are the same.
    """
    workspaces = [workspace, *more]
    n = events.user_start.size - 2
    n_events, n_runs = events.user_start[n], events.user_runs[n]
    assignment = new_assignment(n_events)
    of_center = [array[n_events:] for array in (events.time, events.rank, events.host, events.depth)]
    others = np.zeros((3, events.time.size - n_events + 2), dtype=np.int64)  # fields of x̄ that are not used
    center = Averages(others[0], others[1], of_center[0], of_center[1], of_center[2], of_center[3], others[2])
    hint = np.zeros(n, dtype=np.float64)
    nothing = np.empty(0, dtype=np.int64)
    assigned = nothing

    def average(left: Ints) -> int:
        nonlocal assigned
        chosen = choose_by_shares(left, events.user_start, strings)
        if _events_of(left, events) * chosen.size <= pairs:
            assign(left, chosen, assigned, events, workspace, assignment)
            assigned = chosen
            _summarize(left, chosen, events, assignment, center, 0)
        else:
            assign_strings(left, chosen, events, assignment)
            _summarize(left, chosen, events, assignment, center, 0)
            assignment.near[:] = -1  # which events are nearest is no longer known
            assignment.mark[:] = 0
            assigned = nothing
        end = n_events + chosen.size
        events.query[n_events:end] = events.query[chosen]
        events.length[n_events:end] = events.length[chosen]
        events.run_start[n_runs : n_runs + chosen.size + 1] = np.arange(n_events, end + 1)
        events.user_start[n + 1], events.user_runs[n + 1] = end, n_runs + chosen.size
        for each in workspaces:
            each.order[n_events:end] = np.arange(n_events, end)  # what was learnt about the last average is void
        return n

    def parts(left: Ints) -> list[tuple[Ints, Workspace]]:
        # Contiguous, as with one thread: for numba an array with gaps is of another type, and is compiled for anew.
        return [(np.ascontiguousarray(left[i :: len(workspaces)]), each) for i, each in enumerate(workspaces)]

    def farthest(source: int, left: Ints) -> int:
        of_parts = side_by_side(lambda part: _farthest(source, part[0], hint, events, part[1]), parts(left))
        return int(min(of_parts, key=lambda each: (-each[0], each[1]))[1])

    def nearest(source: int, left: Ints, count: int) -> Ints:
        of_parts = side_by_side(lambda part: _nearest(source, part[0], count, events, part[1]), parts(left))
        distance, user = (np.concatenate(each) for each in zip(*of_parts, strict=True))
        return user[np.lexsort((user, distance))][:count]

    return partition(n, k, average, farthest, nearest)


def partition(
    n: int,
    k: int,
    average: Callable[[Ints], int],
    farthest: Callable[[int, Ints], int],
    nearest: Callable[[int, Ints, int], Ints],
) -> tuple[Ints, Ints]:
    """The loop of MDAV for n records, whatever they are.

    `average` makes the average of some records and gives its number, `farthest` gives the record farthest from another,
    `nearest` a number of records nearest to another, without that one.
    """
    groups: list[Ints] = []
    left = np.arange(n)
    while left.size >= 2 * k:
        source = average(left)
        for _ in range(2 if left.size >= 3 * k else 1):
            source = farthest(source, left)
            groups.append(np.append(source, nearest(source, left, k - 1)))
            left = left[~np.isin(left, groups[-1])]
    groups.append(left)
    return np.concatenate(groups), np.cumsum([0, *(group.size for group in groups)])
