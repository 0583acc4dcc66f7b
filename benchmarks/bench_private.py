"""Queries released with differential privacy, by our mechanism and by others, from the same pairs of users and queries.

    python benchmarks/bench_private.py [--users 18000] [--log LOG] [--work DIR]

The baseline is the weighted Gaussian mechanism (wgm) with k = 1. Each cell is one run of the mechanism alone: the pairs
are made once, by a process of its own, and the mechanism is another one, so that its peak memory is its own. opendp and
pipeline-dp stand beside it where they are installed (`pip install 'coterie[bench-private]'`):

- opendp has noise and a threshold for counts that are ready, so users are cut to m queries here. Its own threshold is
  not used, because version 0.16 tells too small a delta (issue 2922 of its repository): it is computed here.
- pipeline-dp's strategies decide query by query, given how many users have it; users are cut to m queries here, too.

At the end stands the time of ten million noisy values, beside opendp's.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BUDGETS = {"(1, 1e-5)": (1.0, 1e-5), "(ln 10, 1e-5)": (math.log(10), 1e-5), "(3, e^-10)": (3.0, math.exp(-10))}
SEED = 7
DRAWS = 10_000_000
THEIR_DRAWS = 100_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--users", type=int, default=18_000, help="users of the synthetic log")
    parser.add_argument("--log", help="a log in place of the synthetic one")
    parser.add_argument("--work", type=Path, help="folder for the pairs (default: a temporary one)")
    parser.add_argument("--job", choices=list(JOBS), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        for line in JOBS[given.job](given):
            print(json.dumps(line), flush=True)
        return
    with tempfile.TemporaryDirectory(dir=given.work) as folder:
        given.work = Path(folder)
        print(next(job("pairs", given)), end="\n\n")
        print(f"| mechanism | k | {' | '.join(BUDGETS)} | CPU time |\n|---|---:|{'---:|' * len(BUDGETS)}---:|")
        base: list[int] = []
        said = []
        for name in ("ours", "peers"):
            for line in job(name, given):
                if isinstance(line, str):
                    said.append(line)
                    continue
                base = base or line["found"]
                both = zip(line["found"], base, strict=True)
                cells = " | ".join(f"{n:,} ({n / b:.2f} x)" if b else f"{n:,}" for n, b in both)
                print(f"| {line['name']} | {line['k']} | {cells} | {line['seconds']:.2f} s |", flush=True)
        print("", *said, *job("noise", given), sep="\n")


def job(name, given):
    """The lines that a process of its own prints."""
    arguments = ["--job", name, "--users", str(given.users), "--work", str(given.work)]
    arguments += ["--log", given.log] if given.log else []
    with subprocess.Popen([sys.executable, __file__, *arguments], stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            yield json.loads(line)
    if process.returncode:
        sys.exit(process.returncode)


def make_pairs(given):
    import numpy as np

    import coterie
    from coterie.core.run import Run
    from coterie.engines.local import Local
    from coterie.methods.private_counts import PrivateCounts

    log = coterie.prepare(coterie.read(given.log or f"synth:users={given.users},seed={SEED}"))
    start = time.process_time()
    pairs = PrivateCounts(delta=1e-5, counts=0.0).learn(log, Run(engine=Local()))
    seconds = time.process_time() - start
    pairs.items.to_frame("item").write_parquet(given.work / "items.parquet")
    np.save(given.work / "start.npy", pairs.start)
    np.save(given.work / "keys.npy", pairs.keys)
    yield (
        f"{pairs.keys.size:,} pairs of {pairs.users:,} users and {pairs.items.len():,} queries, made in "
        f"{seconds:.1f} CPU s ({peak():.2f} GiB)"
    )


def read_pairs(folder):
    import numpy as np
    import polars as pl

    from coterie.methods.private_counts.model import Pairs

    items = pl.read_parquet(folder / "items.parquet")["item"]
    return Pairs(items=items, start=np.load(folder / "start.npy"), keys=np.load(folder / "keys.npy"))


def ours(given):
    """Our mechanism, and those of others in our code."""
    import polars as pl

    import coterie
    from coterie.core.run import Run
    from coterie.engines.local import Local
    from coterie.methods.private_counts import PrivateCounts
    from coterie.methods.private_counts import model as baselines

    pairs, run = read_pairs(given.work), Run(engine=Local())
    log = coterie.log(pl.DataFrame({"user": ["nobody"], "query": ["nothing"]}))  # the pairs are all that is looked at
    jobs = [({"mechanism": "wgm"}, 1), ({}, 1), ({}, 5), ({"mechanism": "wgm"}, 5), ({"mechanism": "sips"}, 1)]
    jobs += [({"mechanism": "korolova", "queries_per_user": d}, 1) for d in (1, 10)]
    jobs += [({"counts": 0.2}, 5)]
    for params, k in jobs:
        settings = [{"epsilon": e, "delta": d, "k": k, "counts": 0.0, **params} for e, d in BUDGETS.values()]
        methods = [PrivateCounts(**each) for each in settings]
        methods[0].plan(pairs, log, run)  # compiles
        start = time.process_time()
        found = [method.plan(pairs, log, run).table.collect().height for method in methods]
        name = "table (ours)" if "mechanism" not in params else " d = ".join(str(value) for value in params.values())
        name += ", with numbers of users" if params.get("counts") else ""
        yield {"name": name, "k": k, "found": found, "seconds": (time.process_time() - start) / len(methods)}
        if name.startswith("table") and k == 1:
            memory = f"Peak memory of this mechanism and of wgm, with the pairs: {peak():.2f} GiB"
    try:
        noises = [exact(e, d, baselines.MOST_ITEMS) for e, d in BUDGETS.values()]
    except ImportError:
        yield "wgm with exact accounting: scipy is not installed, so it is left out"
    else:
        start = time.process_time()
        found = [int(baselines.weighted_gaussian(pairs, 1, baselines.Gaussian(**noise), run).sum()) for noise in noises]
        seconds = (time.process_time() - start) / len(noises)
        yield {"name": "wgm, exact accounting", "k": 1, "found": found, "seconds": seconds}
    yield memory


def exact(epsilon, delta, most):
    """Noise and the lowest threshold of wgm, where a user has t items and j of them alone, without splitting delta."""
    import numpy as np
    from scipy.special import log_ndtr, ndtr

    t, j = (grid.ravel() for grid in np.meshgrid(np.arange(1, most + 1), np.arange(most + 1)))
    t, j = t[j <= t], j[j <= t]

    def hockey_stick(limit, mu):
        safe = np.maximum(mu, 1e-12)
        spread = ndtr(safe / 2 - limit / safe) - np.exp(limit + log_ndtr(-safe / 2 - limit / safe))
        return np.where(mu > 0, spread, np.maximum(0, -np.expm1(limit)))

    def worst(sigma, threshold):
        log_p, mu = j * log_ndtr((threshold - 1 / np.sqrt(t)) / sigma), np.sqrt((t - j) / t) / sigma
        p = np.exp(log_p)
        one_way = 1 - p + p * hockey_stick(epsilon - log_p, mu)
        return max(one_way.max(), hockey_stick(epsilon + log_p, mu).max())

    def threshold_for(sigma):
        low, high = 1.0, 1e3
        if worst(sigma, high) > delta:
            return math.inf
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (low, middle) if worst(sigma, middle) <= delta else (middle, high)
        return high

    least = next(sigma for sigma in np.geomspace(0.3, 30, 200) if threshold_for(sigma) < math.inf)
    sigma = min(np.linspace(0.98 * least, 1.1 * least, 60), key=threshold_for)
    return {"sigma": float(sigma), "threshold": threshold_for(sigma)}


def peers(given):
    """The libraries of others, each with users cut to m queries."""
    import numpy as np

    from coterie.core.randomness import words
    from coterie.methods.private_counts.kernels import picks
    from coterie.methods.private_counts.model import laplace

    pairs = read_pairs(given.work)

    def counts(m):
        numbers = np.zeros(pairs.items.len(), dtype=np.int64)
        picks(pairs.start, pairs.keys, words(pairs.keys.size), m, numbers)
        return numbers[numbers > 0]

    def line(name, m, select):
        found, start = [], time.process_time()
        for epsilon, delta in BUDGETS.values():
            found.append(select(counts(m), epsilon, delta))
        seconds = (time.process_time() - start) / len(found)
        return {"name": f"{name}, m = {m}", "k": 1, "found": found, "seconds": seconds}

    try:
        import opendp.prelude as dp
    except ImportError:
        yield "opendp: not installed, so not compared"
    else:
        dp.enable_features("contrib")
        space = dp.map_domain(dp.atom_domain(T="u32"), dp.atom_domain(T="i32"))
        distance = dp.l01inf_distance(dp.absolute_distance(T="i32"))
        for m in (1, 4):

            def with_opendp(numbers, epsilon, delta, m=m):
                noise = laplace(epsilon, delta, m)
                select = dp.m.make_laplace_threshold(space, distance, scale=noise.scale, threshold=noise.threshold)
                return len(select(dict(enumerate(numbers.tolist()))))

            yield line(f"opendp {version('opendp')}, laplace_threshold", m, with_opendp)
    try:
        import pipeline_dp
    except ImportError:
        yield "pipeline-dp: not installed, so not compared"
    else:
        kinds = pipeline_dp.PartitionSelectionStrategy
        for kind, m in (
            (kinds.TRUNCATED_GEOMETRIC, 1), (kinds.GAUSSIAN_THRESHOLDING, 16), (kinds.GAUSSIAN_THRESHOLDING, 64)
        ):  # fmt: skip

            def with_pipeline(numbers, epsilon, delta, kind=kind, m=m):
                create = pipeline_dp.partition_selection.create_partition_selection_strategy
                keep = create(kind, epsilon, delta, m).should_keep
                return sum(keep(number) for number in numbers.tolist())

            yield line(f"pipeline-dp {version('pipeline-dp')}, {kind.value.lower()}", m, with_pipeline)


def version(package):
    from importlib.metadata import version

    return version(package)


def noise(given):  # noqa: ARG001 (as the other jobs)
    from coterie.core.randomness import gaussian_draws, words

    variance = 5_593_881  # of the sketch at (1, 1e-6)
    gaussian_draws(variance, words(1))
    start = time.process_time()
    gaussian_draws(variance, words(DRAWS))
    took = time.process_time() - start
    yield f"Noise: ten million values in {took:.2f} CPU s"
    try:
        import opendp.prelude as dp
    except ImportError:
        yield "opendp: not installed, so its sampler is not compared"
        return
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    sampler = dp.m.make_gaussian(*space, scale=math.sqrt(variance))
    start = time.process_time()
    sampler([0] * THEIR_DRAWS)
    theirs = DRAWS / THEIR_DRAWS * (time.process_time() - start)
    yield f"opendp: {theirs:.0f} CPU s, extrapolated from {THEIR_DRAWS:,} values: {theirs / took:.0f} x"


def peak() -> float:
    """Peak resident memory of this process in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


JOBS = {"pairs": make_pairs, "ours": ours, "peers": peers, "noise": noise}

if __name__ == "__main__":
    main()
