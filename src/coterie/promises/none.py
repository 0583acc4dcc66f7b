"""No promise: what a release says that was made by filters and names alone, as a yardstick for others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from coterie.core.params import Choice, Times, check_params
from coterie.core.promise import NOTHING, Case, Check, Kind
from coterie.errors import ParameterError
from coterie.promises import _rules
from coterie.promises._checks import no_finer
from coterie.promises._names import seeded
from coterie.promises._single_queries import Details, LinkMinutes, LinkQueries, SessionMinutes, Users, accompaniment
from coterie.promises._words import Worded


@dataclass(frozen=True, kw_only=True)
class None_(Worded):  # noqa: N801 (Python keeps None for itself)
    """Nothing is promised about the people in a release."""

    users: Users = "drop"
    attrs: Annotated[str, Choice("keep", "drop"), "what accompanies a query: all but the time, or nothing"] = "keep"
    times: Times = "day"
    session_minutes: SessionMinutes = 30
    link_queries: LinkQueries = 3
    link_minutes: LinkMinutes = 30
    details: Details = ""

    name: ClassVar[str] = NOTHING
    about: ClassVar[Literal["items", "subjects"]] = "items"
    releases: ClassVar[Kind] = "text"
    """Released items are what was typed."""
    linkage_bound: ClassVar[float | None] = None
    evidence: ClassVar[tuple[str, ...]] = ()
    k: ClassVar[int] = 1
    k_details: ClassVar[int | str] = "k"

    def __post_init__(self) -> None:
        check_params(self, self.name)

    @property
    def levels(self) -> tuple[str, ...]:
        """What all times are cut to."""
        return (self.times,) if self.attrs == "keep" and self.times != "drop" else ()

    @classmethod
    def of_foreign(cls, values: Mapping[str, Any], *, named: bool) -> None_:  # noqa: ARG003 (there is nothing to check)
        """There is nothing to check."""
        raise ParameterError(f"{cls.name} promises nothing, so there is nothing to check. Name another promise.")

    def check(self, case: Case) -> Iterator[Check]:
        """Say that nothing is promised; then look whether rows and names are at least what the sidecar says."""
        yield Check(
            name="promise",
            status="not checked",
            detail="nothing is promised about the people in this file",
            needs="a method that promises something",
            carries_promise=True,
        )
        yield from _rules.names(case, self.users)
        yield from seeded(case, self.users, self)
        if self.levels:
            yield from no_finer(self.levels, case)
        yield from accompaniment(case, self, cut=self.times)
