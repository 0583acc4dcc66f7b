"""Full names of people in texts, by lists: a first name and a last name side by side, or whole names of one's own list.

A list finds what is on it. The one that comes along, `census`, has frequent names of the United States of 1990 and no
others; a first name may be followed by one letter before the last name. Words are what stands between spaces.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import polars as pl

from coterie.core.registry import text_at
from coterie.errors import InputError
from coterie.text.language import spell_one

CENSUS = "census"
"""The list that comes along."""
JOINT = "_"
"""Stands in place of the spaces inside of a name that is to be one word."""
HELD_TOGETHER = "\ufdd0"
"""The same where no text may have it: a code that stands for nothing."""
# A space on either side of each word, so that names that follow each other do not share one.
_SPACED = pl.lit(" ") + pl.col("text").str.replace_all(" ", "  ", literal=True) + pl.lit(" ")


def names_joined(texts: pl.Series, listed: str = CENSUS, joint: str = JOINT) -> pl.Series:
    """The texts with `joint` in place of the spaces inside of full names."""
    joined = _by_census(texts) if listed == CENSUS else _by_own_list(texts, _own_list(listed))
    return joined.str.replace_all(HELD_TOGETHER, joint, literal=True).alias(texts.name)


def has_name(texts: pl.Series, listed: str = CENSUS) -> pl.Series:
    """Whether each text has a full name in it."""
    if listed == CENSUS:
        return _by_census(texts).str.contains(HELD_TOGETHER, literal=True).fill_null(False).alias(texts.name)
    found = _SPACED.str.contains_any(_patterns(_own_list(listed)))
    return texts.to_frame("text").select(found.fill_null(False)).to_series().alias(texts.name)


@cache
def _census(kind: str) -> tuple[str, ...]:
    return tuple(text_at("text", f"data/census_{kind}_names.txt").split())


@cache
def _own_list(path: str) -> tuple[str, ...]:
    """The names of a UTF-8 file, one on each line, as `normalize` spells queries."""
    file = Path(path)
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{file.name}, a list of names, is not UTF-8 text.") from None
    names = sorted({spelled for line in lines if (spelled := spell_one(line))}, key=lambda name: (-len(name), name))
    if not names:
        raise InputError(f"{file.name} has no name in it: write one on each line.")
    return tuple(names)


def _by_census(texts: pl.Series) -> pl.Series:
    """Each text with HELD_TOGETHER between the words of first names and last names that stand side by side."""
    numbered = texts.to_frame("text").with_row_index("at")
    words = numbered.lazy().select("at", pl.col("text").str.split(" ").alias("word")).explode("word").collect()
    word = pl.col("word")
    kinds = words.with_columns(
        word.is_in(pl.Series(_census("first")).implode()).alias("first"),
        word.is_in(pl.Series(_census("last")).implode()).alias("last"),
        word.str.contains(r"^\p{L}\.?$").alias("letter"),
    )
    first, last, letter = (pl.col(name).fill_null(False) for name in ("first", "last", "letter"))

    def before(flag: pl.Expr, places: int = 1) -> pl.Expr:
        return (flag.shift(places) & (pl.col("at") == pl.col("at").shift(places))).fill_null(False)

    inside = before(first) & last
    inside |= before(first, 2) & before(letter) & last
    inside |= before(first) & letter & before(last, -1)
    follows = (pl.col("at") == pl.col("at").shift(1)).fill_null(False)
    gap = pl.when(inside).then(pl.lit(HELD_TOGETHER)).when(follows).then(pl.lit(" ")).otherwise(pl.lit(""))
    pieces = kinds.select("at", (gap + word).alias("piece"))
    joined = pieces.group_by("at", maintain_order=True).agg(pl.col("piece").str.join("", ignore_nulls=True))
    whole = numbered.select("at").join(joined, on="at", how="left", maintain_order="left")["piece"]
    return whole.to_frame("joined").select(pl.when(texts.is_not_null()).then("joined")).to_series()


def _by_own_list(texts: pl.Series, names: tuple[str, ...]) -> pl.Series:
    held = [f" {name.replace(' ', HELD_TOGETHER)} " for name in names]
    joined = _SPACED.str.replace_many(_patterns(names), held, leftmost=True)
    told = joined.str.replace_all("  ", " ", literal=True).str.slice(1).str.strip_suffix(" ")
    return texts.to_frame("text").select(told).to_series()


def _patterns(names: tuple[str, ...]) -> list[str]:
    return [f" {name.replace(' ', '  ')} " for name in names]
