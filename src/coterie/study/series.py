"""How scores vary with k, over the cells of a study that differ in k alone.

A measure says with `series` for which of its scores that is told (paper 004, Table 3.1):

    KEY.sigma    the standard deviation over all k
    KEY.slope    the slope of the line with least squares, for each further k
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from coterie import measures
from coterie.reports.views import ReleaseView


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
