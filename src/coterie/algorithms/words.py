"""Texts as numbers: who typed which how often, and their words: running numbers, or a hash of our own, which no version
of a library changes.

Of what was typed, the distinct texts are held, and eight bytes for each text of each user.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from coterie.algorithms.kernels._arrays import taken
from coterie.algorithms.kernels.bags import Bags, Parts, bags, smallest_word_hashes
from coterie.core.arrays import Ints, Masks, Short, bytes_of, numbered, offsets
from coterie.text.language import Language
from coterie.text.words import has_letters_without_spaces, without_spaces, words


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Typed:
    """Distinct texts, and those of each user."""

    texts: pl.Series
    of_users: Bags


class Stems(NamedTuple):
    """The stems of texts."""

    of_texts: Parts
    hashes: Masks
    """The hash of each stem, in order."""


def typed_by(users: pl.Series, rows: pl.LazyFrame) -> Typed:
    """What each of some distinct users has typed, from two columns: user and text. Rows of others are left out.

    Every distinct text is looked at once, however many typed it.
    """
    user, text = rows.collect_schema().names()
    texts = rows.select(text).unique().collect(engine="streaming")[text]
    places = users.alias(user).to_frame().lazy().with_row_index("place")
    numbers = texts.to_frame().lazy().with_row_index("number")
    pairs = rows.join(places, on=user).join(numbers, on=text).select(pl.col("place", "number").cast(pl.Int32))
    lines = pairs.collect(engine="streaming")
    place, number = (lines[name].to_numpy(writable=True) for name in ("place", "number"))
    return Typed(texts=texts, of_users=bags(place, number, users.len()))


def word_hashes(texts: pl.Series) -> pl.Series:
    """The smallest hash of the words of each text."""
    data, start = bytes_of(texts)
    return pl.Series(texts.name, smallest_word_hashes(start, data))


def numbered_words(lists: pl.Series) -> tuple[Ints, Short, pl.Series]:
    """Where the words of each list begin, the number of each word, and the distinct words by their numbers."""
    number, words = numbered(lists.explode(empty_as_null=False, keep_nulls=False))
    return offsets(lists.list.len().to_numpy()), number, words.alias("word")


def pieces_of(texts: pl.Series, spoken: Language) -> pl.DataFrame:
    """text, piece: the pieces of each text, stop words left out."""
    exploded = pl.DataFrame({"text": texts, "piece": spoken.pieces(texts)}).explode("piece")
    return exploded.filter(pl.col("piece").is_not_null() & ~pl.col("piece").is_in(sorted(spoken.stop_words)))


def stems_of(texts: pl.Series, spoken: Language) -> Stems:
    """The stems of the pieces of each text, which are those of its words: every word is looked at once."""
    start, number, distinct = numbered_words(_words_or_whole(texts))
    pieces = pieces_of(distinct, spoken)
    spelled = pieces["piece"].unique()
    hashes = word_hashes(spoken.stems(spelled).alias("hash"))
    table = pieces.join(pl.DataFrame([spelled, hashes]), on="piece").join(
        distinct.alias("text").to_frame().with_row_index("number"), on="text"
    )
    known, part = np.unique(table["hash"].to_numpy(), return_inverse=True)
    of_words = np.argsort(table["number"].to_numpy(), kind="stable")
    each = np.bincount(table["number"].to_numpy(), minlength=distinct.len())
    return Stems(_parts_of_parts(Parts(start, number), Parts(offsets(each), part[of_words].astype(np.int32))), known)


def stem_hashes(texts: pl.Series, spoken: Language) -> pl.DataFrame:
    """text, word: the hash of the stem of each piece of each text."""
    (start, part), hashes = stems_of(texts, spoken)
    text = np.repeat(np.arange(texts.len()), np.diff(start))
    return pl.DataFrame({"text": texts.gather(text), "word": hashes[part]}, schema_overrides={"word": pl.UInt64})


def _words_or_whole(texts: pl.Series) -> pl.Series:
    """The words of each text; a text with letters of scripts without spaces stays whole: it is cut otherwise."""
    text, column = pl.col("text"), texts.to_frame("text")
    separated = words(text)
    if has_letters_without_spaces(texts):
        separated = pl.when(without_spaces(text)).then(pl.concat_list(text)).otherwise(separated)
    return column.select(separated.alias("words"))["words"]


def _parts_of_parts(things: Parts, parts: Parts) -> Parts:
    """What things are made of, where their parts are made of parts."""
    first, places = taken(parts.start, things.part)
    return Parts(first[things.start], parts.part[places])
