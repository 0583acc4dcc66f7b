"""Run a study: anonymize, verify and measure each cell that has no result yet, then write what was asked for.

Cells that differ in k alone are computed together, so that they share what is learnt, wherever they stand in the grid.

How scores vary with k, over the cells of a study that differ in k alone.

A measure says with `series` for which of its scores that is told (paper 004, Table 3.1):

    KEY.sigma    the standard deviation over all k
    KEY.slope    the slope of the line with least squares, for each further k

A simulation is replayed for each cell. `scores.csv` then has for each protocol, measure and key the mean over seeds,
and the ends of the 95 % interval of that mean (Student's t). Seeds draw networks, who is who in them, choices,
behaviours and what is attacked; the users are always the same, so the interval says nothing about other people.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from math import isnan, nan
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from coterie import __version__, api, jobs, measures
from coterie.core import registry
from coterie.core.declared import Declared, DeclaredFile, Scalar, json_bytes, json_file
from coterie.core.files import every_file
from coterie.core.log import Log, chronological, halves, without_outsiders
from coterie.core.params import early_params, files_of
from coterie.core.plan import Method
from coterie.core.promise import Check, from_dict, to_dict
from coterie.core.scores import score_table
from coterie.errors import InputError
from coterie.measures import inputs as measure_inputs
from coterie.measures.comparison import Comparison
from coterie.reports import render, report_kind
from coterie.reports.drawing import Drawing, draw
from coterie.reports.views import ReleaseView, log_view, mean_of, refuse_idle, release_view, with_baseline
from coterie.study.file import MAKERS, Cell, Study
from coterie.writing.files import sha256
from coterie.writing.targets import placed, refuse_closed, refuse_output

FORMAT = 1
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)  # 97.5 % points for 1 .. 10 degrees
_WIDTH, _HEIGHT = 22.0, 4.0  # how far from a text in a figure the next one stands, in percent
SCHEMA = {
    "protocol": pl.String,
    "name": pl.String,
    "key": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "seeds": pl.Int64,
    "unit": pl.String,
}


class SimulatedScore(Declared, frozen=True, kw_only=True):
    """One score of a cell."""

    name: str
    key: str
    value: float | None
    unit: str


class SimulatedCell(Declared, frozen=True, kw_only=True):
    """What is kept of a cell."""

    format: int
    scores: tuple[SimulatedScore, ...]


class ScoreRow(SimulatedScore, frozen=True, kw_only=True):
    """One score of a cell, with what it is of where that may be shown."""

    label: str | None = None


class SamplesRow(Declared, frozen=True, kw_only=True):
    """What one score of a cell is in samples of users drawn anew; null where it has no value there."""

    name: str
    key: str
    values: tuple[float | None, ...]


class CellResult(Declared, frozen=True, kw_only=True):
    """What is kept of a cell: no release, only what a report needs."""

    format: int
    label: str
    method: str
    params: dict[str, Scalar | tuple[Scalar, ...]]
    promises: tuple[dict[str, Scalar], ...]
    checks: tuple[Check, ...]
    warnings: tuple[str, ...]
    largest_k: int | None
    left_out: dict[str, str]
    """Measures that have no meaning for it, and why."""
    labelled: bool
    """Whether scores have labels, that is: whether values of the log may be shown."""
    scores: tuple[ScoreRow, ...]
    samples: tuple[SamplesRow, ...]


_AS_THEY_ARE = ("method", "params", "checks", "warnings", "largest_k", "left_out")
"""What is kept of a view without being turned into something else."""


def run_study(study: Study, progress: Callable[[str, bool], None] | None = None) -> pl.DataFrame:
    """Compute the cells that are missing, then write the scores, the figures and the report; returns all scores.

    `progress` is told of each cell, and whether its result was there already.
    """
    refuse_closed(study.folder, new=True)
    (study.folder / "cells").mkdir(exist_ok=True, parents=True)
    progress = progress or (lambda _label, _there: None)
    inputs = files_read(study)
    drawings = [study.folder / drawing.file for drawing in study.figures]
    for path in (study.folder / "scores.csv", *drawings, *filter(None, [study.report])):
        refuse_output(path, force=True, inputs=inputs)
    log, views = None, list[ReleaseView]()
    if study.kind == "simulate":
        scores = simulated(study, progress)
        pictures = (drawn(drawing, scores) for drawing in study.figures)
    else:
        files = Results(study, CellResult)
        log = _compute_missing(study, files, progress)
        for cells in runs(study.cells):
            views.append(mean_of([_view(files, cell) for cell in cells], [cell.seed for cell in cells]))
        refuse_idle(views, study.measures)
        scores = with_series(_scores(views), views)
        pictures = (draw(drawing, views) for drawing in study.figures)
    put(study.folder / "scores.csv", scores.write_csv(), inputs)
    for path, picture in zip(drawings, pictures, strict=True):
        put(path, picture, inputs)
    if study.report is not None:
        page = render(log_view(log or read_log(study)[0]), views, report_kind(study.report))
        put(study.report, page, inputs)
    return scores


def _compute_missing(study: Study, files: Results, progress: Callable[[str, bool], None]) -> Log | None:
    """Compute what has no result yet; returns the log, where it had to be read for that."""
    log: Log | None = None
    several = any(len(cells) > 1 for cells in runs(study.cells))

    def named(cell: Cell) -> str:
        return f"{cell.label}, seed {cell.seed}" if several else cell.label

    for cells in alike(study.cells):
        missing: dict[Path, Cell] = {}
        for cell in cells:
            target = files.path(cell)
            if target.exists() or target in missing:  # a study may ask for one and the same cell twice
                progress(named(cell), True)
            else:
                missing[target] = cell
        if not missing:
            continue
        if log is None:
            log, other = read_log(study)
        methods, own = [_method(cell) for cell in missing.values()], _prepared(log, cells[0])
        seed = _seed_of(cells[0].seed, methods[0], own)
        releases = jobs.anonymize_each(own, methods, job=jobs.Job(seed=seed, independent=True))  # to compare k fairly
        for cell in missing.values():
            progress(named(cell), False)
            given = {**study.inputs, **{name: _prepared(part, cell) for name, part in other.items()}}
            comparison = Comparison.of(own, next(releases), cell.seed, own.synthetic, given)
            view = release_view(comparison, cell.label, names=study.measures)
            _keep(files, cell, view)
    return log


def _prepared(log: Log, cell: Cell) -> Log:
    """A log with the steps that are for this cell alone."""
    return api.prepare(log, cell.steps) if cell.steps else log


def _seed_of(seed: int | None, method: Method, log: Log) -> int | None:
    """The seed for a method; none for one whose noise carries its promise, and which no real log may be tried with."""
    if method.seeded:
        return seed
    if not log.synthetic:
        raise InputError(
            f"A study looks at a log many times, and every look of {registry.name_of(method)} is a release that is "
            f"spent. Use a synthetic log (source = 'synth:users=1000,seed=7'), or anonymize."
        )
    return None


def alike(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Cells with those of random groups; those that share what is learnt stand together, in the order of the first."""
    groups: dict[str, list[Cell]] = {}
    for cell in (each for pair in cells for each in (pair, pair.baseline) if each is not None):
        _, early = early_params(_method(cell))
        shared = [cell.method, cell.seed, early, *cell.steps]
        groups.setdefault(json.dumps(shared, sort_keys=True), []).append(cell)
    return list(groups.values())


def _keep(files: Results, cell: Cell, view: ReleaseView) -> None:
    files.keep(
        cell,
        **{name: getattr(view, name) for name in ("label", *_AS_THEY_ARE)},
        promises=tuple(to_dict(promise) for promise in view.promises),
        labelled="label" in view.scores.columns,
        scores=tuple(ScoreRow(**row) for row in view.scores.iter_rows(named=True)),
        samples=tuple(
            SamplesRow(name=name, key=key, values=tuple(None if isnan(each) else each for each in values))
            for (name, key), values in view.samples.items()
        ),
    )


def _view(files: Results, cell: Cell) -> ReleaseView:
    """A cell as a report shows it, with random groups beside it."""
    result: CellResult = files.read(cell)
    scores = score_table([msgspec.structs.astuple(score) for score in result.scores], labelled=True)
    view = ReleaseView(
        **{name: getattr(result, name) for name in _AS_THEY_ARE},
        label=cell.label,
        promises=tuple(from_dict(promise) for promise in result.promises),
        scores=scores if result.labelled else scores.drop("label"),
        samples={
            (row.name, row.key): tuple(nan if each is None else each for each in row.values) for row in result.samples
        },
    )
    return view if cell.baseline is None else with_baseline(view, _view(files, cell.baseline))


def _method(cell: Cell) -> Method:
    method: Method = registry.method(cell.method)(**cell.params)
    return method


def _scores(views: Sequence[ReleaseView]) -> pl.DataFrame:
    """All scores with the release they belong to, those of random groups after it."""
    tables = []
    for view in views:
        named = pl.lit(view.label).alias("release")
        tables.append(view.scores.with_columns(named, pl.lit(False).alias("baseline")))
        if view.baseline is not None:
            tables.append(view.baseline.scores.with_columns(named, pl.lit(True).alias("baseline")))
    return pl.concat(tables)


# --- how scores vary with k -------------------------------------------------------------------------


def with_series(scores: pl.DataFrame, views: Sequence[ReleaseView]) -> pl.DataFrame:
    """All scores of a study, and after them how some vary with k."""
    lines = [line for alike in _alike(views) for line in _lines(alike)]
    columns = ["name", "key", "value", "unit", "release", "baseline"]
    more = pl.DataFrame(lines, schema={name: scores.schema[name] for name in columns}, orient="row")
    return pl.concat([scores, more], how="diagonal") if lines else scores


def _alike(views: Sequence[ReleaseView]) -> list[list[ReleaseView]]:
    """Views that differ in k alone, each k once, by k; those with two of them and more."""
    groups: dict[str, dict[int, ReleaseView]] = {}
    for view in views:
        if view.k is not None:
            others = {name: value for name, value in view.params.items() if name != "k"}
            key = json.dumps([view.method, others], sort_keys=True, default=str)
            groups.setdefault(key, {})[view.k] = view
    return [[group[k] for k in sorted(group)] for group in groups.values() if len(group) > 1]


def _lines(views: list[ReleaseView]) -> Iterator[tuple[str, str, float, str, str, bool]]:
    """name, key, value, unit, release, baseline."""
    ks = [view.k or 0 for view in views]
    label = re.sub(r"\bk=[0-9]+", f"k={ks[0]}..{ks[-1]}", views[0].label)
    wanted = {name: measures.load(name).series for name in views[0].scores["name"].unique().sort()}
    for name, key in ((name, key) for name, keys in wanted.items() for key in keys):
        tables = [view.scores.filter((pl.col("name") == name) & (pl.col("key") == key)) for view in views]
        values = [each["value"][0] if each.height else None for each in tables]
        points = [(k, value) for k, value in zip(ks, values, strict=True) if value is not None]
        if len(points) > 1:
            sigma, slope = over_k(points)
            unit = "points" if tables[0]["unit"][0].startswith("%") else tables[0]["unit"][0]
            yield name, f"{key}.sigma", sigma, unit, label, False
            yield name, f"{key}.slope", slope, f"{unit} for each k", label, False


def over_k(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Standard deviation of values, and the slope of the line with least squares, of points (k, value)."""
    k, value = (np.array([point[axis] for point in points], dtype=np.float64) for axis in range(2))
    away = k - k.mean()
    return float(value.std()), float((away * (value - value.mean())).sum() / (away**2).sum())


# --- simulations --------------------------------------------------------------------------------------


def simulated(study: Study, progress: Callable[[str, bool], None]) -> pl.DataFrame:
    """All scores, once the cells that are missing are computed."""
    files = Results(study, SimulatedCell)
    log: Log | None = None
    rows: list[tuple[object, ...]] = []
    for cells in runs(study.cells):
        kept = []
        for cell in cells:
            there = files.path(cell).exists()
            progress(f"{cell.label}, seed {cell.seed}" if len(cells) > 1 else cell.label, there)
            if not there:
                log = read_log(study)[0] if log is None else log
                scores = made(study, cell).simulated(log, cell.measures or study.measures, cell.seed)
                files.keep(cell, scores=tuple(SimulatedScore(**row) for row in scores.iter_rows(named=True)))
            kept.append(files.read(cell))
        rows += _means(cells[0].label, kept)
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _means(label: str, cells: Sequence[SimulatedCell]) -> Iterator[tuple[object, ...]]:
    """protocol, name, key, value, low, high, seeds, unit."""
    values: dict[tuple[str, str, str], list[float | None]] = {}
    for cell in cells:
        for score in cell.scores:
            values.setdefault((score.name, score.key, score.unit), []).append(score.value)
    for (name, key, unit), given in values.items():
        numbers = [value for value in given if value is not None]
        mean, low, high = interval_of_mean(numbers)
        yield label, name, key, mean, low, high, len(numbers), unit


def interval_of_mean(numbers: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """The mean and the ends of its 95 % interval; no ends for one number."""
    n = len(numbers)
    if n == 0:
        return None, None, None
    mean = math.fsum(numbers) / n
    if n == 1:
        return mean, None, None
    deviation = math.sqrt(math.fsum((number - mean) ** 2 for number in numbers) / (n - 1))
    half = _T[min(n - 2, len(_T) - 1)] * deviation / math.sqrt(n)  # of more seeds a little too wide, never too narrow
    return mean, mean - half, mean + half


def drawn(drawing: Drawing, scores: pl.DataFrame) -> str:
    """One score of all protocols against another one, as SVG."""
    from coterie.reports._charts import against

    name, key = drawing.against.split()
    across, upwards = _values(scores, name, key), _values(scores, drawing.measure, drawing.keys[0])
    both = [label for label in upwards if label in across]
    if not both:
        raise InputError(f"{drawing.file}: no protocol has both {drawing.against} and {drawing.keys[0]}.")
    named: list[tuple[float, float]] = []
    points = []
    for label in both:
        x, y = across[label], upwards[label]
        free = all(abs(x - a) > _WIDTH or abs(y - b) > _HEIGHT for a, b in named)
        if free:
            named.append((x, y))
        points.append((label.split()[0], x, y, _values_in(label) if free else ""))
    axes = (f"{name} {key.replace('.', ' ')}", f"{drawing.measure} {drawing.keys[0].replace('.', ' ')}")
    return against(drawing.title, axes, points, [], joined=False)


def _values_in(label: str) -> str:
    """The values of the parameters in a label: what a point is called beside its protocol."""
    return " ".join(value if value not in ("True", "False") else name.replace("_", " ") * (value == "True")
                    for name, _, value in (part.partition("=") for part in label.split()[1:])).strip()  # fmt: skip


def _values(scores: pl.DataFrame, name: str, key: str) -> dict[str, float]:
    found = scores.filter(pl.col("name") == name, pl.col("key") == key).drop_nulls("value")
    return dict(found.select("protocol", "value").iter_rows())


# --- what all studies share ---------------------------------------------------------------------------


def runs(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Cells that differ in their seeds alone stand together, in the order of the first; each seed once."""
    by_label: dict[str, dict[int, Cell]] = {}
    for cell in cells:
        by_label.setdefault(cell.label, {}).setdefault(cell.seed, cell)
    return [list(by_seed.values()) for by_seed in by_label.values()]


def made(study: Study, cell: Cell) -> Any:
    """The method or protocol of a cell."""
    return registry.member(MAKERS[study.kind], cell.method)(**cell.params)


def read_log(study: Study) -> tuple[Log, dict[str, Log]]:
    """The log and, where it is split, what measures get of the rest: what came later, or public documents."""
    log = api.prepare(api.read(study.sources, study.read), study.prepare.steps)
    given: dict[str, Log] = {}
    if study.prepare.split == "halves":
        log, given["public"] = halves(log)
    elif study.prepare.split == "chronological":
        log, given["later"] = chronological(log, study.prepare.split_rows)
    if study.prepare.outsiders:
        log, given["outsiders"] = without_outsiders(log, study.prepare.outsiders)
    return log, given


def digested(study: Study) -> str:
    """What all cells depend on: the bytes of the input and of other files, the steps, the measures, our version and
    that of results."""
    inputs = [
        [source] if source.startswith("synth:") else [sha256(path) for path in every_file([source])]
        for source in study.sources
    ]
    judged = {**study.inputs, **{name: sha256(path) for name, path in measure_inputs.files_of(study.inputs).items()}}
    parts = [inputs, study.read.said, msgspec.to_builtins(study.prepare), study.measures, judged, __version__, FORMAT]
    return json.dumps(parts, sort_keys=True)


class Results:
    """The files of a study's cells, beside what people want to see. Their names are digests of all they depend on."""

    def __init__(self, study: Study, kind: type[Any]) -> None:
        self._study, self._kind = study, kind
        self.folder = study.folder / "cells"
        self._common = digested(study)

    def path(self, cell: Cell) -> Path:
        """Where the result of a cell is kept."""
        method = made(self._study, cell)
        params = asdict(method)  # a default counts the same whether it is said or not
        params |= {name: sha256(path) for name, path in files_of(method).items()}
        asked = [cell.method, params, cell.seed, *cell.steps, *([cell.measures] if cell.measures else [])]
        text = self._common + json.dumps(asked, sort_keys=True)
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"

    def keep(self, cell: Cell, **result: Any) -> None:
        """Write the result of a cell."""
        with placed(self.path(cell), force=True) as part:
            part.write_bytes(json_bytes(self._kind(format=FORMAT, **result)))

    def read(self, cell: Cell) -> Any:
        """The result of a cell; InputError where its file holds something else."""
        path = self.path(cell)
        file = DeclaredFile(
            name=f"{path.parent.parent.name}/{path.parent.name}/{path.name}",
            verdict="is not a result of this study",
            end="Delete it, and it is computed again.",
        )
        return json_file(path.read_bytes(), self._kind, FORMAT, file)


def put(path: Path, text: str, inputs: Sequence[Path]) -> None:
    """Write a file of the study, in place of what an earlier run wrote; never over something that a study reads."""
    with placed(path, force=True, inputs=inputs) as part:
        part.write_text(text, encoding="utf-8")


def files_read(study: Study) -> list[Path]:
    """The study file, the log, and the files that measures and methods need."""
    sources = [source for source in study.sources if not source.startswith("synth:")]
    given = measure_inputs.files_of(study.inputs).values()
    params = [path for cell in study.cells for path in files_of(made(study, cell)).values()]
    return [study.path, *(every_file(sources) if sources else ()), *given, *dict.fromkeys(params)]
