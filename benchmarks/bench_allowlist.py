"""allowlist beside suppress_rare on the same log, in one run.

    python benchmarks/bench_allowlist.py [--users 65000] [--words 1,2] [--log FILE] [--work DIR]

650,000 users make a log of AOL's size (36 million rows). Judge by the ratios of CPU time: each job runs in a process of
its own, so that its peak memory is its own. Both methods go from TSV to Parquet, and verify is part of both.
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

K, SEED = 5, 7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--users", type=int, default=65_000)
    parser.add_argument("--words", default="1,2", help="values of the parameter words, separated by commas")
    parser.add_argument("--log", type=Path, help="use this AOL-like TSV instead of making one")
    parser.add_argument("--work", type=Path, help="folder for large files (default: a temporary one)")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        print(json.dumps(measured(given)))
        return
    with tempfile.TemporaryDirectory(dir=given.work) as folder:
        given.work = Path(folder)
        table(given)


def table(given: argparse.Namespace) -> None:
    if given.log is None:
        from coterie import synth

        given.log = given.work / "log.tsv"
        synth.write(given.log, given.users, SEED)
    base = job("suppress_rare", given)
    print("| job | what | time | CPU time | of which verify | CPU ratio | peak memory |")
    print("|---|---|---:|---:|---:|---:|---:|")
    show("suppress_rare", f"{base['rows']:,} rows in, {base['out']:,} out", base, base)
    for words in given.words.split(","):
        one = job(words, given)
        show(
            f"allowlist, words = {words}", f"{one['out']:,} rows out, {one['alone']:,} queries of one person", one, base
        )


def show(name: str, what: str, one: dict, base: dict) -> None:
    print(
        f"| {name} | {what} | {one['seconds']:.1f} s | {one['cpu']:.1f} s | {one['verify']:.1f} s "
        f"| {one['cpu'] / base['cpu']:.2f} | {one['peak']:.2f} GiB |",
        flush=True,
    )


def job(name: str, given: argparse.Namespace) -> dict:
    arguments = ["--job", name, "--log", str(given.log), "--work", str(given.work)]
    done = subprocess.run([sys.executable, __file__, *arguments], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def measured(given: argparse.Namespace) -> dict:
    """One release from TSV to Parquet."""
    from coterie import api
    from coterie.methods.allowlist import Allowlist
    from coterie.methods.suppress_rare import SuppressRare

    rule = int(given.job) if given.job.isdecimal() else given.job
    method = SuppressRare(k=K) if given.job == "suppress_rare" else Allowlist(k=K, words=rule)
    small = api.prepare(api.read("synth:users=100,seed=1"))
    api.anonymize_prepared(small, method, seed=SEED)  # compiles
    cpu: dict[str, float] = {}
    began = [time.perf_counter(), time.process_time()]
    current = ["read", began[1]]

    def step(name: str, _share: float | None = None) -> None:
        now = time.process_time()
        cpu[current[0]] = cpu.get(current[0], 0.0) + now - current[1]
        current[:] = [name, now]

    log = api.prepare(api.read(given.log))
    release = api.anonymize_prepared(log, method, seed=SEED, record=False, progress=step)
    step("write")
    api.write(release, given.work / "safe.parquet", force=True)
    step("end")
    note = next((text for text in release.warnings if "one person alone" in text), "Of 0 released queries 0 were")
    return {
        "seconds": time.perf_counter() - began[0],
        "cpu": sum(cpu.values()),
        "verify": cpu["verify"],
        "steps": cpu,
        "rows": log.history[0].counts.get("lines", 0),
        "out": int(release.to_polars().height),
        "alone": int(note.split()[4].replace(",", "")),
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


if __name__ == "__main__":
    main()
