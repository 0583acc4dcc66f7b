"""Declared files: a class says what a TOML or JSON file may hold, and anything else is refused with a sentence.

    class Report(Declared, frozen=True, kw_only=True):
        to: str | None = None

    file = DeclaredFile(name="study.toml", toml=True)
    report = as_declared(toml_table(data, file), Report, file)

msgspec checks types and missing keys. Unknown keys are looked for here, because the sentence names the nearest known
one, and because msgspec lets them pass in dataclasses, which may stand inside a declared class. Messages name keys and
types; they show no value of a JSON file.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from coterie.errors import InputError, nearest

T = TypeVar("T")
Place = tuple[str | int, ...]
"""Where a value stands in a file: keys, numbers in lists, and `...` for any key of a mapping."""
Scalar = str | int | float | bool | None
_ANY_KEY = "..."
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "null",
    **dict.fromkeys(("date", "datetime", "time"), "a date without quotes"),
}
_NAME = re.compile(r"[A-Za-z_]{1,40}")
_LONGEST_NUMBER = 100  # digits; a seed has 39


class Declared(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of what a file may hold: one field for each key."""


@dataclass(frozen=True, kw_only=True)
class DeclaredFile:
    """A file, as messages about it speak of it."""

    name: str
    verdict: str = ""
    """What a file with a fault is: "is not a sidecar of Coterie"."""
    end: str = ""
    """What to do, where the fault itself does not say it."""
    other: str = "Use that version."
    """What to do with one that another version wrote."""
    toml: bool = False
    """Whether somebody wrote it by hand, in [tables]; else it is JSON that a program wrote."""

    def error(self, fault: str) -> InputError:
        """The error to raise for a fault."""
        stop = "" if fault.endswith("?") else "."
        begin = f"{self.name} {self.verdict}" if self.verdict else self.name
        return InputError(f"{begin}: {fault}{stop}" + (f" {self.end}" if self.end else ""))


def json_object(data: bytes, file: DeclaredFile) -> dict[str, Any]:
    """A JSON object; refuses duplicate keys (readers disagree about which one counts), NaN and infinity."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) < len(pairs):
            raise file.error("a key stands in it twice")
        return table

    def whole(digits: str) -> int:
        if len(digits) > _LONGEST_NUMBER:
            raise file.error("a number in it is too long")
        return int(digits)

    def finite(text: str) -> float:
        return _finite(text, file)

    try:
        value = json.loads(
            _text(data, file), object_pairs_hook=unique, parse_int=whole, parse_float=finite, parse_constant=finite
        )
    except json.JSONDecodeError as error:
        raise file.error(f"it is not JSON (line {error.lineno}, column {error.colno})") from None
    except RecursionError:
        raise file.error("it is nested too deeply") from None
    if not isinstance(value, dict):
        raise file.error("it holds no object")
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # JSON can spell halves of characters, which no text has
        raise file.error("a text in it holds half a character") from None
    return value


def toml_table(data: bytes, file: DeclaredFile) -> dict[str, Any]:
    """The tables of a TOML file; refuses NaN and infinity. TOML itself has no duplicate keys."""
    try:
        return tomllib.loads(_text(data, file), parse_float=lambda text: _finite(text, file))
    except tomllib.TOMLDecodeError as error:
        raise file.error(f"it is not valid TOML: {error}") from None
    except RecursionError:
        raise file.error("it is nested too deeply") from None
    except ValueError:  # Python reads no whole number of thousands of digits
        raise file.error("a number in it is too long") from None


def refuse_format(data: Mapping[str, Any], ours: int, file: DeclaredFile) -> None:
    """InputError where a file names another format than ours: 1 until Coterie 1.0, and no other is read."""
    version = data.get("format", ours)
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise file.error("'format' must be a whole number of at least 1")
    if version != ours:
        written = "written for" if file.toml else "written by"
        raise InputError(
            f"{file.name} was {written} another version of Coterie (format {version}; this one reads format {ours}). "
            f"{file.other}"
        )


def json_file(data: bytes, kind: type[T], ours: int, file: DeclaredFile) -> T:
    """What a JSON file of that format holds, as the class that declares it."""
    table = json_object(data, file)
    refuse_format(table, ours, file)
    return as_declared(table, kind, file)


def json_bytes(value: object) -> bytes:
    """A declared value as a JSON file; the same value gives the same bytes."""
    return (json.dumps(msgspec.to_builtins(value), indent=2, allow_nan=False) + "\n").encode()


def as_declared(data: object, kind: type[T], file: DeclaredFile, inside: Place = ()) -> T:
    """`data` as the class that declares it; InputError with a sentence where it is something else.

    `inside` is where in the file `data` stands.
    """
    declared = inspect.type_info(kind)
    for place, _, inner, siblings in _walk(data, declared, inside, ()):
        if inner is None:
            raise file.error(_unknown(place, siblings, file))
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        message, *at = str(error).rsplit(" - at `", 1)  # the last one: a refused value may hold these words
        place = (*inside, *_parsed("".join(at)))
        options: tuple[object, ...] = ()
        if message.startswith("Invalid enum value"):
            options = next(
                (_options(inner) for here, _, inner, _ in _walk(data, declared, inside, ()) if here == place), ()
            )
        raise file.error(_fault(message, place, options, file)) from None


def keys_of(kind: type) -> tuple[str, ...]:
    """The keys that a declared class, or a dataclass inside one, may have."""
    declared = inspect.type_info(kind)
    return tuple(field.encode_name for field in _fields(declared))


def known_keys(word: str, known: tuple[str, ...]) -> str:
    """The end of a sentence about an unknown key: the nearest known one, or all of them."""
    close = nearest(word, known)
    return f"; known here: {', '.join(sorted(known))}" if close is None else f"; did you mean {close!r}?"


def _text(data: bytes, file: DeclaredFile) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise file.error("it is not text in UTF-8") from None


def _finite(text: str, file: DeclaredFile) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise file.error("a number in it is not finite")
    return number


def _fields(declared: inspect.Type) -> tuple[inspect.Field, ...]:
    return declared.fields if isinstance(declared, inspect.StructType | inspect.DataclassType) else ()


def _walk(
    value: object, declared: inspect.Type | None, place: Place, siblings: tuple[str, ...]
) -> Iterator[tuple[Place, object, inspect.Type | None, tuple[str, ...]]]:
    """All values with what is declared for them (None: nothing) and the keys that are known at their place."""
    yield place, value, declared, siblings
    for kind in declared.types if isinstance(declared, inspect.UnionType) else (declared,):
        match kind, value:
            case inspect.StructType() | inspect.DataclassType(), dict():
                inner = {field.encode_name: field.type for field in kind.fields}
                for key, each in value.items():
                    yield from _walk(each, inner.get(key), (*place, key), tuple(inner))
            case inspect.DictType(), dict():
                for each in value.values():
                    yield from _walk(each, kind.value_type, (*place, _ANY_KEY), ())
            case inspect.ListType() | inspect.VarTupleType(), list():
                for number, each in enumerate(value):
                    yield from _walk(each, kind.item_type, (*place, number), ())


def _options(declared: inspect.Type | None) -> tuple[object, ...]:
    kinds = declared.types if isinstance(declared, inspect.UnionType) else (declared,)
    return tuple(value for kind in kinds if isinstance(kind, inspect.LiteralType) for value in kind.values)


def _unknown(place: Place, known: tuple[str, ...], file: DeclaredFile) -> str:
    key, where = str(place[-1]), _thing_and_where(place, file)[1]
    if not file.toml and not _NAME.fullmatch(key):  # whatever got into it, we do not repeat it
        return f"unknown key{where}{known_keys('', known)}"
    return f"unknown key {key!r}{where}{known_keys(key, known)}"


def _parsed(at: str) -> Place:
    """`$.figure[0].keys` of msgspec as a place."""
    parts = re.findall(r"\.(\w+)|\[(\d+)\]|\[(\.\.\.)\]", at)
    return tuple(int(number) if number else name or any_key for name, number, any_key in parts)


def _fault(message: str, place: Place, options: tuple[object, ...], file: DeclaredFile) -> str:
    """What msgspec says, in our words."""
    if match := re.fullmatch(r"Object missing required field `(.*)`", message):
        thing, where = _thing_and_where((*place, match[1]), file)
        return f"{thing} is missing{where}"
    must_be = "".join(_thing_and_where(place, file)) + " must be"
    if options:
        return f"{must_be} {' or '.join(map(repr, options))}"
    if match := re.fullmatch(r"Expected `(.*)`, got `(.*)`", message):
        return f"{must_be} {_in_words(match[1])}, not {_in_words(match[2])}"
    if match := re.fullmatch(r"Expected `array` of length >= (\d+)", message):
        return f"{must_be} a list of at least {match[1]}"
    if match := re.fullmatch(r"Expected `(.*)` >= (\S+)", message):
        return f"{must_be} {_in_words(match[1])} of at least {match[2]}"
    if match := re.fullmatch(r"Expected `str` matching regex '(.*)'", message):
        return f"{must_be} text of the form {match[1].strip('^Z').rstrip(chr(92))}"
    return f"{must_be} something else"


def _in_words(kinds: str) -> str:
    """`int | null` as "a whole number"."""
    names = kinds.split(" | ")
    names = [name for name in names if name != "null" or len(names) == 1]
    if "float" in names and "int" in names:
        names.remove("int")
    *words, last = (_KINDS.get(name, "something else") for name in names)
    return f"{', '.join(words)} or {last}" if words else last


def _thing_and_where(place: Place, file: DeclaredFile) -> tuple[str, str]:
    """The key at a place, with the item of it that is meant, and the table or object it stands in."""
    if not place:
        return "the whole file", ""
    last_key = max(at for at, part in enumerate(place) if isinstance(part, str) and part != _ANY_KEY)
    outer, (key, *items) = place[:last_key], place[last_key:]
    thing = repr(key) + "".join(
        f" (item {part + 1})" if isinstance(part, int) else " (a value in it)" for part in items
    )
    if not outer:
        return thing, ""
    if not file.toml:
        return thing, f" in {_dotted(outer)}"
    *tables, number = outer
    if isinstance(number, int):
        return thing, f" in [[{_dotted(tables)}]] number {number + 1}"
    return thing, f" in [{_dotted(outer)}]"


def _dotted(place: Sequence[str | int]) -> str:
    first, *rest = place
    return str(first) + "".join(f".{part}" if isinstance(part, str) else f"[{part}]" for part in rest)
