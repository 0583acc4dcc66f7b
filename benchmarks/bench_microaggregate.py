"""User microaggregation beside its plain Python version, what a busy user costs, and the cost for each user in blocks.

    python benchmarks/bench_microaggregate.py [--sizes 10000,100000] [--plain 40]

The plain version (tests/helpers/reference.py) runs on a few users; its time for 1,000 users is extrapolated: it is
taken to grow with the number of user distances, that is with the square of the users. (The average record grows a
little less: x557 from 40 to 1,000 users where distances grow x601.) It is timed twice: as the paper reads, and as the
tests run it, where it remembers the distances of words. All versions must give the same groups on the few users. Judge
by the ratios. Each job runs in a process of its own, so that its peak memory is its own. Kernels are compiled before
the clock starts; the first line says how long that took, where they were not compiled before. Versions are compared by
processor time, all on one core; blocks run on all cores.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

from steps import a_run, drafted

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
K, K_BLOCKED, ROWS, SEED = 3, 5, 56, 7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", default="10000", help="numbers of users for the cost with blocks")
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
    ratios = []
    if given.plain:
        few = job("fast", given.plain)
        for name, label in (("plain", "plain Python"), ("remembering", "plain Python that remembers word distances")):
            plain = job(name, given.plain)
            if few["groups"] != plain["groups"]:
                sys.exit("The two versions give different groups: the comparison is void.")
            whole = plain["seconds"] * distances(1000) / distances(given.plain)
            ratios.append(f"{whole / fast['seconds']:,.0f} x")
            lines += [
                (f"{label}, {given.plain} users", f"{plain['distances']:,} distances", plain["seconds"], "", None),
                (f"{label}, 1,000 users, extrapolated", f"{distances(1000):,} distances", whole, "1", None),
            ]
    lines.append(("microaggregate: groups", what, fast["seconds"], " and ".join(ratios), fast["peak"]))
    without, busy = job("profiles", 1000), job("busy", 1000)
    more = f"{busy['cpu'] / without['cpu']:.2f} of that without"
    lines += [
        ("microaggregate: groups and profiles", what, without["cpu"], "1", without["peak"]),
        ("the same with one more user of 100,000 rows", "", busy["cpu"], more, busy["peak"]),
    ]
    for users in map(int, given.sizes.split(",")):
        blocked = job("blocked", users)
        per_user = f"{1000 * blocked['cpu'] / users:.1f} ms of processor time a user"
        what = f"{users:,} users, {blocked['rows']:,} rows, k = {K_BLOCKED}, blocks of 200"
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
    from coterie.core import randomness

    return randomness.keys(SEED, purpose, subjects)


def _equal_users(users: int):
    """The first ROWS rows of users that have as many, sorted."""
    import polars as pl

    import coterie
    from coterie.algorithms.events import EVENT, EVENT_ORDER

    log = coterie.prepare(coterie.read(f"synth:users={5 * max(users, 100)},seed={SEED}"))
    rows = log.frame.select("user", *EVENT).collect().sort("user", *EVENT)
    rows = rows.filter(pl.len().over("user") >= ROWS).filter(pl.int_range(pl.len()).over("user") < ROWS)
    return rows.filter(pl.col("user").rank("dense") <= users).sort("user", *EVENT_ORDER)


def _groups(frame) -> list[list[int]]:
    from itertools import pairwise

    from coterie.algorithms.events import Scales, encode
    from coterie.algorithms.kernels.hausdorff import new_workspace
    from coterie.algorithms.kernels.mdav import mdav

    profiles = encode(frame, Scales.of_rows(frame.lazy(), a_run(SEED)), _keys)
    members, start = mdav(K, profiles.events, profiles.strings, new_workspace(profiles.events))
    return [members[a:b].tolist() for a, b in pairwise(start)]


def warm(users: int) -> dict:
    import polars as pl

    from coterie.algorithms.events import Scales
    from coterie.algorithms.profiles import centroids

    frame = _equal_users(users)
    start = time.perf_counter()
    _groups(frame)
    centroids(frame.with_columns(pl.lit(0, pl.UInt32).alias("group")), Scales.of_rows(frame.lazy(), a_run(SEED)), _keys)
    return {"seconds": time.perf_counter() - start}


def fast(users: int) -> dict:
    frame = _equal_users(users)
    _groups(frame.head(12 * ROWS))  # loads the compiled kernels
    start = time.process_time()
    groups = _groups(frame)
    return {"seconds": time.process_time() - start, "groups": groups}


def plain(users: int, remember: bool = False) -> dict:
    import polars as pl

    from coterie.core.arrays import splitmix64
    from tests.helpers import reference

    if not remember:
        reference.word_distance = reference.word_distance.__wrapped__
    people: dict[str, list] = {}
    for user, moment, query, rank, url in _equal_users(users).rows():
        seconds = (moment - type(moment)(1970, 1, 1)).total_seconds()
        people.setdefault(user, []).append((int(seconds), query, rank, url))

    def priority(user, query):
        key = _keys("tie between users", pl.Series([user]))
        if query is None:
            return int(key[0])
        return int(splitmix64(key ^ _keys("tie between queries", pl.Series([query])))[0])

    start = time.process_time()
    groups = reference.microaggregate(list(people.items()), K, priority)
    return {"seconds": time.process_time() - start, "groups": groups, "distances": distances(users)}


def remembering(users: int) -> dict:
    return plain(users, remember=True)


def profiles(users: int) -> dict:
    return _timed(_equal_users(users), K, 0)


def busy(users: int) -> dict:
    import polars as pl

    rows = _equal_users(users)
    many = rows.sample(100_000, with_replacement=True, seed=SEED).with_row_index("number")
    own = pl.format("{} {}", "query", "number")  # queries of her own, which is the worst case
    many = many.with_columns(pl.lit("busy").alias("user"), own.alias("query")).select(rows.columns)
    return _timed(pl.concat([rows, many]), K, 0)


def blocked(users: int) -> dict:
    import coterie

    log = coterie.prepare(coterie.read(f"synth:users={users},seed={SEED}"))
    return _timed(log.frame.collect(), K_BLOCKED, 200)


def _timed(rows, k: int, block_users: int) -> dict:
    import polars as pl

    import coterie
    from coterie.methods.microaggregate import Microaggregate

    log = coterie.log(rows)
    method, run = Microaggregate(k=k, block_users=block_users), a_run(SEED, blocks=1 + rows.height // 2**21)
    few = rows["user"].unique(maintain_order=True)[: 4 * k].implode()
    drafted(method, coterie.log(rows.filter(pl.col("user").is_in(few))), run).frame.collect()  # compiles everything
    start, cpu = time.perf_counter(), time.process_time()
    draft = drafted(method, log, run)
    released = draft.frame.collect().height
    return {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu, "rows": released}


JOBS = {task.__name__: task for task in (warm, fast, plain, remembering, profiles, busy, blocked)}

if __name__ == "__main__":
    main()
