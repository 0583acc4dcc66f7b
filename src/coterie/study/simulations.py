"""A study of simulations: each cell that has no result yet is replayed; means over seeds, and figures.

`scores.csv` has for each protocol, measure and key the mean over seeds, and the ends of the 95 % interval of that mean
(Student's t). Seeds draw networks, who is who in them, choices, behaviours and what is attacked; the users are always
the same, so the interval says nothing about other people.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import polars as pl

from coterie.core.declared import Declared
from coterie.errors import InputError
from coterie.reports.drawing import Drawing
from coterie.simulate.run import simulate
from coterie.simulate.world import World
from coterie.study.file import Study
from coterie.study.inputs import Results, made, read_log, runs

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


def simulated(study: Study, progress: Callable[[str, bool], None]) -> pl.DataFrame:
    """All scores, once the cells that are missing are computed."""
    files = Results(study, SimulatedCell, FORMAT)
    world: World | None = None
    rows: list[tuple[object, ...]] = []
    for cells in runs(study.cells):
        kept = []
        for cell in cells:
            there = files.path(cell).exists()
            progress(f"{cell.label}, seed {cell.seed}" if len(cells) > 1 else cell.label, there)
            if not there:
                world = World.of(read_log(study)[0]) if world is None else world
                done = simulate(world, made(study, cell), measures=cell.measures or study.measures, seed=cell.seed)
                files.keep(cell, scores=tuple(SimulatedScore(**row) for row in done.scores.iter_rows(named=True)))
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
