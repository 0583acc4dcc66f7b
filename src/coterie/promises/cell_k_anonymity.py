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
from coterie.promises._single_queries import ALONE, SessionMinutes
from coterie.promises._wording import VISITOR, pause

Tables = Annotated[
    str,
    Several("pages", "landing", "pairs", "referrers", "days", "hours", "browsers", "lengths"),
    "which tables: pages, first pages, pages in succession, hosts of referrers, days with their hours or hours of the "
    "day, browsers, requests per visit",
]
_SAID = {
    "pages": "requests for each page",
    "landing": "visits that begin with each page",
    "pairs": "pages that follow each other",
    "referrers": "requests by the host that led there",
    "days": "requests by day and hour",
    "hours": "requests by hour of the day",
    "browsers": "requests by family of browsers",
    "lengths": "visits by their number of requests",
}
_OF_VISITS = {"landing", "pairs", "lengths"}


@dataclass(frozen=True, kw_only=True)
class CellKAnonymity:
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
    def headline(self) -> str:
        """The number people ask for."""
        return f"k = {self.k}"

    @property
    def sentence(self) -> str:
        """The promise in plain words."""
        tables = "; ".join(_SAID[table] for table in self._tables) or "none"
        visit = f" A visit ends after a pause of more than {pause(self.session_minutes)}."
        return (
            f"Every released number counts, exactly, what at least {self.k} different visitors did, and the lines that "
            f"are left out of a table come from at least {self.k} visitors together, or there are none. Tables: "
            f"{tables}.{visit if _OF_VISITS & set(self._tables) else ''} No totals and no rows of the log are released."
        )

    @property
    def limits(self) -> tuple[str, ...]:
        """What the promise does not say."""
        return (
            "Numbers are exact and can be subtracted: from other tables, from totals that somebody knows, and from a "
            "release of another day, which can differ from this one by what one visitor did.",
            VISITOR,
            "One of the visitors behind a number may have made nearly all of the requests that it counts.",
            f"Whoever sends requests from {self.k} addresses can have any path released; with {self.k - 1} they find "
            "out whether anybody else requested it, and how often.",
            f"A path that {self.k} visitors requested can still name a person or be sensitive in itself, and so can "
            "what follows its question mark: cut that off first (strip_query).",
            ALONE,
        )

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
