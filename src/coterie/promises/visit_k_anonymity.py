"""Visit k-anonymity: every released row, all its columns together, is what at least k visitors did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Range, Several
from coterie.core.promise import ORIGINAL, Case, Check, Kind
from coterie.promises._checks import Question, no_finer, nothing_beside, other_columns
from coterie.promises._names import random_names
from coterie.promises._visit_recount import PATH, ROW, WHO, column_of, could_say, generalizes, had, said
from coterie.promises._words import Worded

Details = Annotated[
    str,
    Several("referrer", "browser", "hour", "day", "method", "status", "bytes"),
    "what may accompany a page, the most important first: the host of the referrer, the browser's family, the time",
]
_RECORD = "the run record, which says what became of each row (--record DIR)"
_AT, _KIND = "_at", "_kind"
_TIMES = ("hour", "day")


@dataclass(frozen=True, kw_only=True)
class VisitKAnonymity(Worded):
    """Every released row, all its columns together, is what at least k visitors of the original log did."""

    k: Annotated[int, Range(2), "smallest number of visitors behind a released row"]
    details: Details = "referrer,browser,hour,day"

    name: ClassVar[str] = "visit_k_anonymity"
    covers: ClassVar[tuple[str, ...]] = ("referrer", "agent")
    releases: ClassVar[Kind] = "phrases"
    """Released items are paths, or the beginnings of paths."""
    evidence: ClassVar[tuple[str, ...]] = ("rows",)
    """What became of each row."""
    not_of_foreign: ClassVar[str] = (
        "can be checked only for releases with a sidecar: it says what may accompany a page."
    )
    """Rows alone do not say which requests became which."""

    @property
    def levels(self) -> tuple[str, ...]:
        """How exact a released time may be."""
        return tuple(detail for detail in _TIMES if detail in self._details)

    @property
    def _details(self) -> tuple[str, ...]:
        return Several.words(self.details)

    def check(self, case: Case) -> Iterator[Check]:
        """Compare each row with the request that it was, then count the visitors behind rows that are alike.

        It stops rows whose columns, taken together, tell one visitor from all others.
        """
        details = [each for each in self._details if column_of(each, case.shape) in case.shape.released]
        yield from random_names(case, "drop")
        yield self._others(case, details)
        if self.levels:
            yield from no_finer(self.levels, case)
        yield from self._rows(case, details)

    def _others(self, case: Case, details: list[str]) -> Check:
        """No column has a value but those that the promise is about."""
        counted = {case.shape.level, *(column_of(each, case.shape) for each in details)}
        return nothing_beside(case, tuple(name for name in other_columns(case.shape) if name not in counted))

    def _rows(self, case: Case, details: list[str]) -> Iterator[Check]:
        """Which request each row was, and how many visitors rows that are alike have."""
        detail = "every released row stands for one row of the original, and no two for the same"
        fault = "do not, or stand for one that another stands for"
        stands = Question("visits", detail, fault, original=True, carries=True)
        detail = f"at least {self.k} {case.shape.subject_nouns} behind each released row, all its columns together"
        crowd = Question("crowd.row", detail, "have fewer", original=True, carries=True)
        became = case.table("rows", {"row": pl.UInt64, "released_row": pl.UInt32})
        if case.original is None or became is None:
            needs = ORIGINAL if case.original is None else _RECORD
            if case.original is not None:
                yield self._bound(case, case.original, details)
            yield stands.open(needs)
            yield crowd.open(needs)
            return
        rows = said(case.rows, case.shape, details)
        rows = rows.with_columns(pl.struct(PATH, *details).rle_id().alias(_KIND)).with_row_index(_AT)
        visits = had(case.original, details).join(became.lazy(), left_on=ROW, right_on="row")
        both = rows.join(visits, left_on=_AT, right_on="released_row", how="left", suffix="_had")
        fits = [generalizes(pl.col(PATH), pl.col(f"{PATH}_had"))]
        fits += [pl.col(each).is_null() | (pl.col(each) == pl.col(f"{each}_had")) for each in details]
        fit = pl.all_horizontal(fits).fill_null(False).alias("fits")
        table = both.select(_KIND, fit, WHO).collect(engine="streaming")
        twice = sum(int(became[name].is_duplicated().sum()) for name in became.columns)
        yield stands.answered(int((~table["fits"]).sum()) + twice, table.height)
        behind = pl.col(WHO).filter("fits").drop_nulls().n_unique().alias("crowd")
        crowds = table.group_by(_KIND).agg(behind)
        few = crowds.filter(pl.col("crowd") < self.k)
        exposed = table.join(few, on=_KIND, how="semi")[WHO].drop_nulls().n_unique()
        yield crowd.of_crowds(crowds["crowd"], self.k, concerns=exposed)

    def _bound(self, case: Case, original: Log, details: list[str]) -> Check:
        """What can be said without knowing which request each row was."""
        rows = said(case.rows, case.shape, details).collect(engine="streaming")
        bounds = could_say(had(original, details).collect(engine="streaming"), rows, details)
        wrong = (pl.col("crowd") < self.k) | (pl.col("rows") < pl.col("released"))
        detail = f"each released row can stand for requests of at least {self.k} {case.shape.subject_nouns}"
        bound = Question("bound.row", detail, "cannot, or not as often", original=True)
        how = "an upper bound: an empty column can stand for anything"
        return bound.answered(bounds.filter(wrong).height, bounds.height, how=how)
