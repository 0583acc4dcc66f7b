"""Word k-anonymity: every m words of a released query were typed together by at least k users.

Recount: who typed which words together, for the judge of released queries.

It takes words apart by itself and shares no code with what decided. Sets of words are looked for in all queries of the
original. A query that enough users typed proves each set of its words, so only the other queries, which are many and
have few users, are looked through for the sets that are still open.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Choice, NumberOr, Range
from coterie.core.promise import Case, Check, Kind
from coterie.promises import _single_queries as single
from coterie.promises._checks import (
    ALL_OF_IT,
    Question,
    as_made,
    concerned,
    invented,
    no_more_rows,
    owned_items,
    recent,
    released_items,
)
from coterie.promises._names import RECORD
from coterie.promises._words import ItemPromise

WHOLE = "all"  # as many words as a query has
_RUNS = r"[^ ]+"
_PAIR = ["one", "other"]


def words_in(text: pl.Expr) -> pl.Expr:
    """The words of a text, as often as they stand in it: runs of anything but spaces."""
    return text.str.extract_all(_RUNS)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class _Original:
    """The original in numbers."""

    known: pl.DataFrame
    """query, word: the words of its queries, as far as they are looked for."""
    crowds: pl.DataFrame
    """query, crowd: the queries that have such words, and how many typed each."""
    typed: pl.LazyFrame
    """query, who: who typed queries of too few users."""


def proved(
    original: Log, released: pl.DataFrame, k: int, m: int | str, written: pl.DataFrame | None = None
) -> pl.DataFrame:
    """item, proved: as many users as are known to have typed every m words of each released item together.

    `released` has item and crowd. Where that is k or more, it need not be all of them. `written` (item, written) says
    how items are written of which several words count as one.
    """
    released = _in_words(released.lazy(), written).collect(engine="streaming")
    alone = released.filter(pl.col("crowd") >= k).select("item", pl.col("crowd").alias("proved"))
    open_ = released.filter(pl.col("crowd") < k).select("item", "words").with_row_index("at")
    if open_.is_empty():
        return alone
    asked = open_.select("at", pl.col("words").alias("word")).explode("word", empty_as_null=True).unique()
    words = asked.select("word").unique().with_row_index("number")
    asked = asked.join(words, on="word", nulls_equal=True).select("at", pl.col("number").alias("word"))
    seen = _in_numbers(original, words, k, written)
    size = asked.group_by("at").len("size")
    singles = asked if m == 1 else asked.join(size.filter(pl.col("size") == 1), on="at", how="semi")
    counts = [singles.join(_crowds(seen, seen.known, ["word"], k), on="word", how="left")]
    if m != 1:
        several = asked.join(singles, on="at", how="anti")
        pairs = _pairs(several, "at")
        if m == WHOLE:
            large = size.filter(pl.col("size") > 2).select("at")
            counts.append(_whole_sets(seen, several.join(large, on="at", how="semi"), k))
            pairs = pairs.join(large, on="at", how="anti")
        counts.append(pairs.join(_crowds(seen, _wanted_pairs(seen, pairs), _PAIR, k), on=_PAIR, how="left"))
    each = pl.concat([part.select("at", pl.col("crowd").fill_null(0).cast(pl.UInt32)) for part in counts])
    least = each.group_by("at").agg(pl.col("crowd").min().alias("proved"))
    found = open_.join(least, on="at", how="left").select("item", pl.col("proved").fill_null(0))
    return pl.concat([alone.with_columns(pl.col("proved").cast(pl.UInt32)), found])


def _in_words(items: pl.LazyFrame, written: pl.DataFrame | None) -> pl.LazyFrame:
    """The table with the words of each item."""
    if written is None:
        return items.with_columns(words_in(pl.col("item")).alias("words"))
    beside = items.join(written.lazy(), on="item", how="left")
    return beside.with_columns(words_in(pl.coalesce("written", "item")).alias("words")).drop("written")


def _in_numbers(original: Log, words: pl.DataFrame, k: int, written: pl.DataFrame | None) -> _Original:
    """The queries of the original that have one of these words (number, word)."""
    shape, key = original.shape, secrets.randbits(63)
    # Queries and users become numbers under a key that nobody who made the log could know.
    rows = original.frame.select(pl.col(shape.item).alias("item"), pl.col(shape.subject).alias("who"))
    query = pl.col("item").hash(key).alias("query")
    pairs = rows.drop_nulls().select(query, pl.col("who").hash(key)).unique().collect(engine="streaming")
    crowds = pairs.lazy().group_by("query").len("crowd")
    apart = _in_words(rows.select("item").drop_nulls().unique(), written).select(query, pl.col("words").alias("word"))
    numbers = apart.explode("word", empty_as_null=True).join(words.lazy(), on="word")
    known = numbers.select("query", pl.col("number").alias("word")).unique().collect(engine="streaming")
    having = crowds.join(known.lazy().select("query").unique(), on="query", how="semi").collect(engine="streaming")
    rare = having.lazy().filter(pl.col("crowd") < k).select("query")
    return _Original(known=known, crowds=having, typed=pairs.lazy().join(rare, on="query", how="semi"))


def _pairs(words: pl.DataFrame, owner: str) -> pl.DataFrame:
    """owner, one, other: each two words (owner, word) of an owner, the smaller number first."""
    twice = words.lazy().rename({"word": "one"}).join(words.lazy().rename({"word": "other"}), on=owner)
    return twice.filter(pl.col("one") < pl.col("other")).collect(engine="streaming")


def _wanted_pairs(seen: _Original, pairs: pl.DataFrame) -> pl.DataFrame:
    """query, one, other: where each of these pairs stands in the original."""
    wanted = pairs.select(_PAIR).unique()
    ends = [wanted.lazy().select(pl.col(end).alias("word")) for end in _PAIR]
    useful = seen.known.lazy().join(pl.concat(ends).unique(), on="word", how="semi")
    several = useful.group_by("query").len().filter(pl.col("len") > 1)
    useful = useful.join(several, on="query", how="semi").collect(engine="streaming").lazy()
    first = useful.rename({"word": "one"}).join(useful.rename({"word": "other"}), on="query")
    return first.join(wanted.lazy(), on=_PAIR, how="semi").collect(engine="streaming")


def _crowds(seen: _Original, found: pl.DataFrame, key: list[str], k: int) -> pl.DataFrame:
    """key, crowd: how many users typed each key, which stands in queries of the original (query, key).

    The largest crowd of one query proves its keys. What is not proved by that is counted over all queries.
    """
    asked = found.lazy().join(seen.crowds.lazy(), on="query").group_by(key)
    known = asked.agg(pl.col("crowd").max(), pl.col("crowd").sum().alias("most")).collect(engine="streaming")
    # Of queries with fewer than k users in all nobody has to be looked at: that is most of what is left.
    left = known.filter((pl.col("crowd") < k) & (pl.col("most") >= k)).select(key)
    users = found.lazy().join(left.lazy(), on=key, how="semi").join(seen.typed, on="query").select(*key, "who")
    counted = users.unique().group_by(key).len("crowd").collect(engine="streaming")
    others = known.join(counted, on=key, how="anti")
    return pl.concat([part.select(*key, pl.col("crowd").cast(pl.UInt32)) for part in (others, counted)])


def _whole_sets(seen: _Original, sets: pl.DataFrame, k: int) -> pl.DataFrame:
    """at, crowd: how many users typed all words of each set (at, word) together.

    They are looked for in the queries that have the two rarest words of the set.
    """
    often = seen.known.group_by("word").len("often")
    rarest = sets.join(often, on="word", how="left").sort("often", "word").group_by("at", maintain_order=True)
    ends = rarest.agg(pl.col("word").head(2).sort()).select(
        "at", pl.col("word").list.get(0).alias("one"), pl.col("word").list.get(1).alias("other")
    )
    candidates = ends.lazy().join(_wanted_pairs(seen, ends).lazy(), on=_PAIR).select("at", "query")
    there = candidates.join(sets.lazy(), on="at").join(seen.known.lazy(), on=["query", "word"], how="semi")
    whole = there.group_by("at", "query").len("there").join(sets.lazy().group_by("at").len("size"), on="at")
    holding = whole.filter(pl.col("there") == pl.col("size")).select("at", "query").collect(engine="streaming")
    counted = _crowds(seen, holding, ["at"], k)
    return sets.select("at").unique().join(counted, on="at", how="left")


# --- the promise ------------------------------------------------------------------------------------


_HELD_TOGETHER = "\ufdd0"  # between words that count as one; no text may have it
_SAID = re.compile(r"Of [\d,]+ released queries [\d,]+ ")
_COUNTED = {1: "each word", 2: "every two words", WHOLE: "all words"}


@dataclass(frozen=True, kw_only=True)
class _Numbers(ItemPromise):
    """Its own numbers, which come before those of what accompanies items."""

    k: Annotated[int, Range(2), "smallest number of users who typed some words of a released query together"]
    m: Annotated[
        int | str, NumberOr(1, WHOLE, 2), "how many words of a query that is true of: each, every two, or all"
    ] = 2
    max_words: Annotated[int, Range(1, 1000), "largest number of words of a released query"] = 10
    entities: Annotated[
        str, Choice("words", "detect"), "what counts as one word: words, or also full names and personal data found"
    ] = "words"


@dataclass(frozen=True, kw_only=True)
class WordKAnonymity(single.OfRowsAlone, single.Accompanied, _Numbers):
    """Every m words of a released query were typed together, in one query, by at least k users of the original log."""

    name: ClassVar[str] = "word_k_anonymity"
    releases: ClassVar[Kind] = "text"
    """Released items are what was typed."""

    @property
    def evidence(self) -> tuple[str, ...]:
        """Which words were found to belong together, where they were looked for; else the original is enough."""
        return ("entities",) if self.entities == "detect" else ()

    def check(self, case: Case) -> Iterator[Check]:
        """Count who typed the words of each released query together, then look at its length, names and details.

        It stops queries that put words of one user beside words that many typed: a name beside an illness.
        """
        yield from single.whose(case, self)
        if not case.foreign:
            yield self._length(case)
        yield from self._words(case)
        if not case.foreign:
            yield from single.accompaniment(case, self)

    def _length(self, case: Case) -> Check:
        """No released query is longer than promised; that can be seen in the release alone."""
        items = case.rows.select(pl.col(case.shape.item).alias("item")).drop_nulls().unique()
        long = words_in(pl.col("item")).list.len() > self.max_words
        detail = f"no released {case.shape.item_noun} has more than {self.max_words} words"
        return Question(f"length.{case.shape.item}", detail, "have more", carries=True).of_rows(items, long)

    def _words(self, case: Case) -> Iterator[Check]:
        """k users behind every m words of a released item, and no more rows than in the original."""
        item, noun = case.shape.item, case.shape.item_noun
        detail = f"at least {self.k} {case.log_shape.subject_nouns} typed {_COUNTED[self.m]} of a released {noun}"
        detail += "" if self.m == 1 else " together in one"
        typed = Question(f"crowd.words.{item}", detail, "have fewer", original=True, carries=True)
        no_more = no_more_rows(item, noun)
        if case.original is None:
            yield typed.open()
            yield no_more.open()
            return
        original = recent(case.original, self.window)
        table = released_items(case, original)
        yield no_more.answered(invented(table), table.height)
        yield self._crowded(original, table, typed)
        if case.warnings is not None:
            yield self._alone(case, table, case.warnings)
        if self.entities == "detect" and not case.foreign:
            yield self._entities(case, original, table)

    def _alone(self, case: Case, table: pl.DataFrame, warnings: tuple[str, ...]) -> Check:
        """The release says how many of its items one person alone typed, as many as there are."""
        made_with = as_made(case, self)
        alone, few = int((table["crowd"] <= 1).sum()), int((table["crowd"] < made_with.k).sum())
        expected = typed_by_few(table.height, alone, few, made_with.k, self.window)
        said = tuple(text for text in warnings if _SAID.match(text))
        items = case.shape.item_nouns
        detail = f"the release says how many of its {items} one person alone typed"
        told = Question(f"alone.{case.shape.item}", detail, "number is another one", original=True)
        how = f"{alone:,} were typed by one person alone, {few:,} by fewer than {made_with.k}"
        return told.answered(said != expected, table.height, how=how)

    def _entities(self, case: Case, original: Log, table: pl.DataFrame) -> Check:
        """The same with what was found to be one word, which the record lists; words alone are judged without it."""
        noun = case.shape.item_noun
        detail = f"the same where a full name, or a {noun} with personal data, is one word, as far as these were found"
        typed = Question(f"crowd.entities.{case.shape.item}", detail, "have fewer", original=True, carries=True)
        written = case.table("entities", {"item": pl.String, "written": pl.String})
        if written is None:
            return typed.open(f"what was found, which is in {RECORD}")
        apart = pl.col("written").str.replace_all(_HELD_TOGETHER, " ", literal=True)
        others = written.filter(apart != pl.col("item")).height
        if others:
            strange = replace(typed, fault="lines of the record are about other queries", carries=False)
            return strange.answered(others, written.height)
        return self._crowded(original, table, typed, written.unique("item"))

    def _crowded(
        self, original: Log, table: pl.DataFrame, typed: Question, written: pl.DataFrame | None = None
    ) -> Check:
        found = proved(original, table.select("item", "crowd"), self.k, self.m, written)
        few = found.filter(pl.col("proved") < self.k)
        concerns = concerned(owned_items(original), few.lazy()) if few.height else None
        how = "words are counted until enough users are found, which may be fewer than there are"
        return typed.of_crowds(found["proved"], self.k, concerns=concerns, how=how)


def typed_by_few(queries: int, alone: int, few: int, k: int, window: str) -> tuple[str, ...]:
    """How many released queries one person typed alone, and how many fewer than k did, for people; () where none."""
    if not few:
        return ()
    when = "" if window == ALL_OF_IT else f" (or nobody, in the last {window})"
    return (
        f"Of {queries:,} released queries {alone:,} ({100 * alone / queries:.1f}%) were typed by one person alone"
        f"{when}, word for word, and {few:,} by fewer than {k}: others typed their words, not these queries.",
    )
