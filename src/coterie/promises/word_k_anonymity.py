"""Word k-anonymity: every m words of a released query were typed together by at least k users."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Attrs, Choice, KDetails, NumberOr, Range, Times, check_params
from coterie.core.promise import Case, Check, Kind
from coterie.promises import _rules
from coterie.promises._checks import count, judged, not_checked
from coterie.promises._crowds import ALL_OF_IT, Window, recent, released_items
from coterie.promises._names import RECORD, seeded
from coterie.promises._single_queries import (
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
from coterie.promises._word_recount import WHOLE, proved, words_in
from coterie.promises._words import Worded

_HELD_TOGETHER = "\ufdd0"  # between words that count as one; no text may have it
_SAID = re.compile(r"Of [\d,]+ released queries [\d,]+ ")
_COUNTED = {1: "each word", 2: "every two words", WHOLE: "all words"}


@dataclass(frozen=True, kw_only=True)
class WordKAnonymity(Worded):
    """Every m words of a released query were typed together, in one query, by at least k users of the original log."""

    k: Annotated[int, Range(2), "smallest number of users who typed some words of a released query together"]
    m: Annotated[
        int | str, NumberOr(1, WHOLE, 2), "how many words of a query that is true of: each, every two, or all"
    ] = 2
    max_words: Annotated[int, Range(1, 1000), "largest number of words of a released query"] = 10
    entities: Annotated[
        str, Choice("words", "detect"), "what counts as one word: words, or also full names and personal data found"
    ] = "words"
    users: Users = "drop"
    attrs: Attrs = "common"
    session_minutes: SessionMinutes = 30
    link_queries: LinkQueries = 3
    link_minutes: LinkMinutes = 30
    times: Times = "day"
    k_details: KDetails = "k"
    details: Details = ""
    window: Window = ALL_OF_IT

    name: ClassVar[str] = "word_k_anonymity"
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
    def evidence(self) -> tuple[str, ...]:
        """Which words were found to belong together, where they were looked for; else the original is enough."""
        return ("entities",) if self.entities == "detect" else ()

    @classmethod
    def of_foreign(cls, values: Mapping[str, Any], *, named: bool) -> WordKAnonymity:
        """The promise to check of rows without a sidecar, which keep whatever they have beside queries."""
        return cls(**of_rows_alone(values, named=named))

    def check(self, case: Case) -> Iterator[Check]:
        """Count who typed the words of each released query together, then look at its length, names and details."""
        if case.foreign:
            yield nothing_else_was_looked_for(case.shape)
        else:
            yield from _rules.names(case, self.users)
            yield from seeded(case, self.users, self)
            yield self._length(case)
        yield from self._words(case)
        if not case.foreign:
            yield from accompaniment(case, self)

    def _length(self, case: Case) -> Check:
        """No released query is longer than promised; that can be seen in the release alone."""
        items = case.rows.select(pl.col(case.shape.item).alias("item")).drop_nulls().unique()
        long = words_in(pl.col("item")).list.len() > self.max_words
        broken, total = items.select(long.sum(), pl.len()).collect(engine="streaming").row(0)
        detail = f"no released {case.shape.item_noun} has more than {self.max_words} words"
        return judged(
            f"length.{case.shape.item}", broken or 0, detail, fault="have more", looked_at=total, carries_promise=True
        )

    def _words(self, case: Case) -> Iterator[Check]:
        """k users behind every m words of a released item, and no more rows than in the original."""
        item, noun = case.shape.item, case.shape.item_noun
        name = f"crowd.words.{item}"
        detail = f"at least {self.k} {case.log_shape.subject_nouns} typed {_COUNTED[self.m]} of a released {noun}"
        detail += "" if self.m == 1 else " together in one"
        no_more = f"no {noun} has more rows than in the original"
        if case.original is None:
            yield not_checked(name, detail, carries_promise=True)
            yield not_checked(f"rows.{item}", no_more)
            return
        original = recent(case.original, self.window)
        table = released_items(case, original)
        invented = table.filter(pl.col("released") > pl.col("rows")).height
        yield judged(
            f"rows.{item}", invented, no_more, fault="have invented rows", looked_at=table.height, needs_original=True
        )
        yield self._crowded(original, table, name, detail)
        if case.warnings is not None:
            yield self._alone(case, table, case.warnings)
        if self.entities == "detect" and not case.foreign:
            yield self._entities(case, original, table)

    def _alone(self, case: Case, table: pl.DataFrame, warnings: tuple[str, ...]) -> Check:
        """The release says how many of its items one person alone typed, as many as there are."""
        made_with = next((each for each in case.promised if isinstance(each, WordKAnonymity)), self)
        alone, few = int((table["crowd"] <= 1).sum()), int((table["crowd"] < made_with.k).sum())
        expected = typed_by_few(table.height, alone, few, made_with.k, self.window)
        said = tuple(text for text in warnings if _SAID.match(text))
        items = case.shape.item_nouns
        return judged(
            f"alone.{case.shape.item}",
            said != expected,
            f"the release says how many of its {items} one person alone typed",
            fault="number is another one",
            looked_at=table.height,
            how=f"{alone:,} were typed by one person alone, {few:,} by fewer than {made_with.k}",
            needs_original=True,
        )

    def _entities(self, case: Case, original: Log, table: pl.DataFrame) -> Check:
        """The same with what was found to be one word, which the record lists; words alone are judged without it."""
        name, noun = f"crowd.entities.{case.shape.item}", case.shape.item_noun
        detail = f"the same where a full name, or a {noun} with personal data, is one word, as far as these were found"
        written = case.table("entities", {"item": pl.String, "written": pl.String})
        if written is None:
            return not_checked(name, detail, carries_promise=True, needs=f"what was found, which is in {RECORD}")
        apart = pl.col("written").str.replace_all(_HELD_TOGETHER, " ", literal=True)
        others = written.filter(apart != pl.col("item")).height
        if others:
            fault = "lines of the record are about other queries"
            return judged(name, others, detail, fault=fault, looked_at=written.height, needs_original=True)
        return self._crowded(original, table, name, detail, written.unique("item"))

    def _crowded(
        self, original: Log, table: pl.DataFrame, name: str, detail: str, written: pl.DataFrame | None = None
    ) -> Check:
        found = proved(original, table.select("item", "crowd"), self.k, self.m, written)
        few = found.filter(pl.col("proved") < self.k)
        return judged(
            name,
            few.height,
            detail,
            fault="have fewer",
            looked_at=found.height,
            concerns=_typing(original, few) if few.height else None,
            how="words are counted until enough users are found, which may be fewer than there are",
            needs_original=True,
            carries_promise=True,
            largest_k=None if found.is_empty() else int(found["proved"].min()),  # type: ignore[arg-type]
        )


def typed_by_few(queries: int, alone: int, few: int, k: int, window: str) -> tuple[str, ...]:
    """How many released queries one person typed alone, and how many fewer than k did, for people; () where none."""
    if not few:
        return ()
    when = "" if window == ALL_OF_IT else f" (or nobody, in the last {window})"
    return (
        f"Of {queries:,} released queries {alone:,} ({100 * alone / queries:.1f}%) were typed by one person alone"
        f"{when}, word for word, and {few:,} by fewer than {k}: others typed their words, not these queries.",
    )


def _typing(original: Log, items: pl.DataFrame) -> int:
    """How many users of the original typed one of these items."""
    rows = original.frame.select(pl.col(original.shape.item).alias("item"), pl.col(original.shape.subject).alias("who"))
    return count(rows.join(items.lazy(), on="item", how="semi").select(pl.col("who").drop_nulls().n_unique()))
