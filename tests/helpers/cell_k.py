"""A promise without a k, about a release of counts: every cell stands for enough users, and says how many rows it had.

It stands here as a third party would ship it: file name = public name, and its judge counts for itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import polars as pl

from coterie.core.params import Range
from coterie.core.promise import ORIGINAL, Case, Check, Kind, Promise


@dataclass(frozen=True, kw_only=True)
class CellK(Promise):
    """Every released count is that of a query of enough users."""

    least: Annotated[int, Range(2), "smallest number of users behind a cell"]

    name: ClassVar[str] = "cell_k"
    releases: ClassVar[Kind] = "counts"
    not_of_foreign: ClassVar[str] = "is for releases with a sidecar only."

    @property
    def headline(self) -> str:
        return f"cells of {self.least}"

    @property
    def sentence(self) -> str:
        return f"Every cell counts the rows of a query that at least {self.least} different users issued."

    @property
    def limits(self) -> tuple[str, ...]:
        return ("A count can still be compared with one of another day.",)

    def check(self, case: Case) -> Iterator[Check]:
        """Count users and rows of each released item once more."""
        detail = f"at least {self.least} users behind each cell, and the number of their rows"
        if case.original is None:
            yield Check(
                name="cells",
                status="not checked",
                detail=detail,
                needs=ORIGINAL,
                needs_original=True,
                carries_promise=True,
            )
            return
        item, count = case.shape.item, case.shape.count
        log = case.original.shape
        recounted = case.original.frame.group_by(pl.col(log.item).alias(item)).agg(
            pl.col(log.subject).drop_nulls().n_unique().alias("_users"), pl.len().alias("_rows")
        )
        cells = case.rows.join(recounted, on=item, how="left")
        right = (pl.col("_users") >= self.least) & (pl.col("_rows") == pl.col(count))
        broken, total = cells.select((~right.fill_null(False)).sum(), pl.len()).collect().row(0)
        yield Check(
            name="cells",
            status="failed" if broken else "passed",
            detail=detail,
            looked_at=total,
            broken=broken,
            fault="have fewer users or another number of rows" if broken else "",
            needs_original=True,
            carries_promise=True,
        )
