"""The benchmark table: Coterie beside bare polars on the same data, in one run.

    python benchmarks/bench.py [--users 650000] [--log FILE] [--work DIR]

Judge by the ratios. Each job runs in a process of its own, so that its peak memory is its own; seconds depend on the
machine and on what else it does.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

K = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--users", type=int, default=650_000)
    parser.add_argument("--log", type=Path, help="use this AOL-like TSV instead of making one")
    parser.add_argument("--work", type=Path, help="folder for large files (default: a temporary one)")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        print(json.dumps(JOBS[given.job](given)))
        return
    with tempfile.TemporaryDirectory(dir=given.work) as folder:
        given.work = Path(folder)
        table(given)


def table(given: argparse.Namespace) -> None:
    lines = []
    if given.log is None:
        given.log = given.work / "log.tsv"
        made = job("synth", given)
        lines.append(f"| synth | {made['rows']:,} rows | {made['seconds']:.1f} s | | | | {made['peak']:.2f} GiB |")
    bare, ours, check = (job(name, given) for name in ("polars", "coterie", "verify"))
    if bare["fingerprint"] != ours["fingerprint"]:
        sys.exit("The two outputs differ: the comparison is void.")
    rows = [
        (f"bare polars, TSV to Parquet, k = {K}", f"{bare['rows']:,} rows out", bare, bare),
        ("coterie: read, normalize, plan, release, write", "the same rows", ours, bare),
        ("coterie: verify inside anonymize", "ratio to the line above", inside(ours), ours),
        ("coterie verify OUT --original LOG", "ratio to the same", check, ours),
    ]
    for name, what, one, other in rows:
        ratios = f"{one['seconds'] / other['seconds']:.2f} | {one['cpu'] / other['cpu']:.2f}"
        memory = f"{one['peak']:.2f} GiB" if "peak" in one else ""
        lines.append(f"| {name} | {what} | {one['seconds']:.1f} s | {one['cpu']:.1f} s | {ratios} | {memory} |")
    lines += [f"| of which {name} | | {seconds:.1f} s | | | | |" for name, seconds in ours["steps"].items()]
    for row in job("measures", given)["rows"]:
        pace = f"{row['per_million']:.2f} s per million rows"
        lines.append(f"| {row['name']}, {row['lines']:,} rows | {pace} | {row['seconds']:.2f} s | | | | |")
    print("| job | what | time | CPU time | ratio | CPU ratio | peak memory |\n|---|---|---:|---:|---:|---:|---:|")
    print("\n".join(lines))


def inside(ours: dict) -> dict:
    """The verification that was part of a run."""
    return {"seconds": ours["verify"], "cpu": ours["verify_cpu"]}


def job(name: str, given: argparse.Namespace) -> dict:
    arguments = ["--job", name, "--users", str(given.users), "--work", str(given.work)]
    arguments += ["--log", str(given.log)] if given.log else []
    done = subprocess.run([sys.executable, __file__, *arguments], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def peak() -> float:
    """Peak resident memory of this process in GiB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def synth(given: argparse.Namespace) -> dict:
    from coterie import synth

    start = time.perf_counter()
    rows = synth.write(given.log, given.users, 7)
    return {"rows": rows, "seconds": time.perf_counter() - start, "peak": peak()}


def bare_polars(given: argparse.Namespace) -> dict:
    """The same output with polars expressions and nothing else: no checks, no line numbers, no record."""
    import polars as pl

    start, used = time.perf_counter(), time.process_time()
    names = ["user", "query", "time", "rank", "url"]
    log = pl.scan_csv(
        given.log, separator="\t", has_header=False, skip_lines=1, quote_char=None,
        schema=dict.fromkeys(names, pl.String),
    )  # fmt: skip
    query = pl.col("query")
    folded = query.str.normalize("NFKC").str.to_lowercase().str.normalize("NFKC")
    spelled = folded.str.replace_all(r"\s+", " ").str.strip_chars()
    normal = query.str.contains(r"^[!-@\[-~]+(?: [!-@\[-~]+)*$")  # the same short cut as ours, to be fair
    log = log.with_columns(
        pl.col("time").str.to_datetime("%Y-%m-%d %H:%M:%S", time_unit="us"),
        pl.col("rank").cast(pl.Int32),
        pl.when(normal).then(query).otherwise(spelled).alias("query"),
    ).filter(~pl.col("query").is_in(["", "-"]))
    degrees = log.select("user", "query").unique().group_by("query").len().filter(pl.col("len") >= K)
    keep = degrees.select("query").collect(engine="streaming")
    left = log.join(keep.lazy(), on="query", how="semi").collect(engine="streaming")
    never, no_rank, no_url = pl.lit(None, pl.Datetime("us")), pl.lit(None, pl.Int32), pl.lit(None, pl.String)
    on, released = ["query", "_time", "_rank", "_url"], []
    for level in (  # from the whole tuple to nothing beside the query; each takes those rows that k users share
        *({"time": pl.col("time").dt.truncate(unit)} for unit in ("1d", "1w", "1mo")),
        {"time": never},
        {"time": never, "rank": no_rank},
        {"time": never, "rank": no_rank, "url": no_url},
    ):
        at = left.lazy().with_columns(
            level.get(name, pl.col(name)).alias(f"_{name}") for name in ("time", "rank", "url")
        )
        users = at.select(*on, "user").unique().group_by(on).len()
        common = users.filter((pl.col("len") >= K) | ("url" in level)).collect(engine="streaming").lazy()
        taken = at.join(common, on=on, how="semi", nulls_equal=True)
        released.append(taken.select(user=no_url, time="_time", query="query", rank="_rank", url="_url"))
        left = at.join(common, on=on, how="anti", nulls_equal=True).select(left.columns).collect(engine="streaming")
    rows = pl.concat(released)
    target = given.work / "bare.parquet"
    rows.sort("query", "time", "rank", "url").sink_parquet(target, engine="streaming")
    seconds = time.perf_counter() - start
    memory = peak()
    return {"seconds": seconds, "cpu": time.process_time() - used, "peak": memory, **fingerprint(target)}


def fingerprint(path: Path) -> dict:
    """Number of rows and a sum over the hashes of numbered rows."""
    import polars as pl

    rows = pl.scan_parquet(path).select("user", "time", "query", "rank", "url").with_row_index()
    count, total = rows.select(pl.len(), (pl.struct(pl.all()).hash(seed=1) % 2**32).sum().alias("h")).collect(
        engine="streaming"
    ).row(0)  # fmt: skip
    return {"rows": count, "fingerprint": [count, total]}


def coterie_run(given: argparse.Namespace) -> dict:
    from coterie import api
    from coterie.methods.suppress_rare import SuppressRare

    start = time.perf_counter()
    times: dict[str, float] = {}
    cpu: dict[str, float] = {}
    current = ["read", start, time.process_time()]

    def step(name: str) -> None:
        now, used = time.perf_counter(), time.process_time()
        times[current[0]], cpu[current[0]] = now - current[1], used - current[2]
        current[:] = [name, now, used]

    log = api.prepare(api.read(given.log))
    release = api.anonymize_prepared(log, SuppressRare(k=K), seed=7, record=False, progress=step)
    step("write")
    target = given.work / "safe.parquet"
    api.write(release, target, force=True)
    step("end")
    verify, verify_cpu = times.pop("verify"), cpu.pop("verify")
    return {
        "seconds": sum(times.values()),
        "cpu": sum(cpu.values()),
        "verify": verify,
        "verify_cpu": verify_cpu,
        "steps": times,
        "peak": peak(),
        **fingerprint(target),
    }


def coterie_verify(given: argparse.Namespace) -> dict:
    from coterie import api

    start, used = time.perf_counter(), time.process_time()
    verdict = api.verify(given.work / "safe.parquet", api.read(given.log))
    if verdict.exit_code != 0:
        sys.exit("verify failed")
    return {"seconds": time.perf_counter() - start, "cpu": time.process_time() - used, "peak": peak()}


def measures(given: argparse.Namespace) -> dict:  # noqa: ARG001
    """Exposure and information loss after a warm-up, on three sizes."""
    from coterie import api
    from coterie.methods.suppress_rare import SuppressRare

    rows = []
    for users in (200, 1000, 5000, 20_000):
        log = api.prepare(api.read(f"synth:users={users},seed=7"))
        release = api.anonymize_prepared(log, SuppressRare(k=3), seed=7)
        lines = log.frame.collect().height
        for name in ("exposure", "information_loss"):
            start = time.perf_counter()
            api.measure(release, [name], original=log, seed=7)
            seconds = time.perf_counter() - start
            if users > 200:  # the first size only warms up
                rows.append({"name": name, "lines": lines, "seconds": seconds, "per_million": seconds / lines * 1e6})
    return {"rows": sorted(rows, key=lambda row: row["name"])}


JOBS = {"synth": synth, "polars": bare_polars, "coterie": coterie_run, "verify": coterie_verify, "measures": measures}

if __name__ == "__main__":
    main()
