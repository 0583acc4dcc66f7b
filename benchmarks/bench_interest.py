"""interest_microaggregate from TSV to a verified Parquet file, step by step, beside blocked microaggregate.

    python benchmarks/bench_interest.py [--users 10000,65000,657000] [--k 5] [--embedding none] [--beside 10000]

657,000 users make a log of AOL's size (36 million rows). Each job runs in a process of its own, so that its peak memory
is its own; the log is made and kernels are compiled before the clock starts. `grouping` is who is grouped with whom
once the vectors are there. `microaggregate` runs on logs of up to --beside users. Similarity within groups is the mean
cosine of the vectors without their size term: the method's own yardstick, which says that it works, not that it is
useful.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SEED = 7
STEPS = ("interests", "similar_groups", "release_groups")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--users", default="10000", help="sizes of the synthetic logs, separated by commas")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--embedding", default="none")
    parser.add_argument("--beside", type=int, default=10_000, help="largest log for microaggregate; 0: leave it out")
    parser.add_argument("--work", type=Path, help="folder for large files (default: a temporary one)")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        found = anonymize(given) if given.job != "synth" else synth(given)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(json.dumps({**found, "peak": peak}))
        return
    with tempfile.TemporaryDirectory(dir=given.work) as folder:
        table(given, Path(folder))


def table(given: argparse.Namespace, folder: Path) -> None:
    print("| job | what | time | CPU time | per user | peak memory |\n|---|---|---:|---:|---:|---:|", flush=True)
    for method in ("interest_microaggregate", "microaggregate"):  # compile the kernels
        job("synth", 1_500, folder, given)
        job(method, 1_500, folder, given)
    for users in map(int, given.users.split(",")):
        rows = job("synth", users, folder, given)["rows"]
        ours = job("interest_microaggregate", users, folder, given)
        what = f"{users:,} users, {rows:,} rows, k = {given.k}"
        line("interest_microaggregate, TSV to Parquet", what, ours["whole"], users, ours["peak"])
        width, cosine, random = ours["width"], ours["cosine"], ours["random"]
        told = (f"{width} numbers each", f"mean cosine {cosine:.3f}, of random groups {random:.3f}", "")
        for step, name, what in zip(STEPS, ("vectors", "grouping", "profiles"), told, strict=True):
            line(f"of which {name}", what, ours[step], users)
        if users <= given.beside:
            theirs = job("microaggregate", users, folder, given)
            ratio = f"{theirs['whole'][1] / ours['whole'][1]:.1f} x the processor time"
            line("microaggregate, TSV to Parquet", ratio, theirs["whole"], users, theirs["peak"])
            line("of which profiles", "", theirs["release_groups"], users)
        (folder / f"{users}.tsv").unlink()


def line(name: str, what: str, times: list[float], users: int, peak: float | None = None) -> None:
    wall, cpu = times
    memory = f"{peak:.2f} GiB" if peak else ""
    print(f"| {name} | {what} | {wall:,.1f} s | {cpu:,.1f} s | {1000 * cpu / users:.2f} ms | {memory} |", flush=True)


def job(name: str, users: int, folder: Path, given: argparse.Namespace) -> dict:
    settings = {"job": name, "users": users, "log": folder / f"{users}.tsv", "k": given.k, "embedding": given.embedding}
    arguments = [
        sys.executable,
        __file__,
        *(part for key, value in settings.items() for part in (f"--{key}", str(value))),
    ]
    return json.loads(subprocess.run(arguments, check=True, stdout=subprocess.PIPE).stdout)


def synth(given: argparse.Namespace) -> dict:
    from coterie import synth

    return {"rows": synth.write_aol(given.log, int(given.users), SEED)}


def anonymize(given: argparse.Namespace) -> dict:
    import numpy as np

    import coterie
    from coterie.cli.main import _blocks_for
    from coterie.core import registry
    from coterie.kernels.diversity import mean_similarity

    module = registry.module("methods", given.job)
    kind = registry.method(given.job)
    times: dict[str, list[float]] = {}
    kept: dict = {}

    def timed(name, work):
        def run(*arguments, **settings):
            wall, cpu = time.perf_counter(), time.process_time()
            kept[name] = result = work(*arguments, **settings)
            times[name] = [time.perf_counter() - wall, time.process_time() - cpu]
            return result

        return run

    for name in STEPS:
        if hasattr(module, name):
            setattr(module, name, timed(name, getattr(module, name)))
    ours = given.job == "interest_microaggregate"
    method = kind(k=given.k, **({"embedding": given.embedding} if ours else {}))

    def whole() -> None:
        log = coterie.prepare(coterie.read(given.log))
        release = coterie.anonymize(log, method, seed=SEED, blocks=_blocks_for(log, kind))
        coterie.write(release, given.log.with_suffix(".parquet"), force=True)

    timed("whole", whole)()
    if not ours:
        return times
    content, group = kept["interests"].vectors[:, :-2], kept["similar_groups"]
    order = np.random.default_rng(SEED).permutation(group.size)
    found = {"cosine": mean_similarity(group, content), "random": mean_similarity(group[order], content)}
    return {**times, **found, "width": content.shape[1] + 2}


if __name__ == "__main__":
    main()
