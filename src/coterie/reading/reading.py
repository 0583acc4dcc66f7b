"""`Reading`: how to read a log. Each option is declared here and nowhere else.

A declaration makes the keyword of `coterie.read`, the option of every command that reads a log, the key of [read] in a
study, of the sidecar and of what the gate and the studio are told.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date as day
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_args, get_type_hints

from coterie.core import registry
from coterie.errors import InputError, ParameterError

if TYPE_CHECKING:
    from coterie.core.shapes import Shape

MOST_TERMS, MOST_LETTERS = 10_000, 50
FOUND = ("counted", "told_apart_by")
"""What the settings of a log say that was found in its rows, and that nobody can ask for."""
_NAME, _MOST_NAMES = re.compile(r"[^\s,=&;?#\"]{1,100}"), 10


def details_of(given: str | Mapping[str, str] | Iterable[str]) -> dict[str, str]:
    """Further details from `device,country=geo.country`, several such texts, or a table of our names to theirs."""
    if isinstance(given, Mapping):
        return {str(name): str(column) for name, column in given.items()}
    texts = given.split(",") if isinstance(given, str) else list(given)
    parted = (text.partition("=") for text in texts if text.strip())
    pairs = [(name.strip(), column.strip() if mark else name.strip()) for name, mark, column in parted]
    if any(not name or not column for name, column in pairs) or len(dict(pairs)) < len(pairs):
        raise ParameterError("--details is written device,country=COLUMN: each name once, our name first.")
    return dict(pairs)


def columns_of(given: str | Mapping[str, str]) -> dict[str, str]:
    """`user=A,query=B` as a table from our names to those of the log.

    A pair with a comma in it stands in quotes, as in any table of values: `"user=name, first",query=q`.
    """
    try:
        if not isinstance(given, str):
            named = dict(given)
            if all(isinstance(text, str) for pair in named.items() for text in pair):
                return named
            raise ValueError
        pairs = [part.partition("=") for part in next(csv.reader([given]), []) if part]
        if all(name.strip() and mark and column.strip() for name, mark, column in pairs):
            return {name.strip(): column.strip() for name, _, column in pairs}
    except (TypeError, ValueError, csv.Error):
        pass
    raise ParameterError("--columns is written user=NAME,query=NAME, our name first.")


def columns_as_text(columns: Mapping[str, str]) -> str:
    """The text that `columns_of` reads."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([f"{name}={column}" for name, column in columns.items()])
    return line.getvalue()


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def names_of(text: str) -> tuple[str, ...]:
    """The names that `--query-param` was given."""
    names = tuple(text.split(",")) if isinstance(text, str) else ("",)
    if len(names) > _MOST_NAMES or not all(_NAME.fullmatch(name) for name in names):
        raise ParameterError(
            f"--query-param takes up to {_MOST_NAMES} names of parameters of addresses, separated by commas and "
            f"without spaces, such as q or q,search; or auto, or referrer."
        )
    return names


def _is_day(value: Any) -> bool:
    try:
        return bool(re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value) and day.fromisoformat(value))
    except (TypeError, ValueError):
        return False


@dataclass(frozen=True)
class Option:
    """What is to be known of an option, wherever it is offered."""

    help: str
    metavar: str = ""
    """What the command line shows for the value; a flag has none."""
    read: Callable[[Any], Any] = str
    """What was given, as a value."""
    accepts: Callable[[Any], bool] = _is_text
    allowed: str = "a text"
    """The values that it accepts, in words."""
    of_format: bool = False
    """Whether only formats use it that `take` it, and others refuse it."""
    told: bool = False
    """Whether rows depend on it, so that it is part of a log's digest and its sidecar says it."""


_of_rows = partial(Option, of_format=True, told=True)


def _up_to(most: int) -> dict[str, Any]:
    def accepts(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most

    return {"read": int, "accepts": accepts, "allowed": f"a whole number from 1 to {most:,}", "of_format": True}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How to read a log; what is None or empty was not said."""

    format: Annotated[str | None, Option("Log format; else it is sniffed.", "NAME")] = None
    columns: Annotated[
        Mapping[str, str], _of_rows("Which column of a table holds what.", "user=A,query=B", columns_of)
    ] = field(default_factory=dict)
    details: Annotated[
        Mapping[str, str],
        _of_rows(
            "Further columns of a table that may accompany a query: device,country=geo.country.",
            "A,B=COLUMN",
            details_of,
        ),
    ] = field(default_factory=dict)
    """In the order in which details are kept."""
    user_field: Annotated[
        str | None, _of_rows("Field that identifies a user (algolia, elastic, matomo, solr, ubi).", "NAME")
    ] = None
    date: Annotated[
        str | None,
        _of_rows("Day of times that have none (sogou).", "YYYY-MM-DD", accepts=_is_day, allowed="YYYY-MM-DD"),
    ] = None
    terms: Annotated[
        int | None, Option("Most terms of a document, 100 unless said (documents).", "N", **_up_to(MOST_TERMS))
    ] = None
    min_length: Annotated[
        int | None, Option("Fewest letters of a word, 3 unless said (documents).", "N", **_up_to(MOST_LETTERS))
    ] = None
    query_param: Annotated[
        str | None,
        Option(
            "Read an access log as a search log: the parameter of addresses that holds searches, or auto.",
            "NAME",
            accepts=lambda value: bool(names_of(value)),
            told=True,
        ),
    ] = None
    words: Annotated[
        str | None,
        Option(
            "Which words are terms, nouns unless said (documents).",
            "nouns|all",
            accepts=("nouns", "all").__contains__,
            allowed="'nouns' or 'all'",
            of_format=True,
        ),
    ] = None
    sql: Annotated[str | None, Option("Rows to read from a database, instead of a table.", "QUERY")] = None
    allow_bad: Annotated[bool, Option("Leave out bad lines even if they are many.")] = False
    guess: bool = True
    """Whether columns that nobody named are guessed; offered by Python alone."""
    shape: Shape | None = None
    """The shape of a release, which its sidecar tells; else it follows from the columns. Nobody else says it."""
    borrowed: frozenset[str] = field(default=frozenset(), compare=False)
    """Options that only the sidecar of a gate says: an audit that has no use for them is read without."""
    as_published: bool = False
    """Whether a file is looked at as somebody published it, so that times may be cut; no log is read so."""
    session: Any = field(default=None, repr=False)
    """The session of a Spark cluster whose nodes read the files."""
    parts: int | None = None
    """In how many tasks they do."""
    inner: ClassVar = ("shape", "borrowed", "as_published")
    """Fields that no caller of `coterie.read` says."""

    def __post_init__(self) -> None:
        for name, option in options().items():
            value = getattr(self, name)
            if name in _TABLES:
                object.__setattr__(self, name, option.read(value))
            elif not (value is None or option.accepts(value) if option.metavar else isinstance(value, bool)):
                flag = f"--{name.replace('_', '-')}"
                allowed = option.allowed if option.metavar else "true or false"
                raise ParameterError(f"{flag} must be {allowed}. Got {value!r}.")

    @classmethod
    def again(cls, settings: Mapping[Any, Any]) -> Reading:
        """How to read a log again that was read so (`Log.settings`, `reading` of a sidecar): nothing is guessed."""
        said = {name: value for name, value in settings.items() if name not in FOUND}
        return cls(**said, guess=False, borrowed=frozenset(said))

    def with_options(self, given: Mapping[str, Any]) -> Reading:
        """The same with these options in place of its own; None says nothing."""
        if unknown := [name for name in given if name not in self.__dataclass_fields__ or name in self.inner]:
            raise TypeError(f"read() got an unexpected keyword argument {unknown[0]!r}")
        return replace(self, **{name: value for name, value in given.items() if value is not None})

    @property
    def said(self) -> dict[str, Any]:
        """The options that were given, and their values."""
        return {name: value for name in options() if (value := getattr(self, name)) not in (None, False, {})}

    @property
    def told(self) -> dict[str, Any]:
        """What was said of options that rows depend on."""
        return {name: value for name, value in self.said.items() if options()[name].told}

    @property
    def words_said(self) -> list[str]:
        """The same as they are written on the command line."""
        texts = {name: columns_as_text(value) if name in _TABLES else str(value) for name, value in self.said.items()}
        return [
            word
            for name, text in texts.items()
            for word in (f"--{name.replace('_', '-')}", *([text] if options()[name].metavar else []))
        ]

    def over(self, other: Reading) -> Reading:
        """What this says, and what it does not say as the other says it; of columns and details each by itself."""
        both = {name: {**getattr(other, name), **getattr(self, name)} for name in _TABLES}
        borrowed = other.borrowed - set(self.said)
        return replace(other, **{**self.said, **both}, borrowed=borrowed, session=self.session, parts=self.parts)

    def fitting(self, format: str) -> Reading:
        """The same without what was borrowed and a format makes no use of."""
        unused = [name for name in self.borrowed if options()[name].of_format and name not in takes_of(format)]
        return replace(self, **{name: getattr(Reading(), name) for name in unused})

    def refuse_released(self, label: str) -> None:
        """Raise InputError for times with a column that says how exact they are: read as a log, all would be days."""
        if self.shape is None and not self.as_published:
            raise InputError(
                f"{label} has a column 'time_level', as releases have: its times are days, weeks or months, and no log "
                f"is read from a released file. If it is a log, rename that column, or name the time: --columns "
                f"time=NAME (in Python: columns={{...}})."
            )

    def refuse_unused(self, format: str, label: str) -> None:
        """Raise ParameterError where something was said that a format has no use for: it would change nothing."""
        said = (name for name in self.said if options()[name].of_format)
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

    def digested(self, settings: Mapping[str, int | str]) -> str:
        """As text what was said, and the settings that rows depend on; empty where nothing was."""
        given = {**self.told, "columns": dict(self.columns), "details": list(self.details.items()), **settings}
        given = {name: value for name, value in given.items() if value}
        return json.dumps(given, sort_keys=True) if given else ""


_TABLES = ("columns", "details")


@cache
def options() -> dict[str, Option]:
    """All options by their names."""
    hints = get_type_hints(Reading, localns={"Shape": object}, include_extras=True)
    marks = {each.name: get_args(hints[each.name])[1:] for each in fields(Reading)}
    return {name: found[0] for name, found in marks.items() if found and isinstance(found[0], Option)}


def kinds_told() -> dict[str, type]:
    """What a sidecar may say of how a log was read, by its name, and of which type that is."""
    kinds = {int: int, columns_of: dict, details_of: tuple}
    told = {name: option.read for name, option in options().items() if option.told or option.of_format}
    return {**{name: kinds.get(read, str) for name, read in told.items()}, **dict.fromkeys(FOUND, str)}


def takes_of(format: str) -> tuple[str, ...]:
    """The options that a format makes use of."""
    return tuple(getattr(registry.module("formats", format), "takes", ()))
