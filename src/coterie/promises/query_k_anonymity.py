"""Query k-anonymity: every released item was issued by at least k users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from coterie.core.params import Range, check_params
from coterie.core.promise import Case, Check, Kind
from coterie.promises import _rules
from coterie.promises._crowds import crowds
from coterie.promises._people import seeded
from coterie.promises._single_queries import (
    ALONE,
    Attrs,
    SessionMinutes,
    Users,
    accompaniment,
    accounts,
    attrs_sentence,
    costs,
    nothing_else_was_looked_for,
    users_sentence,
)


@dataclass(frozen=True, kw_only=True)
class QueryKAnonymity:
    """Every released item was issued by at least k users of the original log."""

    k: Annotated[int, Range(2), "smallest number of users behind a released query"]
    users: Users = "drop"
    attrs: Attrs = "common"
    session_minutes: SessionMinutes = 30

    name: ClassVar[str] = "query_k_anonymity"
    about: ClassVar[Literal["items", "subjects"]] = "items"

    def __post_init__(self) -> None:
        check_params(self, self.name)

    @property
    def headline(self) -> str:
        """The number people ask for."""
        return f"k = {self.k}"

    @property
    def sentence(self) -> str:
        """The promise in plain words."""
        crowd = f"Every released query was issued by at least {self.k} different users."
        return crowd + attrs_sentence(self.attrs, self.k) + users_sentence(self.users, self.session_minutes)

    @property
    def foreign_sentence(self) -> str:
        """What is examined in rows that Coterie did not make: the number alone, not how it came about."""
        return f"To be checked: every query in the file was issued by at least {self.k} different users."

    @property
    def limits(self) -> tuple[str, ...]:
        """What the promise does not say."""
        return (
            *costs(self.users, self.attrs),
            f"A query typed by {self.k} users can still name a person (a celebrity, a neighbour in "
            "the news) or be sensitive in itself.",
            f"Whoever controls {accounts(self.k - 1)} can find out whether anybody typed a query that they guess: "
            "typed by the accounts too, it is released exactly if one more person typed it, with the number of that "
            "person's searches, and with their days and clicks where the accounts did the same.",
            ALONE,
        )

    @property
    def releases(self) -> Kind:
        """Released items are what was typed."""
        return "text"

    @property
    def linkage_bound(self) -> float | None:
        """None: it says nothing about a person's queries taken together."""
        return None

    @property
    def evidence(self) -> tuple[str, ...]:
        """Nothing but the original is needed."""
        return ()

    @classmethod
    def of_foreign(cls, values: Mapping[str, Any], *, named: bool) -> QueryKAnonymity:
        """The promise to check of rows without a sidecar, which keep whatever they have beside queries."""
        return cls(**{**values, "users": "pseudonym" if named else "drop", "attrs": "keep"})

    def check(self, case: Case) -> Iterator[Check]:
        """Count the users behind each released item, then look at names and at what accompanies items."""
        named = case.foreign or self.users == "pseudonym"
        if case.foreign:
            yield nothing_else_was_looked_for(case.shape)
        else:
            yield from _rules.names(case, self.users)
            yield from seeded(case, self.users)
        yield from crowds(case, (case.shape.item,), self.k, named=named)
        if not case.foreign:
            yield from accompaniment(case, self)
