"""k-θ-affinity: every released item, and released items affine to it, were issued by at least k users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Attrs, Flag, KDetails, Range, Times, check_params
from coterie.core.promise import Case, Check, Kind
from coterie.promises import _rules
from coterie.promises._affinity_recount import Recount, covered_by_all, proved, recount
from coterie.promises._checks import judged, not_checked
from coterie.promises._crowds import ALL_OF_IT, Window, recent, released_items
from coterie.promises._digests import NameOrDigest
from coterie.promises._names import seeded
from coterie.promises._single_queries import (
    ANYWHERE,
    Details,
    LinkMinutes,
    LinkQueries,
    SessionMinutes,
    Users,
    accompaniment,
    levels_of,
    nothing_else_was_looked_for,
    of_rows_alone,
)
from coterie.promises._words import Worded
from coterie.text.function_words import FUNCTION_LISTS, name_of_words

_SMALL_ITEMS, _SMALL_CROWDS = 2_000, 200_000  # released items, and their users, up to which all pairs are compared
_FUNCTION_WORDS = "the function words, which are in the run record (--record DIR)"
_CERTIFICATE = "the run record (--record DIR): there are too many pairs to compare them all"
_CLAIMS = dict.fromkeys(("item", "by", "user"), pl.String)  # who covers whom: it saves a search and is not believed


@dataclass(frozen=True, kw_only=True)
class KThetaAffinity(Worded):
    """Every released item, and released items affine to it, were issued by at least k users of the original log."""

    k: Annotated[int, Range(2), "smallest number of users behind a released query and those affine to it"]
    theta: Annotated[float, Range(0.1, 1), "cosine from which queries are affine"] = 0.9
    min_users: Annotated[
        int, Range(0), "users from which a word or phrase is a concept; 0: one in ten thousand users, at least 2"
    ] = 0
    min_term_users: Annotated[int, Range(1), "users that each word of a covered query must have"] = 2
    strict: Annotated[bool, Flag(), "no released query has a word of fewer users, not even one of k users"] = False
    function_words: Annotated[
        str,
        NameOrDigest(*FUNCTION_LISTS),
        "words that make no concept alone: the name of the list, or the digest of one that has none",
    ] = "english"
    users: Users = "drop"
    attrs: Attrs = "common"
    session_minutes: SessionMinutes = 30
    link_queries: LinkQueries = 3
    link_minutes: LinkMinutes = 30
    times: Times = "day"
    k_details: KDetails = "k"
    details: Details = ""
    window: Window = ALL_OF_IT

    name: ClassVar[str] = "k_theta_affinity"
    about: ClassVar[Literal["items", "subjects"]] = "items"
    releases: ClassVar[Kind] = "text"
    """Released items are what was typed."""
    linkage_bound: ClassVar[float | None] = None
    """None: it says nothing about a person's queries taken together."""

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

    @property
    def derived(self) -> Mapping[str, object]:
        """Whether somebody gave a list of function words of their own."""
        return {"own_function_words": self.function_words not in FUNCTION_LISTS}

    @property
    def evidence(self) -> tuple[str, ...]:
        """Who covers whom, and the function words if their list has no name."""
        return ("certificate",) if self.function_words in FUNCTION_LISTS else ("certificate", "function_words")

    @classmethod
    def of_foreign(cls, values: Mapping[str, Any], *, named: bool) -> KThetaAffinity:
        """The promise to check of rows without a sidecar, which keep whatever they have beside queries."""
        return cls(**of_rows_alone(values, named=named))

    def check(self, case: Case) -> Iterator[Check]:
        """Count the users behind each released item and those affine to it, then look at names and details."""
        if case.foreign:
            yield nothing_else_was_looked_for(case.shape)
        else:
            yield from _rules.names(case, self.users)
            yield from seeded(case, self.users, self)
        item = case.shape.item
        no_more = f"no {item} has more rows than in the original"
        if case.original is None:
            yield not_checked(f"cover.{item}", self._cover(item), carries_promise=True)
            yield not_checked(f"rows.{item}", no_more)
        else:
            original = recent(case.original, self.window)
            table = released_items(case, original)
            invented = table.filter(pl.col("released") > pl.col("rows")).height
            yield judged(
                f"rows.{item}", invented, no_more,
                fault="have invented rows", looked_at=table.height, needs_original=True,
            )  # fmt: skip
            yield from self._words_and_cover(case, original, table)
        if not case.foreign:
            yield from accompaniment(case, self)

    def _cover(self, item: str) -> str:
        return f"at least {self.k} users behind each released {item} and the released ones affine to it"

    def _words_and_cover(self, case: Case, original: Log, table: pl.DataFrame) -> Iterator[Check]:
        """No rare word, where that is promised, and k users behind each item of `table` (item, crowd)."""
        item = case.shape.item
        function_words = self._function_words(case.table("function_words", {"word": pl.String}))
        small = table.height <= _SMALL_ITEMS and table["crowd"].sum() <= _SMALL_CROWDS
        claims, needs = None, ""
        alone = bool((table["crowd"] >= self.k).all())  # each item has its k users without the others
        if not alone and function_words is None:
            needs = _FUNCTION_WORDS
        elif not alone and not small:
            claims = case.table("certificate", _CLAIMS, nullable=("user",))
            needs = _CERTIFICATE if claims is None else ""
        # The original is recounted once, for every item that one of the two checks looks at.
        compares = not alone and not needs
        asked = [table["item"]] if self.strict or (compares and small) else []
        asked += [] if claims is None else [claims["item"], claims["by"]]
        recounted = None
        if asked:
            items = pl.concat([part.rename("item") for part in asked]).unique().to_frame()
            recounted = recount(original, items, self.min_users, self.min_term_users, function_words or ())
        if self.strict and recounted is not None:
            yield self._words(item, table, recounted)
        if needs:
            yield not_checked(f"cover.{item}", self._cover(item), carries_promise=True, needs=needs)
            return
        covered, how = table.select("item", pl.col("crowd").cast(pl.Int64).alias("covered")), ""
        if compares and recounted is not None:
            covered, how = self._covered(table, recounted, claims)
        yield judged(
            f"cover.{item}",
            covered.filter(pl.col("covered") < self.k).height,
            self._cover(item),
            fault="have fewer",
            looked_at=table.height,
            how=how,
            needs_original=True,
            carries_promise=True,
            largest_k=None if covered.is_empty() else int(covered["covered"].min()),  # type: ignore[arg-type]
        )

    def _words(self, item: str, table: pl.DataFrame, recounted: Recount) -> Check:
        """No item has a word of too few users; which words these are does not depend on function words."""
        return judged(
            f"words.{item}",
            recounted.rare.join(table, on="item", how="semi").height,
            f"no released {item} has a word of fewer than {self.min_term_users} users",
            fault="have one",
            looked_at=table.height,
            needs_original=True,
            carries_promise=True,
        )

    def _covered(
        self, table: pl.DataFrame, recounted: Recount, claims: pl.DataFrame | None
    ) -> tuple[pl.DataFrame, str]:  # fmt: skip
        """item, covered: the users behind each item and those affine to it; and how they were counted."""
        concepts = f"concepts have at least {recounted.tau:,} users"
        if claims is None:
            return covered_by_all(recounted, table, self.theta), f"{concepts}; all pairs compared"
        covered = proved(recounted, claims, table, self.theta, self.k)
        return covered, f"{concepts}; {claims.height:,} lines of the certificate compared, which prove no larger k"

    def _function_words(self, given: pl.DataFrame | None) -> frozenset[str] | None:
        """The function words that the promise names; None where they have no name and were not given."""
        if self.function_words in FUNCTION_LISTS:
            return FUNCTION_LISTS[self.function_words]
        words = frozenset[str]() if given is None else frozenset(given["word"])
        return words if name_of_words(words) == self.function_words else None
