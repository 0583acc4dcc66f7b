"""What messages, tables and notebooks say.

Measures, reports and notes are written for search logs, in which users type queries. `in_words_of` says the same of an
access log, in which visitors request pages, and of documents, which have terms. What is true of one kind of log alone
is not said by other words: it is written where it belongs.

A notebook shows counts, names and sentences (`html_table`), and never a value of a log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from html import escape

import polars as pl

from coterie.core.shapes import QUERIES, TERMS, VISITS, Shape, plural

_FIXED = r"(?:query|search) (?:log|string|engine|term)s?"
_VERBS = {
    VISITS.name: {
        "searched for": "requested",
        "search for": "request",
        "searches for": "requests",
        "searched": "visited",
        "searcher": "visitor",
        "searches": "requests",
        "search": "request",
        "typed": "requested",
        "types": "requests",
        "type": "request",
    },
    TERMS.name: {
        "searches": "terms",
        "search": "term",
        "typed": "written",
        "searcher": "document",
        "people": "documents",
        "person": "document",
    },
}


def in_words_of(shape: Shape, text: str) -> str:
    """Text for people with the nouns and verbs of a shape; keys in braces, options and parameters stay."""
    if shape is QUERIES or not shape.subject:
        return text
    words = _words(shape)
    pattern = rf"(?<![\w.{{=-])(?:{_FIXED}|({'|'.join(words)}))(?![\w=}}-]|\.\w| =)"
    return re.sub(pattern, lambda found: _like(found[0], words[found[1].lower()]) if found[1] else found[0], text,
                  flags=re.IGNORECASE)  # fmt: skip


def scores_in_words_of(shape: Shape, scores: pl.DataFrame) -> pl.DataFrame:
    """A table of scores for people: `one_query` is `one_page`. Programs get the same keys for every log.

    Keys that are names of parameters in addresses stay.
    """
    nouns = {} if shape is QUERIES or not shape.subject else _nouns(shape)
    keys = [re.sub(r"[a-z]+", lambda part: nouns.get(part[0], part[0]), key) for key in scores["key"]]
    shown = pl.when(pl.col("name") == "search_params").then("key").otherwise(pl.Series(keys, dtype=pl.String))
    return scores.with_columns(shown.alias("key"))


@cache
def _words(shape: Shape) -> dict[str, str]:
    return {**_VERBS.get(shape.name, {}), **_nouns(shape)}


def _nouns(shape: Shape) -> dict[str, str]:
    pairs = ((QUERIES.subject_noun, shape.subject_noun), (QUERIES.item_noun, shape.item_noun))
    return {form(ours): form(theirs) for ours, theirs in pairs for form in (plural, str)}


def _like(original: str, word: str) -> str:
    """A word with a capital where the one that it replaces has one."""
    return word.capitalize() if original[0].isupper() else word


def html_table(title: str, rows: Iterable[tuple[str, str]], end: str = "") -> str:
    """A small table with a title above it and a line below it; everything is escaped."""
    lines = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(text)}</td></tr>'
        for name, text in rows
    )
    below = f"<p>{escape(end)}</p>" if end else ""
    return f"<div><p><strong>{escape(title)}</strong></p><table>{lines}</table>{below}</div>"
