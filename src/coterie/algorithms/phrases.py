"""Phrases: queries cut into runs of words that at least m users of the log have.

A word ends at a space; of scripts that are written without spaces each letter is a word, so a phrase can be any part of
such a text. Phrases begin and end with words that are no stop words of the language; a query that m users typed is a
phrase as it is. Users are counted over the whole log. How queries are cut, and what is made of the phrases of several
users, is in `kernels/phrases.py`.

What is held: the distinct queries, the numbers of their words, and who typed which query how often.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from coterie.algorithms.events import QUERY, USER
from coterie.algorithms.groups import user_rows
from coterie.algorithms.kernels.phrases import Cuts, Queries, cut, frequent_runs, numbers_of_phrases, profiles
from coterie.algorithms.words import numbered_words, typed_by
from coterie.core.arrays import Flags, Ints, Short, offsets
from coterie.core.log import Log
from coterie.core.run import Run
from coterie.core.threads import Counted, in_threads
from coterie.text.language import Language
from coterie.text.words import JOINT, put_together, words_and_letters

_GROUPS_AT_ONCE = 4_000


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Phrases:
    """The users of a log, sorted, and the phrases of what they typed."""

    users: pl.Series
    texts: pl.Series
    """Of each phrase, by its number."""
    queries: Queries
    cuts: Cuts
    totals: Ints
    """How many phrases the rows of each user have together."""

    @property
    def rows_of_users(self) -> Ints:
        """How many rows each user has."""
        return np.diff(offsets(self.queries.times)[self.queries.user_start])

    @property
    def rows_kept(self) -> float:
        """The share of rows that have a phrase."""
        has = np.diff(self.cuts.start) > 0
        times = self.queries.times
        return float(times[has[self.queries.typed]].sum() / max(1, times.sum()))

    @property
    def words_kept(self) -> float:
        """The share of the words of all rows that stand in phrases."""
        length = np.add.reduceat(np.append(self.cuts.length[self.cuts.phrase], 0), self.cuts.start[:-1])
        length[np.diff(self.cuts.start) == 0] = 0
        times, typed = self.queries.times.astype(np.int64), self.queries.typed
        words = (np.diff(self.queries.start)[typed] * times).sum()
        return float((length[typed] * times).sum() / max(1, words))


def phrases(log: Log, run: Run, m: int, spoken: Language) -> Phrases:
    """Every query of a log cut into phrases of at least m users."""
    rows = user_rows(log).select(USER, QUERY)
    users = rows.select(USER).unique().collect(engine="streaming")[USER].sort()
    typed = typed_by(users, rows)
    run.tell(Counted(1, 4))
    start, word, known = numbered_words(words_and_letters(typed.texts))
    run.tell(Counted(2, 4))
    queries = Queries(
        start=start,
        word=word,
        first=_without_joint(known)[word],
        stop=_stops(known, spoken)[word],
        user_start=typed.of_users.start,
        typed=typed.of_users.thing,
        times=typed.of_users.times,
    )
    cuts = cut(queries, frequent_runs(queries, m), m)
    run.tell(Counted(3, 4))
    cuts, texts = _texts(cuts, start, word, known)
    return Phrases(users=users, texts=texts, queries=queries, cuts=cuts, totals=numbers_of_phrases(queries, cuts))


def profiles_of_groups(found: Phrases, groups: pl.DataFrame, run: Run) -> pl.DataFrame:
    """group, text, n: how often a phrase stands in the common profile of a group (a table GROUPS)."""
    places = found.users.alias("subject").to_frame().with_row_index("place")
    members = groups.join(places, on="subject").sort("group", "place")
    sizes = members["group"].rle().struct.unnest()
    start = offsets(sizes["len"].to_numpy())
    tie = np.argsort(np.argsort(run.keys("tie between phrases", found.texts), kind="stable"))
    slices = [(at, min(at + _GROUPS_AT_ONCE, sizes.height)) for at in range(0, sizes.height, _GROUPS_AT_ONCE)]
    place = members["place"].to_numpy().astype(np.int64)

    def work(ends: tuple[int, int]) -> pl.DataFrame:
        first, last = ends
        begin, number, copies = profiles(
            place, start[first : last + 1], found.totals, tie, found.queries, found.cuts
        )  # fmt: skip
        group = sizes["value"][first:last].gather(np.repeat(np.arange(last - first), np.diff(begin)))
        return pl.DataFrame({"group": group, "text": found.texts.gather(number), "n": copies})

    empty = pl.DataFrame(schema={"group": pl.UInt32, "text": pl.String, "n": pl.Int32})
    return pl.concat([empty, *in_threads(work, slices)])


def _without_joint(words: pl.Series) -> Short:
    """The number of each word as if a text began with it: of what is left without the sign that it follows another."""
    known = words.to_frame("text").with_row_index("word")
    bare = known.with_columns(pl.col("text").str.strip_prefix(JOINT).alias("bare"))
    first = bare.join(known.select(pl.col("text").alias("bare"), pl.col("word").alias("first")), on="bare", how="left")
    # A letter that never begins a text has no number of its own yet.
    missing = (
        first.filter(pl.col("first").is_null()).select(pl.col("bare").unique()).with_row_index("more", known.height)
    )
    first = first.join(missing, on="bare", how="left").select("word", pl.coalesce("first", "more").alias("first"))
    return first.sort("word")["first"].to_numpy().astype(np.int32)


def _stops(words: pl.Series, spoken: Language) -> Flags:
    """Which words a phrase may neither begin nor end with."""
    bare = words.to_frame("text").select(pl.col("text").str.strip_prefix(JOINT).str.to_lowercase())["text"]
    return bare.is_in(["", *sorted(spoken.stop_words)]).to_numpy()


def _texts(cuts: Cuts, start: Ints, word: Short, known: pl.Series) -> tuple[Cuts, pl.Series]:
    """The cuts with running numbers of those phrases that queries were cut into, and their texts."""
    used = np.flatnonzero(cuts.length)
    number = np.zeros(cuts.length.size, dtype=np.int32)
    number[used] = np.arange(used.size, dtype=np.int32)
    length = cuts.length[used].astype(np.int64)
    first = start[cuts.query[used]] + cuts.begin[used]
    places = np.repeat(first - offsets(length)[:-1], length) + np.arange(length.sum())
    spelled = pl.DataFrame({"phrase": np.repeat(np.arange(used.size), length), "text": known.gather(word[places])})
    texts = spelled.group_by("phrase", maintain_order=True).agg(pl.col("text").str.join(" "))
    numbered = Cuts(cuts.start, number[cuts.phrase], cuts.query[used], cuts.begin[used], cuts.length[used])
    return numbered, texts.select(put_together(pl.col("text")))["text"]
