"""The queries of which every m words were typed together by k users (k^m-anonymity of word sets).

The steps, each of which works on distinct queries only:
    1. gather: the distinct queries, with their users and their words as whole numbers.
    2. words: those of at least k users.
    3. pairs of these words that k users typed together in one query, or whole sets of words.
A query of k users has k users behind each set of its words, so only queries of fewer users are counted together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from coterie.algorithms.kernels import grams
from coterie.algorithms.kernels._arrays import Lists, owners_by
from coterie.core.arrays import Flags, Ints, Short, bytes_of, offsets
from coterie.core.log import Log
from coterie.core.run import Run
from coterie.errors import InputError
from coterie.methods.allowlist import kernels as word_sets

ALL = "all"
"""As many words as a query has."""
Spelling = Callable[[pl.Series], pl.Series]
_MOST = 2**31 - 1


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Typed:
    """The distinct queries of a log, and who typed them. Rows without a user are of nobody."""

    names: pl.Series
    written: pl.Series
    """The same, with words that belong together written as one."""
    length: Ints
    """The number of words of each query, as it was typed."""
    words: Lists
    """The distinct words of each query, ascending."""
    n_words: int
    users: Lists
    """Distinct users of each query."""
    n_users: int

    @property
    def crowd(self) -> Ints:
        """The number of users of each query."""
        return np.diff(self.users.start)


def gather(log: Log, run: Run, spelled: Spelling | None = None) -> Typed:
    """Step 1. `spelled` may write words that belong together as one word."""
    rows = log.frame.select(pl.col(log.shape.subject).alias("subject"), pl.col(log.shape.item).alias("item"))
    people = rows.select("subject").drop_nulls().unique().with_row_index("number").collect(engine="streaming")
    numbered = rows.join(people.lazy(), on="subject", how="left").select("item", pl.col("number").cast(pl.Int32))

    def asked(frame: pl.LazyFrame) -> pl.LazyFrame:
        return frame.unique().group_by("item").agg(pl.col("number").drop_nulls())

    table = run.blocks(numbered, asked, ["item"]).collect(engine="streaming")
    user_start = offsets(table["number"].list.len().to_numpy())
    if max(user_start[-1], len(table)) > _MOST:
        raise InputError("allowlist works on logs of up to 2,147,483,647 queries: anonymize parts of this one.")
    users = table["number"].explode(empty_as_null=False).to_numpy()
    names = table["item"]
    del table
    token_start, tokens, n_words = _tokens(names)
    length, written = np.diff(token_start), names
    if spelled is not None:
        written = spelled(names)
        token_start, tokens, n_words = _tokens(written)
    return Typed(
        names=names,
        written=written,
        length=length,
        words=word_sets.distinct(token_start, tokens),
        n_words=n_words,
        users=Lists(user_start, users),
        n_users=people.height,
    )


def allowed(typed: Typed, k: int, m: int | str, max_words: int) -> Flags:
    """Steps 2 and 3: which queries have at most `max_words` words, and k users behind every m of these."""
    people = word_sets.People(*typed.users, typed.crowd >= k)
    sizes = np.diff(typed.words.start)
    short: Flags = (typed.length <= max_words) & (sizes > 0)
    having = owners_by(typed.words, typed.n_words)
    crowded = word_sets.crowded_words(having, people, typed.n_users, k)
    asked: Flags = short & ~people.enough & _all(crowded[typed.words.items], typed.words.start)
    if m != 1:
        useful = np.zeros(typed.n_words, dtype=np.bool_)
        useful[typed.words.items[np.repeat(asked, sizes)]] = True
        pairs = word_sets.crowded_pairs(having, typed.words, useful, people, k)
        asked = word_sets.with_crowded_pairs(typed.words, asked, *pairs)
    if m == ALL:
        sets = asked & (sizes > 2)
        asked &= ~sets | word_sets.with_crowded_sets(typed.words, sets, having, people, typed.n_users, k)
    return asked | (short & people.enough)


def _tokens(texts: pl.Series) -> tuple[Ints, Short, int]:
    """Where the words of each text begin, the number of each, and how many there are."""
    return grams.words(*bytes_of(texts))


def _all(flags: Flags, start: Ints) -> Flags:
    """Whether all flags of each stretch are set."""
    unset = offsets(~flags)
    equal: Flags = unset[start[1:]] == unset[start[:-1]]
    return equal
