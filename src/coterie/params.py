"""Parameters: one annotation checks a value, documents it and becomes a command-line option.

k: Annotated[int, Range(2)] = 5
users: Annotated[str, Choice("drop", "session", "pseudonym")] = "drop"
strict: Annotated[bool, Flag()] = False
topics: Annotated[str, File()] = ""
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from coterie.errors import ParameterError


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


class File:
    """A file that is there, or nothing."""

    def accepts(self, value: Any, kind: type) -> bool:  # noqa: ARG002 (same signature as Range)
        """Whether `value` is the path of a file, or empty."""
        return isinstance(value, str) and (not value or Path(value).is_file())

    def describe(self, kind: type) -> str:  # noqa: ARG002 (same signature as Range)
        """The allowed values in words."""
        return "the path of a file, or empty"


class Flag:
    """Yes or no."""

    def accepts(self, value: Any, kind: type) -> bool:
        """Whether `value` is True or False."""
        return isinstance(value, kind)

    def describe(self, kind: type) -> str:  # noqa: ARG002 (same signature as Range)
        """The allowed values in words."""
        return "True or False"


@dataclass(frozen=True)
class Param:
    """A parameter as the documentation and the command line see it."""

    name: str
    kind: type
    rule: Range | Choice | Flag | File
    default: Any
    doc: str


def params_of(cls: type) -> Iterator[Param]:
    """The parameters of a method, measure or promise: its annotated dataclass fields."""
    hints = get_type_hints(cls, include_extras=True)
    docs = getattr(cls, "param_docs", {})
    for field in fields(cls):
        hint = hints[field.name]
        if get_origin(hint) is not Annotated:
            continue
        kind, *extras = get_args(hint)
        rule = next(extra for extra in extras if isinstance(extra, (Range, Choice, Flag, File)))
        default = None if field.default is MISSING else field.default
        yield Param(field.name, kind, rule, default, docs.get(field.name, ""))


def check_params(instance: Any, owner: str) -> None:
    """Raise ParameterError, always in the same sentence, if a parameter has a wrong value."""
    for param in params_of(type(instance)):
        value = getattr(instance, param.name)
        if not param.rule.accepts(value, param.kind):
            raise ParameterError(
                f"The {param.name!r} parameter of {owner} must be "
                f"{param.rule.describe(param.kind)}. Got {value!r} instead."
            )
