"""Un-mixing identities: from what identities submitted to what each person searched for (Richardson and Lucy).

An engine that knows the network sees counts C[w, t] of word t under identity w, and that u spreads their queries over
N[u], so that a word of u is under w with probability A[w, u] = 1 / (d_u + 1). X[u, t], how often u used word t, is the
expected one under the mixture:

    X ← X Σ_w A[w, u] C[w, t] / (A X)[w, t] / Σ_w A[w, u]

It begins with X = the mean of C over N[u]. An occurrence is then one of u's with a probability proportional to
A[w, u] Π_t (X[u, t] + ε) / (|X_u| + ε V).
"""

from __future__ import annotations

import numpy as np

from coterie.kernels._arrays import Floats, Ints, Short
from coterie.kernels._jit import jit
from coterie.kernels.friends import Graph
from coterie.kernels.simattack import Sets

_EPSILON = 0.01
_SCALE = 1e6


@jit
def places(identity: Ints, word: Ints, graph: Graph, n_words: int) -> Ints:
    """u * n_words + t for each count (identity, word) and each u in N[identity], oneself first."""
    size = 0
    for c in range(identity.size):
        size += 1 + graph.start[identity[c] + 1] - graph.start[identity[c]]
    keys = np.empty(size, dtype=np.int64)
    at = 0
    for c in range(identity.size):
        w = identity[c]
        keys[at] = w * n_words + word[c]
        at += 1
        for e in range(graph.start[w], graph.start[w + 1]):
            keys[at] = np.int64(graph.friend[e]) * n_words + word[c]
            at += 1
    return keys


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
            rounded = np.int64(np.round(likely * _SCALE))
            if member == 0 or rounded > best:
                best, who = rounded, u
        named[i] = who
    return named
