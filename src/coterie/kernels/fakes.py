"""Draws of fake queries (simulate/fakes.py): each fake has a stream of its own, keyed by its number."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.kernels._arrays import Ints, Short
from coterie.kernels._hashing import splitmix64
from coterie.kernels._jit import inlined, jit
from coterie.kernels.simattack import Sets

_STEP = np.uint64(0x9E3779B97F4A7C15)
_TRIES = 100


@inlined
def _below(state: Any, n: int) -> Any:
    return np.int64(splitmix64(state) % np.uint64(n))


@inlined
def _begin(key: Any, number: int) -> Any:
    return splitmix64(key ^ (np.uint64(number) * _STEP))


@jit
def drawn_of_others(author: Short, pool: Short, key: np.uint64) -> Ints:
    """For each event a place in `pool`, the authors of other events, who is not its own; any place after 100 draws."""
    chosen = np.zeros(author.size, dtype=np.int64)
    for i in range(author.size):
        state = _begin(key, i)
        for _ in range(_TRIES):
            state += _STEP
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
            state += _STEP
            if j == 0:
                words[at] = past.word[_below(state, past.word.size)]
            else:
                before = words[at - 1]
                query = place[start[before] + _below(state, start[before + 1] - start[before])]
                state += _STEP
                n = past.start[query + 1] - past.start[query]
                words[at] = past.word[past.start[query] + _below(state, n)]
            at += 1
    return words
