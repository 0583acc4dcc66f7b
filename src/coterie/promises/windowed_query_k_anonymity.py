"""Windowed query k-anonymity: every released item was issued by at least k users within one window of time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import polars as pl

from coterie.core.params import Range, Span, check_params
from coterie.core.promise import Case, Check, Kind
from coterie.core.shapes import QUERIES, SHAPES
from coterie.errors import ParameterError
from coterie.promises._checks import judged, not_checked, rows_broken
from coterie.promises._single_queries import ShapeName
from coterie.promises._window_recount import CLICKS, REST, START, WHAT, Windows
from coterie.promises._words import Worded

_NEEDS = "the original rows of the whole window (--original LOG, or the folder of --audit)"


@dataclass(frozen=True, kw_only=True)
class WindowedQueryKAnonymity(Worded):
    """Every released item was issued by at least k users of the original log within one window of time."""

    k: Annotated[int, Range(2), "smallest number of users behind a released query within a window"]
    window: Annotated[str, Span(), "length of a window; windows follow each other from 1970-01-01 on"] = "30d"
    shape: ShapeName = QUERIES.name

    name: ClassVar[str] = "windowed_query_k_anonymity"
    about: ClassVar[Literal["items", "subjects"]] = "items"

    def __post_init__(self) -> None:
        check_params(self, self.name)

    def _said(self, sentence: str) -> str:
        shape = SHAPES[self.shape]
        return sentence.format(k=self.k, item=shape.item_noun, subjects=shape.subject_nouns)

    @property
    def releases(self) -> Kind:
        """Numbers are released, of texts as they were typed."""
        return "counts"

    @property
    def linkage_bound(self) -> float | None:
        """None: it says nothing about a person's queries taken together."""
        return None

    @property
    def evidence(self) -> tuple[str, ...]:
        """Nothing but the original is needed."""
        return ()

    @classmethod
    def of_foreign(cls, values: Mapping[str, Any], *, named: bool) -> WindowedQueryKAnonymity:  # noqa: ARG003
        """There is none: a log has rows, not numbers."""
        raise ParameterError(f"{cls.name} can be checked only for releases with a sidecar: it says what was counted.")

    def check(self, case: Case) -> Iterator[Check]:
        """Read window, kind and day of each line again, and count people and rows of the original anew."""
        if case.shape.count not in case.shape.released or not case.shape.lead:
            detail = "rows are lines of tables with a number each"
            yield judged("tables", 1, detail, fault="has other columns", carries_promise=True)
            return
        windows = Windows(Span.seconds(self.window), self.shape)
        lines = windows.lines(case.rows, case.shape)
        bad, total = rows_broken(lines, pl.col("_bad"))
        detail = f"each line names a window of {self.window}, a day within it or a page, and a number above 0"
        yield judged("lines", bad, detail, fault="do not", looked_at=total, carries_promise=True)
        if bad:
            return
        several = f"each {self._said('{item}')} of a part stands for {self.k} rows or more, but for the tables of rests"
        sums = lines.filter(~pl.col(REST)).group_by(START, WHAT, "item", "_page").agg(pl.col("count").sum())
        few, looked = rows_broken(sums, pl.col("count") < self.k)
        yield judged("rows", few, several, fault="have fewer", looked_at=looked)
        yield from self._counted(case, lines, windows)

    def _counted(self, case: Case, lines: pl.LazyFrame, windows: Windows) -> Iterator[Check]:
        """The checks that need the original."""
        people = self._said("at least {k} {subjects} behind each released {item} within its window")
        told = self._said("at least {k} {subjects} behind each {item} with its day, or with its page")
        no_more = self._said("no {item} has more rows than in its window")
        if case.original is None:
            yield not_checked("crowd.window", people, carries_promise=True, needs=_NEEDS)
            yield not_checked("crowd.detail", told, carries_promise=True, needs=_NEEDS)
            yield not_checked("rows.window", no_more, needs=_NEEDS)
            return
        rows = windows.rows(case.original)
        of_window = windows.behind(lines.filter(pl.col(WHAT) != CLICKS), rows, ["item", START])
        of_day = windows.behind(lines.filter(pl.col("_day").is_not_null()), rows, ["item", START, "_day"])
        of_page = windows.behind(lines.filter(pl.col(WHAT) == CLICKS), rows, ["item", START, "_page"])
        few = pl.col("people") < self.k
        broken, total = rows_broken(of_window, few)
        # A page that was clicked for a query says the query, too.
        unseen, clicked = rows_broken(windows.behind(lines.filter(pl.col(WHAT) == CLICKS), rows, ["item", START]), few)
        smallest = of_window.select(pl.col("people").min()).collect(engine="streaming").item()
        yield judged(
            "crowd.window",
            broken + unseen,
            people,
            fault="have fewer",
            looked_at=total + clicked,
            needs_original=True,
            carries_promise=True,
            largest_k=None if smallest is None else int(smallest),
        )
        (on_day, days), (on_page, pages) = rows_broken(of_day, few), rows_broken(of_page, few)
        yield judged(
            "crowd.detail",
            on_day + on_page,
            told,
            fault="have fewer",
            looked_at=days + pages,
            needs_original=True,
            carries_promise=True,
        )
        excess = [rows_broken(table, pl.col("count") > pl.col("rows")) for table in (of_window, of_day, of_page)]
        yield judged(
            "rows.window",
            sum(broken for broken, _ in excess),
            no_more,
            fault="have invented rows",
            looked_at=sum(looked for _, looked in excess),
            needs_original=True,
        )
