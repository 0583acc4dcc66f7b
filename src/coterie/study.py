"""Study: a grid of methods and parameters from a TOML file; it resumes where it stopped.

Each cell of the grid is anonymized, verified and measured, and its numbers are kept in a file of its own in the folder
`<study>.results`. A cell that is there already is not computed again; the name of its file is a digest of everything it
depends on, so an edited study computes only what changed. Releases themselves are not kept. A study is there to be
repeated, so its seed is 7 unless it says otherwise.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from coterie import __version__, formats, registry, verbs
from coterie.errors import InputError, MissingError, ParameterError
from coterie.log import Log
from coterie.promises import Check, from_dict, to_dict
from coterie.report import ReleaseView, render
from coterie.write import sha256, temporary

_TABLES = {"read", "prepare", "anonymize", "measure", "report"}
_READ_KEYS = {"source", "format", "columns", "user_field", "date", "allow_bad"}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One point of the grid."""

    method: str
    params: Mapping[str, Any]
    seed: int

    @property
    def label(self) -> str:
        """The cell in words."""
        return " ".join([self.method, *(f"{key}={value}" for key, value in self.params.items())])


@dataclass(frozen=True, kw_only=True)
class Study:
    """A parsed study file."""

    path: Path
    read: Mapping[str, Any]
    steps: tuple[str, ...]
    cells: tuple[Cell, ...]
    measures: tuple[str, ...] | None
    report: Path | None

    @property
    def folder(self) -> Path:
        """Where the results of the cells are kept."""
        return self.path.with_suffix(".results")


def load_study(path: Path) -> Study:
    """Parse and check a study file before any work is done."""
    if not path.exists():
        raise MissingError(f"{path}: no such study file.")
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name} is not valid TOML: {error}.") from None
    unknown = set(data) - _TABLES | {f"read.{k}" for k in set(data.get("read", {})) - _READ_KEYS}
    if unknown:
        raise InputError(f"{path.name}: unknown {', '.join(sorted(unknown))}. Tables: {', '.join(sorted(_TABLES))}.")
    if "source" not in data.get("read", {}) or not data.get("anonymize"):
        raise InputError(f"{path.name} needs [read] source = ... and at least one [[anonymize]].")
    names = data.get("measure", {}).get("names")
    for name in names or ():
        registry.module("measures", name)
    to = data.get("report", {}).get("to")
    if to is not None:
        verbs.report_kind(Path(to))
    return Study(
        path=path,
        read=data["read"],
        steps=tuple(data.get("prepare", {}).get("steps", ("normalize", "drop_empty"))),
        cells=tuple(cell for entry in data["anonymize"] for cell in _cells(entry)),
        measures=None if names is None else tuple(names),
        report=None if to is None else path.parent / to,
    )


def run_study(study: Study, progress: Callable[[str, bool], None] | None = None) -> pl.DataFrame:
    """Compute the cells that are missing, then write the scores and the report; returns all scores."""
    if study.report is not None and not study.report.parent.is_dir():
        raise MissingError(f"The folder {study.report.parent} of the report does not exist. Make it first.")
    study.folder.mkdir(exist_ok=True)
    base = _digest_of_source(study)
    log: Log | None = None
    views: list[ReleaseView] = []
    for cell in study.cells:
        target = study.folder / f"{_digest(base, cell)}.json"
        known = target.exists()
        if progress is not None:
            progress(cell.label, known)
        if not known:
            log = log or _read(study)
            with temporary(study.folder, "cell") as part:
                part.write_text(json.dumps(_compute(study, log, cell), indent=1) + "\n")
                part.replace(target)
        views.append(_view(json.loads(target.read_text())))
    scores = pl.concat([v.scores.with_columns(pl.lit(v.label).alias("release")) for v in views])
    with temporary(study.folder, "scores.csv") as part:
        scores.write_csv(part)
        part.replace(study.folder / "scores.csv")
    if study.report is not None:
        page = render(verbs.log_view(log or _read(study)), views, verbs.report_kind(study.report))
        with temporary(study.report.parent, "report") as part:
            part.write_text(page, encoding="utf-8")
            part.replace(study.report)
    return scores


def _cells(entry: Mapping[str, Any]) -> Iterator[Cell]:
    """All combinations of the lists of one [[anonymize]] table."""
    settings = dict(entry)
    name, seed = settings.pop("method", None), settings.pop("seed", 7)
    if not isinstance(name, str) or not isinstance(seed, int):
        raise InputError('Each [[anonymize]] needs method = "..." and may have a whole number as seed.')
    method = registry.method(name)
    lists = {key: value if isinstance(value, list) else [value] for key, value in settings.items()}
    for values in itertools.product(*lists.values()):
        params = dict(zip(lists, values, strict=True))
        try:
            method(**params)
        except TypeError:
            raise ParameterError(f"{name} has no such parameter among: {', '.join(params)}.") from None
        yield Cell(method=name, params=params, seed=seed)


def _read(study: Study) -> Log:
    return verbs.prepare(verbs.read(**_resolved(study)), study.steps)


def _resolved(study: Study) -> dict[str, Any]:
    """Reading options with paths relative to the study file."""
    settings = dict(study.read)
    sources = settings["source"] if isinstance(settings["source"], list) else [settings["source"]]
    settings["source"] = [s if s.startswith("synth:") else str(study.path.parent / s) for s in sources]
    return settings


def _digest_of_source(study: Study) -> str:
    """What all cells depend on: the bytes of the input, the steps, the measures, our version."""
    settings = _resolved(study)
    inputs = [
        [s] if s.startswith("synth:") else [sha256(path) for path in formats.expand([s])]
        for s in settings.pop("source")
    ]
    return json.dumps([inputs, settings, study.steps, study.measures, __version__], sort_keys=True)


def _digest(base: str, cell: Cell) -> str:
    text = base + json.dumps([cell.method, dict(cell.params), cell.seed], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _compute(study: Study, log: Log, cell: Cell) -> dict[str, Any]:
    release = verbs.anonymize(log, registry.method(cell.method)(**cell.params), seed=cell.seed)
    view = verbs.release_view(log, release, cell.label, names=study.measures, seed=cell.seed)
    return {
        "label": view.label,
        "method": view.method,
        "params": dict(view.params),
        "promise": to_dict(view.promise),
        "checks": [check.as_dict() for check in view.checks],
        "warnings": list(view.warnings),
        "largest_k": view.largest_k,
        "scores": view.scores.to_dicts(),
    }


def _view(data: Mapping[str, Any]) -> ReleaseView:
    schema = {"name": pl.String, "key": pl.String, "value": pl.Float64, "unit": pl.String}
    labels = {"label": pl.String} if any("label" in row for row in data["scores"]) else {}
    return ReleaseView(
        label=data["label"],
        method=data["method"],
        params=data["params"],
        promise=from_dict(data["promise"]),
        checks=tuple(Check(**check) for check in data["checks"]),
        warnings=tuple(data["warnings"]),
        largest_k=data["largest_k"],
        scores=pl.DataFrame(data["scores"], schema={**schema, **labels}),
    )
