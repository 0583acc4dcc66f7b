"""Words of promises: headline, sentence and limits, by editions.

The texts of an edition are data, `words/EDITION.toml`, and all of its sentences follow from them and from the numbers
of a promise. A sidecar says which edition it speaks, so that its words can be compared whatever this version says:

    [promises.NAME]   numbers     the numbers (fields) of the promise that the edition knows
                      headline, sentence, limits, foreign     texts with {names} to fill in
    [texts.NAME]      what stands in the place of {NAME}: a text, or a table of texts of which one is chosen:
                      by = "users"          by the value of that number; `else` is for all others
                      by = ["attrs", "k-1"] by several of them, with spaces between them
                      each = "tables"       one for each of the words of a number; `between` and `last` join them
                      list = [...]          all of these that are not empty, joined likewise

A name that is no text is a number of the promise, or what follows from its numbers (`derived`); `k-1` is one less.

To change words, copy the newest file to the next number, edit the copy, raise `EDITION`, and add its digest to
`tests/unit/promises/test_words.py`. A file that was out never changes: releases out there have its words. If a sentence
in it turns out to say more than holds, remove the file: releases that speak it are then "not checked".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from importlib.resources import files
from typing import Any, cast

from coterie.core.params import Several
from coterie.core.promise import Promise
from coterie.core.registry import table_at
from coterie.core.shapes import QUERIES
from coterie.promises._checks import LEVELS

EDITION = 2
"""The edition that new releases speak."""
_WITH_LEVELS = 2
"""Edition 1 says that a release does not say how exact its times are, and each release with levels does."""


@dataclass(frozen=True, kw_only=True)
class Words:
    """What a promise says to people."""

    headline: str
    sentence: str
    limits: tuple[str, ...]
    foreign: str
    """What is examined in rows that Coterie did not make; no sidecar has it."""


class Worded(Promise):
    """A promise whose words are texts of an edition, filled in with its numbers."""

    @property
    def derived(self) -> Mapping[str, object]:
        """What its words need besides its numbers, and what follows from these: numbers, yes or no."""
        return {}

    @property
    def headline(self) -> str:
        """The number people ask for."""
        return self._current.headline

    @property
    def sentence(self) -> str:
        """The promise in plain words."""
        return self._current.sentence

    @property
    def foreign_sentence(self) -> str:
        """What is examined in rows that Coterie did not make."""
        return self._current.foreign

    @property
    def limits(self) -> tuple[str, ...]:
        """What the promise does not say."""
        return self._current.limits

    @property
    def _current(self) -> Words:
        words = words_in(EDITION, self)
        if words is None:
            raise LookupError(f"edition {EDITION} has no words for this {self.name}")
        return words


class ItemPromise(Worded):
    """A promise about single items: who rows are linked to (`users`), and what accompanies them (`attrs`).

    Those that can be judged on a cluster, or of rows without a sidecar, say so for themselves.
    """

    k: int
    users: str
    attrs: str
    session_minutes: int
    link_queries: int
    link_minutes: int
    times: str
    k_details: int | str
    details: str
    window: str

    @property
    def levels(self) -> tuple[str, ...]:
        """All that a time may be cut to, where times accompany items and are not exact."""
        return LEVELS[self.times] if self.attrs == "common" else ()

    @property
    def crowd_of_details(self) -> int:
        """How many users share what accompanies an item."""
        return self.k if isinstance(self.k_details, str) else self.k_details


def has_edition(edition: int) -> bool:
    """Whether the texts of an edition are here."""
    return (files("coterie.promises") / "words" / f"{edition:d}.toml").is_file()


def fits(edition: int, promise: Worded) -> bool:
    """Whether what an edition says of released times is so: the first one denies that `time_level` is there."""
    return edition >= _WITH_LEVELS or not promise.levels


def words_in(edition: int, promise: Worded) -> Words | None:
    """The words of a promise in an edition that is here; None where that edition cannot say such a promise.

    It cannot where a number is not one it knows, unless that has its default, or has a value that it has no text for:
    its sentences would leave out what that number means, and so promise too much.
    """
    texts = _texts(edition)
    own = texts["promises"].get(promise.name)
    numbers = asdict(cast(Any, promise))
    if own is None or any(
        field.name not in own["numbers"] and (field.default is MISSING or numbers[field.name] != field.default)
        for field in fields(cast(Any, promise))
    ):
        return None
    filled = _Filled(texts["texts"], {"shape": QUERIES.name, **numbers, "name": promise.name, **promise.derived})
    try:
        sentence = filled.said(own["sentence"])
        return Words(
            headline=filled.said(own["headline"]),
            sentence=sentence,
            limits=tuple(limit for text in own["limits"] if (limit := filled.said(text))),
            foreign=filled.said(own["foreign"]) if "foreign" in own else sentence,
        )
    except KeyError:  # no text for a value
        return None


class _Filled(dict[str, Any]):
    """What stands in the place of each name, in the words of one promise."""

    def __init__(self, texts: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        super().__init__()
        self.texts, self.facts = texts, facts

    def said(self, text: str) -> str:
        """A text with its names filled in."""
        return text.format_map(self)

    def __missing__(self, name: str) -> Any:
        text = self.texts.get(name)
        if text is None:
            return self._fact(name)
        if isinstance(text, str):
            return self.said(text)
        if "by" in text:
            return self.said(self._chosen(text))
        between = text.get("between", ", ")
        *first, end = [*self._several(text)] or [text.get("none", "")]
        return between.join(first) + (text.get("last", between) if first else "") + end

    def _chosen(self, text: Mapping[str, str]) -> str:
        names = [text["by"]] if isinstance(text["by"], str) else text["by"]
        facts = (self._fact(name) for name in names)
        spelled = (str(fact).lower() if isinstance(fact, bool) else str(fact) for fact in facts)
        key = " ".join(filter(None, spelled))
        return text[key if (key in text and key not in ("by", "else")) or "else" not in text else "else"]

    def _several(self, text: Mapping[str, Any]) -> Iterator[str]:
        if "each" in text:
            yield from (self.said(text[word]) for word in Several.words(str(self._fact(text["each"]))))
            return
        for each in text["list"]:  # a number may be several words itself
            yield from (part for part in self.said(each).split(",") if part)

    def _fact(self, name: str) -> Any:
        if name in self.facts:
            return self.facts[name]
        number, sign, other = re.split(r"([-<])", name) if re.search(r"[-<]", name) else (name, "", "")
        value = self.facts[number]
        if sign == "<":
            return isinstance(value, int) and value < self.facts[other]
        return value - int(other) if sign else value


def _texts(edition: int) -> dict[str, Any]:
    return table_at("promises", f"words/{edition:d}.toml")
