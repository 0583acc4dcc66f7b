"""interest_microaggregate from TSV to a verified Parquet file, step by step, beside blocked microaggregate.

    python benchmarks/bench_interest.py [--users 10000,65000,657000] [--k 5] [--publish phrases] [--beside 10000]

657,000 users make a log of AOL's size (36 million rows). Each job runs in a process of its own, so that its peak memory
is its own; the log is made and kernels are compiled before the clock starts. `plan` is who is grouped with whom once
the vectors are there. `microaggregate` runs on logs of up to --beside users. Similarity within groups is the mean
cosine of the vectors without their size term: the method's own yardstick, which says that it works, not that it is
useful.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SEED = 7
STEPS = ("read", "learn", "plan", "release", "verify", "write")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--users", default="10000", help="sizes of the synthetic logs, separated by commas")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--embedding", default="none")
    parser.add_argument("--publish", default="phrases", choices=("phrases", "queries"))
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
        cosine = (
            f"{ours['width']} numbers each, mean cosine {ours['cosine']:.3f}, of random groups {ours['random']:.3f}"
        )
        for step in STEPS:
            line(f"of which {step}", cosine if step == "plan" else "", ours[step], users)
        if users <= given.beside:
            theirs = job("microaggregate", users, folder, given)
            ratio = f"{theirs['whole'][1] / ours['whole'][1]:.1f} x the processor time"
            line("microaggregate, TSV to Parquet", ratio, theirs["whole"], users, theirs["peak"])
            line("of which plan", "", theirs["plan"], users)
        (folder / f"{users}.tsv").unlink()


def line(name: str, what: str, times: list[float], users: int, peak: float | None = None) -> None:
    wall, cpu = times
    memory = f"{peak:.2f} GiB" if peak else ""
    print(f"| {name} | {what} | {wall:,.1f} s | {cpu:,.1f} s | {1000 * cpu / users:.2f} ms | {memory} |", flush=True)


def job(name: str, users: int, folder: Path, given: argparse.Namespace) -> dict:
    settings = {"job": name, "users": users, "log": folder / f"{users}.tsv"}
    settings |= {key: getattr(given, key) for key in ("k", "embedding", "publish")}
    arguments = [
        sys.executable,
        __file__,
        *(part for key, value in settings.items() for part in (f"--{key}", str(value))),
    ]
    return json.loads(subprocess.run(arguments, check=True, stdout=subprocess.PIPE).stdout)


def synth(given: argparse.Namespace) -> dict:
    from coterie import synth

    return {"rows": synth.write(given.log, int(given.users), SEED)}


def anonymize(given: argparse.Namespace) -> dict:
    import numpy as np

    import coterie
    from coterie.algorithms.kernels import grouping
    from coterie.core import registry
    from coterie.methods.interest_microaggregate import model as interests
    from coterie.methods.interest_microaggregate.kernels import mean_similarity

    ours = given.job == "interest_microaggregate"
    settings = {"embedding": given.embedding, "publish": given.publish} if ours else {}
    method = registry.method(given.job)(k=given.k, **settings)
    kept, marks = {}, [("read", time.perf_counter(), time.process_time())]

    def keep(module, name: str) -> None:
        """Keep what a function gives."""
        work = getattr(module, name)
        setattr(module, name, lambda *given, **more: kept.setdefault(name, work(*given, **more)))

    def mark(step: str, _share: float | None = None) -> None:
        if step != marks[-1][0]:
            marks.append((step, time.perf_counter(), time.process_time()))

    keep(interests, "interests")
    keep(grouping, "similar_groups")
    log = coterie.prepare(coterie.read(given.log))
    release = coterie.anonymize(log, method, seed=SEED, progress=mark)
    mark("write")
    coterie.write(release, given.log.with_suffix(".parquet"), force=True)
    mark("end")
    pairs = itertools.pairwise(marks)
    times = {step: [wall - before, cpu - used] for (step, before, used), (_, wall, cpu) in pairs}
    times["whole"] = [end - begin for begin, end in zip(marks[0][1:], marks[-1][1:], strict=True)]
    if not ours:
        return times
    content, group = kept["interests"].vectors[:, :-2], kept["similar_groups"]
    order = np.random.default_rng(SEED).permutation(group.size)
    found = {"cosine": mean_similarity(group, content), "random": mean_similarity(group[order], content)}
    return {**times, **found, "width": content.shape[1] + 2}


if __name__ == "__main__":
    main()
