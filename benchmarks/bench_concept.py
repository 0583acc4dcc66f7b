"""Microaggregation by meaning beside its plain Python version.

    python benchmarks/bench_concept.py [--plain 24]

Users have 55 queries each: labels of WordNet drawn at random, half of them from a few places of the tree for each user,
and a third of texts without a concept, as many as in real logs. The plain version (tests/helpers/concept_reference.py)
runs on a few users; its time for 1,000 users is extrapolated by the number of user distances, which is too low for it:
what the average record costs grows faster. Both must give the same groups on the few users. Judge by the ratio. Each
job runs in a process of its own, on one core and with compiled kernels, by processor time.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]
import bench_microaggregate  # noqa: E402 (after the path)
from steps import a_run, drafted  # noqa: E402

K, ROWS, SEED, CATEGORIES = bench_microaggregate.K, 55, 7, 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--plain", type=int, default=24, help="users for the plain version")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--users", type=int, default=1000, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        print(json.dumps({**JOBS[given.job](given.users), "peak": bench_microaggregate.peak()}))
        return
    few, plain, all_of_them = job("groups", given.plain), job("plain", given.plain), job("groups", 1000)
    if few["groups"] != plain["groups"]:
        sys.exit("The two versions give different groups: the comparison is void.")
    done, wanted = (bench_microaggregate.distances(n) for n in (given.plain, 1000))
    whole = plain["seconds"] * wanted / done
    release = job("release", 1000)
    what = f"1,000 users x {ROWS} rows, k = {K}"
    lines = [
        (f"plain Python, {given.plain} users", f"{done:,} distances", plain["seconds"], "", ""),
        ("plain Python, 1,000 users, extrapolated", f"{wanted:,} distances", whole, "1", ""),
        ("concept_microaggregate: mapping and groups", what, all_of_them["seconds"],
         f"{whole / all_of_them['seconds']:,.0f} x", f"{all_of_them['peak']:.0f} MiB"),
        ("concept_microaggregate: groups and profiles", what, release["seconds"], "", f"{release['peak']:.0f} MiB"),
    ]  # fmt: skip
    print("| job | what | processor time | ratio | peak memory |\n|---|---|---:|---:|---:|")
    for name, about, seconds, ratio, memory in lines:
        print(f"| {name} | {about} | {seconds:,.2f} s | {ratio} | {memory} |")


def job(name: str, users: int) -> dict:
    import subprocess

    arguments = [sys.executable, __file__, "--job", name, "--users", str(users)]
    return json.loads(subprocess.run(arguments, check=True, stdout=subprocess.PIPE).stdout)


def _keys(purpose, subjects):
    from coterie.core import randomness

    return randomness.keys(SEED, purpose, subjects)


def _people(users: int) -> list[list[str]]:
    import numpy as np

    from coterie import taxonomies

    labels = taxonomies.load("wordnet").labels.to_list()
    rng = np.random.default_rng(SEED)
    people = []
    for _ in range(users):
        interests = rng.integers(0, len(labels), 5)
        near = (rng.choice(interests, ROWS) + rng.integers(0, 40, ROWS)) % len(labels)
        anywhere = rng.integers(0, len(labels), ROWS)
        unknown = [f"zq{rng.integers(0, 20_000)}" for _ in range(ROWS)]
        which = rng.integers(0, 3, ROWS)
        people.append([(labels[a], labels[b], c)[w] for a, b, c, w in zip(near, anywhere, unknown, which, strict=True)])
    return people


def _frame(users: int):
    import polars as pl

    rows = [(f"u{i:06}", query) for i, queries in enumerate(_people(users)) for query in sorted(queries)]
    return pl.DataFrame(rows, schema=["user", "query"], orient="row")


def groups(users: int) -> dict:
    from coterie import taxonomies
    from coterie.algorithms.concepts import encode
    from coterie.algorithms.kernels.concept_sets import mdav

    frame, tree = _frame(users), taxonomies.load("wordnet")
    mdav(2, encode(_frame(10), tree, CATEGORIES, _keys).sets)  # so that everything is compiled
    start = time.process_time()
    members, begin = mdav(K, encode(frame, tree, CATEGORIES, _keys).sets)
    seconds = time.process_time() - start
    return {"seconds": seconds, "groups": [members[a:b].tolist() for a, b in pairwise(begin)]}


def plain(users: int) -> dict:
    from coterie import taxonomies
    from tests.helpers.concepts import reference_of

    people, tree = _people(users), taxonomies.load("wordnet")
    start = time.process_time()
    reference = reference_of([query for queries in people for query in queries], tree, CATEGORIES, _keys)
    found = reference.groups(people, K)
    return {"seconds": time.process_time() - start, "groups": found}


def release(users: int) -> dict:
    import coterie
    from coterie.methods.concept_microaggregate import ConceptMicroaggregate

    log, method, run = coterie.log(_frame(users)), ConceptMicroaggregate(k=K), a_run(SEED)
    drafted(method, coterie.log(_frame(4 * K)), run).frame.collect()  # so that everything is compiled
    start = time.process_time()
    draft = drafted(method, log, run)
    return {"rows": draft.frame.collect().height, "seconds": time.process_time() - start}


JOBS = {task.__name__: task for task in (groups, plain, release)}

if __name__ == "__main__":
    main()
