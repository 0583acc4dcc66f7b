"""Recount: which queries hold which phrases, word for word and one after the other.

Words end at spaces; each letter of a script without spaces is a word, too, so that a phrase may be part of such a text.
Runs of words are compared by hashes under secret keys, which nobody who made the release could prepare.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.core.log import Log
from coterie.text.words import LETTER_WITHOUT_SPACES

_LETTER = f"({LETTER_WITHOUT_SPACES})"
_EDGE = "\ufffe"  # in no text; around letters that are words
_MOST_WORDS = 100  # of a phrase that is looked for inside of queries; longer ones must be whole queries
_AT_ONCE = 1_000_000  # queries
_Hashes = NDArray[np.uint64]


def queries_with_phrases(queries: pl.Series, phrases: pl.Series) -> pl.DataFrame:
    """query, phrase: which of some distinct queries hold which of some distinct phrases, by their places."""
    key, factors = secrets.randbits(63), np.array([secrets.randbits(63) * 2 + 1 for _ in range(_MOST_WORDS)], np.uint64)
    looked_for = _Words.of(phrases, key)
    sums = {length: (hashes, places) for length, hashes, places in _runs(looked_for, factors, whole=True)}
    longer = numbered(phrases, "phrase").filter(pl.Series(np.diff(looked_for.start) > _MOST_WORDS, dtype=pl.Boolean))
    found = [numbered(queries, "query").join(longer, on="text").select("query", "phrase")]
    for begin in range(0, queries.len(), _AT_ONCE):
        for length, hashes, places in _runs(
            _Words.of(queries[begin : begin + _AT_ONCE], key), factors, until=max(sums, default=0)
        ):
            if length in sums:
                wanted = pl.DataFrame({"hash": sums[length][0], "phrase": sums[length][1].astype(np.uint32)})
                some = pl.DataFrame({"hash": hashes, "query": (places + begin).astype(np.uint32)})
                found.append(some.join(wanted, on="hash").select("query", "phrase").unique())
    return pl.concat(found)


def users_with_phrases(original: Log, phrases: pl.Series) -> pl.DataFrame:
    """phrase, users: how many users of a log have each of some distinct phrases in a query."""
    shape = original.shape
    rows = original.frame.select(pl.col(shape.subject).alias("user"), pl.col(shape.item).alias("text")).drop_nulls()
    queries, people = (rows.select(name).unique().collect(engine="streaming")[name] for name in ("text", "user"))
    who = people.to_frame().lazy().with_row_index("number")
    typed = rows.join(numbered(queries, "query").lazy(), on="text").join(who, on="user").select("query", "number")
    typed = typed.unique().collect(engine="streaming").lazy()
    holding = queries_with_phrases(queries, phrases).lazy()
    users = holding.join(typed, on="query").group_by("phrase").agg(pl.col("number").n_unique().alias("users"))
    counted = numbered(phrases, "phrase").lazy().join(users, on="phrase", how="left")
    return counted.select(phrase="text", users=pl.col("users").fill_null(0)).collect(engine="streaming")


def numbered(texts: pl.Series, name: str) -> pl.DataFrame:
    """text, and its place under that name."""
    return texts.alias("text").to_frame().with_row_index(name)


def pieces(texts: pl.Series) -> pl.DataFrame:
    """text (its place), word, follows: the words of texts, and whether one follows the word before without a space."""
    table = texts.to_frame("word").with_row_index("text").with_columns(pl.col("word").str.split(" ")).explode("word")
    if not table.select(pl.col("word").str.contains(_LETTER).any()).item():
        return table.with_columns(follows=pl.lit(False))
    parts = pl.col("word").str.replace_all(_LETTER, f"{_EDGE}${{1}}{_EDGE}").str.split(_EDGE)
    table = table.with_row_index("chunk").with_columns(parts).explode("word")
    # Nothing stands between two letters that meet, nor before the first or after the last one.
    table = table.filter((pl.col("word") != "") | (pl.len().over("chunk") == 1))
    follows = (pl.col("chunk") == pl.col("chunk").shift(1)).fill_null(False)
    return table.select("text", "word", follows=follows)


@dataclass(frozen=True, eq=False, repr=False)
class _Words:
    """The words of texts as hashes: as a text could begin with them, and as they follow the word before."""

    start: NDArray[np.int64]
    bare: _Hashes
    following: _Hashes

    @classmethod
    def of(cls, texts: pl.Series, key: int) -> _Words:
        table, word = pieces(texts), pl.col("word")
        following = pl.when("follows").then(pl.lit(_EDGE) + word).otherwise(word)
        hashed = table.select("text", bare=word.hash(seed=key), following=following.hash(seed=key))
        counts = np.bincount(hashed["text"].to_numpy(), minlength=texts.len())
        start = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        return cls(start, hashed["bare"].to_numpy(), hashed["following"].to_numpy())


def _runs(
    words: _Words, factors: _Hashes, *, until: int = _MOST_WORDS, whole: bool = False
) -> Iterator[tuple[int, _Hashes, NDArray[np.int64]]]:
    """For each length the hashes of all runs of so many words, or of `whole` texts, and the texts they stand in."""
    sizes = np.diff(words.start)
    text = np.repeat(np.arange(sizes.size), sizes)
    left = words.start[1:][text] - np.arange(text.size)
    place = words.start[:-1][sizes > 0] if whole else np.arange(text.size)
    total = words.bare[place] * factors[0]
    for length in range(1, until + 1):
        if length > 1:
            enough = left[place] >= length
            place, total = place[enough], total[enough]
            total = total + words.following[place + length - 1] * factors[length - 1]
        if place.size == 0:
            return
        ended = left[place] == length
        if not whole:
            yield length, total, text[place]
        elif ended.any():
            yield length, total[ended], text[place[ended]]
