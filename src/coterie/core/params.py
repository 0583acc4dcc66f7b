"""Parameters: one annotation checks a value, documents it and becomes a command-line option.

k: Annotated[int, Range(2), Late(), "smallest number of users behind a released query"] = 5
users: Annotated[str, Choice("drop", "session", "pseudonym"), "what links rows"] = "drop"
strict: Annotated[bool, Flag(), "never release a query with a rare word"] = False
details: Annotated[str, Several("referrer", "browser", "hour"), "what may accompany a page"] = "referrer,hour"
function_words: Annotated[str, File("english", "none"), "words that make no concept alone"] = "english"
window: Annotated[str, Span(), "how long people are counted together"] = "30d"

The text says what the parameter means. What a method learns is shared by methods that are equal but for parameters
marked Late. A parameter marked With matters only with some values of another one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, replace
from datetime import date
from functools import cache
from inspect import Parameter, signature
from pathlib import Path
from typing import (
    Annotated,
    Any,
    ClassVar,
    Protocol,
    TypeAlias,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
    runtime_checkable,
)

from coterie.errors import ParameterError

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Late:
    """Marks a parameter that matters only once a plan is made: what is learnt serves all its values."""


@dataclass(frozen=True)
class With:
    """Marks a parameter that does something only where another one has that value; or, with `is_not`, another value."""

    name: str
    value: str
    is_not: bool = False

    def matters(self, value: object) -> bool:
        """Whether the parameter does something where the other one has that value."""
        return (value == self.value) is not self.is_not


@runtime_checkable
class Rule(Protocol):
    """Which values a parameter may have."""

    def accepts(self, value: Any, kind: type) -> bool:
        """Whether `value` is allowed."""

    def describe(self, kind: type) -> str:
        """The allowed values in words."""


@dataclass(frozen=True)
class Range:
    """A number between `low` and `high`, both allowed."""

    low: float
    high: float | None = None

    def accepts(self, value: Any, kind: type) -> bool:
        """Whether `value` is a number of that kind inside the range."""
        if isinstance(value, bool) or not isinstance(value, int if kind is int else (int, float)):
            return False
        return value >= self.low and (self.high is None or value <= self.high)

    def describe(self, kind: type) -> str:
        """The allowed values in words."""
        number = "a whole number" if kind is int else "a number"
        if self.high is None:
            return f"{number} of at least {self.low:g}"
        return f"{number} between {self.low:g} and {self.high:g}"


class NumberOr:
    """A whole number of at least `low` (and at most `high`), or a word that stands for one."""

    def __init__(self, low: int, word: str, high: int | None = None) -> None:
        self.word, self.low, self.high = word, low, high
        self._numbers = Range(low, high)

    def accepts(self, value: Any, kind: type) -> bool:  # noqa: ARG002 (same signature as Range)
        """Whether `value` is the word or such a number."""
        return value == self.word or self._numbers.accepts(value, int)

    def describe(self, kind: type) -> str:  # noqa: ARG002 (same signature as Range)
        """The allowed values in words."""
        return f"{self._numbers.describe(int)}, or {self.word!r}"

    def read(self, text: str | int) -> int | str:
        """What was written on the command line; a default is a number already."""
        return int(text) if str(text).isdecimal() else text


class Above:
    """A finite number above `low`."""

    def __init__(self, low: float) -> None:
        self.low = low

    def accepts(self, value: Any, kind: type) -> bool:  # noqa: ARG002 (same signature as Range)
        """Whether `value` is such a number."""
        return _is_number(value) and self.low < value < math.inf

    def describe(self, kind: type) -> str:  # noqa: ARG002 (same signature as Range)
        """The allowed values in words."""
        return f"a finite number above {self.low:g}"


class ShareOr:
    """A number above 0 and below 1, or a word that stands for one."""

    def __init__(self, word: str) -> None:
        self.word = word

    def accepts(self, value: Any, kind: type) -> bool:  # noqa: ARG002 (same signature as Range)
        """Whether `value` is the word or such a number."""
        return value == self.word if isinstance(value, str) else _is_number(value) and 0 < value < 1

    def describe(self, kind: type) -> str:  # noqa: ARG002 (same signature as Range)
        """The allowed values in words."""
        return f"a number above 0 and below 1, or {self.word!r}"

    def read(self, text: str) -> float | str:
        """What was written on the command line."""
        try:
            return float(text)
        except ValueError:
            return text


class Days:
    """Two days with two dots between them, the first one first; or nothing."""

    def accepts(self, value: Any, kind: type) -> bool:  # noqa: ARG002 (same signature as Range)
        """Whether `value` is empty, or two days in order."""
        if value == "":
            return True
        try:
            first, last = (date.fromisoformat(day) for day in value.split(".."))
        except (AttributeError, TypeError, ValueError):
            return False
        return first <= last

    def describe(self, kind: type) -> str:  # noqa: ARG002 (same signature as Range)
        """The allowed values in words."""
        return "two days such as '2006-03-01..2006-05-31', or ''"


class Span:
    """A length of time: a whole number and s, m, h or d, such as '30d'; or one of the words that stand for one."""

    def __init__(self, *words: str) -> None:
        self.words = words

    _SECONDS: ClassVar[dict[str, int]] = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    _LONGEST = 60_000 * 86400

    def accepts(self, value: Any, kind: type) -> bool:  # noqa: ARG002 (same signature as Range)
        """Whether `value` is such a text."""
        return isinstance(value, str) and (value in self.words or self.seconds(value) > 0)

    def describe(self, kind: type) -> str:  # noqa: ARG002 (same signature as Range)
        """The allowed values in words."""
        number = "a whole number with s, m, h or d behind it, such as '30d'"
        return ", ".join([number, *(f"or {word!r}" for word in self.words)])

    @classmethod
    def seconds(cls, text: str) -> int:
        """How many seconds a text stands for; 0 where it stands for no length of time."""
        number, unit = text[:-1], text[-1:]
        if unit not in cls._SECONDS or not (number.isascii() and number.isdecimal()) or len(number) > len("9999999999"):
            return 0
        seconds = int(number) * cls._SECONDS[unit]
        return seconds if seconds <= cls._LONGEST else 0


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Choice:
    """One of a few words."""

    def __init__(self, *options: str) -> None:
        self.options = options

    def accepts(self, value: Any, kind: type) -> bool:
        """Whether `value` is one of the words."""
        return isinstance(value, kind) and value in self.options

    def describe(self, kind: type) -> str:  # noqa: ARG002 (same signature as Range)
        """The allowed values in words."""
        return "one of " + ", ".join(map(repr, self.options))


class Several:
    """Some of a few words, separated by commas, in the order that the user chooses; `none` for none of them."""

    NONE = "none"

    def __init__(self, *options: str) -> None:
        self.options = options

    def accepts(self, value: Any, kind: type) -> bool:
        """Whether `value` consists of these words, each at most once."""
        if not isinstance(value, str) or not isinstance(value, kind):
            return False
        words = self.words(value)
        return len(set(words)) == len(words) and set(words) <= set(self.options)

    def describe(self, kind: type) -> str:  # noqa: ARG002 (same signature as Range)
        """The allowed values in words."""
        return f"{self.NONE!r} or some of {', '.join(map(repr, self.options))}, with commas between them"

    @classmethod
    def words(cls, value: str) -> tuple[str, ...]:
        """The words of a value."""
        return () if value == cls.NONE else tuple(value.split(","))


class Flag:
    """Yes or no."""

    def accepts(self, value: Any, kind: type) -> bool:
        """Whether `value` is True or False."""
        return isinstance(value, kind)

    def describe(self, kind: type) -> str:  # noqa: ARG002 (same signature as Range)
        """The allowed values in words."""
        return "True or False"


class File:
    """A file that is there, or one of the names that stand for something without a file."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def accepts(self, value: Any, kind: type) -> bool:  # noqa: ARG002 (same signature as Range)
        """Whether `value` is a name or a file."""
        return isinstance(value, str) and (value in self.names or Path(value).is_file())

    def describe(self, kind: type) -> str:  # noqa: ARG002 (same signature as Range)
        """The allowed values in words."""
        return ", ".join(map(repr, self.names)) + " or the path of a file"


@dataclass(frozen=True)
class Param:
    """A parameter as the documentation and the command line see it."""

    name: str
    kind: type
    rule: Rule
    default: Any
    doc: str
    late: bool = False
    only: With | None = None
    """When it matters; None: always."""


def params_of(cls: type) -> tuple[Param, ...]:
    """The parameters of a method, measure or promise: its annotated dataclass fields."""
    return _params_of(cls)


@cache  # annotations are texts, and would be read anew each time, a hundred times for a release
def _params_of(cls: type) -> tuple[Param, ...]:
    hints, every = get_type_hints(cls, include_extras=True), list(fields(cls))
    if order := getattr(cls, "shown", "").split():
        every.sort(key=lambda each: order.index(each.name) if each.name in order else len(order))
    return tuple(_param(f, *get_args(hint)) for f in every if get_origin(hint := hints[f.name]) is Annotated)


def _param(field: Field[Any], kind: type, *extras: Any) -> Param:
    rule = next(extra for extra in extras if isinstance(extra, Rule))
    default = None if field.default is MISSING else field.default
    doc = next((extra for extra in extras if isinstance(extra, str)), "")
    if only := next((extra for extra in extras if isinstance(extra, With)), None):
        doc = f"{'unless' if only.is_not else 'with'} {only.name} = {only.value}: {doc}"
    return Param(field.name, kind, rule, default, doc, Late() in extras, only)


def check_params(instance: Any, owner: str) -> None:
    """Raise ParameterError, always in the same sentence, if a parameter has a wrong value."""
    for param in params_of(type(instance)):
        value = getattr(instance, param.name)
        if not param.rule.accepts(value, param.kind):
            raise ParameterError(
                f"The {param.name!r} parameter of {owner} must be "
                f"{param.rule.describe(param.kind)}. Got {value!r} instead."
            )


def showing(options: type) -> Callable[[F], F]:
    """Show the fields of `options` as keywords of a function that takes them as `**options`: in help and in editors."""

    def shown(function: F) -> F:
        own = [each for each in signature(function).parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
        hidden = {*(each.name for each in own), *getattr(options, "inner", ())}
        further = [Parameter(each.name, Parameter.KEYWORD_ONLY, default=None)
                   for each in fields(options) if each.name not in hidden]  # fmt: skip
        function.__signature__ = signature(function).replace(parameters=[*own, *further])  # type: ignore[attr-defined]
        return function

    return shown


def with_values(instance: T, **values: Any) -> T:
    """The same with other values of those parameters that it has."""
    names = {field.name for field in fields(instance)}  # type: ignore[arg-type]
    return replace(instance, **{name: value for name, value in values.items() if name in names})  # type: ignore[type-var]


def values_of(instance: Any) -> dict[str, Any]:
    """All parameters and their values."""
    return {param.name: getattr(instance, param.name) for param in params_of(type(instance))}


def early_params(instance: Any) -> tuple[type, dict[str, Any]]:
    """The class and all parameters but the late ones: what is learnt depends on nothing else of a method."""
    early = {param.name: getattr(instance, param.name) for param in params_of(type(instance)) if not param.late}
    return type(instance), early


def public_params(instance: Any) -> dict[str, Any]:
    """All parameters as everybody may see them: of files only the last part of the name, not where they are."""
    return {**values_of(instance), **{name: path.name for name, path in files_of(instance).items()}}


def files_of(instance: Any) -> dict[str, Path]:
    """The parameters that are files."""
    values = [(param, getattr(instance, param.name)) for param in params_of(type(instance))]
    return {p.name: Path(value) for p, value in values if isinstance(p.rule, File) and value not in p.rule.names}


def with_files_in(cls: type, values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Values of parameters, with files looked for in a folder."""
    names = {param.name: param.rule.names for param in params_of(cls) if isinstance(param.rule, File)}
    return {
        name: str(folder / value) if isinstance(value, str) and value not in names.get(name, (value,)) else value
        for name, value in values.items()
    }


# --- what methods and their promises both have ------------------------------------------------------

Attrs: TypeAlias = Annotated[
    str,
    Choice("common", "keep", "drop"),
    "what accompanies a query: page, rank and day as far as k users share them all; all as it was; or nothing",
]
Times: TypeAlias = Annotated[
    str,
    Choice("drop", "quarter", "month", "week", "day", "hour"),
    "the finest time that may accompany a query; made coarser where too few users share it (exact with attrs = keep)",
]
KDetails: TypeAlias = Annotated[
    int | str,
    NumberOr(2, "k"),
    Late(),
    "how many users must share what accompanies a query, together with it; 'k': as many as k",
]
