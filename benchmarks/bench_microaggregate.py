"""User microaggregation beside its plain Python version, and what blocks cost.

    python benchmarks/bench_microaggregate.py [--sizes 1000,10000] [--plain 40]

The plain version (tests/kernels/reference.py) runs on a few users; its time for 1,000 users is extrapolated: it is
taken to grow with the number of user distances, that is with the square of the users. (The average record grows a
little less: x557 from 40 to 1,000 users where distances grow x601.) Both versions must give the same groups on the few
users. Judge by the ratios. Each job runs in a process of its own, so that its peak memory is its own. Kernels are
compiled before the clock starts; the first line says how long that took, where they were not compiled before.
The two versions are compared by processor time, both on one core; blocks run on all cores.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
K, ROWS, SEED = 3, 56, 7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000", help="numbers of users for the cost with blocks")
    parser.add_argument("--plain", type=int, default=40, help="users for the plain version; 0: leave it out")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--users", type=int, default=1000, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        print(json.dumps({**JOBS[given.job](given.users), "peak": peak()}))
        return
    table(given)


def table(given: argparse.Namespace) -> None:
    lines = []
    warm = job("warm", 12)
    lines.append(("compile kernels, or load them where they are compiled", "", warm["seconds"], "", warm["peak"]))
    fast = job("fast", 1000)
    what = f"1,000 users x {ROWS} rows, k = {K}"
    if given.plain:
        plain = job("plain", given.plain)
        few = job("fast", given.plain)
        if few["groups"] != plain["groups"]:
            sys.exit("The two versions give different groups: the comparison is void.")
        whole = plain["seconds"] * distances(1000) / distances(given.plain)
        lines += [
            (f"plain Python, {given.plain} users", f"{plain['distances']:,} distances", plain["seconds"], "", None),
            ("plain Python, 1,000 users, extrapolated", f"{distances(1000):,} distances", whole, "1", None),
            ("microaggregate: groups", what, fast["seconds"], f"{whole / fast['seconds']:,.0f} x", fast["peak"]),
        ]  # fmt: skip
    else:
        lines.append(("microaggregate: groups", what, fast["seconds"], "", fast["peak"]))
    for users in map(int, given.sizes.split(",")):
        blocked = job("blocked", users)
        per_user = f"{1000 * blocked['cpu'] / users:.1f} ms of processor time a user"
        what = f"{users:,} users, {blocked['rows']:,} rows, blocks of 200"
        lines.append(("microaggregate: groups and profiles", what, blocked["seconds"], per_user, blocked["peak"]))
    print("| job | what | time | ratio | peak memory |\n|---|---|---:|---:|---:|")
    for name, what, seconds, ratio, memory in lines:
        print(f"| {name} | {what} | {seconds:,.2f} s | {ratio} | {f'{memory:.0f} MiB' if memory else ''} |")


def distances(users: int) -> int:
    """User distances of MDAV, counted as the plain version makes them: to x̄, to x_r for its group, and so on."""
    count, left = 0, users
    while left >= 3 * K:
        count += left + (left - 1) + (left - K) + (left - K - 1)
        left -= 2 * K
    return count + (left + left - 1 if left >= 2 * K else 0)


def job(name: str, users: int) -> dict:
    arguments = [sys.executable, __file__, "--job", name, "--users", str(users)]
    return json.loads(subprocess.run(arguments, check=True, stdout=subprocess.PIPE).stdout)


def peak() -> float:
    """Peak resident memory of this process in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def _keys(purpose, subjects):
    from coterie import randomness

    return randomness.keys(SEED, purpose, subjects)


def _equal_users(users: int):
    """The first ROWS rows of users that have as many, sorted."""
    import polars as pl

    import coterie
    from coterie.aggregate import EVENT, EVENT_ORDER

    log = coterie.prepare(coterie.read(f"synth:users={5 * max(users, 100)},seed={SEED}"))
    rows = log.frame.select("user", *EVENT).collect().sort("user", *EVENT)
    rows = rows.filter(pl.len().over("user") >= ROWS).filter(pl.int_range(pl.len()).over("user") < ROWS)
    return rows.filter(pl.col("user").rank("dense") <= users).sort("user", *EVENT_ORDER)


def _groups(frame) -> list[list[int]]:
    from itertools import pairwise

    from coterie.aggregate import Scales, encode
    from coterie.kernels.hausdorff import new_scratch
    from coterie.kernels.mdav import mdav

    profiles = encode(frame, Scales.of(frame.lazy()), _keys)
    members, start = mdav(K, profiles.trees, profiles.strings, new_scratch(profiles.trees))
    return [members[a:b].tolist() for a, b in pairwise(start)]


def warm(users: int) -> dict:
    import polars as pl

    from coterie.aggregate import Scales, centroids

    frame = _equal_users(users)
    start = time.perf_counter()
    _groups(frame)
    centroids(frame.with_columns(pl.lit(0, pl.UInt32).alias("group")), Scales.of(frame.lazy()), _keys)
    return {"seconds": time.perf_counter() - start}


def fast(users: int) -> dict:
    frame = _equal_users(users)
    _groups(frame.head(12 * ROWS))  # loads the compiled kernels
    start = time.process_time()
    groups = _groups(frame)
    return {"seconds": time.process_time() - start, "groups": groups}


def plain(users: int) -> dict:
    import polars as pl

    from coterie.aggregate import mixed
    from tests.kernels import reference

    profiles: dict[str, list] = {}
    for user, moment, query, rank, url in _equal_users(users).rows():
        seconds = (moment - type(moment)(1970, 1, 1)).total_seconds()
        profiles.setdefault(user, []).append((int(seconds), query, rank, url))

    def priority(user, query):
        key = _keys("tie between users", pl.Series([user]))
        if query is None:
            return int(key[0])
        return int(mixed(key ^ _keys("tie between queries", pl.Series([query])))[0])

    start = time.process_time()
    groups = reference.microaggregate(list(profiles.items()), K, priority)
    return {"seconds": time.process_time() - start, "groups": groups, "distances": distances(users)}


def blocked(users: int) -> dict:
    import coterie
    from coterie.methods.microaggregate import Microaggregate
    from coterie.run import Run

    log = coterie.prepare(coterie.read(f"synth:users={users},seed={SEED}"))
    method, run = Microaggregate(k=K, block_users=200), Run(seed=SEED)
    start, cpu = time.perf_counter(), time.process_time()
    draft = method.release(log, method.plan(log, run), run)
    rows = draft.frame.collect().height
    return {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu, "rows": rows}


JOBS = {"warm": warm, "fast": fast, "plain": plain, "blocked": blocked}

if __name__ == "__main__":
    main()
