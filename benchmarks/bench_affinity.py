"""k_θ-affinity of all queries of a log beside suppress_rare, and its join beside a sparse matrix product.

    python benchmarks/bench_affinity.py [--users 18000,72000] [--theta 0.9,0.8] [--log FILE] [--work DIR]
    python benchmarks/bench_affinity.py --users 18000 --only-join     # the join on 100,000 vectors: a minute

650,000 users make a log of AOL's size (36 million rows). Judge by the ratios: each job runs in a process of its own, so
that its peak memory is its own, and seconds depend on the machine and on what else it does. Kernels are compiled before
the clock starts. Both methods go from TSV to Parquet; verify is timed beside them.

The join is compared with sparse_dot_topn where it is installed (with just enough top_n), else with scipy's product of
sparse matrices in blocks, on one core each. Where there are more vectors than --rows, the baseline multiplies so many
random rows with all, must find the same edges there, and its time for all rows is extrapolated. Beside it stands the
join of exactly --vectors vectors of the log, drawn at random, for which the baseline multiplies all rows.
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

from steps import a_run

K, SEED = 5, 7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--users", default="18000", help="sizes of the synthetic logs, separated by commas")
    parser.add_argument("--theta", default="0.9", help="values of θ, separated by commas")
    parser.add_argument(
        "--rows", type=int, default=10_000, help="vectors for the baseline of the join; 0: leave it out"
    )
    parser.add_argument("--vectors", type=int, default=100_000, help="vectors of the smaller join; 0: leave it out")
    parser.add_argument("--only-join", action="store_true", help="only the smaller join")
    parser.add_argument("--log", type=Path, help="use this AOL-like TSV instead of making one")
    parser.add_argument("--work", type=Path, help="folder for large files (default: a temporary one)")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        print(json.dumps({**JOBS[given.job](given), "peak": peak()}))
        return
    with tempfile.TemporaryDirectory(dir=given.work) as folder:
        given.work = Path(folder)
        for users in [0] if given.log else map(int, given.users.split(",")):
            table(given, users)


def table(given: argparse.Namespace, users: int) -> None:
    log = given.log
    if log is None:
        log = given.work / f"log{users}.tsv"
        job("synth", log, given, users=str(users))
    job("warm", log, given)
    if given.only_join:
        show([smaller(given, log, theta) for theta in given.theta.split(",")])
        return
    base = job("suppress_rare", log, given)
    lines = [("suppress_rare, TSV to Parquet", f"{base['rows']:,} rows in, {base['out']:,} out", base, "1.00")]
    for theta in given.theta.split(","):
        ours = job("affinity", log, given, theta=theta)
        ratio = f"{ours['seconds'] / base['seconds']:.2f}"
        lines.append((f"affinity, θ = {theta}, TSV to Parquet", f"{ours['out']:,} rows out", ours, ratio))
        graph = job("graph", log, given, theta=theta)
        for name, seconds in graph["steps"].items():
            lines.append((f"of which {name}", graph["what"][name], seconds, ""))
        parts = {"seconds": ours["verify"], "cpu": ours["verify_cpu"]}
        ratio = f"{ours['verify'] / base['verify']:.2f} x that of suppress_rare"
        lines.append(("verify inside anonymize", f"{ours['lines']:,} lines of certificate", parts, ratio))
        if given.rows:
            lines.append(joined(job("join", log, given, theta=theta, vectors="0")))
        if given.vectors:
            lines.append(smaller(given, log, theta))
    show(lines)


def smaller(given: argparse.Namespace, log: Path, theta: str) -> tuple:
    """The line of the join of some vectors, all of whose rows the baseline multiplies."""
    return joined(job("join", log, given, theta=theta, vectors=str(given.vectors), rows=str(given.vectors)))


def joined(other: dict) -> tuple:
    return f"join with {other['name']}", other["what"], other, f"{other['ratio']:,.0f} x the join"


def show(lines: list[tuple]) -> None:
    print("| job | what | time | CPU time | ratio | peak memory |\n|---|---|---:|---:|---:|---:|")
    for name, what, one, ratio in lines:
        memory = f"{one['peak']:.2f} GiB" if "peak" in one else ""
        print(f"| {name} | {what} | {one['seconds']:.1f} s | {one['cpu']:.1f} s | {ratio} | {memory} |", flush=True)
    print()


def job(name: str, log: Path, given: argparse.Namespace, **options: str) -> dict:
    arguments = ["--job", name, "--log", str(log), "--work", str(given.work), "--rows", str(given.rows)]
    arguments += [part for key, value in options.items() for part in (f"--{key}", value)]
    done = subprocess.run([sys.executable, __file__, *arguments], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def peak() -> float:
    """Peak resident memory of this process in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


class Clock:
    """Seconds and processor seconds of named steps."""

    def __init__(self) -> None:
        self.steps: dict[str, dict[str, float]] = {}
        self.name, self.start = "", (0.0, 0.0)
        self("read")

    def __call__(self, name: str) -> None:
        now = time.perf_counter(), time.process_time()
        if self.name:
            self.steps[self.name] = {"seconds": now[0] - self.start[0], "cpu": now[1] - self.start[1]}
        self.name, self.start = name, now


def synth(given: argparse.Namespace) -> dict:
    from coterie import synth

    return {"rows": synth.write(given.log, int(given.users), SEED)}


def warm(given: argparse.Namespace) -> dict:  # noqa: ARG001
    from coterie import api
    from coterie.methods.affinity import Affinity
    from coterie.testing import queries_log

    api.anonymize_prepared(queries_log(), Affinity(k=2), seed=SEED)
    return {}


def released(given: argparse.Namespace, method) -> dict:
    import polars as pl

    from coterie import api

    clock = Clock()
    log = api.prepare(api.read(given.log))
    release = api.anonymize_prepared(log, method, seed=SEED, record=False, progress=clock)
    clock("write")
    api.write(release, given.work / "safe.parquet", force=True)
    clock("end")
    verify = clock.steps.pop("verify")
    certificate = release.record.tables.get("certificate")
    return {
        "rows": sum(step.counts.get("lines", 0) for step in log.history),
        "out": release.log.frame.select(pl.len()).collect(engine="streaming").item(),
        "lines": 0 if certificate is None else certificate.select(pl.len()).collect().item(),
        "seconds": sum(step["seconds"] for step in clock.steps.values()),
        "cpu": sum(step["cpu"] for step in clock.steps.values()),
        "verify": verify["seconds"],
        "verify_cpu": verify["cpu"],
    }


def suppress_rare(given: argparse.Namespace) -> dict:
    from coterie.methods.suppress_rare import SuppressRare

    return released(given, SuppressRare(k=K))


def affinity(given: argparse.Namespace) -> dict:
    from coterie.methods.affinity import Affinity

    return released(given, Affinity(k=K, theta=float(given.theta)))


def graph(given: argparse.Namespace) -> dict:
    """The steps of the plan, one by one."""
    import numpy as np

    from coterie import api
    from coterie.methods.affinity import model as affine_queries
    from coterie.methods.affinity.kernels import cores

    clock = Clock()
    log = api.prepare(api.read(given.log))
    clock("gather")
    queries = affine_queries.gather(log, a_run(SEED))
    clock("mine")
    found = affine_queries.mine(queries, affine_queries.AffinitySettings())
    clock("join")
    neighbours = affine_queries.connect(found, float(given.theta))
    n = neighbours.start.size - 1
    clock("cores")
    ceiling = np.full(n, 999, dtype=np.int32)
    core = cores(neighbours, found.users, len(queries.people), ceiling, 999)
    clock("end")
    clock.steps.pop("read")
    what = {
        "gather": f"{len(queries.names):,} queries of {len(queries.people):,} users",
        "mine": f"{found.mass.size:,} concepts of {found.tau} users, {n:,} vectors",
        "join": f"{neighbours.items.size // 2:,} edges",
        "cores": f"{int((core == 999).sum()):,} of degree 1,000 and more",
    }
    return {"steps": clock.steps, "what": what}


def join(given: argparse.Namespace) -> dict:
    """Our join on one core beside the product of sparse matrices."""
    import numpy as np
    from scipy import sparse

    from coterie import api
    from coterie.methods.affinity import kernels as cosine_join
    from coterie.methods.affinity import model as affine_queries

    theta = float(given.theta) - affine_queries.TOLERANCE
    found = affine_queries.mine(
        affine_queries.gather(api.prepare(api.read(given.log)), a_run(SEED)), affine_queries.AffinitySettings()
    )
    random, mass = np.random.default_rng(SEED), found.mass
    start, features = found.start, found.features
    if 0 < given.vectors < start.size - 1:
        drawn = np.sort(random.permutation(start.size - 1)[: given.vectors])
        features = np.concatenate([features[start[v] : start[v + 1]] for v in drawn])
        start = np.concatenate([[0], np.cumsum(np.diff(start)[drawn])])
    n = start.size - 1

    def joined(start):
        vectors = cosine_join.vectors_of(start, features, mass)
        entries = cosine_join.lists(vectors, np.argsort(vectors.norm, kind="stable"), theta)
        return vectors.norm, *cosine_join.join(0, mass.size, entries, vectors, theta, cosine_join.SPLIT)

    joined(start[:2])  # so that reading compiled code from disk is not counted
    used = time.process_time()
    norm, left, right = joined(start)
    ours = time.process_time() - used

    weights = np.sqrt(mass[features].astype(np.float64))
    weights /= np.repeat(norm, np.diff(start))
    matrix = sparse.csr_matrix((weights, features, start), shape=(n, mass.size))
    chosen = np.sort(random.permutation(n)[: given.rows])
    degree = np.bincount(np.concatenate([left, right]), minlength=n)
    name, seconds, edges = product(matrix[chosen], matrix.T.tocsr(), theta, int(degree[chosen].max()) + 1)
    if edges - chosen.size != degree[chosen].sum():  # each row finds itself
        sys.exit("The two joins find different edges: the comparison is void.")
    whole = seconds * n / chosen.size
    told = "; extrapolated" if chosen.size < n else ""
    return {
        "name": name,
        "what": f"{chosen.size:,} of {n:,} rows took {seconds:.1f} s, our join of all {ours:.2f} s "
        f"({left.size:,} edges){told}",
        "seconds": whole,
        "cpu": whole,
        "ratio": whole / ours,
    }


def product(some, transposed, theta: float, most: int) -> tuple[str, float, int]:
    """The name of the baseline, its processor seconds and the number of cosines it finds."""
    try:
        from sparse_dot_topn import sp_matmul_topn
    except ImportError:
        edges, used = 0, time.process_time()
        for at in range(0, some.shape[0], 500):  # in blocks, as all products together need much memory
            edges += int(((some[at : at + 500] @ transposed).data >= theta).sum())
        return "scipy", time.process_time() - used, edges
    used = time.process_time()
    found = sp_matmul_topn(some, transposed, top_n=most, threshold=theta, n_threads=1)
    return f"sparse_dot_topn (top_n {most})", time.process_time() - used, int(found.nnz)


JOBS = {
    "synth": synth,
    "warm": warm,
    "suppress_rare": suppress_rare,
    "affinity": affinity,
    "graph": graph,
    "join": join,
}

if __name__ == "__main__":
    main()
