"""Simulations of many people and events, compiled: attacks and fake queries, and friends who submit for each other.

SimAttack (measures/attacks/simattack.py) on many queries and many people: who of some candidates fits best.

    s_i = |q ∩ q_i| / √(|q| |q_i|), in ascending order;  S = s_1, then S ← α s_i + (1 - α) S

In descending order the j-th s has the weight α (1 - α)^(j-1), and the last one (1 - α)^(n-1); zeros add nothing. So
only known queries with a common word are looked at, by lists of those that have each word, and of equal s that stand at
the places r + 1 .. r + c the weights add up to (1 - α)^r (1 - (1 - α)^c). S is compared in whole billionths.

Draws of fake queries (lab/simulate/measures/simattack.py): each fake has a stream of its own, keyed by its number.

Friends submit each other's queries: one pass over all queries in the order of time (paper 002, corrected).

    a searcher u has a query: u chooses among N[u], themselves and their friends
    a friend v who is asked refuses if they are selfish, or if they did `credit` more for u than u for them
    u chooses again among those who were not asked for this query yet; where nobody is left, u submits it
    v forwards with probability `forward`, `hops` times at most, by the same rules but not back; else v submits it

How a member w of N[u] is chosen, where c is how many queries u handed to w (or submitted, for u) and r how often w
refused u:

    UNIFORM     each with the same probability
    BALANCED    with probability proportional to 1 / (1 + c + backoff r)
    SIMILAR     u with probability 1 / (n + 1) where n friends can be asked, else friends in proportion to a weight
    STICKY      the largest mix(tag of the query XOR tag of the member); algorithms/sticky.py
    BEST_FIT    the friend whose interests are nearest to the query; never u, unless nobody is left

With all but BALANCED, a friend who refused s times in a row is not asked for the next `backoff` s queries of u. Free
riders never choose themselves while a friend is left. Draws of an event come from a stream of its own, so that they do
not depend on what happened before.

Networks of friends as arrays: growth by preference, and friendships by rows.

Barabási and Albert: person v = m, m + 1, ... befriends m different earlier people, each drawn in proportion to the
friends they have: an end of a friendship that is there already, drawn uniformly. The first m know person m.

Un-mixing identities: from what identities submitted to what each person searched for (Richardson and Lucy).

An engine that knows the network sees counts C[w, t] of word t under identity w, and that u spreads their queries over
N[u], so that a word of u is under w with probability A[w, u] = 1 / (d_u + 1). X[u, t], how often u used word t, is the
expected one under the mixture:

    X ← X Σ_w A[w, u] C[w, t] / (A X)[w, t] / Σ_w A[w, u]

It begins with X = the mean of C over N[u]. An occurrence is then one of u's with a probability proportional to
A[w, u] Π_t (X[u, t] + ε) / (|X_u| + ε V).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.algorithms.kernels._arrays import (
    STEP,
    Bytes,
    Flags,
    Floats,
    Ints,
    Masks,
    Short,
    places_by,
    share_of,
    splitmix64,
    taken,
)
from coterie.algorithms.kernels._jit import inlined, jit

REST = 0.4  # 1 - α
_SCALE = 1e9
_NEGLIGIBLE = 1e-12


class Known(NamedTuple):
    """Known queries by person: entry e has `size[e]` words and stands `times[e]` times in the past of owner[e]."""

    owner: Short
    size: Short
    times: Short
    total: Ints
    """How many queries of each person are known, those without words too."""
    start: Ints
    entry: Short
    """Entries with word t: entry[start[t]:start[t + 1]], ascending; entries stand in the order of their owners."""


class Sets(NamedTuple):
    """Sets of words: set i has word[start[i]:start[i + 1]]."""

    start: Ints
    word: Short


class Guesses(NamedTuple):
    """The best fit of each query."""

    fit: Ints
    """S of the candidate who fits best, in billionths; 0 where nobody fits."""
    ties: Short
    """How many candidates fit as well."""
    right: Short
    """1 if the author is one of them."""
    own: Ints
    """S of the author."""


@jit
def _smoothed(values: Floats, times: Ints, n: int, total: int) -> float:
    """S of n levels (s, times) of a person who has `total` known queries; sorts them."""
    for i in range(1, n):
        v, t, j = values[i], times[i], i - 1
        while j >= 0 and values[j] < v:
            values[j + 1], times[j + 1] = values[j], times[j]
            j -= 1
        values[j + 1], times[j + 1] = v, t
    fit: float = 0.0
    weight, count = 1.0, 0
    for i in range(n):
        part = REST ** times[i]
        fit += values[i] * weight * (1.0 - part)
        weight *= part
        count += times[i]
        if weight < _NEGLIGIBLE:
            return fit
    if count == total:  # no zeros: the smallest s is the first one
        fit += values[n - 1] * weight
    return fit


@jit
def attack(queries: Sets, author: Short, known: Known, cand_start: Ints, candidates: Short) -> Guesses:
    """Who fits each query best: all people where `cand_start` is empty, else those of the query's own list."""
    n, people = author.size, known.total.size
    guesses = Guesses(
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int32),
        np.zeros(n, dtype=np.int32),
        np.zeros(n, dtype=np.int64),
    )
    everybody = cand_start.size == 0
    shared = np.zeros(known.owner.size, dtype=np.int32)
    touched = np.empty(known.owner.size, dtype=np.int32)
    values = np.empty(known.owner.size + 1)
    times = np.empty(known.owner.size + 1, dtype=np.int64)
    allowed = np.full(people, -1, dtype=np.int64)
    for i in range(n):
        size = queries.start[i + 1] - queries.start[i]
        if size == 0:
            continue
        if not everybody:
            for c in range(cand_start[i], cand_start[i + 1]):
                allowed[candidates[c]] = i
        n_touched = 0
        for w in range(queries.start[i], queries.start[i + 1]):
            t = queries.word[w]
            for j in range(known.start[t], known.start[t + 1]):
                e = known.entry[j]
                if everybody or allowed[known.owner[e]] == i or known.owner[e] == author[i]:
                    if shared[e] == 0:
                        touched[n_touched] = e
                        n_touched += 1
                    shared[e] += 1
        found = np.sort(touched[:n_touched])
        at = 0
        while at < n_touched:
            person, levels = known.owner[found[at]], 0
            while at < n_touched and known.owner[found[at]] == person:
                e = found[at]
                s = shared[e] / np.sqrt(np.float64(size) * known.size[e])
                shared[e] = 0
                here = 0
                while here < levels and values[here] != s:
                    here += 1
                if here == levels:
                    values[here], times[here] = s, 0
                    levels += 1
                times[here] += known.times[e]
                at += 1
            fit = np.int64(np.round(_smoothed(values, times, levels, known.total[person]) * _SCALE))
            if person == author[i]:
                guesses.own[i] = fit
            if everybody or allowed[person] == i:
                if fit > guesses.fit[i]:
                    guesses.fit[i], guesses.ties[i], guesses.right[i] = fit, 1, person == author[i]
                elif fit == guesses.fit[i] and fit > 0:
                    guesses.ties[i] += 1
                    guesses.right[i] |= person == author[i]
    return guesses


# --- fake queries -----------------------------------------------------------------------------------


_TRIES = 100


@inlined
def _below(state: Any, n: int) -> Any:
    return np.int64(splitmix64(state) % np.uint64(n))


@inlined
def _begin(key: Any, number: int) -> Any:
    return splitmix64(key ^ (np.uint64(number) * STEP))


@jit
def drawn_of_others(author: Short, pool: Short, key: np.uint64) -> Ints:
    """For each event a place in `pool`, the authors of other events, who is not its own; any place after 100 draws."""
    chosen = np.zeros(author.size, dtype=np.int64)
    for i in range(author.size):
        state = _begin(key, i)
        for _ in range(_TRIES):
            state += STEP
            chosen[i] = _below(state, pool.size)
            if pool[chosen[i]] != author[i]:
                break
    return chosen


@jit
def by_frequency(real: Sets, order: Short, key: np.uint64, window: int) -> Short:
    """For each word another one, at most `window` places from it in the `order` of frequencies."""
    place = np.empty(order.size, dtype=np.int64)
    for at in range(order.size):
        place[order[at]] = at
    words = np.empty(real.word.size, dtype=np.int32)
    for i in range(real.word.size):
        at = place[real.word[i]]
        low, high = max(0, at - window), min(order.size, at + window + 1)
        words[i] = order[low + _below(_begin(key, i), high - low)]
    return words


@jit
def walks(sizes: Ints, past: Sets, start: Ints, place: Short, key: np.uint64) -> Short:
    """Walks of these sizes; place[start[t]:start[t + 1]] are the past queries with word t."""
    total = 0
    for i in range(sizes.size):
        total += sizes[i]
    words = np.zeros(total, dtype=np.int32)
    at = 0
    for i in range(sizes.size):
        state = _begin(key, i)
        for j in range(sizes[i]):
            state += STEP
            if j == 0:
                words[at] = past.word[_below(state, past.word.size)]
            else:
                before = words[at - 1]
                query = place[start[before] + _below(state, start[before + 1] - start[before])]
                state += STEP
                n = past.start[query + 1] - past.start[query]
                words[at] = past.word[past.start[query] + _below(state, n)]
            at += 1
    return words


# --- networks of friends ----------------------------------------------------------------------------


@jit
def preferential(n: int, m: int, seed: np.uint64) -> Short:
    """The ends of all friendships, two and two."""
    ends = np.empty(2 * m * (n - m), dtype=np.int32)
    state, size = seed, 0
    for v in range(m, n):
        begin = size
        for j in range(m):
            if v == m:
                w = j
            else:
                while True:
                    state += STEP
                    w = ends[np.int64(splitmix64(state) % np.uint64(begin))]
                    fresh = True
                    for i in range(begin, size, 2):
                        fresh = fresh and ends[i] != w
                    if fresh:
                        break
            ends[size], ends[size + 1] = w, v
            size += 2
    return ends


def reverse(start: Ints, friend: Short) -> Short:
    """For each friendship in the row of u the place of the same one in the row of the friend; rows are ascending."""
    back = np.empty(friend.size, dtype=np.int32)
    back[places_by(friend, start.size - 1).items] = np.arange(friend.size, dtype=np.int32)
    return back


@jit
def breadth_first(start: Ints, friend: Short, order: Ints, wanted: int) -> Ints:
    """The first `wanted` people who are met when asking for friends of friends, beginning with the first of `order`;
    where nobody new is met, with the next one of `order`."""
    met: Flags = np.zeros(start.size - 1, dtype=np.bool_)
    queue = np.empty(start.size - 1, dtype=np.int64)
    size, head, begin = 0, 0, 0
    while size < wanted:
        if head == size:
            while met[order[begin]]:
                begin += 1
            met[order[begin]] = True
            queue[size] = order[begin]
            size += 1
        u = queue[head]
        head += 1
        for e in range(start[u], start[u + 1]):
            w = friend[e]
            if not met[w]:
                met[w] = True
                queue[size] = w
                size += 1
    return queue[:wanted].copy()


def pairs_of(codes: Masks) -> Short:
    """The pairs u < v, two and two, that the numbers v (v - 1) / 2 + u stand for."""
    code = codes.astype(np.int64)
    v = ((1.0 + np.sqrt(1.0 + 8.0 * code)) / 2.0).astype(np.int64)
    v -= v * (v - 1) // 2 > code  # where the root was rounded
    v += (v + 1) * v // 2 <= code
    return np.stack([code - v * (v - 1) // 2, v], axis=1).reshape(-1).astype(np.int32)


# --- friends ----------------------------------------------------------------------------------------


UNIFORM, BALANCED, SIMILAR, STICKY, BEST_FIT = range(5)
HONEST, SELFISH, FREE_RIDER, CURIOUS, COLLUDING = range(5)
NO_LIMIT = -1
_OWN = -1


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
def _allowed(e: int, u: int, sender: int, event: int, balanced: bool, friend: Short, s: _State) -> bool:
    if sender >= 0 and friend[e] == sender:
        return False
    if not s.spurned[u]:
        return True
    return s.stamp[e] != event and (balanced or s.until[e] <= s.asked[u])


@inlined
def _pull(e: int, u: int, rules: Rules, p: Preferences, s: _State) -> float:
    """How much a friend's weight is by the rule; for BALANCED how much it is their turn."""
    pull: float = 1.0
    if rules.choice == BALANCED:
        refused = rules.backoff * s.refused[e] if s.spurned[u] else 0
        pull = 1.0 / (1.0 + s.given[e] + refused)
    elif rules.choice == SIMILAR:
        pull = p.weight[e]
    return pull


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
            total += _pull(e, u, rules, p, s)
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
            left -= _pull(e, u, rules, p, s)
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
        state = splitmix64(np.uint64(rules.seed) ^ (np.uint64(i) * STEP))
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
                    state += STEP
                    draw = share_of(splitmix64(state))
                    e = _by_weight(holder, sender, i, keep_own, draw, rules, graph, preferences, s)
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
            state += STEP
            if left == 0 or not share_of(splitmix64(state)) < rules.forward:
                break
            left -= 1
            if sticky:  # a forwarder has a key of their own
                tag = splitmix64(tag ^ preferences.own_tag[holder])
        ways.submitter[i] = holder
    return ways


# --- un-mixing --------------------------------------------------------------------------------------


_EPSILON = 0.01
_MILLION = 1e6


def places(identity: Ints, word: Ints, graph: Graph, n_words: int) -> Ints:
    """u * n_words + t for each count (identity, word) and each u in N[identity], oneself first."""
    start, friends = taken(graph.start, identity)
    members = np.insert(graph.friend[friends].astype(np.int64), start[:-1], identity)
    return members * n_words + np.repeat(word, np.diff(start) + 1)


@jit
def unmix(identity: Ints, count: Floats, place: Ints, size: int, graph: Graph, rounds: int) -> Floats:
    """X at each of `size` places (person, word); `place` leads from counts and members to them, as `places` does."""
    x = np.zeros(size)
    parts = np.zeros(size)
    at = 0
    for c in range(identity.size):
        w = identity[c]
        for member in range(1 + graph.start[w + 1] - graph.start[w]):
            u = w if member == 0 else graph.friend[graph.start[w] + member - 1]
            spread = 1.0 / (1.0 + graph.start[u + 1] - graph.start[u])
            x[place[at]] += spread * count[c]
            at += 1
    for _ in range(rounds):
        parts[:] = 0.0
        at = 0
        for c in range(identity.size):
            w = identity[c]
            n = 1 + graph.start[w + 1] - graph.start[w]
            mixed = 0.0
            for member in range(n):
                u = w if member == 0 else graph.friend[graph.start[w] + member - 1]
                mixed += x[place[at + member]] / (1.0 + graph.start[u + 1] - graph.start[u])
            if mixed > 0.0:
                for member in range(n):
                    u = w if member == 0 else graph.friend[graph.start[w] + member - 1]
                    parts[place[at + member]] += count[c] / mixed / (1.0 + graph.start[u + 1] - graph.start[u])
            at += n
        for i in range(size):
            x[i] *= parts[i]
    return x


@jit
def name_authors(
    queries: Sets, identity: Short, keys: Ints, x: Floats, sums: Floats, n_words: int, graph: Graph
) -> Short:
    """The member of N[identity] who most likely wrote each query; ties to oneself, then to the lowest number."""
    named = np.empty(identity.size, dtype=np.int32)
    start = np.searchsorted(keys, np.arange(sums.size + 1) * n_words)  # where the words of each person begin
    for i in range(identity.size):
        w = identity[i]
        best, who = np.int64(0), np.int64(w)
        for member in range(1 + graph.start[w + 1] - graph.start[w]):
            u = np.int64(w) if member == 0 else np.int64(graph.friend[graph.start[w] + member - 1])
            spread = 1.0 / (1.0 + graph.start[u + 1] - graph.start[u])
            likely = np.log(spread)
            for j in range(queries.start[i], queries.start[i + 1]):
                key = u * n_words + queries.word[j]
                at = start[u] + np.searchsorted(keys[start[u] : start[u + 1]], key)
                there = x[at] if at < start[u + 1] and keys[at] == key else 0.0
                likely += np.log((there + _EPSILON) / (sums[u] + _EPSILON * n_words))
            rounded = np.int64(np.round(likely * _MILLION))
            if member == 0 or rounded > best:
                best, who = rounded, u
        named[i] = who
    return named
