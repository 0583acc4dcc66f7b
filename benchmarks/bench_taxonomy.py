"""Taxonomies: how long a tree takes to load, how many distinct queries a second are looked up.

    python benchmarks/bench_taxonomy.py [--queries 500000] [--categories 800000]

Queries are made of the nouns of WordNet, of stop words and of words that nobody knows. The plain version is the oracle
of the tests (tests/taxonomy_reference.py) on a few of them; both must say the same. The large tree has the shape of the
Open Directory: made-up labels, up to ten levels.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
FEW, SEED = 5_000, 7


def queries(tree, count: int) -> pl.Series:
    """Distinct queries of one to five words."""
    rng = np.random.default_rng(SEED)
    known = tree.lexicon.words.to_numpy()
    unknown = np.array([f"zz{n}" for n in range(50_000)], dtype=object)
    stop = np.array(["the", "of", "in", "for", "and"], dtype=object)
    pool = np.concatenate([known, unknown, np.resize(stop, 10_000)])
    sizes = rng.integers(1, 6, 2 * count)
    words = iter(pool[rng.integers(0, pool.size, sizes.sum())])
    return pl.Series([" ".join(next(words) for _ in range(n)) for n in sizes]).unique(maintain_order=True)[:count]


def paths(count: int) -> list[list[str]]:
    rng = np.random.default_rng(SEED)
    made: list[list[str]] = [["Top"]]
    above = (rng.random(count) ** 3 * np.arange(1, count + 1)).astype(np.int64)
    labels = rng.integers(0, count // 4, count)
    for parent, label in zip(above, labels, strict=True):
        base = made[parent]
        made.append([*(base if len(base) < 10 else base[:3]), f"Label{label}"])
    return made


def clock(work):
    """The result, seconds, and seconds of all processor cores together."""
    start, busy = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - start, time.process_time() - busy


def line(what: str, seconds: float, busy: float, count: int = 0) -> None:
    rate = f"{count / seconds:,.0f}" if count else ""
    print(f"| {what} | {seconds:.2f} | {busy:.2f} | {rate} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--queries", type=int, default=500_000)
    parser.add_argument("--categories", type=int, default=800_000)
    given = parser.parse_args()
    from coterie import taxonomies
    from tests.helpers.small_trees import from_paths
    from tests.helpers.taxonomy_reference import Reference, forms_of

    print("| what | seconds | processor seconds | queries a second |\n|---|---|---|---|")
    tree, *times = clock(taxonomies.wordnet)
    line("load WordNet", *times)
    asked = queries(tree, given.queries)
    tree.classify(asked[:10])
    for unit in ("term", "query"):
        _, *times = clock(lambda unit=unit: tree.classify(asked, unit=unit, categories=5))
        line(f"look up {len(asked):,} queries, unit = {unit}", *times, len(asked))
    forms, irregular = forms_of(tree)
    slow = Reference(forms, irregular=irregular)
    (rows, _), *times = clock(lambda: slow.classify(asked[:FEW], categories=5))
    if tree.classify(asked[:FEW], categories=5).terms.rows() != rows:
        sys.exit("The two versions say different things: the comparison is void.")
    line(f"plain Python, {FEW:,} queries, unit = term", *times, FEW)

    named = paths(given.categories)
    large, *times = clock(lambda: from_paths(named))
    line(f"build a tree of {len(large):,} categories", *times)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "large.npz"
        taxonomies.write(large, file)
        _, *times = clock(lambda: taxonomies.read(file))
        line(f"load it ({file.stat().st_size / 2**20:.1f} MiB)", *times)


if __name__ == "__main__":
    main()
