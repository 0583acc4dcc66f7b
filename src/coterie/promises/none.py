"""No promise: what a release says that was made by filters and names alone, as a yardstick for others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from coterie.core.params import Choice, Times
from coterie.core.promise import NOTHING, Case, Check, Kind
from coterie.promises import _single_queries as single
from coterie.promises._checks import ALL_OF_IT, no_finer
from coterie.promises._names import random_names, seeded
from coterie.promises._words import ItemPromise


@dataclass(frozen=True, kw_only=True)
class None_(ItemPromise):  # noqa: N801 (Python keeps None for itself)
    """Nothing is promised about the people in a release."""

    users: single.Users = "drop"
    attrs: Annotated[str, Choice("keep", "drop"), "what accompanies a query: all but the time, or nothing"] = "keep"
    times: Times = "day"
    session_minutes: single.SessionMinutes = 30
    link_queries: single.LinkQueries = 3
    link_minutes: single.LinkMinutes = 30
    details: single.Details = ""

    name: ClassVar[str] = NOTHING
    releases: ClassVar[Kind] = "text"
    """Released items are what was typed."""
    not_of_foreign: ClassVar[str] = "promises nothing, so there is nothing to check. Name another promise."
    k, k_details, window = 1, "k", ALL_OF_IT

    @property
    def levels(self) -> tuple[str, ...]:
        """What all times are cut to."""
        return (self.times,) if self.attrs == "keep" and self.times != "drop" else ()

    def check(self, case: Case) -> Iterator[Check]:
        """Say that nothing is promised; then look whether rows and names are at least what the sidecar says."""
        yield Check(
            name="promise",
            status="not checked",
            detail="nothing is promised about the people in this file",
            needs="a method that promises something",
            carries_promise=True,
        )
        yield from random_names(case, self.users)
        yield from seeded(case, self)
        if self.levels:
            yield from no_finer(self.levels, case)
        yield from single.accompaniment(case, self, cut=self.times)
