"""Demo: a synthetic log -> releases for several k -> verify -> report, in a folder of its own."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from coterie import verbs
from coterie.core.log import Step
from coterie.errors import ParameterError
from coterie.methods.suppress_rare import SuppressRare
from coterie.synth import write_aol

KS = (2, 3, 5, 10, 20)
SEED = 7
_MARK = ".made-by-coterie-demo"


def run_demo(folder: Path, users: int, progress: Callable[[str], None]) -> list[str]:
    """Fill `folder` and return the lines that say what is in it and what to try next."""
    _own(folder)
    log_path = folder / "log.tsv"
    progress("synthetic log")
    write_aol(log_path, users, SEED)
    log = verbs.prepare(verbs.read(log_path))
    log = replace(log, history=(Step(name="synth"), *log.history))
    releases = []
    for k in KS:
        progress(f"suppress_rare k={k}")
        release = verbs.anonymize(log, SuppressRare(k=k), seed=SEED)
        safe, record = folder / f"safe.{k}.tsv", folder / f"record.{k}"
        verbs.write(release, safe, record=record)
        releases.append(verbs.load_release(safe, record))
    progress("report")
    verbs.report(log, releases, folder / "report.html", seed=SEED)
    program = "coterie" if shutil.which("coterie") else sys.argv[0]
    return [
        f"A made-up log of {users:,} people, and {len(KS)} releases of it that keep their promise:",
        *(f"  {folder}/safe.{k}.tsv" for k in KS),
        "",
        f"Open   {folder}/report.html",
        "",
        "Try next:",
        f"  {program} inspect {folder}/log.tsv",
        f"  {program} verify {folder}/safe.5.tsv --original {folder}/log.tsv",
        f"  {program} anonymize suppress_rare YOUR-LOG -o safe.parquet --k 5",
        f"  {program} methods suppress_rare",
    ]


def _own(folder: Path) -> None:
    """An empty folder: a new one, or the demo's own made anew; never somebody else's."""
    if folder.exists():
        if any(folder.iterdir()) and not (folder / _MARK).exists():
            raise ParameterError(f"{folder} is not a demo folder. Choose another one with -o.")
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    (folder / _MARK).touch()
