"""Run a study: anonymize, verify and measure each cell that has no result yet, then write what was asked for.

Cells that differ in k alone are computed together, so that they share what is learnt, wherever they stand in the grid.

How scores vary with k, over the cells of a study that differ in k alone.

A measure says with `series` for which of its scores that is told (paper 004, Table 3.1):

    KEY.sigma    the standard deviation over all k
    KEY.slope    the slope of the line with least squares, for each further k
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from math import isnan, nan
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

from coterie import api, jobs, measures
from coterie.core import registry
from coterie.core.declared import Declared, Scalar
from coterie.core.log import Log
from coterie.core.params import early_params
from coterie.core.plan import Method
from coterie.core.promise import Check, from_dict, to_dict
from coterie.core.scores import score_table
from coterie.errors import InputError
from coterie.reports import render, report_kind
from coterie.reports.drawing import draw
from coterie.reports.views import ReleaseView, log_view, mean_of, refuse_idle, release_view, with_baseline
from coterie.study.file import Cell, Study
from coterie.study.inputs import Results, files_read, put, read_log, runs
from coterie.study.simulations import SimulatedScore, drawn, simulated
from coterie.writing.targets import refuse_closed, refuse_output

FORMAT = 1


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
        files = Results(study, CellResult, FORMAT)
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
            view = release_view(own, next(releases), cell.label, names=study.measures, seed=cell.seed, **given)
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
        label=view.label,
        method=view.method,
        params=dict(view.params),
        promises=tuple(to_dict(promise) for promise in view.promises),
        checks=view.checks,
        warnings=view.warnings,
        largest_k=view.largest_k,
        left_out=dict(view.left_out),
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
        label=cell.label,
        method=result.method,
        params=result.params,
        promises=tuple(from_dict(promise) for promise in result.promises),
        checks=result.checks,
        warnings=result.warnings,
        largest_k=result.largest_k,
        scores=scores if result.labelled else scores.drop("label"),
        left_out=result.left_out,
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
    wanted = {name: getattr(measures.load(name), "series", ()) for name in views[0].scores["name"].unique().sort()}
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
