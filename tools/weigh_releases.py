"""What the decision sheet says of all methods at several k: one line for each release of a log.

    .venv/bin/python tools/weigh_releases.py LOG [--part rest|apart] [--k 3,5,10] [--json OUT]

`--part` takes two thirds of the people of a log, or the third that the rule was confirmed on once: those whose
SHA-256 is divisible by three. docs/decisions/0042-what-a-decision-weighs.md has the tables.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

import coterie
from coterie import api
from coterie.reports.decision import decide
from coterie.reports.figures import Figures
from coterie.reports.views import log_view, release_view

ATTACKS = ["attribution", "linkage", "relink", "simattack", "two_words", "witness", "two_pages", "known_terms"]
METHODS: list[tuple[str, dict[str, Any]]] = [
    ("suppress_rare", {}),
    ("suppress_rare", {"users": "pseudonym"}),
    ("affinity", {}),
    ("allowlist", {}),
    ("generalize", {}),
    ("generalize_users", {}),
    ("microaggregate", {}),
    ("semantic_microaggregate", {}),
    ("concept_microaggregate", {}),
    ("interest_microaggregate", {"publish": "phrases"}),
    ("interest_microaggregate", {"publish": "queries"}),
    ("private_counts", {"epsilon": 1.0, "delta": 1e-6}),
]
SEED = 7


def part_of(path: str, part: str | None, folder: Path) -> str:
    """The rows of some people of an AOL log, as a file; the log itself where no part is asked for."""
    if part is None:
        return path
    rows = pl.read_csv(path, separator="\t", infer_schema=False, quote_char=None)
    user = rows.columns[0]
    names = rows[user].unique()
    apart = [int(hashlib.sha256(str(name).encode()).hexdigest(), 16) % 3 == 0 for name in names]
    chosen = names.filter(pl.Series(apart) if part == "apart" else ~pl.Series(apart))
    to = folder / "part.tsv"
    rows.filter(pl.col(user).is_in(chosen.implode())).write_csv(to, separator="\t", quote_style="never")
    return str(to)


def lines_of(path: str, ks: list[int]) -> list[dict[str, Any]]:
    """What the sheet says of each release alone, as report --json does."""
    as_read = coterie.read(path)
    log = coterie.prepare(as_read, "default,scrub")
    found = []
    for name, params in METHODS:
        for k in ks:
            try:
                release = api.anonymize(log, name, k=k, seed=SEED, **params)
            except coterie.errors.CoterieError as error:
                print(f"{name} k={k}: {type(error).__name__}", file=sys.stderr)
                continue
            view = release_view(log, release, names=[*ATTACKS, "personal_data"], seed=SEED)
            view = replace(view, label=f"{name} {' '.join(map(str, params.values()))} k={k}")
            weighing = decide(log_view(as_read), [view], Figures.collect(log.shape), None, "internal").weighings[0]
            found.append(
                {
                    "release": view.label,
                    "rows": view.rows,
                    "passes": weighing.passes,
                    "why_not": weighing.why_not,
                    "lines": [{**vars(line), "others": None} for line in weighing.lines],
                }
            )
            print(f"{view.label}: {'passes' if weighing.passes else '; '.join(weighing.why_not)}", flush=True)
    return found


def main() -> None:
    """Weigh them, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log")
    parser.add_argument("--part", choices=["rest", "apart"])
    parser.add_argument("--k", default="3,5,10")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        found = lines_of(part_of(given.log, given.part, Path(folder)), [int(k) for k in given.k.split(",")])
    if given.json is not None:
        given.json.write_text(json.dumps(found, indent=1, default=str), encoding="utf-8")


if __name__ == "__main__":
    main()
