"""Semantic microaggregation beside its plain Python version, by levels and categories, and on larger logs.

    python benchmarks/bench_semantic.py [--sizes 10000,100000] [--plain 300]

Preparation (categories of queries, counts of users, similarities), partition and aggregation, for k = 2, 3, 4 and 5, on
WordNet. The plain version (tests/helpers/semantic_reference.py) runs on a few users, and its time for 1,000 users is
extrapolated part by part: preparation and aggregation by users, similarities by pairs of users, the partition by the
cube of users, as it looks through the whole matrix for each group. It computes everything again for each k, as the
paper did; ours shares what does not depend on k. As Algorithm 1 reads, it looks up each query of each user, with the
plain lookup (tests/taxonomy_reference.py). Both must give the same profiles on the few users. Versions are compared by
processor time. Each job runs in a process of its own, so that its peak memory is its own; kernels are compiled and
WordNet is loaded before the clock starts.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

from steps import a_run, drafted, drafted_for_each, planned

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
KS, SEED = (2, 3, 4, 5), 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", default="10000", help="numbers of users of larger logs")
    parser.add_argument("--plain", type=int, default=300, help="users for the plain version; 0: leave it out")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--users", type=int, default=1000, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        print(json.dumps({**JOBS[given.job](given.users), "peak": peak()}))
        return
    table(given)


def table(given: argparse.Namespace) -> None:
    lines = []
    fast = job("fast", 1000)
    what = f"1,000 users, {fast['rows']:,} rows, k = 2 to 5"
    ratio = ""
    if given.plain:
        few, plain = job("fast", given.plain), job("plain", given.plain)
        if few["profiles"] != plain["profiles"]:
            sys.exit("The two versions give different profiles: the comparison is void.")
        parts, times = plain["parts"], 1000 / given.plain
        whole = (
            (parts["counts"] + parts["profiles"]) * times + parts["matrix"] * times**2 + parts["partition"] * times**3
        )
        ratio = f"{whole / fast['cpu']:,.0f} x"
        lines += [
            (f"plain Python, {given.plain} users", "k = 2 to 5", None, sum(parts.values()), "", None),
            ("plain Python, 1,000 users, extrapolated", "k = 2 to 5", None, whole, "1", None),
        ]
    lines.append(("semantic_microaggregate", what, fast["seconds"], fast["cpu"], ratio, fast["peak"]))
    one, five = (job(name, 1000) for name in ("one_category", "five_categories"))
    for level in one["cpu"]:
        more = f"{five['cpu'][level] / one['cpu'][level]:.1f} x one category"
        what = f"k = 2, levels 1 to {level}"
        lines.append((f"one category: {one['cpu'][level]:.2f} s; five", what, None, five["cpu"][level], more, None))
    share = f"{100 * five['partition']:.1f} % of it"
    lines.append(
        ("of which partition", "k = 2, levels 1 to 5", None, five["partition"] * five["cpu"]["5"], share, None)
    )
    for size, (similar, cpu) in job("blocks", 4000)["blocks"].items():
        what = f"4,000 users, k = 5, similarity within groups {similar:.1f}"
        lines.append((f"groups: {size}", what, None, cpu, "", None))
    for users in map(int, filter(None, given.sizes.split(","))):
        found = job("large", users)
        per_user = f"{1000 * found['cpu'] / users:.2f} ms a user"
        what = f"{users:,} users, {found['rows']:,} rows, k = 5"
        lines.append(("semantic_microaggregate", what, found["seconds"], found["cpu"], per_user, found["peak"]))
    print("| job | what | time | processor time | ratio | peak memory |\n|---|---|---:|---:|---:|---:|")
    for name, what, seconds, cpu, ratio, memory in lines:
        wall = "" if seconds is None else f"{seconds:,.2f} s"
        print(f"| {name} | {what} | {wall} | {cpu:,.2f} s | {ratio} | {f'{memory:.0f} MiB' if memory else ''} |")


def job(name: str, users: int) -> dict:
    arguments = [sys.executable, __file__, "--job", name, "--users", str(users)]
    return json.loads(subprocess.run(arguments, check=True, stdout=subprocess.PIPE).stdout)


def peak() -> float:
    """Peak resident memory of this process in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def _rows(users: int):
    """A synthetic log in memory, after everything that is compiled or loaded once was used once."""
    import coterie

    log = coterie.prepare(coterie.read(f"synth:users={users},seed=7"))
    rows = log.frame.select("user", "time", "query", "rank", "url").collect()
    small = coterie.log(rows.head(500))
    for k in (2, 3):
        method = _method(k=k)
        drafted(method, small, a_run(1)).frame.collect()
    return rows


def _method(**settings):
    from coterie.methods.semantic_microaggregate import SemanticMicroaggregate

    return SemanticMicroaggregate(**{"levels": 5, "categories": 5, **settings})


def fast(users: int) -> dict:
    """All k, with what does not depend on k computed once."""
    import coterie

    rows = _rows(users)
    log, run = coterie.log(rows), a_run(SEED)
    start, cpu = time.perf_counter(), time.process_time()
    each = drafted_for_each([_method(k=k) for k in KS], log, run)
    drafts = [(draft.frame.collect(), draft.subjects.collect()) for draft in each]
    took = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
    profiles = [_by_user(*draft) for draft in drafts] if users < 1000 else []
    return {**took, "rows": rows.height, "profiles": profiles}


def _by_user(frame, subjects) -> dict[str, list[str]]:
    queries = {user: sorted(found) for user, found in frame.group_by("user").agg("query").rows()}
    return {original: queries[released] for original, released in subjects.select("original", "released").rows()}


def plain(users: int) -> dict:
    """The plain version for each k, and the time of each part."""
    from functools import cache

    import polars as pl

    from coterie import taxonomies
    from coterie.algorithms.words import word_hashes
    from tests.helpers import semantic_reference as reference
    from tests.helpers.microaggregation import priority
    from tests.helpers.taxonomy_reference import Reference, forms_of

    queries: dict[str, list[str]] = {}
    for user, query in _rows(users).select("user", "query").rows():
        queries.setdefault(user, []).append(query)
    tree = taxonomies.load("wordnet")
    distinct = pl.Series(sorted({query for found in queries.values() for query in found}))
    word = dict(zip(distinct, word_hashes(distinct), strict=True))
    forms, irregular = forms_of(tree)
    lexicon, parent = Reference(forms, irregular=irregular), tree.parent.tolist()

    def paths(query: str) -> list[list[int]]:
        """The concepts of a query, each as its path from below the root."""
        found = []
        for _, _, senses in lexicon.terms(query):
            for concept in (senses or [])[:5]:
                path = []
                while concept > 0:
                    path.append(concept)
                    concept = parent[concept]
                found.append(path[::-1])
        return found

    drawn = cache(priority)
    for user, found in queries.items():  # hashes are not what is compared
        for query in (None, *found):
            drawn(user, query)
    parts, profiles = dict.fromkeys(("counts", "matrix", "partition", "profiles"), 0.0), []
    for k in KS:
        clock = time.process_time()

        def lap(part: str) -> None:
            nonlocal clock
            now = time.process_time()
            parts[part] += now - clock
            clock = now

        counts = {user: reference.category_counts(found, paths, 5) for user, found in queries.items()}
        bare = {user: not any(found.values()) for user, found in counts.items()}
        order = sorted(queries, key=lambda u: (bare[u], min(word[q] for q in queries[u]) if bare[u] else 0, u))
        lap("counts")
        cells = reference.matrix([counts[user] for user in order])
        lap("matrix")
        clusters = reference.partition(len(order), cells, k)
        lap("partition")
        found = {}
        for cluster in clusters:
            members = sorted(order[i] for i in cluster)
            profile = reference.profile([(user, queries[user]) for user in members], drawn)
            found |= dict.fromkeys(members, profile)
        lap("profiles")
        profiles.append(found)
    return {"parts": parts, "profiles": profiles}


def one_category(users: int) -> dict:
    return _by_levels(users, 1)


def five_categories(users: int) -> dict:
    return _by_levels(users, 5)


def _by_levels(users: int, categories: int) -> dict:
    """Processor time for k = 2 by the number of levels (paper 003, figure 4), and the share of the partition."""
    import coterie
    from coterie.methods.semantic_microaggregate.kernels import similarities, sum_linkage

    log, cpu, partition = coterie.log(_rows(users)), {}, 0.0
    for levels in (1, 2, 3, 4, 5):
        method, run = _method(k=2, levels=levels, categories=categories), a_run(SEED)
        start = time.process_time()
        drafted(method, log, run).frame.collect()
        cpu[levels] = time.process_time() - start
        everybody = method.learn(log, run)
        block = method._blocks(everybody)[0]
        counted = everybody.start, everybody.category, everybody.count, everybody.n_categories
        similar = similarities(block, *counted, False)
        start = time.process_time()
        sum_linkage(similar, 2, 4)
        partition = (time.process_time() - start) / cpu[levels]
    return {"cpu": cpu, "partition": partition}


def blocks(users: int) -> dict:
    """The mean similarity (ODPsim) of users in one group, and processor time, without blocks and with smaller ones."""
    import numpy as np

    import coterie
    from coterie.methods.semantic_microaggregate.kernels import similarities

    log, run = coterie.log(_rows(users)), a_run(SEED)
    found = _method().learn(log, run)
    counted = found.start, found.category, found.count, found.n_categories
    similar = similarities(np.arange(users), *counted, False)
    place = {name: i for i, name in enumerate(found.names)}
    wanted = {f"blocks of {n:,}": {"block_users": n} for n in (2000, 1000, 500, 200)}
    result = {}
    for name, settings in {"no blocks": {}, **wanted, "random": {"partition": "random"}}.items():
        start = time.process_time()
        plan = planned(_method(k=5, **settings), log, run).table.collect()
        cpu = time.process_time() - start
        group = np.empty(users, dtype=np.int64)
        group[[place[user] for user in plan["subject"]]] = plan["group"].to_numpy()
        same = group[:, None] == group
        np.fill_diagonal(same, False)
        result[name] = (float(similar[same].mean()), cpu)
    return {"blocks": result}


def large(users: int) -> dict:
    import coterie

    rows = _rows(users)
    log, run = coterie.log(rows), a_run(SEED, blocks=1 + rows.height // 2**21)
    method = _method(k=5)
    start, cpu = time.perf_counter(), time.process_time()
    released = drafted(method, log, run).frame.collect().height
    return {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu, "rows": released}


JOBS = {task.__name__: task for task in (fast, plain, one_category, five_categories, blocks, large)}

if __name__ == "__main__":
    main()
