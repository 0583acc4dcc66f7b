"""Further columns that tell who a row came from: the user again, or a value that stands for one user each.

Where everything that was logged is kept, nobody counts what accompanies a query. A column that is the user, or a hash
of the user, would then name everybody under a promise that says no row does.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from coterie.core.log import Log
from coterie.core.promise import Case, Check
from coterie.promises._checks import count, judged, not_checked

_ENOUGH = 20  # users of whom each has one value, which nobody else has: with fewer that may be chance


def telling(case: Case) -> Iterator[Check]:
    """No further detail is the user of its row, or stands for one; what was read from the log is looked at."""
    further = case.shape.further
    if not further or not case.shape.subject:
        return
    detail = f"no further detail ({', '.join(further)}) is the user of its row, or stands for one user each"
    if case.original is None:
        yield not_checked("telling", detail)
        return
    broken = sum(_tells(case, case.original, name) for name in further)
    fault = "of them are; leave them out of --details, or use --attrs common"
    yield judged("telling", broken, detail, fault=fault, looked_at=len(further), needs_original=True)


def _tells(case: Case, original: Log, name: str) -> bool:
    user, value = pl.col(original.shape.subject), pl.col(name)
    rows = original.frame

    def counted(what: pl.Expr, by: str) -> int:
        """A number that can be added up over blocks of rows with equal values in a column."""
        both = user.is_not_null() & value.is_not_null()

        def work(some: pl.LazyFrame) -> pl.LazyFrame:
            return some.filter(both).select(what.cast(pl.Int64).alias("n"))

        if case.engine is None or case.engine.here:
            return count(work(rows))
        return int(case.engine.small(case.engine.blocks(rows, work, [by]))["n"].sum())

    same = user.str.strip_chars().str.to_lowercase() == value.str.strip_chars().str.to_lowercase()
    if counted(same.sum(), name):
        return True
    values, pairs = counted(value.n_unique(), name), counted(pl.struct(user, value).n_unique(), name)
    return values >= _ENOUGH and values == pairs == counted(user.n_unique(), original.shape.subject)
