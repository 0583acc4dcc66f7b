"""Generalization beside plain k-anonymity of queries, on the same log.

    python benchmarks/bench_generalize.py [--queries 1000000]

Queries are one to three words, of which half are words of WordNet and half made up; most are distinct, which is
the hard case: what a query means is looked up once for each distinct one. A user has 50 rows. Each job runs in a
process of its own with compiled kernels, from rows in memory to the checked release (the promise is verified, as
always), by processor time of all threads. Judge by the ratio.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

from steps import a_run, planned

K, ROWS, SEED = 5, 50, 7
METHODS = ("suppress_rare", "generalize", "generalize_users")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--queries", type=int, default=1_000_000, help="rows of the log")
    parser.add_argument("--job", choices=METHODS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        print(json.dumps(job(given.job, given.queries)))
        return
    print(
        "| job | released rows | processor time | ratio | of which plan | peak memory |\n|---|---:|---:|---:|---:|---:|"
    )
    base = None
    for name in METHODS:
        arguments = [sys.executable, __file__, "--job", name, "--queries", str(given.queries)]
        found = json.loads(subprocess.run(arguments, check=True, stdout=subprocess.PIPE).stdout)
        base = base or found["seconds"]
        print(
            f"| {name}, {found['rows']:,} rows, {found['distinct']:,} queries | {found['released']:,} | "
            f"{found['seconds']:,.2f} s | {found['seconds'] / base:.1f} | {found['plan']:,.2f} s | "
            f"{found['peak']:.0f} MiB |"
        )


def job(name: str, n: int) -> dict:
    import coterie
    from coterie.core import registry

    log, method = coterie.log(_rows(n)), registry.method(name)(k=K)
    coterie.anonymize(coterie.log(_rows(1_000)), method, seed=SEED, prepare=())  # loads the taxonomy and the kernels
    start = time.process_time()
    planned(method, log, a_run(SEED)).table.collect()
    plan = time.process_time() - start
    start = time.process_time()
    release = coterie.anonymize(log, method, seed=SEED, prepare=(), record=False)
    released = release.to_polars().height
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    distinct = log.frame.select("query").collect()["query"].n_unique()
    return {"rows": n, "distinct": distinct, "released": released, "seconds": seconds, "plan": plan, "peak": peak}


def _rows(n: int):
    import numpy as np
    import polars as pl

    from coterie import taxonomies

    rng = np.random.default_rng(SEED)
    known = taxonomies.load("wordnet").labels
    # Some words are far more common than others, as in real logs.
    places = (len(known) * rng.random((3, n)) ** 3).astype(np.int64)
    made_up = rng.integers(0, 200_000, (3, n))
    words = [
        pl.select(
            pl.when(pl.Series(rng.random(n) < 0.5))
            .then(known.gather(places[at]).str.to_lowercase())
            .otherwise(pl.format("zq{}", pl.Series(made_up[at])))
        ).to_series()
        for at in range(3)
    ]
    length = pl.Series(rng.integers(1, 4, n))
    text = pl.concat_str(*(pl.when(length > at).then(words[at]) for at in range(3)), separator=" ", ignore_nulls=True)
    return pl.select(user=pl.format("u{}", pl.Series(rng.integers(0, max(n // ROWS, 2 * K), n))), query=text)


if __name__ == "__main__":
    main()
