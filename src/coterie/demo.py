"""Demo: one synthetic log, four ways to release it for several k, and one report that compares them."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from coterie import api, jobs, synth
from coterie.core import registry
from coterie.core.log import Release, Step
from coterie.core.plan import Method
from coterie.errors import ParameterError
from coterie.methods.affinity import Affinity
from coterie.methods.interest_microaggregate import InterestMicroaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.writing.targets import placed, refuse_closed

KS = (3, 5, 10)
SEED = 7
MEASURES = (
    "exposure",
    "uniqueness",
    "personal_data",
    "linkage",
    "simattack",
    "witness",
    "two_words",
    "relink",
    "attribution",
    "release_share",
    "information_loss",
    "frequency",
    "semantic_remain",
)
"""What the report compares by: all attacks that a decision weighs, and meaning that is kept."""
_MARK = ".made-by-coterie-demo"


def run_demo(folder: Path, users: int, progress: Callable[..., None]) -> list[str]:
    """Fill `folder` and return the lines that say what is in it and what to try next."""
    import_module("coterie.reports._html")  # which says so at once where what draws the pictures is not installed
    _own(folder)
    log_path = folder / "log.tsv"
    progress("synthetic log")
    with placed(log_path, force=False) as part:
        synth.write(part, users, SEED)
    as_read = api.read(log_path)
    as_read = replace(as_read, history=(Step(name="synth"), *as_read.history))
    log = api.prepare(as_read)
    releases, paths, methods = list[Release](), list[Path](), list(_methods())
    with jobs.saying_what_is_there(paths):
        job = jobs.Job(seed=SEED, independent=True, progress=progress)  # to compare k
        made = jobs.anonymize_each(log, methods, job=job)
        for method, release in zip(methods, made, strict=True):
            settings = (registry.name_of(method), release.params.get("publish"), release.params["k"])
            name = ".".join(str(each) for each in settings if each is not None)
            path, record = folder / f"{name}.tsv", folder / "records" / name
            with jobs.counted(paths, path, path):
                api.write(release, path, record=record)
            releases.append(api.load_release(path, record))
        progress("report")
        api.report(releases, original=as_read, to=folder / "report.html", seed=SEED, names=MEASURES)
    program = "coterie" if shutil.which("coterie") else sys.argv[0]
    return [
        f"A made-up log of {users:,} people, and {len(paths)} releases of it that keep their promises:",
        *(f"  {path}" for path in paths),
        "",
        f"Open   {folder}/report.html",
        "",
        "Try next:",
        f"  {program} inspect {log_path}",
        f"  {program} verify {paths[0]} --original {log_path}",
        f"  {program} methods interest_microaggregate",
        f"  {program} anonymize suppress_rare YOUR-LOG -o safe.parquet --k 5",
        "",
        "The same in your browser:",
        f"  {program} studio {log_path}",
    ]


def _methods() -> Iterator[Method]:
    """Queries that k people typed, rare ones that others cover, and profiles of users in groups by interest."""
    yield from (SuppressRare(k=k) for k in KS)
    yield from (Affinity(k=k) for k in KS)
    yield from (InterestMicroaggregate(k=k, publish="queries") for k in KS)
    yield from (InterestMicroaggregate(k=k, publish="phrases") for k in KS)


def _own(folder: Path) -> None:
    """An empty folder: a new one, or the demo's own made anew; never somebody else's."""
    refuse_closed(folder.absolute().parent, new=True)
    if folder.exists():
        if any(folder.iterdir()) and not (folder / _MARK).exists():
            raise ParameterError(f"{folder} is not a demo folder. Choose another one with -o.")
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    (folder / _MARK).touch()
