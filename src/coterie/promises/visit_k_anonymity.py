"""Visit k-anonymity: every released row, all its columns together, is what at least k visitors did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Range, Several, check_params
from coterie.core.promise import ORIGINAL, Case, Check, Kind
from coterie.errors import ParameterError
from coterie.promises import _rules
from coterie.promises._checks import any_given, judged, no_finer, not_checked, other_columns, rows_broken
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
    about: ClassVar[Literal["items", "subjects"]] = "items"
    covers: ClassVar[tuple[str, ...]] = ("referrer", "agent")
    releases: ClassVar[Kind] = "phrases"
    """Released items are paths, or the beginnings of paths."""
    linkage_bound: ClassVar[float | None] = None
    """None: no name links rows."""
    evidence: ClassVar[tuple[str, ...]] = ("rows",)
    """What became of each row."""

    def __post_init__(self) -> None:
        check_params(self, self.name)

    @property
    def levels(self) -> tuple[str, ...]:
        """How exact a released time may be."""
        return tuple(detail for detail in _TIMES if detail in self._details)

    @property
    def _details(self) -> tuple[str, ...]:
        return Several.words(self.details)

    @classmethod
    def of_foreign(cls, values: Mapping[str, Any], *, named: bool) -> VisitKAnonymity:  # noqa: ARG003 (the protocol's)
        """There is none: rows alone do not say which requests became which."""
        raise ParameterError(
            f"{cls.name} can be checked only for releases with a sidecar: it says what may accompany a page."
        )

    def check(self, case: Case) -> Iterator[Check]:
        """Compare each row with the request that it was, then count the visitors behind rows that are alike."""
        details = [each for each in self._details if column_of(each, case.shape) in case.shape.released]
        yield from _rules.names(case, "drop")
        yield self._others(case, details)
        if self.levels:
            yield from no_finer(self.levels, case)
        yield from self._rows(case, details)

    def _others(self, case: Case, details: list[str]) -> Check:
        """No column has a value but those that the promise is about."""
        counted = {case.shape.level, *(column_of(each, case.shape) for each in details)}
        others = tuple(name for name in other_columns(case.shape) if name not in counted)
        broken, rows = rows_broken(case.rows, any_given(others))
        detail = f"nothing accompanies a {case.shape.item_noun} but what was counted; {', '.join(others)} must be empty"
        return judged(
            "details", broken, detail, fault="rows have a value there", looked_at=rows, carries_promise=True
        )  # fmt: skip

    def _rows(self, case: Case, details: list[str]) -> Iterator[Check]:
        """Which request each row was, and how many visitors rows that are alike have."""
        visitors = case.shape.subject_nouns
        stands = "every released row stands for one row of the original, and no two for the same"
        crowd = f"at least {self.k} {visitors} behind each released row, all its columns together"
        became = case.table("rows", {"row": pl.UInt64, "released_row": pl.UInt32})
        if case.original is None or became is None:
            needs = ORIGINAL if case.original is None else _RECORD
            if case.original is not None:
                yield self._bound(case, case.original, details)
            yield not_checked("visits", stands, carries_promise=True, needs=needs)
            yield not_checked("crowd.row", crowd, carries_promise=True, needs=needs)
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
        yield judged(
            "visits",
            int((~table["fits"]).sum()) + twice,
            stands,
            fault="do not, or stand for one that another stands for",
            looked_at=table.height,
            needs_original=True,
            carries_promise=True,
        )
        behind = pl.col(WHO).filter("fits").drop_nulls().n_unique().alias("crowd")
        crowds = table.group_by(_KIND).agg(behind)
        few = crowds.filter(pl.col("crowd") < self.k)
        exposed = table.join(few, on=_KIND, how="semi")[WHO].drop_nulls().n_unique()
        yield judged(
            "crowd.row",
            few.height,
            crowd,
            fault="have fewer",
            looked_at=crowds.height,
            concerns=exposed,
            needs_original=True,
            carries_promise=True,
            largest_k=None if crowds.is_empty() else int(crowds["crowd"].min()),  # type: ignore[arg-type]
        )

    def _bound(self, case: Case, original: Log, details: list[str]) -> Check:
        """What can be said without knowing which request each row was."""
        rows = said(case.rows, case.shape, details).collect(engine="streaming")
        bounds = could_say(had(original, details).collect(engine="streaming"), rows, details)
        wrong = (pl.col("crowd") < self.k) | (pl.col("rows") < pl.col("released"))
        return judged(
            "bound.row",
            bounds.filter(wrong).height,
            f"each released row can stand for requests of at least {self.k} {case.shape.subject_nouns}",
            fault="cannot, or not as often",
            looked_at=bounds.height,
            how="an upper bound: an empty column can stand for anything",
            needs_original=True,
        )
