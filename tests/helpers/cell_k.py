"""A promise without a k, about a release of counts: every cell stands for enough users, and says how many rows it had.

It stands here as a third party would ship it: file name = public name, and its judge counts for itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import polars as pl

from coterie.core.params import Range, check_params
from coterie.core.promise import ORIGINAL, Case, Check, Kind
from coterie.errors import ParameterError


@dataclass(frozen=True, kw_only=True)
class CellK:
    """Every released count is that of a query of enough users."""

    least: Annotated[int, Range(2), "smallest number of users behind a cell"]

    name: ClassVar[str] = "cell_k"
    about: ClassVar[Literal["items", "subjects"]] = "items"
    releases: ClassVar[Kind] = "counts"
    linkage_bound: ClassVar[float | None] = None
    evidence: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        check_params(self, self.name)

    @property
    def headline(self) -> str:
        return f"cells of {self.least}"

    @property
    def sentence(self) -> str:
        return f"Every cell counts the rows of a query that at least {self.least} different users issued."

    @property
    def limits(self) -> tuple[str, ...]:
        return ("A count can still be compared with one of another day.",)

    @classmethod
    def of_foreign(cls, values: Mapping[str, Any], *, named: bool) -> CellK:  # noqa: ARG003
        raise ParameterError("cell_k is for releases with a sidecar only.")

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
