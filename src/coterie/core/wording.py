"""What messages, tables and notebooks say.

Measures, reports and notes are written for search logs, in which users type queries. `in_words_of` says the same of an
access log, in which visitors request pages, and of documents, which have terms. What is true of one kind of log alone
is not said by other words: it is written where it belongs.

k counts people. Where the column that says who it was names sessions or addresses by its own name, whatever is said
about the log says so.

A notebook shows counts, names and sentences (`html_table`), and never a value of a log.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache
from html import escape
from typing import Any

import polars as pl

from coterie.core.registry import table_at
from coterie.core.shapes import QUERIES, TERMS, VISITS, Shape, plural

_FIXED = r"(?:query|search) (?:log|string|engine|term)s?"
PEOPLE = ("people", "contacts")
_NOT_ALONE = ("email", "mail", "login", "account", "person", "member", "address", "actor")
"""Inside of other fields these may be somebody else's: the author of a page, the owner of a shop."""
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


@cache
def named(*kinds: str) -> tuple[str, ...]:
    """Names of columns that name `people`, or their `contacts`, `browsers`, `sessions` or `addresses`; see `plain`."""
    table = table_at("core", "data/people.toml")
    return tuple(name for kind in kinds for line in table[kind] for name in line.split())


def plain(name: str) -> str:
    """A name without capitals, signs and accents: `userID`, `user_id` and `User-Id` are one."""
    return re.sub(r"[^a-z0-9]", "", unicodedata.normalize("NFKD", name.lower()))


def leaves(name: str) -> tuple[str, ...]:
    """What a field inside of others may be called: `context.user.id` is a `userid`, `event.visitor` a `visitor`."""
    parts = name.split(".")
    if len(parts) == 1:
        return ()
    last = plain(parts[-1])
    return (plain("".join(parts[-2:])), *(() if last in _NOT_ALONE else (last,)))


def noun_of(counted: object) -> str:
    """`session` or `address` where columns of these names, separated by commas, are all of that kind; else nothing."""
    names = str(counted or "").split(",")
    for noun, kind in (("session", "sessions"), ("address", "addresses")):
        if all(any(each in named(kind) for each in (plain(name), *leaves(name))) for name in names):
            return noun
    return ""


def person_in(settings: Mapping[Any, Any]) -> str:
    """The columns, with commas between them, by which people are told apart in a log that was read so; else nothing."""
    said = settings.get("counted") or settings.get("user_field")
    columns = settings.get("columns")
    said = said or (columns.get("user") if isinstance(columns, Mapping) else "")
    return str(said or settings.get("told_apart_by") or "")


def noun_in(settings: Mapping[Any, Any]) -> str:
    """The noun of those who are counted in a log that was read so, where they are no people; else nothing."""
    return noun_of(person_in(settings))


def several(noun: str) -> str:
    """The plural."""
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def in_place_of_people(text: str, noun: str) -> str:
    """A sentence about users or visitors as one about sessions or addresses; as it is where there is no noun."""
    if not noun:
        return text
    forms = {"user": noun, "users": several(noun), "visitor": noun, "visitors": several(noun)}
    text = re.sub(r"(?<![\w.{=-])(?:users?|visitors?)(?![\w=}-]|\.\w)",
                  lambda found: _like(found[0], forms[found[0].lower()]), text, flags=re.IGNORECASE)  # fmt: skip
    return re.sub(r"\b([Aa]) (address)\b", r"\1n \2", text)
