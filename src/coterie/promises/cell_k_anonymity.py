"""Cell k-anonymity: every released number counts what at least k visitors did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import polars as pl

from coterie.core.params import Range, Several, check_params
from coterie.core.promise import Case, Check, Kind
from coterie.errors import ParameterError
from coterie.promises._cell_recount import CELL, WHO, recounted
from coterie.promises._checks import any_given, judged, not_checked, rows_broken
from coterie.promises._single_queries import SessionMinutes
from coterie.promises._words import Worded

Tables = Annotated[
    str,
    Several("pages", "landing", "pairs", "referrers", "days", "hours", "browsers", "lengths"),
    "which tables: pages, first pages, pages in succession, hosts of referrers, days with their hours or hours of the "
    "day, browsers, requests per visit",
]
_OF_VISITS = {"landing", "pairs", "lengths"}


@dataclass(frozen=True, kw_only=True)
class CellKAnonymity(Worded):
    """Every released number counts what at least k visitors of the original log did."""

    k: Annotated[int, Range(2), "smallest number of visitors behind a released number"]
    tables: Tables = "pages,landing,pairs,referrers,days,browsers,lengths"
    session_minutes: SessionMinutes = 30

    name: ClassVar[str] = "cell_k_anonymity"
    about: ClassVar[Literal["items", "subjects"]] = "items"
    releases: ClassVar[Kind] = "counts"
    """Numbers are released."""
    linkage_bound: ClassVar[float | None] = None
    """None: there are no names."""
    evidence: ClassVar[tuple[str, ...]] = ()
    """Nothing but the original is needed."""

    def __post_init__(self) -> None:
        check_params(self, self.name)

    @property
    def derived(self) -> Mapping[str, object]:
        """Whether one of the tables is about whole visits."""
        return {"of_visits": not _OF_VISITS.isdisjoint(self._tables)}

    @property
    def _tables(self) -> tuple[str, ...]:
        return Several.words(self.tables)

    @classmethod
    def of_foreign(cls, values: Mapping[str, Any], *, named: bool) -> CellKAnonymity:  # noqa: ARG003 (the protocol's)
        """There is none: a log has rows, not numbers."""
        raise ParameterError(f"{cls.name} can be checked only for releases with a sidecar: it says what was counted.")

    def check(self, case: Case) -> Iterator[Check]:
        """Count each cell again, its visitors, and those of the cells that are not there."""
        if not {*CELL, case.shape.count} <= set(case.shape.released) or not case.shape.count:
            detail = "rows are lines of tables with a number each"
            yield judged("tables", 1, detail, fault="has other columns", carries_promise=True)
            return
        yield self._lines(case)
        count = f"each number is that of the original: {', '.join(self._tables)}"
        crowd = f"at least {self.k} visitors behind each released number"
        left = f"the lines that are left out of a table come from at least {self.k} visitors, or there are none"
        if case.original is None:
            for name, detail in (("cells", count), ("crowd.cell", crowd), ("left_out", left)):
                yield not_checked(name, detail, carries_promise=True)
            return
        counted = recounted(case.original, self._tables, self.session_minutes)
        cells = counted.group_by(CELL).agg(pl.len().alias("crowd"), pl.col("count").sum().alias("_count"))
        released = case.rows.select(*CELL, case.shape.count).collect(engine="streaming")
        both = released.join(cells, on=CELL, how="left", nulls_equal=True).with_columns(pl.col("crowd").fill_null(0))
        wrong = both.filter(~pl.col(case.shape.count).eq_missing(pl.col("_count"))).height
        yield judged(
            "cells",
            wrong + int(released.select(CELL).is_duplicated().sum()),
            count,
            fault="are not, or stand there twice",
            looked_at=released.height,
            needs_original=True,
            carries_promise=True,
        )
        few = both.filter(pl.col("crowd") < self.k)
        yield judged(
            "crowd.cell",
            few.height,
            crowd,
            fault="have fewer",
            looked_at=both.height,
            concerns=counted.join(few, on=CELL, how="semi", nulls_equal=True)[WHO].n_unique(),
            needs_original=True,
            carries_promise=True,
            largest_k=_smallest(both),
        )
        # Of a table without a line nothing can be subtracted.
        others = counted.join(released, on=CELL, how="anti", nulls_equal=True).join(released, on="table", how="semi")
        together = others.group_by("table").agg(pl.col(WHO).n_unique().alias("crowd"))
        alone = together.filter(pl.col("crowd") < self.k)
        yield judged(
            "left_out",
            alone.height,
            left,
            fault="have fewer",
            looked_at=len(self._tables),
            concerns=others.join(alone, on="table", how="semi")[WHO].n_unique(),
            needs_original=True,
            carries_promise=True,
            largest_k=_smallest(together),
        )

    def _lines(self, case: Case) -> Check:
        """No other tables, and nothing beside a number."""
        others = [name for name in case.shape.released if name not in (*CELL, case.shape.count)]
        as_promised = pl.col("table").is_in(list(self._tables)).fill_null(False)
        as_promised &= pl.col("item").is_not_null() & pl.col(case.shape.count).is_not_null()
        broken, rows = rows_broken(case.rows, ~as_promised | any_given(tuple(others)))
        detail = "each line belongs to one of the promised tables, with a number and nothing beside it"
        return judged("tables", broken, detail, fault="do not", looked_at=rows, carries_promise=True)


def _smallest(crowds: pl.DataFrame) -> int | None:
    """The smallest number of visitors; None where there are none."""
    return None if crowds.is_empty() else int(crowds["crowd"].min())  # type: ignore[arg-type]
