"""Un-mixing identities: against plain loops, and that it finds what it should."""

import numpy as np
import pytest

from coterie.lab.simulate.graphs import by_rows
from coterie.lab.simulate.kernels import Sets, name_authors, places, unmix

N, WORDS = 5, 4


def _ring():
    return by_rows(np.array([end for u in range(N) for end in (u, (u + 1) % N)], dtype=np.int32), N)


def _run(identity, word, count, rounds):
    graph = _ring()
    owned, place = np.unique(places(identity, word, graph, WORDS), return_inverse=True)
    return owned, unmix(identity, count, place.astype(np.int64), owned.size, graph, rounds), graph


def test_it_is_the_plain_formula():
    stream = np.random.default_rng(2)
    table = stream.integers(0, 5, (N, WORDS)).astype(np.float64)
    identity, word = (each.astype(np.int64) for each in np.nonzero(table))
    owned, x, _ = _run(identity, word, table[identity, word], 7)
    mixing = np.zeros((N, N))  # identity, person
    for u in range(N):
        mixing[[u, (u + 1) % N, (u - 1) % N], u] = 1 / 3
    plain = mixing.T @ table
    for _ in range(7):
        mixed = mixing @ plain
        plain = plain * (mixing.T @ np.divide(table, mixed, out=np.zeros_like(table), where=mixed > 0))
    assert x == pytest.approx(plain[owned // WORDS, owned % WORDS], abs=1e-9)


def test_it_names_whoever_alone_can_have_written_it():
    """Person 0 writes word 0, which stands under 4, 0 and 1; the others write other words."""
    identity = np.array([4, 0, 1, 1, 2, 3], dtype=np.int64)
    word = np.array([0, 0, 0, 1, 1, 1], dtype=np.int64)
    owned, x, graph = _run(identity, word, np.full(6, 10.0), 30)
    sums = np.bincount(owned // WORDS, weights=x, minlength=N)
    queries = Sets(np.array([0, 1, 2], dtype=np.int64), np.array([0, 1], dtype=np.int32))
    named = name_authors(queries, np.array([1, 1], dtype=np.int32), owned, x, sums, WORDS, graph)
    assert named.tolist() == [0, 2]
