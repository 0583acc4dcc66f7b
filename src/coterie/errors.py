"""Every error Coterie raises on purpose.

    CoterieError
    ├── InputError          the data is not what was expected (file, line, column, what to do)
    │   ├── NoRowsError         there is no row to read
    │   ├── NotApplicableError  a measure has no meaning for this release
    │   └── NotCheckableError   a release cannot be checked without something private that was not given
    ├── ParameterError      a parameter has a value it cannot have
    ├── UnknownNameError    no method, format, measure, step or promise of that name
    ├── MissingError        something needed is absent (a file, a record, an optional package)
    ├── BrokenPromiseError  the release does not keep its promise; nothing was written
    └── InternalError       our fault: please report it

Messages name columns, line numbers, counts and types. They never contain a value from a log.
A mistyped name, option or key is answered with the nearest known one (`did_you_mean`).
"""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Iterable


class CoterieError(Exception):
    """Base of all errors; `exit_code` is what the command line returns for it."""

    exit_code = 2


class InputError(CoterieError):
    """The data is not what was expected."""


class NoRowsError(InputError):
    """There is no row to read: files are empty, or have at most a header."""


class NotApplicableError(InputError):
    """A measure has no meaning for this release; the message says why."""


class NotCheckableError(InputError):
    """A release cannot be checked with what was given; the message says what it takes."""

    exit_code = 3


class ParameterError(CoterieError):
    """A parameter has a value it cannot have."""


class UnknownNameError(CoterieError):
    """Nothing is registered under that name."""


class MissingError(CoterieError):
    """Something that is needed is absent."""


class BrokenPromiseError(CoterieError):
    """A release does not keep its promise."""

    exit_code = 1


class InternalError(CoterieError):
    """A mistake of Coterie itself."""

    exit_code = 70


# --- what the caller typed -------------------------------------------------------------------------

_IN_PYTHON = r" \(in Python: ((?:[^()]|\([^()]*\))*)\)"
_SAID = re.compile(rf"(?:-o - )?--[a-z][a-z-]*(?: [^\s(]+)?{_IN_PYTHON}")
_VAGUE = re.compile(r" \(in Python: [^()]*\.\.\.[^()]*\)")  # what was typed says more
_PAIRS = re.compile(r"--(columns|details) ((?:[^\s,=]+=(?:\.\.\.|[^\s,=]*[^\s,=.:]),?)+(?<!,))")
_WORD = re.compile(
    r"--(attrs|embedding|encoding|format|history|prepare|promise|to|topics|words) "
    r"(?!(?:and|is|must|needs|or|takes)\b)([a-z][a-z0-9_-]*)"
)
_VALUE = re.compile(r"--([a-z][a-z-]*) (['\"][^'\"]*['\"]|[A-Z][A-Z0-9_,]*\b|\d[\d.,e-]*\d|\d)")
_OPTION = re.compile(r"(?<![\w/.-])--([a-z][a-z-]*)|(?<= )-(o)(?=[ .])")
_ARGUMENTS = {"to": "kind", "kappa": "kappas", "engine": "session", "original-columns": "columns", "o": "path"}
_CALLER = 4  # frames: `warn`, the function in api, its wrapper in coterie, and who called that


def in_python(text: str) -> str:
    """A message for those who call Python: `history=PATH` in place of `--history FILE`.

    Messages name options. Where the argument is not spelled like its option, the message says both:
    `--force (in Python: force=True)`.
    """
    text = _SAID.sub(lambda said: said[1], _VAGUE.sub("", text))
    text = _PAIRS.sub(lambda said: f"{said[1]}={{{_pairs(said[2])}}}", text)
    text = _WORD.sub(lambda said: f'{_argument(said[1])}="{said[2]}"', text)
    text = _VALUE.sub(lambda said: f"{_argument(said[1])}={said[2]}", text)
    text = re.sub(r"(\b[a-z_]+=\S*[A-Z0-9\"']) (?=[a-z_]+=\S)", r"\1, ", text)
    return on_command_line(_OPTION.sub(lambda said: _argument(said[1] or said[2]), text))


def on_command_line(text: str) -> str:
    """The same message for those who typed a command: nothing about Python."""
    return re.sub(_IN_PYTHON, "", text)


def _argument(option: str) -> str:
    return _ARGUMENTS.get(option, option.replace("-", "_"))


def _pairs(text: str) -> str:
    """`user=A,query=B` as the inside of a dictionary."""
    return ", ".join(f'"{name}": "{column}"' for name, _, column in (pair.partition("=") for pair in text.split(",")))


def warn(text: str) -> None:
    """Warn those who called a public function."""
    warnings.warn(in_python(text), stacklevel=_CALLER)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is most like `word`; None where none is."""
    return next(iter(difflib.get_close_matches(word, list(known), n=1)), None)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence to put after one that ends; empty where no known word is near."""
    close = nearest(word, known)
    return "" if close is None else f" Did you mean {close!r}?"
