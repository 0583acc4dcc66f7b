"""Query k-anonymity: every released item was issued by at least k users."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, ClassVar

from coterie.core.params import Range
from coterie.core.promise import Case, Check, Kind
from coterie.core.shapes import QUERIES
from coterie.promises import _single_queries as single
from coterie.promises._checks import ALL_OF_IT, crowds, recent
from coterie.promises._words import ItemPromise


@dataclass(frozen=True, kw_only=True)
class _Numbers(ItemPromise):
    """Its own numbers, which come before those of what accompanies items."""

    k: Annotated[int, Range(2), "smallest number of users behind a released query"]


@dataclass(frozen=True, kw_only=True)
class QueryKAnonymity(single.OfRowsAlone, single.Accompanied, _Numbers):
    """Every released item was issued by at least k users of the original log."""

    shape: single.ShapeName = QUERIES.name

    name: ClassVar[str] = "query_k_anonymity"
    releases: ClassVar[Kind] = "text"
    """Released items are what was typed."""
    anywhere = property(single.judged_anywhere)

    def check(self, case: Case) -> Iterator[Check]:
        """Count the users behind each released item, then look at names and at what accompanies items.

        It stops items that too few users typed, and details beside them by which one of many can be told.
        """
        named = case.foreign or self.users == "pseudonym"
        yield from single.whose(case, self)
        by_item = (case.shape.item, case.log_shape.item)
        named = named and self.window == ALL_OF_IT
        apart = partial(single.links, promise=self)
        yield from case.engine.judged(case, partial(self._by_item, named=named), by_item, apart)

    def _by_item(self, case: Case, *, named: bool) -> Iterator[Check]:
        """What can be seen of each item by itself; a window is one of the whole log, which is then all here."""
        counted = case if case.original is None else replace(case, original=recent(case.original, self.window))
        yield from crowds(counted, self.k, named=named)
        if not case.foreign:
            yield from single.accompaniment(case, self)
