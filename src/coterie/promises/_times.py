"""Times that are no finer than said, as rows show without the original."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import polars as pl

from coterie.core.promise import Case, Check
from coterie.promises._checks import judged, rows_broken, time_columns

_HOUR = 3_600_000_000  # microseconds


def no_finer(times: str, case: Case, *, carries_promise: bool = False) -> Iterator[Check]:
    """No released time is finer than the hour, day, week, month or quarter that is said, or there is none (drop).

    A time may be coarser: the first of a month stands for the month beside weeks, days and hours.
    """
    columns = time_columns(case.shape)
    if not columns:
        return
    told, fault, whole = _FINEST[times]
    broken, rows = rows_broken(case.rows, pl.any_horizontal(~whole(pl.col(name)) for name in columns))
    yield judged("times", broken, told, fault=fault, looked_at=rows, carries_promise=carries_promise)


def _whole_day(time: pl.Expr) -> pl.Expr:
    return time.cast(pl.Int64) % (24 * _HOUR) == 0


def _first_of_month(time: pl.Expr) -> pl.Expr:
    return _whole_day(time) & (time.dt.day() == 1)


_FINEST: dict[str, tuple[str, str, Callable[[pl.Expr], pl.Expr]]] = {
    "hour": ("times are whole hours", "rows have another time", lambda time: time.cast(pl.Int64) % _HOUR == 0),
    "day": ("times are whole days", "rows have a time of day", _whole_day),
    "week": (
        "times are Mondays, or the first of a month",
        "rows have another time",
        lambda time: _whole_day(time) & ((time.dt.weekday() == 1) | (time.dt.day() == 1)),
    ),
    "month": ("times are the first of a month", "rows have another time", _first_of_month),
    "quarter": (
        "times are the first of a quarter",
        "rows have another time",
        lambda time: _first_of_month(time) & (time.dt.month() % 3 == 1),
    ),
    "drop": ("no row has a time", "rows do", lambda time: time.is_null()),
}
"""By the finest time: what must hold, what others have, and whether a time is such a one; what is null is no fault."""
