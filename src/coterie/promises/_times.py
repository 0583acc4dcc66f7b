"""Times that are no finer than said, and that say how exact they are, as rows show without the original."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from coterie.core.promise import Case, Check
from coterie.core.shapes import Shape
from coterie.promises._checks import judged, rows_broken

UNITS = {"hour": "1h", "day": "1d", "week": "1w", "month": "1mo", "quarter": "1q"}
"""The levels that a time may have, the finest first; weeks begin on Monday."""
LEVELS = {
    "hour": ("hour", "day", "week", "month"),
    "day": ("day", "week", "month"),
    "week": ("week", "month"),
    "month": ("month",),
    "quarter": ("quarter",),
    "drop": (),
}
"""By the finest time that may accompany an item: that, and what takes its place where too few share it."""


def level_of(shape: Shape) -> pl.Expr:
    """How exact the time of a row is; nothing where rows do not say it."""
    return pl.col(shape.level) if shape.level else pl.lit(None, pl.String)


def no_finer(levels: Sequence[str], case: Case, *, carries_promise: bool = False) -> Iterator[Check]:
    """Each released time is the beginning of its hour, day, week, month or quarter, one of `levels`, or missing."""
    shape = case.shape
    if not shape.time:
        return
    time, said = pl.col(shape.time), level_of(shape)
    fits = [(time == time.dt.truncate(UNITS[level])) & (said == level) for level in levels]
    whole = pl.any_horizontal(pl.lit(False), *fits).fill_null(False)
    broken, rows = rows_broken(case.rows, pl.when(time.is_null()).then(said.is_not_null()).otherwise(~whole))
    yield judged(
        "times",
        broken,
        f"each time is the beginning of its {_one_of(levels)}, as its row says" if levels else "no row has a time",
        fault="rows have another time, or say something else" if levels else "rows do",
        looked_at=rows,
        carries_promise=carries_promise,
    )


def _one_of(levels: Sequence[str]) -> str:
    """`hour, day or month`."""
    *first, last = levels
    return f"{', '.join(first)} or {last}" if first else last
