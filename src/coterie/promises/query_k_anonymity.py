"""Query k-anonymity: every released item was issued by at least k users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

from coterie.core.params import Attrs, KDetails, Range, Times, check_params
from coterie.core.promise import Case, Check, Kind
from coterie.core.shapes import QUERIES
from coterie.promises import _rules
from coterie.promises._checks import ALL_OF_IT, Window, crowds, recent
from coterie.promises._names import seeded
from coterie.promises._single_queries import (
    ANYWHERE,
    Details,
    LinkMinutes,
    LinkQueries,
    SessionMinutes,
    ShapeName,
    Users,
    accompaniment,
    levels_of,
    links,
    nothing_else_was_looked_for,
    of_rows_alone,
)
from coterie.promises._words import Worded


@dataclass(frozen=True, kw_only=True)
class QueryKAnonymity(Worded):
    """Every released item was issued by at least k users of the original log."""

    k: Annotated[int, Range(2), "smallest number of users behind a released query"]
    users: Users = "drop"
    attrs: Attrs = "common"
    session_minutes: SessionMinutes = 30
    link_queries: LinkQueries = 3
    link_minutes: LinkMinutes = 30
    times: Times = "day"
    k_details: KDetails = "k"
    details: Details = ""
    window: Window = ALL_OF_IT
    shape: ShapeName = QUERIES.name

    name: ClassVar[str] = "query_k_anonymity"
    about: ClassVar[Literal["items", "subjects"]] = "items"
    releases: ClassVar[Kind] = "text"
    """Released items are what was typed."""
    linkage_bound: ClassVar[float | None] = None
    """None: it says nothing about a person's queries taken together."""
    evidence: ClassVar[tuple[str, ...]] = ()
    """Nothing but the original is needed."""

    def __post_init__(self) -> None:
        check_params(self, self.name)

    @property
    def levels(self) -> tuple[str, ...]:
        """How exact a released time may be, the finest first."""
        return levels_of(self)

    @property
    def anywhere(self) -> bool:
        """Whether rows may be on a cluster: windows, days and units of a few queries need one machine."""
        return self.users in ANYWHERE and self.window == ALL_OF_IT

    @classmethod
    def of_foreign(cls, values: Mapping[str, Any], *, named: bool) -> QueryKAnonymity:
        """The promise to check of rows without a sidecar, which keep whatever they have beside items."""
        return cls(**of_rows_alone(values, named=named))

    def check(self, case: Case) -> Iterator[Check]:
        """Count the users behind each released item, then look at names and at what accompanies items."""
        named = case.foreign or self.users == "pseudonym"
        if case.foreign:
            yield nothing_else_was_looked_for(case.shape)
        else:
            yield from _rules.names(case, self.users)
            yield from seeded(case, self.users, self)
        by_item = (case.shape.item, case.log_shape.item)
        named = named and self.window == ALL_OF_IT
        apart = partial(links, promise=self)
        yield from case.engine.judged(case, partial(self._by_item, named=named), by_item, apart)

    def _by_item(self, case: Case, *, named: bool) -> Iterator[Check]:
        """What can be seen of each item by itself; a window is one of the whole log, which is then all here."""
        counted = case if case.original is None else replace(case, original=recent(case.original, self.window))
        yield from crowds(counted, (case.shape.item,), self.k, named=named)
        if not case.foreign:
            yield from accompaniment(case, self)
