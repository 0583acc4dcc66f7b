"""What a user may say about an input beside its format."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date

from coterie.core import registry
from coterie.core.shapes import Shape
from coterie.errors import ParameterError
from coterie.reading.searches import names_of

MOST_TERMS, MOST_LETTERS = 10_000, 50
_OF_A_FORMAT = ("columns", "details", "user_field", "date", "terms", "min_length", "words")


def details_of(given: str | Mapping[str, str] | Iterable[str]) -> dict[str, str]:
    """Further details from `device,country=geo.country`, several such texts, or a table of our names to theirs."""
    if isinstance(given, Mapping):
        return {str(name): str(column) for name, column in given.items()}
    texts = given.split(",") if isinstance(given, str) else list(given)
    pairs = [(name.strip(), column.strip() if mark else name.strip()) for name, mark, column in _parted(texts)]
    if any(not name or not column for name, column in pairs) or len(dict(pairs)) < len(pairs):
        raise ParameterError("--details is written device,country=COLUMN: each name once, our name first.")
    return dict(pairs)


def _parted(texts: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    return (text.partition("=") for text in texts if text.strip())


def takes_of(format: str) -> tuple[str, ...]:
    """The options that a format makes use of."""
    return tuple(getattr(registry.module("formats", format), "takes", ()))


@dataclass(frozen=True, kw_only=True)
class Options:
    """Reading options; each format uses those that it `takes`, and others are refused."""

    columns: Mapping[str, str] = field(default_factory=dict)
    """Column of the shape -> column of the file (format `table`)."""
    details: Mapping[str, str] = field(default_factory=dict)
    """Further detail -> column of the file, in the order in which details are kept (format `table`)."""
    user_field: str | None = None
    """The field that identifies a user (format `ubi`)."""
    date: str | None = None
    """The day of times that have none (format `sogou`), as YYYY-MM-DD."""
    query_param: str | None = None
    """The parameter that holds searches: an access log becomes a search log (`reading/searches.py`)."""
    terms: int = 100
    """How many terms a document has at most (format `documents`)."""
    min_length: int = 3
    """How many letters a word of a document has at least (format `documents`)."""
    words: str = "nouns"
    """Which words of a document are terms: nouns of WordNet, or all (format `documents`)."""
    guess: bool = True
    """Whether columns that nobody named are guessed (format `table`)."""
    shape: Shape | None = None
    """The shape of a release, which its sidecar tells (format `table`); else it follows from the columns."""

    def refuse_unused(self, format: str, label: str) -> None:
        """Raise ParameterError where something was said that a format has no use for: it would change nothing."""
        nothing = Options()
        said = (name for name in _OF_A_FORMAT if getattr(self, name) != getattr(nothing, name))
        unused = [f"--{name.replace('_', '-')}" for name in said if name not in takes_of(format)]
        if unused:
            raise ParameterError(
                f"{label} is read as {format}, which makes no use of {' and '.join(unused)}. Leave that out, or name "
                f"another format with --format."
            )

    @property
    def named_details(self) -> tuple[str, ...]:
        """The further details as they are written: `device`, or `device=ua_class` under another name."""
        return tuple(name if name == column else f"{name}={column}" for name, column in self.details.items())

    def said(self, settings: Mapping[str, int | str]) -> str:
        """What was said about how to read, as text, and the settings that rows depend on; empty where nothing was."""
        given = {
            "columns": dict(self.columns),
            "details": list(self.details.items()),
            "user_field": self.user_field,
            "date": self.date,
            "query_param": self.query_param,
            **settings,
        }
        given = {name: value for name, value in given.items() if value}
        return json.dumps(given, sort_keys=True) if given else ""

    def __post_init__(self) -> None:
        for name, most in (("terms", MOST_TERMS), ("min_length", MOST_LETTERS)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
                option = name.replace("_", "-")
                raise ParameterError(f"--{option} must be a whole number from 1 to {most:,}. Got {value!r}.")
        if self.query_param is not None:
            names_of(self.query_param)
        if self.words not in ("nouns", "all"):
            raise ParameterError(f"--words must be 'nouns' or 'all'. Got {self.words!r}.")
        if self.date is None:
            return
        try:
            if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", self.date):
                raise ValueError
            date.fromisoformat(self.date)
        except (TypeError, ValueError):
            raise ParameterError(f"--date must be YYYY-MM-DD. Got {self.date!r}.") from None
