"""Phrase users: every released phrase stands, word for word, in queries of at least m users of the log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import polars as pl

from coterie.core.params import Range
from coterie.core.promise import Case, Check, Kind
from coterie.promises._checks import Question, any_given, other_columns
from coterie.promises._phrase_recount import TypedQueries
from coterie.promises._words import Worded


@dataclass(frozen=True, kw_only=True)
class PhraseUsers(Worded):
    """Every released phrase stands, word for word, in queries of at least m different users of the log."""

    m: Annotated[int, Range(2), "smallest number of users of the log in whose queries a released phrase stands"]

    name: ClassVar[str] = "phrase_users"
    releases: ClassVar[Kind] = "phrases"
    """Released items are parts of what was typed."""

    @classmethod
    def of_foreign(cls, values: Mapping[str, Any], *, named: bool) -> PhraseUsers:  # noqa: ARG003 (the protocol's)
        """The promise to check of rows without a sidecar: m users for each phrase, or as many as are given as k."""
        return cls(m=values["m"] if "m" in values else values["k"])

    def check(self, case: Case) -> Iterator[Check]:
        """Count, for each distinct released phrase, the users in whose queries it stands.

        It stops phrases that one user alone typed: a name, an address, a number.
        """
        yield self._nothing_else(case)
        item = case.shape.item
        detail = f"every released {item} stands, word for word, in queries of at least {self.m} users"
        stands = Question("phrases", detail, "stand in those of fewer", original=True, carries=True)
        if case.original is None:
            yield stands.open()
            return
        released = case.rows.select(pl.col(item).alias("phrase")).drop_nulls().unique().collect(engine="streaming")
        users = TypedQueries.of(case, case.original).users_with(released["phrase"])
        how = f"the rarest one in those of {users.min():,}" if users.size else ""
        yield stands.answered(int((users < self.m).sum()), released.height, how=how)

    def _nothing_else(self, case: Case) -> Check:
        """Times, ranks and pages belong to whole queries, and would tell whose."""
        others = other_columns(case.shape)
        detail = f"phrases stand alone: {', '.join(others)} are empty" if others else "phrases stand alone"
        return Question("alone", detail, "rows have a value", carries=True).of_rows(case.rows, any_given(others))
