"""Sequence k-anonymity: everything under one name is a sequence of pages that at least k visitors walked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import polars as pl

from coterie.core.params import Choice, Flag, Range, check_params
from coterie.core.promise import Case, Check, Kind
from coterie.errors import ParameterError
from coterie.promises import _rules
from coterie.promises._checks import judged, not_checked, rows_broken
from coterie.promises._names import RECORD, is_known, names_of
from coterie.promises._single_queries import SessionMinutes
from coterie.promises._walk_recount import MOST_PAGES, PREFIX, Kinds, parts_of, released_kinds
from coterie.promises._words import Worded

LINES, TIMES = "lines", "times"
_DAY = 86_400_000_000  # microseconds
_BETWEEN = "\0"  # stands in no path


@dataclass(frozen=True, kw_only=True)
class SequenceKAnonymity(Worded):
    """Everything under one name is a sequence of pages that at least k visitors walked within one visit."""

    k: Annotated[int, Range(2), "smallest number of visitors behind a released sequence of pages"]
    paths: Annotated[
        str,
        Choice(PREFIX, "exact"),
        "what became of a path of fewer than k visitors: its longest beginning that k share, or nothing",
    ] = PREFIX
    days: Annotated[bool, Flag(), "whether days are released that k visitors share with a sequence"] = True
    session_minutes: SessionMinutes = 30
    order: Annotated[
        str,
        Choice(LINES, TIMES),
        "what pages of one second are ordered by: their lines, or nothing (each is a visit of its own)",
    ] = LINES

    name: ClassVar[str] = "sequence_k_anonymity"
    about: ClassVar[Literal["items", "subjects"]] = "items"
    linkage_bound: ClassVar[float | None] = None
    """None: names stand for walks, not for visitors."""
    evidence: ClassVar[tuple[str, ...]] = ()
    """Nothing but the original is needed."""

    def __post_init__(self) -> None:
        check_params(self, self.name)

    @property
    def anywhere(self) -> bool:
        """Its judge reads a cluster's rows as a stream, a few columns of them; lines have no order there."""
        return self.order == TIMES

    @property
    def releases(self) -> Kind:
        """Released items are paths, or the beginnings of paths where these are cut."""
        return "phrases" if self.paths == PREFIX else "text"

    @classmethod
    def of_foreign(cls, values: Mapping[str, Any], *, named: bool) -> SequenceKAnonymity:  # noqa: ARG003 (the protocol's)
        """There is none: a log does not say which of its rows are one walk."""
        raise ParameterError(
            f"{cls.name} can be checked only for releases with a sidecar: it says how visits were cut."
        )

    def check(self, case: Case) -> Iterator[Check]:
        """Look at each name alone, then cut the visits of the original again and count who is behind each sequence."""
        shape = case.shape
        if not shape.position or not shape.time:
            yield judged(
                "walks", 1, "rows say at which place of a walk a page stands", fault="does not", carries_promise=True
            )
            return
        yield from _rules.names(case, "pseudonym")
        yield from _seeded(case)
        walks = _walks(case)
        yield walks
        yield _times(case, self.days)
        crowd = f"at least {self.k} visitors behind each released sequence of pages"
        same = "sequences stand there as often as visits of the original are cut into them"
        on_days = f"at least {self.k} visitors behind each sequence with a day, and behind those left without one"
        if case.original is None or walks.broken:
            needs = {} if case.original is None else {"needs": "names that stand for one walk each"}
            yield not_checked("crowd.sequence", crowd, carries_promise=True, **needs)
            yield not_checked("rows.sequence", same, carries_promise=True, **needs)
            yield not_checked("crowd.sequence.time", on_days, carries_promise=True, **needs)
            return
        made_with = next((each for each in case.promised if isinstance(each, type(self))), self)
        kinds = released_kinds(case.rows, shape)
        parts = parts_of(
            case.original,
            kinds,
            paths=made_with.paths,
            k=made_with.k,
            minutes=made_with.session_minutes,
            by_lines=made_with.order == LINES,
        )
        yield from self._compared(kinds, parts, (crowd, same, on_days))

    def _compared(self, kinds: Kinds, parts: pl.DataFrame, details: tuple[str, str, str]) -> Iterator[Check]:
        """Who is behind each released sequence, and behind each with its day."""
        released = pl.DataFrame({"kind": kinds.of_name, "day": kinds.day})
        shown = released.drop_nulls().unique().with_columns(shown=pl.col("day"))
        said = parts.join(shown, on=["kind", "day"], how="left")
        crowd, few = pl.col("visitor").n_unique().alias("crowd"), pl.col("crowd") < self.k
        behind = released.select("kind").unique().join(parts.group_by("kind").agg(crowd), on="kind", how="left")
        behind = behind.with_columns(pl.col("crowd").fill_null(0))
        yield self._crowd("crowd.sequence", details[0], behind, parts.join(behind.filter(few), on="kind", how="semi"))
        on = ["kind", "day"]
        before = said.group_by("kind", day="shown").agg(pl.len().alias("before"), crowd)
        both = before.join(released.group_by(on).len("after"), on=on, how="full", nulls_equal=True, coalesce=True)
        both = both.with_columns(pl.col("before", "after", "crowd").fill_null(0))
        yield judged(
            "rows.sequence",
            both.filter(pl.col("before") != pl.col("after")).height,
            details[1],
            fault="do not",
            looked_at=both.height,
            needs_original=True,
            carries_promise=True,
        )
        exposed = said.join(
            both.filter(few), left_on=["kind", "shown"], right_on=on, how="semi", nulls_equal=True
        )  # fmt: skip
        yield self._crowd("crowd.sequence.time", details[2], both, exposed)

    def _crowd(self, name: str, detail: str, table: pl.DataFrame, exposed: pl.DataFrame) -> Check:
        crowds = table["crowd"]
        return judged(
            name,
            int((crowds < self.k).sum()),
            detail,
            fault="have fewer",
            looked_at=crowds.len(),
            concerns=exposed["visitor"].n_unique(),
            needs_original=True,
            carries_promise=True,
            largest_k=None if crowds.is_empty() else int(crowds.min()),  # type: ignore[arg-type]
        )


def _walks(case: Case) -> Check:
    """Under each name stands one walk: places 1, 2, 3 ... once each, all on one day."""
    shape = case.shape
    place = pl.col(shape.position)
    by_name = case.rows.group_by(shape.subject).agg(
        pl.len().alias("rows"),
        place.min().alias("first"),
        place.max().alias("last"),
        place.n_unique().alias("places"),
        pl.col(shape.time).n_unique().alias("days"),
    )
    last, rows = pl.col("last"), pl.col("rows")
    sound = (pl.col("first") == 1) & (last == rows) & (pl.col("places") == rows) & (pl.col("days") == 1)
    broken, names = rows_broken(by_name, ~(sound & (last <= MOST_PAGES)).fill_null(False))
    detail = "under each name stands one walk, its pages in places from 1 on and on one day"
    return judged("walks", broken, detail, fault="have something else", looked_at=names, carries_promise=True)


def _times(case: Case, days: bool) -> Check:
    time = pl.col(case.shape.time)
    wrong = time.cast(pl.Int64) % _DAY != 0 if days else time.is_not_null()
    broken, rows = rows_broken(case.rows, wrong)
    detail = "times are whole days" if days else "no row has a time"
    return judged("times", broken, detail, fault="rows have others", looked_at=rows, carries_promise=True)


def _seeded(case: Case) -> Iterator[Check]:
    """Names are those that the run gave to its walks, in the order of their pages and days.

    None was made from what identifies somebody, and which walk has which name tells nothing.
    """
    detail = "names are those that the run's seed gives walks in the order of their pages and days"
    shape = case.shape
    rows = case.rows.select(shape.subject, shape.position, shape.item, shape.time).collect(engine="streaming")
    rows = rows.sort(shape.subject, shape.position)
    walks = rows.group_by(pl.col(shape.subject).alias("name"), maintain_order=True).agg(
        pl.col(shape.item).str.join(_BETWEEN).alias("pages"), pl.col(shape.time).first().alias("day")
    )
    walks = walks.sort("pages", "day").with_row_index("place")
    if case.original is None or not is_known(case):
        yield not_checked("seeded", detail, needs=RECORD)
        return
    subject = case.original.shape.subject
    taken = case.original.frame.select(subject).drop_nulls().unique().collect(engine="streaming")[subject]
    names = names_of(case.run, map(str, range(walks.height)), taken)
    given = pl.DataFrame({"name": names, "number": range(walks.height)}, schema={"name": pl.String, "number": pl.Int64})
    number, place, alike = pl.col("number"), pl.col("place"), ["pages", "day"]  # copies of one walk are alike
    fits = number.is_between(place.min().over(alike), place.max().over(alike))
    told = walks.join(given, on="name", how="left").select(fits.fill_null(False).alias("fits"))
    broken = int((~told["fits"]).sum())
    yield judged(
        "seeded",
        broken,
        detail,
        fault="are others",
        looked_at=walks.height,
        needs_original=True,
        carries_promise=True,
    )
