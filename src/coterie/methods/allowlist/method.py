"""Release a query if every two of its words were typed together by enough different people.

Paper: M. Terrovitis, N. Mamoulis and P. Kalnis, "Privacy-preserving anonymization of set-valued data" (2008):
    k^m-anonymity, here of the words of a query. With m = 1 it is the allow-list of words that the European Commission
    proposed for search data in 2026 (case DMA.100209), with m = all it is nearly the threshold on whole queries.

Symbols: k = smallest number of users behind a set of words; m (`words`) = how many words of a query are looked at
    together: 1, 2, or all that it has; a word = what stands between spaces.

Promise: whoever knows up to m words of a released query finds at least k users who typed them together in one query;
    the query itself can come from one person alone. No released query has more than `max_words` words. Rows without a
    user are not counted. With `attrs = common` (url, rank, day) is released as far as k users share it with the query.
    With `window` users are counted in the last days of the log only, so that a list of common words does not get old.

Differs:
    - The paper generalizes words until each set of m has k owners. We leave out queries instead, so that what is
      released is what was typed.
    - The sets are counted in all queries of the log, released or not. Counted among released queries only, little more
      would be left than queries of k users.
    - How the Commission counts what is more than a word is not public. With `entities = detect` a full name is one word
      (see the prepare step `names`), and a query in which `scrub` finds personal data is one word as a whole. What
      these do not find passes as words do.
    - A query in a script without spaces is one word, so that k users must have typed all of it.

Cost: one pass over the log to group it by query, then work on distinct queries. Words and pairs of words are whole
    numbers; pairs are counted only of words that k users have, in queries of fewer than k users. Memory: the distinct
    (user, query) pairs and words as numbers, on one machine whatever `blocks` is. `words = all` looks through all
    queries that have the rarest word of a query.

Example: nobody else typed the last query, but each two of its words were typed together by two people.
    >>> import coterie, polars
    >>> typed = [("ann", "red shoes"), ("bob", "red shoes"), ("ann", "cheap shoes"), ("bob", "cheap shoes sale")]
    >>> typed += [("cyd", "cheap red paint"), ("bob", "cheap red"), ("cyd", "cheap red shoes")]
    >>> log = coterie.log(polars.DataFrame(typed, schema=["user", "query"], orient="row"))
    >>> sorted(coterie.anonymize(log, Allowlist(k=2)).to_polars()["query"].unique())
    ['cheap red', 'cheap red shoes', 'cheap shoes', 'red shoes']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Choice, Late, NumberOr, Range
from coterie.core.plan import Facts, Plan, enough_subjects
from coterie.core.run import Run
from coterie.core.shapes import KEEP
from coterie.promises.word_k_anonymity import WordKAnonymity, typed_by_few
from coterie.releasing.items import SHARED, ReleasesItems
from coterie.releasing.names import within
from coterie.steps.scrub import find
from coterie.text.full_names import HELD_TOGETHER, names_joined


@dataclass(frozen=True, kw_only=True)
class Allowlist(ReleasesItems):
    """Release a query if every two of its words were typed together by at least k different users."""

    k: Annotated[int, Range(2), Late(), "smallest number of users who typed some words of a query together"] = 5
    words: Annotated[
        int | str,
        NumberOr(1, "all", 2),
        Late(),
        "how many words of a query k users must have typed together: each alone, every two, or all",
    ] = 2
    max_words: Annotated[int, Range(1, 1000), Late(), "queries with more words are left out"] = 10
    entities: Annotated[
        str,
        Choice("words", "detect"),
        "what counts as one word: what stands between spaces, or also full names and personal data that are found",
    ] = "words"

    shown: ClassVar[str] = f"k words max_words entities {SHARED}"

    def promises(self, facts: Facts) -> tuple[WordKAnonymity, ...]:
        """At least k users behind every m words of a released query."""
        enough_subjects("allowlist", self.k, facts)
        promise = WordKAnonymity(
            k=self.k,
            m=self.words,
            max_words=self.max_words,
            entities=self.entities,
            **self.numbers(facts),
        )
        return (promise,)

    def plan(self, learnt: None, log: Log, run: Run) -> Plan:  # noqa: ARG002 (see step 1)
        """Steps 1-3: the distinct queries, their words and who typed them; those stay of which m words have k users.

        That serves every k, but it is large and quick to make: it is gone when rows are released.
        """
        from coterie.methods.allowlist import model as word_sets

        found = _with_entities if self.entities == "detect" else None
        typed = word_sets.gather(within(log, self.window), run, found)
        allowed = word_sets.allowed(typed, self.k, self.words, self.max_words)
        columns = {"item": typed.names, "degree": typed.crowd}
        kept = pl.DataFrame(columns, schema_overrides={"degree": pl.UInt32}).filter(allowed)
        kept = kept.with_columns(pl.col("item") + "")  # written anew: lets go of the text of the others
        evidence = {}
        if self.entities == "detect":
            written = pl.DataFrame({"item": typed.names, "written": typed.written})
            evidence["entities"] = written.filter(pl.col("item") != pl.col("written")).sort("item").lazy()
        return Plan(table=KEEP.check(kept.lazy()), evidence=evidence, notes=self._typed_by_few(kept["degree"]))

    def _typed_by_few(self, users: pl.Series) -> tuple[str, ...]:
        """How many released queries one person typed alone, and how many fewer than k did."""
        return typed_by_few(users.len(), int((users <= 1).sum()), int((users < self.k).sum()), self.k, self.window)


def _with_entities(texts: pl.Series) -> pl.Series:
    """Queries with full names as one word; those in which `scrub` finds personal data are one word as a whole."""
    together = texts.str.replace_all(" ", HELD_TOGETHER, literal=True)
    joined = names_joined(texts, joint=HELD_TOGETHER)
    return together.zip_with(find(texts).is_not_null(), joined)
