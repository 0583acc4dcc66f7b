"""Friends submit each other's queries: one pass over all queries in the order of time (paper 002, corrected).

    a searcher u has a query: u chooses among N[u], themselves and their friends
    a friend v who is asked refuses if they are selfish, or if they did `credit` more for u than u for them
    u chooses again among those who were not asked for this query yet; where nobody is left, u submits it
    v forwards with probability `forward`, `hops` times at most, by the same rules but not back; else v submits it

How a member w of N[u] is chosen, where c is how many queries u handed to w (or submitted, for u) and r how often w
refused u:

    UNIFORM     each with the same probability
    BALANCED    with probability proportional to 1 / (1 + c + backoff r)
    SIMILAR     u with probability 1 / (n + 1) where n friends can be asked, else friends in proportion to a weight
    STICKY      the largest mix(tag of the query XOR tag of the member); simulate/sticky.py
    BEST_FIT    the friend whose interests are nearest to the query; never u, unless nobody is left

With all but BALANCED, a friend who refused s times in a row is not asked for the next `backoff` s queries of u. Free
riders never choose themselves while a friend is left. Draws of an event come from a stream of its own, so that they do
not depend on what happened before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.kernels._arrays import Bytes, Flags, Floats, Ints, Masks, Short
from coterie.kernels._hashing import splitmix64
from coterie.kernels._jit import inlined, jit

UNIFORM, BALANCED, SIMILAR, STICKY, BEST_FIT = range(5)
HONEST, SELFISH, FREE_RIDER, CURIOUS, COLLUDING = range(5)
NO_LIMIT = -1
_OWN = -1
_STEP = np.uint64(0x9E3779B97F4A7C15)


class Graph(NamedTuple):
    """Friendships by rows: the friends of u are friend[start[u]:start[u + 1]], ascending."""

    start: Ints
    friend: Short
    back: Short
    """The place of the same friendship in the row of the friend."""


class Rules(NamedTuple):
    """Parameters of the protocol."""

    choice: int
    forward: float
    hops: int
    credit: int
    backoff: int
    seed: int


class Preferences(NamedTuple):
    """What some rules know; arrays of size 0 where theirs is another one."""

    weight: Floats
    """Of each friend in `graph.friend`."""
    query_tag: Masks
    """Of each event."""
    own_tag: Masks
    """Of each person."""
    friend_tag: Masks
    """Of each friend in `graph.friend`."""
    vector: NDArray[np.float32]
    """Of each query."""
    interest: NDArray[np.float32]
    """Of each person."""


class Ways(NamedTuple):
    """What became of each event."""

    submitter: Short
    first: Short
    """The place in `graph.friend` of whom the searcher handed it to; -1 where they submitted it themselves."""
    hops: Bytes
    refusals: Short


class _State(NamedTuple):
    given: Short
    own: Short
    refused: Short
    row: Short
    until: Short
    stamp: Short
    asked: Short
    spurned: Flags
    """Whether anybody ever refused a person. Without that, what is known about refusals need not be looked at, and
    in a large network memory is what takes time."""


@inlined
def _share(state: np.uint64) -> float:
    return np.float64(splitmix64(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@inlined
def _allowed(e: int, u: int, sender: int, event: int, balanced: bool, friend: Short, s: _State) -> bool:
    if sender >= 0 and friend[e] == sender:
        return False
    if not s.spurned[u]:
        return True
    return s.stamp[e] != event and (balanced or s.until[e] <= s.asked[u])


@inlined
def _turn(e: int, u: int, backoff: int, s: _State) -> float:
    """How much it is a friend's turn, for BALANCED."""
    refused = backoff * s.refused[e] if s.spurned[u] else 0
    turn: float = 1.0 / (1.0 + s.given[e] + refused)
    return turn


@jit
def _by_weight(
    u: int, sender: int, event: int, keep_own: bool, draw: float, rules: Rules, graph: Graph, p: Preferences, s: _State
) -> int:
    """A friend, or oneself, by the weights of a rule."""
    choice = rules.choice
    balanced = choice == BALANCED
    total, n = 0.0, 0
    for e in range(graph.start[u], graph.start[u + 1]):
        if _allowed(e, u, sender, event, balanced, graph.friend, s):
            n += 1
            if balanced:
                total += _turn(e, u, rules.backoff, s)
            elif choice == SIMILAR:
                total += p.weight[e]
            else:
                total += 1.0
    if n == 0:
        return _OWN
    own = 0.0
    if keep_own:
        own = 1.0
        if balanced:
            own = 1.0 / (1.0 + s.own[u])
        elif choice == SIMILAR:
            own = total / n
    left = draw * (total + own) - own
    last = _OWN
    if left < 0.0:
        return _OWN
    for e in range(graph.start[u], graph.start[u + 1]):
        if _allowed(e, u, sender, event, balanced, graph.friend, s):
            last = e
            if balanced:
                left -= _turn(e, u, rules.backoff, s)
            elif choice == SIMILAR:
                left -= p.weight[e]
            else:
                left -= 1.0
            if left < 0.0:
                break
    return last


@jit
def _by_tag(
    u: int, sender: int, event: int, keep_own: bool, tag: np.uint64, graph: Graph, p: Preferences, s: _State
) -> int:
    """The member with the largest mixed tag."""
    best, chosen, some = np.uint64(0), _OWN, False
    if keep_own:
        best, some = splitmix64(tag ^ p.own_tag[u]), True
    for e in range(graph.start[u], graph.start[u + 1]):
        if _allowed(e, u, sender, event, False, graph.friend, s):
            score = splitmix64(tag ^ p.friend_tag[e])
            if not some or score > best:
                best, chosen, some = score, e, True
    return chosen


@jit
def _by_fit(u: int, sender: int, event: int, query: int, graph: Graph, p: Preferences, s: _State) -> int:
    """The friend whose interests are nearest to the query."""
    best, chosen = 0.0, _OWN
    for e in range(graph.start[u], graph.start[u + 1]):
        if _allowed(e, u, sender, event, False, graph.friend, s):
            fit = 0.0
            w = graph.friend[e]
            for d in range(p.vector.shape[1]):
                fit += np.float64(p.vector[query, d]) * np.float64(p.interest[w, d])
            if chosen == _OWN or fit > best:
                best, chosen = fit, e
    return chosen


@jit
def replay(author: Short, query: Short, behaviour: Bytes, rules: Rules, graph: Graph, preferences: Preferences) -> Ways:
    """The way of each event; events stand in the order of time."""
    n, n_people, n_friends = author.size, graph.start.size - 1, graph.friend.size
    ways = Ways(
        np.empty(n, dtype=np.int32),
        np.full(n, -1, dtype=np.int32),
        np.zeros(n, dtype=np.uint8),
        np.zeros(n, dtype=np.int32),
    )
    s = _State(
        np.zeros(n_friends, dtype=np.int32),
        np.zeros(n_people, dtype=np.int32),
        np.zeros(n_friends, dtype=np.int32),
        np.zeros(n_friends, dtype=np.int32),
        np.zeros(n_friends, dtype=np.int32),
        np.full(n_friends, -1, dtype=np.int32),
        np.zeros(n_people, dtype=np.int32),
        np.zeros(n_people, dtype=np.bool_),
    )
    sticky = rules.choice == STICKY
    best_fit = rules.choice == BEST_FIT
    for i in range(n):
        u = author[i]
        holder, sender, left = u, -1, rules.hops
        state = splitmix64(np.uint64(rules.seed) ^ (np.uint64(i) * _STEP))
        tag = preferences.query_tag[i] if sticky else np.uint64(0)
        while True:
            # Free riders keep their own name off their own queries.
            keep_own = not (sender < 0 and behaviour[holder] == FREE_RIDER)
            while True:
                if sticky:
                    e = _by_tag(holder, sender, i, keep_own, tag, graph, preferences, s)
                elif best_fit:
                    e = _by_fit(holder, sender, i, query[i], graph, preferences, s)
                else:
                    state += _STEP
                    e = _by_weight(holder, sender, i, keep_own, _share(state), rules, graph, preferences, s)
                if e < 0:
                    break
                willing = behaviour[graph.friend[e]] != SELFISH
                if willing and (rules.credit < 0 or s.given[e] - s.given[graph.back[e]] < rules.credit):
                    break
                s.spurned[holder] = True
                ways.refusals[i] += 1
                s.refused[e] += 1
                s.row[e] += 1
                s.until[e] = s.asked[holder] + 1 + rules.backoff * s.row[e]
                s.stamp[e] = i
            s.asked[holder] += 1
            if e < 0:
                s.own[holder] += 1
                break
            s.given[e] += 1
            s.row[e] = 0
            if ways.hops[i] == 0:
                ways.first[i] = e
            ways.hops[i] += 1
            sender, holder = holder, graph.friend[e]
            state += _STEP
            if left == 0 or not _share(state) < rules.forward:
                break
            left -= 1
            if sticky:  # a forwarder has a key of their own
                tag = splitmix64(tag ^ preferences.own_tag[holder])
        ways.submitter[i] = holder
    return ways
