"""Simulations of protection on the client's side: events a second, a large network, and SimAttack.

    python benchmarks/bench_simulate.py [--nodes 1000000] [--events 30000000]

The baselines are the plain versions of the tests, on some of the events, extrapolated. The large network is made,
replayed and measured (exposure) in one process; its memory is the peak of the whole run.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

ROOT = Path(__file__).parents[1]
SEED = 7
_PLAIN_EVENTS, _PLAIN_ATTACKS = 20_000, 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1_000_000, help="people of the large network")
    parser.add_argument("--events", type=int, default=30_000_000, help="queries they search for")
    given = parser.parse_args()
    sys.path.insert(0, str(ROOT))  # the plain versions are those of the tests
    print("| job | CPU time | events a second | plain version | ratio |\n|---|---:|---:|---:|---:|")
    for rule in ("uniform", "balanced", "sticky"):
        _small(rule)
    _small("balanced", forward=0.7, hops=3)
    _attack()
    print("\n| large network | network | replay | events a second | exposure | peak memory |")
    print("|---|---:|---:|---:|---:|---:|")
    for topology in ("er", "ba"):
        _large(topology, given.nodes, given.events)


def _cpu(work, *arguments):
    start = time.process_time()
    result = work(*arguments)
    return result, time.process_time() - start


def _graph(topology: str, n: int):
    from coterie.lab.simulate.graphs import network

    return network(topology, pl.Series(np.arange(n).astype(str)), degree=10, nodes="drawn", seed=SEED).graph


def _small(rule: str, forward: float = 0.0, hops: int = 0, n: int = 1_000, events: int = 1_000_000) -> None:
    from coterie.lab.simulate import kernels as kernel
    from tests.helpers.friends_reference import Friends

    graph, stream = _graph("er", n), np.random.default_rng(SEED)
    author = stream.integers(0, n, events).astype(np.int32)
    tags = [stream.integers(0, 2**64, size, dtype=np.uint64) for size in (events, n, graph.friend.size)]
    nothing = np.zeros((0, 0), dtype=np.float32)
    preferences = kernel.Preferences(np.zeros(0), *tags, nothing, nothing)
    choice = {"uniform": kernel.UNIFORM, "balanced": kernel.BALANCED, "sticky": kernel.STICKY}[rule]
    rules = kernel.Rules(choice, forward, hops, kernel.NO_LIMIT, 5, SEED)
    behaviour = np.zeros(n, dtype=np.uint8)
    kernel.replay(author[:10], author[:10], behaviour, rules, graph, preferences)  # compiles
    _, seconds = _cpu(kernel.replay, author, author, behaviour, rules, graph, preferences)
    rows = [graph.friend[graph.start[u] : graph.start[u + 1]].tolist() for u in range(n)]
    pairs = {(u, f): int(tags[2][graph.start[u] + i]) for u, row in enumerate(rows) for i, f in enumerate(row)}
    plain = Friends(rows, behaviour.tolist(), rules, tags=pairs, own_tags=tags[1].tolist())

    def replay_plainly() -> None:
        for i in range(_PLAIN_EVENTS):
            plain.submit(i, int(author[i]), 0, int(tags[0][i]))

    _, slow = _cpu(replay_plainly)
    slow *= events / _PLAIN_EVENTS
    name = f"{rule}, forwarded" if hops else rule
    print(
        f"| {name}, {n:,} people, {events:,} events | {seconds:.2f} s | {events / seconds / 1e6:.1f} million | "
        f"{slow:.0f} s | {slow / seconds:.0f} x |",
        flush=True,
    )


def _attack(users: int = 1_000, targets: int = 20_000) -> None:
    import coterie
    from coterie.lab.simulate.kernels import attack
    from coterie.lab.simulate.world import World
    from tests.helpers.attack_reference import similarity

    world = World.of(coterie.prepare(coterie.read(f"synth:users={users},seed={SEED},kind=people")))
    late = np.random.default_rng(SEED).choice(np.flatnonzero(world.late), targets)
    everybody = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
    sets, past = world.sets_of(world.query[late]), world.true_past
    attack(world.sets_of(world.query[late[:1]]), world.author[late[:1]], past, *everybody)  # compiles
    found, seconds = _cpu(attack, sets, world.author[late], past, *everybody)
    words = [
        frozenset(world.words.word[a:b].tolist())
        for a, b in zip(world.words.start, world.words.start[1:], strict=False)
    ]
    known: list[list[frozenset[int]]] = [[] for _ in range(world.n_users)]
    for event in np.flatnonzero(~world.late).tolist():
        known[world.author[event]].append(words[world.query[event]])

    def attack_plainly() -> None:
        for i in range(_PLAIN_ATTACKS):
            fits = [similarity(words[world.query[late[i]]], past) if past else 0.0 for past in known]
            assert abs(max(fits) - found.fit[i] / 1e9) < 1e-8

    _, slow = _cpu(attack_plainly)
    slow *= targets / _PLAIN_ATTACKS
    print(
        f"| SimAttack, {world.n_users:,} users, {targets:,} queries | {seconds:.2f} s | {targets / seconds:,.0f} | "
        f"{slow:.0f} s | {slow / seconds:.0f} x |",
        flush=True,
    )


def _large(topology: str, n: int, events: int) -> None:
    from coterie.lab.simulate import kernels as kernel
    from coterie.lab.simulate.measures.exposure import exposure

    graph, making = _cpu(_graph, topology, n)
    stream = np.random.default_rng(SEED)
    author = stream.integers(0, n, events, dtype=np.int32)
    query = np.minimum(stream.pareto(0.7, events) * 10, n - 1).astype(np.int32)  # few are frequent, most are rare
    nothing, no_tags = np.zeros((0, 0), dtype=np.float32), np.zeros(0, dtype=np.uint64)
    preferences = kernel.Preferences(np.zeros(0), no_tags, no_tags, no_tags, nothing, nothing)
    rules = kernel.Rules(kernel.BALANCED, 0.0, 0, kernel.NO_LIMIT, 5, SEED)
    behaviour = np.zeros(n, dtype=np.uint8)
    ways, replaying = _cpu(kernel.replay, author, query, behaviour, rules, graph, preferences)
    submitter = ways.submitter
    del ways

    def exposed() -> float:
        pairs = []
        for who in (author, submitter):
            keys = who * np.int64(n) + query
            pairs += np.unique(keys, return_counts=True)
            del keys
        return float(np.nanmean(exposure(*pairs, n, n)[0]))

    level, measuring = _cpu(exposed)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"| {topology}, {n:,} people, {events:,} events (exposure {level:.1f} %) | {making:.1f} s | "
        f"{replaying:.1f} s | {events / replaying / 1e6:.1f} million | {measuring:.1f} s | {memory:.2f} GiB |",
        flush=True,
    )


if __name__ == "__main__":
    main()
