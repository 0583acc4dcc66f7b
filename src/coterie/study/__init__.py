"""Study: a grid of methods and parameters from a TOML file; it resumes where it stopped.

Each cell of the grid is anonymized, verified and measured, and its numbers are kept in a file of its own in the folder
`<study>.results`. A cell that is there already is not computed again; the name of its file is a digest of everything it
depends on, so an edited study computes only what changed. Releases themselves are not kept. A study is there to be
repeated, so its seed is 7 unless it says otherwise. Beside each cell of a method that groups users stands a cell with
random groups.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from coterie import __version__, formats, taxonomies, verbs
from coterie.core import registry
from coterie.core.log import Log, Release
from coterie.core.params import files_of, with_files_in
from coterie.core.plan import baseline_of
from coterie.core.promise import Check, from_dict, to_dict
from coterie.core.split import SPLITS, chronological
from coterie.errors import InputError, MissingError, ParameterError
from coterie.reports import RANDOM, ReleaseView, render
from coterie.reports.drawing import Drawing, draw, parse_drawing
from coterie.steps import DEFAULT, spelled, steps_of
from coterie.writing.files import sha256
from coterie.writing.targets import placed, refuse_output

_TABLES = {"read", "prepare", "anonymize", "measure", "report", "figure"}
_KEYS = {
    "read": {"source", "format", "columns", "user_field", "date", "allow_bad"},
    "prepare": {"steps", "split", "split_rows"},
    "measure": {"names", "kappas", "labels", "taxonomy"},
    "report": {"to"},
}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One point of the grid."""

    method: str
    params: Mapping[str, Any]
    seed: int
    label: str
    baseline: Cell | None = None
    """The same with random groups, for methods that group users."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """A parsed study file."""

    path: Path
    read: Mapping[str, Any]
    steps: tuple[str, ...]
    cells: tuple[Cell, ...]
    measures: tuple[str, ...] | None
    kappas: tuple[int, ...]
    """Numbers of clusters, for measures that compare clusters."""
    labels: Path | None
    """Which queries are sensitive, for measures that compare with it."""
    taxonomy: str
    """Where measures of meaning look up queries."""
    split: bool
    """Whether releases are made of the earlier half of each user's rows and judged by the later half."""
    split_rows: int
    """Where not 0: of so many rows of each user, and as many later ones."""
    report: Path | None
    figures: tuple[Drawing, ...]
    folder: Path
    """Where the results of the cells, the scores and the figures are kept."""

    @property
    def n_cells(self) -> int:
        """How many cells there are, with those of random groups."""
        return sum(1 if cell.baseline is None else 2 for cell in self.cells)


def load_study(path: Path, *, folder: Path | None = None, read: Mapping[str, Any] | None = None) -> Study:
    """Parse and check a study file before any work is done.

    `folder` takes all that is written, in place of `<study>.results` and the folder of the study; `read` says which log
    to read, in place of [read].
    """
    if not path.exists():
        raise MissingError(f"{path}: no such study file.")
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name} is not valid TOML: {error}.") from None
    if read is not None:  # paths of a study are relative to it, those of a caller are not
        data["read"] = {
            **read,
            "source": [s if s.startswith("synth:") else str(Path(s).absolute()) for s in read["source"]],
        }
    unknown = set(data) - _TABLES
    if unknown:
        raise InputError(f"{path.name}: unknown {', '.join(sorted(unknown))}. Tables: {', '.join(sorted(_TABLES))}.")
    for table, known in _KEYS.items():
        found = data.get(table, {})
        if not isinstance(found, dict) or set(found) - known:
            raise InputError(f"{path.name}: [{table}] has no other keys than {', '.join(sorted(known))}.")
    if "source" not in data.get("read", {}) or not data.get("anonymize"):
        raise InputError(f"{path.name} needs [read] source = ... and at least one [[anonymize]].")
    names, kappas, labels = (data.get("measure", {}).get(key) for key in ("names", "kappas", "labels"))
    if not isinstance(names, list | None) or not isinstance(kappas, list | None):
        raise InputError(f"{path.name}: names and kappas of [measure] are lists.")
    if any(not isinstance(kappa, int) or kappa < 2 for kappa in kappas or ()):
        raise InputError(f"{path.name}: kappas are whole numbers from 2 on.")
    for name in names or ():
        registry.module("measures", name)
    figures = tuple(parse_drawing(entry) for entry in data.get("figure", ()))
    for figure in figures:
        if names is not None and figure.measure not in names:
            raise InputError(f"{path.name}: {figure.file} draws {figure.measure}, which [measure] does not name.")
        registry.module("measures", figure.measure)
    if labels is not None and not (path.parent / labels).is_file():
        raise MissingError(f"{path.name}: there is no file {labels} of labelled queries.")
    split = data.get("prepare", {}).get("split")
    if split not in (None, *SPLITS):
        raise InputError(f"{path.name}: split is one of {', '.join(map(repr, SPLITS))}, or not there.")
    split_rows = data.get("prepare", {}).get("split_rows", 0)
    if not isinstance(split_rows, int) or split_rows < 0 or (split_rows and split is None):
        raise InputError(f"{path.name}: split_rows is a number of rows, and goes with split.")
    taxonomy = data.get("measure", {}).get("taxonomy", "wordnet")
    if taxonomy != "wordnet":
        taxonomy = str(path.parent / taxonomy)
        taxonomies.load(taxonomy)
    to = data.get("report", {}).get("to")
    if to is not None:
        verbs.report_kind(Path(to))
    return Study(
        path=path,
        read=data["read"],
        steps=tuple(map(spelled, steps_of(data.get("prepare", {}).get("steps", DEFAULT)))),
        cells=tuple(cell for entry in data["anonymize"] for cell in _cells(entry, path.parent)),
        measures=None if names is None else tuple(names),
        kappas=tuple(kappas or ()),
        labels=None if labels is None else path.parent / labels,
        taxonomy=taxonomy,
        split=split is not None,
        split_rows=split_rows,
        report=None if to is None else (folder or path.parent) / to,
        figures=figures,
        folder=folder or path.with_suffix(".results"),
    )


def run_study(study: Study, progress: Callable[[str, bool], None] | None = None) -> pl.DataFrame:
    """Compute the cells that are missing, then write the scores, the figures and the report; returns all scores."""
    study.folder.mkdir(exist_ok=True, parents=True)
    if study.report is not None and not study.report.parent.is_dir():
        raise MissingError(f"The folder {study.report.parent} of the report does not exist. Make it first.")
    drawings = [study.folder / drawing.file for drawing in study.figures]
    for path in (study.folder / "scores.csv", *drawings, *filter(None, [study.report])):
        refuse_output(path, force=True, inputs=_inputs(study))
    base = _digest_of_source(study)
    log: Log | None = None
    later: Log | None = None
    learnt: verbs.Learnt | None = None

    def result(cell: Cell) -> ReleaseView:
        nonlocal log, later, learnt
        target = study.folder / f"{_digest(base, cell)}.json"
        known = target.exists()
        if progress is not None:
            progress(cell.label, known)
        if not known:
            if log is None:
                log, later = _read(study)
            method = registry.method(cell.method)(**cell.params)
            if learnt is None or learnt.seed != cell.seed or not learnt.serves(log, method):
                learnt = verbs.learn(log, [method], seed=cell.seed)
            release = verbs.anonymize(log, method, seed=cell.seed, learnt=learnt)
            _put(study, target, json.dumps(_measured(study, log, later, cell, release), indent=1) + "\n")
        return replace(
            _view(json.loads(target.read_text())),
            label=cell.label,
            baseline=None if cell.baseline is None else result(cell.baseline),
        )

    views = [result(cell) for cell in study.cells]
    scores = _scores(views)
    _put(study, study.folder / "scores.csv", scores.write_csv())
    for drawing in study.figures:
        _put(study, study.folder / drawing.file, draw(drawing, views))
    if study.report is not None:
        page = render(verbs.log_view(log or _read(study)[0]), views, verbs.report_kind(study.report))
        _put(study, study.report, page)
    return scores


def _put(study: Study, path: Path, text: str) -> None:
    """Write a file of the study, in place of what an earlier run wrote; never over something that a study reads."""
    with placed(path, force=True, inputs=_inputs(study)) as part:
        part.write_text(text, encoding="utf-8")


def _inputs(study: Study) -> list[Path]:
    sources = [source for source in _resolved(study)["source"] if not source.startswith("synth:")]
    return [study.path, *(formats.expand(sources) if sources else ()), *filter(None, [study.labels])]


def _scores(views: Sequence[ReleaseView]) -> pl.DataFrame:
    """All scores with the release they belong to, those of random groups after it."""
    tables = []
    for view in views:
        named = pl.lit(view.label).alias("release")
        tables.append(view.scores.with_columns(named, pl.lit(False).alias("baseline")))
        if view.baseline is not None:
            tables.append(view.baseline.scores.with_columns(named, pl.lit(True).alias("baseline")))
    return pl.concat(tables)


def _cells(entry: Mapping[str, Any], folder: Path) -> Iterator[Cell]:
    """All combinations of the lists of one [[anonymize]] table of a study in that folder."""
    settings = dict(entry)
    name, seed = settings.pop("method", None), settings.pop("seed", 7)
    if not isinstance(name, str) or not isinstance(seed, int):
        raise InputError('Each [[anonymize]] needs method = "..." and may have a whole number as seed.')
    make = registry.method(name)
    lists = {key: value if isinstance(value, list) else [value] for key, value in settings.items()}
    for values in itertools.product(*lists.values()):
        written = dict(zip(lists, values, strict=True))
        params = with_files_in(make, written, folder)
        try:
            method = make(**params)
        except TypeError:
            raise ParameterError(f"{name} has no such parameter among: {', '.join(params)}.") from None
        label = " ".join([name, *(f"{key}={value}" for key, value in written.items())])
        random = baseline_of(method)
        if random is not None:
            settings_of = asdict(random)  # type: ignore[call-overload]
            by_chance = Cell(method=name, params=settings_of, seed=seed, label=f"{label}, {RANDOM.lower()}")
        yield Cell(method=name, params=params, seed=seed, label=label, baseline=None if random is None else by_chance)


def _read(study: Study) -> tuple[Log, Log | None]:
    """The log, and where it is split what came later."""
    log = verbs.prepare(verbs.read(**_resolved(study)), study.steps)
    return chronological(log, study.split_rows) if study.split else (log, None)


def _resolved(study: Study) -> dict[str, Any]:
    """Reading options with paths relative to the study file."""
    settings = dict(study.read)
    sources = settings["source"] if isinstance(settings["source"], list) else [settings["source"]]
    settings["source"] = [s if s.startswith("synth:") else str(study.path.parent / s) for s in sources]
    return settings


def _digest_of_source(study: Study) -> str:
    """What all cells depend on: the bytes of the input and of the labels, the steps, the measures, our version."""
    settings = _resolved(study)
    inputs = [
        [s] if s.startswith("synth:") else [sha256(path) for path in formats.expand([s])]
        for s in settings.pop("source")
    ]
    labels = None if study.labels is None else sha256(study.labels)
    tree = study.taxonomy if study.taxonomy == "wordnet" else sha256(Path(study.taxonomy))
    judged = [study.measures, study.kappas, labels, tree, study.split, study.split_rows]
    return json.dumps([inputs, settings, study.steps, *judged, __version__], sort_keys=True)


def _digest(base: str, cell: Cell) -> str:
    method = registry.method(cell.method)(**cell.params)
    params = asdict(method)  # a default counts the same whether it is said or not
    params |= {name: sha256(path) for name, path in files_of(method).items()}
    text = base + json.dumps([cell.method, params, cell.seed], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _measured(study: Study, log: Log, later: Log | None, cell: Cell, release: Release) -> dict[str, Any]:
    view = verbs.release_view(
        log,
        release,
        cell.label,
        names=study.measures,
        seed=cell.seed,
        kappas=study.kappas,
        labels=study.labels,
        later=later,
        taxonomy=study.taxonomy,
    )
    return {
        "label": view.label,
        "method": view.method,
        "params": dict(view.params),
        "promises": [to_dict(promise) for promise in view.promises],
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
        promises=tuple(from_dict(each) for each in data["promises"]),
        checks=tuple(Check(**check) for check in data["checks"]),
        warnings=tuple(data["warnings"]),
        largest_k=data["largest_k"],
        scores=pl.DataFrame(data["scores"], schema={**schema, **labels}),
    )
