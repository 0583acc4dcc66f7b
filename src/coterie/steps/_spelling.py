"""How a prepare step is written: `sessions`, or `sessions(minutes=10)` where a parameter is not the default.

The same text stands on the command line, in TOML, in the history of a log and in the sidecar of a release, so that
verify, measure and report prepare the original in the same way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from coterie.core import registry
from coterie.core.digests import sha256_of
from coterie.core.log import Log, Step
from coterie.core.params import Choice, File, Param, check_params, params_of
from coterie.core.shapes import VISITS
from coterie.errors import InputError, ParameterError, did_you_mean


@dataclass(frozen=True, kw_only=True)
class PrepareStep:
    """A prepare step: a frozen dataclass whose fields are its parameters, called on a log."""

    def __post_init__(self) -> None:
        check_params(self, registry.name_of(self))

    @property
    def looks_at(self) -> str:
        """What decides about a row: "rows" (that row), "subjects" (all rows of its subject), or "log"."""
        return "log"

    def __call__(self, log: Log, /) -> Log:
        """The log after this step, which it remembers in its history."""
        raise NotImplementedError

    def done(self, log: Log, frame: pl.LazyFrame, counts: Mapping[str, int] | None = None, *notes: str) -> Log:
        """The log with these rows after this step: what it counted, and says of that in sentences, if in any."""
        return log.then(frame, Step(name=spelled(self), counts=counts or {}, notes=tuple(filter(None, notes))))

    def only_visits(self, log: Log) -> None:
        """Refuse what is not an access log."""
        if log.shape is not VISITS:
            raise InputError(
                f"The step {registry.name_of(self)} is for access logs ({VISITS.name}), and this log is "
                f"{log.shape.name}. Leave it out of --prepare."
            )


def counted(log: Log, **numbers: pl.Expr) -> dict[str, int]:
    """Numbers of rows, in one pass over the log."""
    row = log.frame.select(**numbers).collect(engine="streaming").row(0, named=True)
    return {name: int(number or 0) for name, number in row.items()}


StepLike: TypeAlias = str | Mapping[str, Any] | PrepareStep
"""A step, the text that stands for it, or a table {name = "sessions", minutes = 10}."""

_CALL = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*(?:\((.*)\))?\s*", re.S)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[(),"]|[^(),"]+', re.S)  # a quoted text, a mark, or what is between them
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_OWN_LIST = "own list"
_OWN = re.compile(rf"{_OWN_LIST}(?: sha256:([0-9a-f]{{64}}))?")
_LARGEST_LIST = 1 << 24  # bytes of a file that may be the list that is looked for
_TEXT = Param("", str, Choice(), None, "")
_WORDS = {"true": True, "yes": True, "false": False, "no": False}
_KINDS: dict[type, Callable[[str], Any]] = {int: int, float: float, bool: lambda text: _WORDS[text.lower()]}


def spelled(step: PrepareStep) -> str:
    """The text that stands for a step."""
    changed = [
        f"{param.name}={_value_text(value)}"
        for param in params_of(type(step))
        if (value := getattr(step, param.name)) != param.default
    ]
    name = registry.name_of(step)
    return f"{name}({', '.join(changed)})" if changed else name


def public_text(text: str) -> str:
    """The text of a step as everybody may see it: of a file neither its name, nor where it is, nor its digest.

    A list of a few names has few digests that it could have: whoever tries names finds them.
    """
    return _with_files(text, lambda _: _OWN_LIST)


def digested_text(text: str) -> str:
    """The text of a step as a private record has it: of a file its digest.

    A file that is not there has none; one that is a digest already stays as it is.
    """

    def shown(value: str) -> str:
        if _OWN.fullmatch(value):
            return value
        return f"{_OWN_LIST} sha256:{sha256_of([Path(value)])[0]}" if Path(value).is_file() else _OWN_LIST

    return _with_files(text, shown)


def with_file_in(text: str, folder: Path) -> str:
    """A text with the file of its digest, if one lies in the folder.

    Without a digest nothing is looked for: any file could be the list.
    """

    def found(value: str) -> str:
        own = _OWN.fullmatch(value)
        files = _files_in(folder) if own and own[1] else []
        return next((str(each) for each in files if own and _digest(each) == own[1]), value)

    return _with_files(text, found)


def lacks_file(text: str) -> bool:
    """Whether a text stands for a file of one's own, and does not say where it is."""
    return any(_OWN.fullmatch(path) for path in _with_its_files(text)[2].values())


def _files_in(folder: Path) -> list[Path]:
    try:
        return sorted(each for each in folder.iterdir() if each.is_file() and each.stat().st_size <= _LARGEST_LIST)
    except OSError:  # nobody may look into it
        return []


def _digest(file: Path) -> str:
    try:
        return sha256_of([file])[0]
    except OSError:  # somebody else's
        return ""


def _with_its_files(text: str) -> tuple[str, dict[str, str], dict[str, str]]:
    """Name and parameters of a step, and those of them that are files of one's own."""
    name, settings = _parsed(text)
    params = [param for param in params_of(registry.member("steps", name)) if param.name in settings]
    files = {
        param.name: path
        for param in params
        if isinstance(param.rule, File) and (path := str(_value(settings[param.name], _TEXT))) not in param.rule.names
    }
    return name, settings, files


def _with_files(text: str, change: Callable[[str], str]) -> str:
    """The text of a step with other values in place of its files."""
    name, settings, files = _with_its_files(text)
    settings |= {key: _value_text(change(path)) for key, path in files.items()}
    return f"{name}({', '.join(f'{key}={value}' for key, value in settings.items())})" if settings else name


def step_of(given: StepLike) -> PrepareStep:
    """The step that a text or a table stands for; a step stands for itself."""
    if isinstance(given, str):
        name, settings = _parsed(given)
    elif isinstance(given, Mapping):
        name, settings = str(given.get("name", "")), {key: value for key, value in given.items() if key != "name"}
    elif callable(given):
        return given
    else:
        raise ParameterError(
            f"A prepare step is a text, a table or a step, not {type(given).__name__}. Write it like normalize or "
            f"sessions(minutes=30)."
        )
    cls = registry.member("steps", name)
    known = {param.name: param for param in params_of(cls)}
    values = {}
    for key, value in settings.items():
        if key not in known:
            raise ParameterError(_unknown(name, key, list(known)))
        values[key] = _value(value, known[key]) if isinstance(given, str) else value
    step: PrepareStep = cls(**values)
    return step


def steps_of(given: str | Iterable[StepLike]) -> tuple[PrepareStep, ...]:
    """The steps of a list, or of a text such as `normalize,sessions(minutes=10)`; `none` stands for no step at all."""
    if isinstance(given, str):
        return () if given.strip() == "none" else tuple(map(step_of, _parts(given)))
    return tuple(map(step_of, given))


def name_in(text: str) -> str:
    """The name of the step that a text stands for, whether or not there is such a step."""
    return text.partition("(")[0].strip()


def _parts(text: str) -> Iterator[str]:
    """What commas separate that are neither in quotes nor in parentheses."""
    part, depth = "", 0
    for piece in _TOKEN.findall(text + ","):
        depth += (piece == "(") - (piece == ")")
        if piece == "," and depth <= 0:
            if part.strip():
                yield part
            part = ""
        else:
            part += piece
    if part.strip(", "):  # a parenthesis without an end
        yield part.removesuffix(",")


def _parsed(text: str) -> tuple[str, dict[str, str]]:
    """Name and parameters, as they are written."""
    call = _CALL.fullmatch(text)
    pairs = [part.partition("=") for part in _parts((call and call[2]) or "")]
    if call is None or any(not (name.strip() and mark and value.strip()) for name, mark, value in pairs):
        raise ParameterError(f"{text!r} is not a prepare step. Write it like normalize or sessions(minutes=30).")
    return call[1], {name.strip(): value.strip() for name, _, value in pairs}


def _value(text: str, param: Param) -> Any:
    """The value that a text stands for; what stands for none is left to be refused by the step."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        try:
            return json.loads(text)
        except ValueError:
            return text
    try:
        return _KINDS.get(param.kind, str)(text)
    except (ValueError, KeyError):
        return text


def _value_text(value: Any) -> str:
    bare = not isinstance(value, str) or _BARE.fullmatch(value)
    return str(value).lower() if isinstance(value, bool) else str(value) if bare else json.dumps(value)


def _unknown(step: str, name: str, names: list[str]) -> str:
    if not names:
        return f"The step {step} has no parameters. Write it as {step}."
    return f"The step {step} has no parameter {name!r}.{did_you_mean(name, names)} It has: {', '.join(names)}."
