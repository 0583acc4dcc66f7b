"""Record k-anonymity: every released record of an access log appears k times, for k visitors where that is promised."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import polars as pl

from coterie.core.params import Flag, Range, check_params
from coterie.core.promise import Case, Check, Kind
from coterie.core.shapes import VISITS
from coterie.promises import _rules
from coterie.promises._checks import judged, not_checked
from coterie.promises._names import BOTH, seeded
from coterie.promises._record_recount import COPIES, VISITORS, recounted
from coterie.promises._words import Worded

_ONE_VISITOR = "the k may come from one visitor"


@dataclass(frozen=True, kw_only=True)
class RecordKAnonymity(Worded):
    """Every released record appears at least k times, for records of k visitors unless `visitors` is false."""

    k: Annotated[int, Range(2), "smallest number of times that a released record appears"]
    visitors: Annotated[bool, Flag(), "the records behind a released one come from k different visitors"] = True

    name: ClassVar[str] = "record_k_anonymity"
    about: ClassVar[Literal["items", "subjects"]] = "items"
    covers: ClassVar[tuple[str, ...]] = tuple(name for name in VISITS.identifying if name not in VISITS.never_given)
    releases: ClassVar[Kind] = "concepts"
    """Released paths are beginnings of paths."""
    linkage_bound: ClassVar[float | None] = None
    """None: rows have no names."""
    evidence: ClassVar[tuple[str, ...]] = ("clusters",)
    """Which rows of the original are behind which record."""

    def __post_init__(self) -> None:
        check_params(self, self.name)

    @classmethod
    def of_foreign(cls, values: Mapping[str, Any], *, named: bool) -> RecordKAnonymity:  # noqa: ARG003 (the protocol's)
        """The promise to check of rows without a sidecar: who is behind them is not known."""
        return cls(**{**values, "visitors": False})

    def check(self, case: Case) -> Iterator[Check]:
        """Count equal records, then make those of the run once more from the original and count their visitors."""
        if not case.foreign:
            yield from _rules.names(case, "drop")
            yield from seeded(case, "drop")
        yield self._copies(case)
        if not case.foreign:
            yield from self._recounted(case)

    def _copies(self, case: Case) -> Check:
        """Each record at least k times."""
        columns = [name for name in case.shape.released if name != case.shape.subject]
        rows = case.rows if case.published is None else case.published
        copies = pl.col("copies")
        numbers = rows.select(columns).group_by(pl.all()).len("copies").select(
            copies.min().alias("smallest"), copies.filter(copies < self.k).sum().alias("broken"), copies.sum(), pl.len()
        )  # fmt: skip
        smallest, broken, total, kinds = numbers.collect(engine="streaming").row(0)
        return judged(
            "copies",
            broken,
            f"each released record appears at least {self.k} times",
            fault="do not",
            looked_at=int(total),
            how=f"{kinds:,} different ones",
            carries_promise=True,
            largest_k=None if smallest is None else int(smallest),
        )

    def _recounted(self, case: Case) -> Iterator[Check]:
        """The released records are those that the run's groups give, and k visitors are behind each."""
        made = "released records are those that follow from the groups of the run"
        behind = f"at least {self.k} different visitors behind each released record" if self.visitors else _ONE_VISITOR
        groups = case.table("clusters", {"row": pl.UInt64, "group": pl.UInt32})
        if case.original is None or groups is None or case.original.shape is not VISITS:
            yield not_checked("records", made, needs=BOTH, carries_promise=self.visitors)
            yield not_checked("visitors", behind, needs=BOTH, carries_promise=self.visitors)
            return
        recount = recounted(case, case.original, groups, several=self.visitors)
        yield judged(
            "records",
            recount.unlike,
            made,
            fault="differ, are too many or are missing",
            looked_at=recount.released,
            needs_original=True,
            carries_promise=self.visitors,
        )
        of_one = pl.col(COPIES).filter(pl.col(VISITORS) == 1).sum()
        numbers = recount.kinds.select(
            (pl.col(VISITORS) < self.k).sum().alias("few"), pl.col(VISITORS).min().alias("smallest"), pl.len(),
            (100 * of_one / pl.col(COPIES).sum()).fill_nan(0).alias("alone"),
        ).row(0, named=True)  # fmt: skip
        yield judged(
            "visitors",
            numbers["few"] if self.visitors else 0,
            behind,
            fault="have fewer",
            looked_at=numbers["len"],
            how="" if self.visitors else f"{numbers['alone']:.1f} % of the records stand for one visitor",
            needs_original=True,
            carries_promise=self.visitors,
            largest_k=numbers["smallest"] if self.visitors else None,
        )
