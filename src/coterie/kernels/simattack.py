"""SimAttack (measures/attacks/simattack.py) on many queries and many people: who of some candidates fits best.

    s_i = |q ∩ q_i| / √(|q| |q_i|), in ascending order;  S = s_1, then S ← α s_i + (1 - α) S

In descending order the j-th s has the weight α (1 - α)^(j-1), and the last one (1 - α)^(n-1); zeros add nothing. So
only known queries with a common word are looked at, by lists of those that have each word, and of equal s that stand at
the places r + 1 .. r + c the weights add up to (1 - α)^r (1 - (1 - α)^c). S is compared in whole billionths.

Draws of fake queries (lab/simulate/measures/simattack.py): each fake has a stream of its own, keyed by its number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from coterie.algorithms.kernels._arrays import STEP, Floats, Ints, Short, splitmix64
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
