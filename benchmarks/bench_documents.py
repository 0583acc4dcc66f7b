"""Microaggregation of documents: by meaning beside its plain Python version, and by interest.

    python benchmarks/bench_documents.py [--plain 8] [--large 20000]
    python benchmarks/bench_documents.py --gigabyte

Documents have 100 terms, nouns of WordNet: three quarters from six places of the tree that a topic has, the others from
anywhere, common ones more often. The plain version (tests/helpers/document_reference.py) runs MDAV on a few documents,
and both must give the same groups; its time for 50 documents is extrapolated by the number of assignments, those of
averages and those of distances. Judge by the ratio. Each job runs in a process of its own, with compiled kernels, by
processor time.

`--gigabyte` reads and inspects 1 GB of text instead: a file of JSON lines whose texts are six of 2,000 synthetic
documents each, drawn at random.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]
import bench_microaggregate  # noqa: E402 (after the path)

K_PLAIN, K, TERMS, SEED = 3, 5, 100, 7
FEW, MANY = 50, 1_100
GIGABYTE, TEXTS, TOGETHER = 10**9, 2_000, 6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--plain", type=int, default=8, help="documents for the plain version")
    parser.add_argument("--large", type=int, default=20_000, help="documents for groups by interest")
    parser.add_argument("--gigabyte", action="store_true", help="read and inspect 1 GB of text, and nothing else")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--documents", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        print(json.dumps({**JOBS[given.job](given.documents), "peak": bench_microaggregate.peak()}))
        return
    if given.gigabyte:
        found = job("texts", given.documents or GIGABYTE)
        print("| job | what | processor time | peak memory |\n|---|---|---:|---:|")
        for name in ("read", "inspect"):
            print(f"| {name} | {found['what']} | {found[name]['seconds']:,.1f} s | {found[name]['peak']:.0f} MiB |")
        return
    few, plain_one = job("literal", given.plain), job("plain", given.plain)
    if few["groups"] != plain_one["groups"]:
        sys.exit("The two versions give different groups: the comparison is void.")
    done, wanted = assignments(given.plain), assignments(FEW)
    whole = plain_one["seconds"] * wanted / done
    print("| job | what | processor time | ratio | peak memory |\n|---|---|---:|---:|---:|", flush=True)
    line(f"plain Python, {given.plain} documents x {TERMS} terms", f"{done:,} assignments", plain_one["seconds"])
    line(f"plain Python, {FEW} documents, extrapolated", f"{wanted:,} assignments", whole, "1")
    fast = job("literal", FEW)
    line("groups = wordnet, literal MDAV", f"{FEW} documents x {TERMS} terms, k = {K_PLAIN}", fast["seconds"],
         f"{whole / fast['seconds']:,.0f} x", fast["peak"])  # fmt: skip
    for name in ("wordnet", "sampled", "folded"):
        found = job(name, MANY)
        line(TITLES[name], f"{MANY:,} documents x {TERMS} terms, k = {K}{found['what']}", found["seconds"], "",
             found["peak"])  # fmt: skip
    found = job("interest", given.large)
    line("interest + common, with verification", f"{given.large:,} documents x {TERMS} terms, k = {K}",
         found["seconds"], "", found["peak"])  # fmt: skip


TITLES = {
    "wordnet": "groups = wordnet, tables and MDAV",
    "sampled": "the same with centre = sample",
    "folded": "wordnet + subsumer, with verification",
}


def line(name: str, what: str, seconds: float, ratio: str = "", peak: float | None = None) -> None:
    memory = f"{peak:.0f} MiB" if peak else ""
    print(f"| {name} | {what} | {seconds:,.2f} s | {ratio} | {memory} |", flush=True)


def job(name: str, documents: int) -> dict:
    arguments = [sys.executable, __file__, "--job", name, "--documents", str(documents)]
    return json.loads(subprocess.run(arguments, check=True, stdout=subprocess.PIPE).stdout)


def assignments(n: int) -> int:
    """How many assignments the literal MDAV makes: to fold averages, to find the farthest and the nearest."""
    count = 0
    while n >= 2 * K_PLAIN:
        twice = n >= 3 * K_PLAIN
        count += (n - 1) + n + (n - 1)
        n -= K_PLAIN
        if twice:
            count += n + (n - 1)
            n -= K_PLAIN
    return count


def _documents(count: int) -> list[list[tuple[str, float]]]:
    import numpy as np

    from coterie import taxonomies

    tree = taxonomies.load("wordnet")
    lexicon = tree.lexicon
    single = np.flatnonzero(np.diff(lexicon.form_start) == 1)
    meant = lexicon.senses[lexicon.sense_start[single]]
    order = single[np.argsort(tree.cut(6)[meant], kind="stable")]  # neighbours mean like things
    words = lexicon.words.gather(lexicon.form_words[lexicon.form_start[order]]).to_list()
    rng = np.random.default_rng(SEED)
    common = rng.integers(0, len(words), 3_000)
    topics = rng.integers(0, len(words) - 60, (max(2, count // 60), 6))
    documents = []
    for _ in range(count):
        places, found = topics[rng.integers(len(topics))], {}
        while len(found) < TERMS:
            near = int(rng.choice(places) + rng.integers(60))
            anywhere = int(common[int(len(common) * rng.random() ** 3)])
            found.setdefault(words[near if rng.random() < 0.75 else anywhere], float(rng.geometric(0.4)))
        total = sum(found.values())
        documents.append(sorted(((t, n / total) for t, n in found.items()), key=lambda entry: (-entry[1], entry[0])))
    return documents


def _frame(documents: list[list[tuple[str, float]]]):
    import polars as pl

    rows = [(f"{i:06}", term, weight) for i, document in enumerate(documents) for term, weight in document]
    return pl.DataFrame(rows, schema=["doc", "term", "weight"], orient="row")


def _mdav(documents: list[list[tuple[str, float]]], k: int, centre: int = 0):
    from coterie import taxonomies
    from coterie.algorithms.documents import meanings

    found = meanings(_frame(documents), taxonomies.load("wordnet")).folding
    members, start = found.groups(k, centre)
    return found, [members[a:b].tolist() for a, b in pairwise(start)]


def _warm() -> None:
    _mdav(_documents(6), 2)


def literal(count: int) -> dict:
    _warm()
    documents = _documents(count)
    start = time.process_time()
    groups = _mdav(documents, K_PLAIN)[1]
    return {"seconds": time.process_time() - start, "groups": groups}


def plain(count: int) -> dict:
    from tests.helpers.documents import lexicon_of

    documents = _documents(count)
    reference = lexicon_of(term for document in documents for term, _ in document)
    start = time.process_time()
    groups = reference.groups(documents, K_PLAIN)
    return {"seconds": time.process_time() - start, "groups": groups}


def wordnet(count: int, centre: int = 0) -> dict:
    _warm()
    documents = _documents(count)
    start = time.process_time()
    found, _ = _mdav(documents, K, centre)
    seconds = time.process_time() - start
    near, made, far, made_far = found.counts.tolist()
    share = f", {100 * (made + made_far) / max(1, near + far):.0f} % of {near + far:,} pairs to the end"
    return {"seconds": seconds, "what": share}


def sampled(count: int) -> dict:
    return wordnet(count, 10)


def folded(count: int) -> dict:
    _warm()
    return {**_released(count, {"groups": "wordnet", "publish": "subsumer"}), "what": ""}


def interest(count: int) -> dict:
    _released(60, {})  # loads the compiled kernels
    return _released(count, {})


def _released(count: int, params: dict) -> dict:
    import coterie
    from coterie.methods.microaggregate_documents import MicroaggregateDocuments

    log = coterie.log(_frame(_documents(count)))
    start = time.process_time()
    release = coterie.anonymize(log, MicroaggregateDocuments(k=K, **params), seed=SEED, prepare=())
    seconds = time.process_time() - start
    return {"seconds": seconds, "rows": release.to_polars().height}


def texts(size: int) -> dict:
    """Reading a file of `size` bytes, then what `coterie inspect` looks at; the peak is that of all so far."""
    import numpy as np

    import coterie
    from coterie.synth.documents import documents

    with tempfile.TemporaryDirectory() as folder:
        path, written, count = Path(folder) / "texts.jsonl", 0, 0
        known = [text for block in documents(TEXTS, SEED) for text in block["text"]]
        rng = np.random.default_rng(SEED)
        with path.open("w") as out:
            while written < size:
                text = " ".join(known[at] for at in rng.integers(TEXTS, size=TOGETHER))
                written += out.write(json.dumps({"id": count, "text": text}) + "\n")
                count += 1
        found: dict = {}
        start = time.process_time()
        log = coterie.read(path)
        found["read"] = {"seconds": time.process_time() - start, "peak": bench_microaggregate.peak()}
        start = time.process_time()
        scores = coterie.inspect(log)
        found["inspect"] = {"seconds": time.process_time() - start, "peak": bench_microaggregate.peak()}
        rows = int(scores.filter(name="log", key="rows")["value"].item())
    return {**found, "what": f"{count:,} documents, {written / 1e9:.2f} GB, {rows:,} terms"}


JOBS = {task.__name__: task for task in (literal, plain, wordnet, sampled, folded, interest, texts)}

if __name__ == "__main__":
    main()
