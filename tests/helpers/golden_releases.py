"""Releases whose bytes must not change by accident: each case is a method, its parameters, a seed and engine blocks.

`python -m tests.helpers.golden_releases > tests/golden/releases.json` writes the digests anew. Do that only for a
change that is meant to change releases, and say so in the changelog.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from itertools import cycle, product
from pathlib import Path
from typing import Any

import polars as pl

import coterie
from coterie.core import registry
from coterie.core.threads import use_threads

DIGESTS = Path(__file__).parent.parent / "golden" / "releases.json"
_METHODS = (
    "suppress_rare", "allowlist", "affinity", "microaggregate", "semantic_microaggregate", "concept_microaggregate",
    "interest_microaggregate", "generalize", "generalize_users",
)  # fmt: skip
_VARIANTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("suppress_rare", {"users": "pseudonym", "attrs": "keep"}),
    ("suppress_rare", {"users": "session"}),
    ("suppress_rare", {"attrs": "drop"}),
    ("suppress_rare", {"users": "mini", "times": "hour", "k_details": 2}),
    ("suppress_rare", {"users": "day", "times": "quarter", "window": "30d"}),
    ("allowlist", {"words": 1, "entities": "detect", "max_words": 3}),
    ("allowlist", {"words": "all", "users": "mini", "link_queries": 2, "link_minutes": 10, "times": "week"}),
    ("affinity", {"theta": 0.7, "strict": True}),
    ("affinity", {"theta": 0.8, "users": "pseudonym"}),
    ("affinity", {"approximate": True, "v_max": 20}),
    ("affinity", {"function_words": "none", "min_users": 3}),
    ("microaggregate", {"eq1": "printed", "attrs": "same_string"}),
    ("microaggregate", {"attrs": "drop", "block_users": 40}),
    ("microaggregate", {"partition": "random"}),
    ("microaggregate", {"partition": "size"}),
    ("semantic_microaggregate", {"leftovers": "nearest", "normalize": "cosine"}),
    ("semantic_microaggregate", {"leftovers": "suppress", "unit": "query"}),
    ("semantic_microaggregate", {"attrs": "nearest", "block_users": 40}),
    ("semantic_microaggregate", {"partition": "random"}),
    ("concept_microaggregate", {"synthetic": "label"}),
    ("concept_microaggregate", {"partition": "random", "block_users": 40}),
    ("interest_microaggregate", {"attrs": "drop", "dimensions": 16}),
    ("interest_microaggregate", {"partition": "random"}),
    ("generalize", {"size": "queries"}),
    ("generalize", {"paper_compat": True, "users": "session"}),
    ("generalize_users", {"paper_compat": True}),
    ("generalize_users", {"partition": "random"}),
    ("microaggregate", {"choice": "herding", "max_share": 0.3}),
    ("semantic_microaggregate", {"choice": "herding", "max_share": 0.3}),
    ("interest_microaggregate", {"hosts": "off", "choice": "herding", "publish": "queries"}),
    ("interest_microaggregate", {"publish": "queries", "attrs": "nearest"}),
    ("interest_microaggregate", {"phrase_users": 2}),
    ("microaggregate", {"publish": "phrases", "attrs": "drop"}),
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One release: of which log, how it is made and written."""

    method: str
    params: dict[str, Any]
    seed: int
    blocks: int = 1
    log: str = "queries"
    kind: str = "tsv"

    def __str__(self) -> str:
        settings = ",".join(f"{name}={value}" for name, value in self.params.items())
        return f"{self.method}({settings}) seed={self.seed} blocks={self.blocks} log={self.log} kind={self.kind}"


def cases() -> Iterator[Case]:
    """Every method with several k and seeds in one block and in seven; variants; access logs; other kinds of files.

    Variants are made in one block and in seven by turns: blocks change no answer, as the other cases show.
    """
    for method in _METHODS:
        for k, seed, blocks in ((2, 1, 1), (2, 1, 7), (5, 1, 1), (5, 2, 1), (5, 2, 7), (12, 2, 1)):
            yield Case(method=method, params={"k": k}, seed=seed, blocks=blocks)
    for (method, params), blocks in zip(_VARIANTS, cycle((1, 7))):
        yield Case(method=method, params={"k": 3, **params}, seed=3, blocks=blocks)
    for users in ("drop", "session", "pseudonym"):
        yield Case(method="suppress_rare", params={"k": 3, "users": users}, seed=4, log="visits")
    for params in ({"k": 3}, {"k": 2, "paths": "exact", "days": False}):
        for blocks in (1, 7):
            yield Case(method="common_visits", params=params, seed=4, blocks=blocks, log="visits")
    for params in ({"k": 3}, {"k": 2, "details": "day,status,browser"}):
        for blocks in (1, 7):
            yield Case(method="generalize_visits", params=params, seed=4, blocks=blocks, log="visits")
    for params in ({"k": 3}, {"k": 2, "tables": "hours,pairs"}):
        for blocks in (1, 7):
            yield Case(method="count_visits", params=params, seed=4, blocks=blocks, log="visits")
    for params, blocks in (
        ({"k": 3}, 1), ({"k": 3}, 7), ({"k": 5, "visitors": False, "block": 100}, 1),
        ({"k": 4, "leftovers": "suppress", "sessionid": True, "weights": "request=1"}, 1),
    ):  # fmt: skip
        yield Case(method="microaggregate_visits", params=params, seed=4, blocks=blocks, log="visits")
    for params in ({"k": 3}, {"k": 2, "groups": "wordnet", "publish": "subsumer"}, {"k": 4, "groups": "random"}):
        for blocks in (1, 7):
            yield Case(method="microaggregate_documents", params=params, seed=4, blocks=blocks, log="documents")
    yield from _windows()
    for kind in ("csv", "jsonl", "tsv.gz"):
        yield Case(method="suppress_rare", params={"k": 3}, seed=4, kind=kind)


def _windows() -> Iterator[Case]:
    for log, blocks in product(("queries", "visits"), (1, 7)):
        yield Case(method="windowed_counts", params={"k": 3, "window": "2d"}, seed=4, blocks=blocks, log=log)


def class_of(method: str) -> Any:
    """The class behind a method's name."""
    return registry.method(method)


@cache
def log_of(name: str) -> coterie.Log:
    """A prepared log with everything that methods treat differently: rows without users, unmapped words, no urls."""
    tables = {"queries": queries, "visits": visits, "documents": documents}
    return coterie.prepare(coterie.log(tables[name]()))


@cache
def documents() -> pl.DataFrame:
    """Vectors of made-up documents about four things, one in five of an owner who has several."""
    topics = [
        "tea cup milk kettle sugar",
        "horse cart road stable",
        "bank money loan debt interest",
        "dog wolf fox den",
    ]
    common = ["time", "day", "part", "thing", "xqzzt", "way"]
    rows = []
    for n in range(60):
        words = topics[n * 7919 % 4].split()
        chosen = {words[n * 31 % len(words)], words[n * 17 % len(words)], words[0], common[n % 6], common[n * 5 % 6]}
        owner = f"owner {n % 4}" if n % 5 == 0 else None
        rows += [(f"text {n}", term, (1 + (n + 3 * len(term)) % 7) / 20, owner) for term in sorted(chosen)]
    return pl.DataFrame(rows, schema=["doc", "term", "weight", "owner"], orient="row")


@cache
def queries() -> pl.DataFrame:
    """A synthetic log with some rows of nobody, some misspellings of WordNet's words and some foreign text."""
    rows = coterie.read("synth:users=150,seed=11").to_polars()
    number = pl.int_range(pl.len())
    odd = {0: "Ünïcode  straße", 1: "xqzzt plok", 2: "a of the"}
    spelled = pl.col("query")
    for residue, text in odd.items():
        spelled = pl.when(number % 97 == residue).then(pl.lit(text)).otherwise(spelled)
    return rows.with_columns(spelled.alias("query"), pl.when(number % 41 > 0).then("user").alias("user"))


@cache
def visits() -> pl.DataFrame:
    """An access log of made-up visitors, who walk through few pages by rule."""
    count = 600
    start = datetime(2026, 3, 1)
    steps = [(i * 7919) % 600 for i in range(count)]
    return pl.DataFrame(
        {
            "user": [f"visitor {s % 23}" if s % 29 else None for s in steps],
            "address": [f"192.0.2.{s % 23}" for s in steps],
            "time": [start + timedelta(minutes=11 * i) for i in range(count)],
            "method": ["POST" if s % 11 == 0 else "GET" for s in steps],
            "path": [f"/page/{s % 13 * (s % 3)}" for s in steps],
            "status": [404 if s % 17 == 0 else 200 for s in steps],
            "bytes": [100 * (s % 5) for s in steps],
            "referrer": [None if s % 2 else "/start" for s in steps],
            "agent": [f"browser {s % 4}" for s in steps],
        }
    )


def digest(case: Case) -> str:
    """The SHA-256 of the released file, unpacked: what a compressor makes of it depends on the version of polars."""
    release = coterie.anonymize(
        log_of(case.log), class_of(case.method)(**case.params), seed=case.seed, blocks=case.blocks
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"out.{case.kind}"
        coterie.write(release, path)
        written = path.read_bytes()
    return hashlib.sha256(gzip.decompress(written) if case.kind.endswith(".gz") else written).hexdigest()


if __name__ == "__main__":
    use_threads(pl.thread_pool_size())
    print(json.dumps({str(case): digest(case) for case in cases()}, indent=1))
