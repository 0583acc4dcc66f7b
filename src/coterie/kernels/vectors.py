"""Queries as sets of weighted n-grams (paper 001): equal sets become one vertex with the users of all its queries."""

from __future__ import annotations

import numpy as np

from coterie.kernels._arrays import Flags, Ints, Masks, Short, next_slot
from coterie.kernels._jit import jit

_FEW = 24  # up to this many numbers are sorted by insertion


@jit
def collapse(token_start: Ints, first: Short, second: Short, third: Short, allowed: Flags) -> tuple[Short, Ints, Short]:
    """The vertex of each query (-1: none), and the features of each vertex, ascending: features[start[v]:start[v + 1]].

    `first`, `second`, `third` are the features of the one to three words that begin at a position, or -1. Queries that
    are not `allowed`, or have no feature, have no vertex. Vertices are numbered in order of first appearance.
    """
    n = token_start.size - 1
    longest = 0
    for q in range(n):
        longest = max(longest, token_start[q + 1] - token_start[q])
    own = np.empty(3 * longest + 1, dtype=np.int32)
    vertex = np.full(n, -1, dtype=np.int32)
    capacity = 1 << 12
    slots = np.full(capacity, -1, dtype=np.int32)
    hashes = np.empty(capacity // 2, dtype=np.uint64)
    start = np.zeros(capacity // 2 + 1, dtype=np.int64)
    features = np.empty(capacity, dtype=np.int32)
    n_vertices = 0
    for q in range(n):
        if not allowed[q]:
            continue
        size = 0
        for i in range(token_start[q], token_start[q + 1]):
            for feature in (first[i], second[i], third[i]):
                if feature >= 0:
                    own[size] = feature
                    size += 1
        if size == 0:
            continue
        size = _distinct(own, size)
        h = np.uint64(size)
        for i in range(size):
            h = (h ^ np.uint64(own[i])) * np.uint64(0x9E3779B97F4A7C15)
            h ^= h >> np.uint64(29)
        place = np.int64(h & np.uint64(slots.size - 1))
        while slots[place] >= 0 and not _equal(own, size, features, start, slots[place], hashes, h):
            place = next_slot(slots, place)
        if slots[place] < 0:
            slots[place] = n_vertices
            hashes[n_vertices] = h
            end = start[n_vertices] + size
            while end > features.size:
                features = np.append(features, np.empty(features.size, dtype=np.int32))
            features[start[n_vertices] : end] = own[:size]
            start[n_vertices + 1] = end
            vertex[q] = n_vertices
            n_vertices += 1
            if n_vertices == hashes.size:  # half full: a table twice as large
                hashes = np.append(hashes, np.empty(hashes.size, dtype=np.uint64))
                start = np.append(start, np.empty(start.size - 1, dtype=np.int64))
                slots = np.full(2 * slots.size, -1, dtype=np.int32)
                for v in range(n_vertices):
                    place = np.int64(hashes[v] & np.uint64(slots.size - 1))
                    while slots[place] >= 0:
                        place = next_slot(slots, place)
                    slots[place] = v
        else:
            vertex[q] = slots[place]
    return vertex, start[: n_vertices + 1].copy(), features[: start[n_vertices]].copy()


@jit
def _distinct(numbers: Short, size: int) -> int:
    """Sort the first numbers of an array and leave out repetitions; how many are left."""
    if size > _FEW:
        numbers[:size].sort()
    else:
        for i in range(1, size):
            value, j = numbers[i], i
            while j > 0 and numbers[j - 1] > value:
                numbers[j] = numbers[j - 1]
                j -= 1
            numbers[j] = value
    kept = 1
    for i in range(1, size):
        if numbers[i] != numbers[kept - 1]:
            numbers[kept] = numbers[i]
            kept += 1
    return kept


@jit
def _equal(own: Short, size: int, features: Short, start: Ints, v: int, hashes: Masks, h: np.uint64) -> bool:
    if hashes[v] != h or start[v + 1] - start[v] != size:
        return False
    i = 0
    while i < size and features[start[v] + i] == own[i]:
        i += 1
    return i == size


@jit
def members(vertex: Short, n_vertices: int) -> tuple[Ints, Short]:
    """The queries of each vertex, ascending."""
    start = np.zeros(n_vertices + 1, dtype=np.int64)
    for v in vertex:
        if v >= 0:
            start[v + 1] += 1
    for v in range(n_vertices):
        start[v + 1] += start[v]
    queries = np.empty(start[n_vertices], dtype=np.int32)
    at = start[:-1].copy()
    for q in range(vertex.size):
        v = vertex[q]
        if v >= 0:
            queries[at[v]] = q
            at[v] += 1
    return start, queries


@jit
def union(start: Ints, member: Short, user_start: Ints, users: Short, n_users: int) -> tuple[Ints, Short]:
    """The distinct users of all queries of each vertex."""
    n = start.size - 1
    most = np.int64(0)
    for q in member:
        most += user_start[q + 1] - user_start[q]
    owners = np.empty(most, dtype=np.int32)
    begin = np.zeros(n + 1, dtype=np.int64)
    stamp = np.full(n_users, -1, dtype=np.int32)
    at = 0
    for v in range(n):
        for i in range(start[v], start[v + 1]):
            q = member[i]
            for j in range(user_start[q], user_start[q + 1]):
                u = users[j]
                if stamp[u] != v:
                    stamp[u] = v
                    owners[at] = u
                    at += 1
        begin[v + 1] = at
    return begin, owners[:at].copy()
