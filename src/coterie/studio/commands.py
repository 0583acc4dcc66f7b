"""Commands: what to type for the same thing, and the same as a file of settings. Built from what was chosen alone."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from coterie.studio.plain import Field, Offer, Source


def spelled(words: Sequence[str]) -> str:
    """Words as they are typed into a shell."""
    return shlex.join(words)


def inspect(source: Source) -> str:
    """Look at a log."""
    return spelled(["coterie", "inspect", *source.names, *_reading(source), *_prepare(source)])


def anonymize(source: Source, offer: Offer, typed: Mapping[str, str], out: str, record: str = "") -> str:
    """Release a log."""
    kept = ["--record", record] if record else []
    words = ["coterie", "anonymize", offer.name, *source.names, "-o", out, *_parameters(offer, typed)]
    return spelled([*words, *_reading(source), *_prepare(source), *kept])


def measure(source: Source, out: str, record: str = "record") -> str:
    """Attack and measure a release."""
    originals = [word for name in source.names for word in ("--original", name)]
    return spelled(["coterie", "measure", out, *originals, *_reading(source), "--record", record])


def report(source: Source, outs: Sequence[str], to: str, records: Sequence[str] = (), about: str = "") -> str:
    """One page about releases."""
    originals = [word for name in source.names for word in ("--original", name)]
    kept = [word for record in records for word in ("--record", record)]
    signed = ["--about", about] if about else []
    return spelled(["coterie", "report", *outs, *originals, *_reading(source), *kept, *signed, "-o", to])


def verify(out: str, source: Source | None, promise: str = "", k: int | None = None, record: str = "") -> str:
    """Check a release again."""
    originals = [] if source is None else [word for name in source.names for word in ("--original", name)]
    reading = [] if source is None else _reading(source)
    asked = [*(["--promise", promise] if promise else []), *(["--k", str(k)] if k else [])]
    return spelled(["coterie", "verify", out, *originals, *reading, *asked, *(["--record", record] if record else [])])


def settings(source: Source, offer: Offer, typed: Mapping[str, str]) -> str:
    """The options of a release as TOML, for `--config`."""
    values: dict[str, Any] = {}
    for each in offer.fields:
        if each.name in typed and (each.name == "k" or _differs(each, typed[each.name])):
            values[each.name.replace("_", "-")] = _as_toml(each, typed[each.name])
    values["prepare"] = source.prepare
    for name, value in source.reading.items():
        values[name.replace("_", "-")] = value
    return toml(values)


def _parameters(offer: Offer, typed: Mapping[str, str]) -> list[str]:
    words = []
    for each in offer.fields:
        text = typed.get(each.name, "")
        option = f"--{each.name.replace('_', '-')}"
        if each.name not in typed or not (each.name == "k" or _differs(each, text)):
            continue
        if each.widget == "flag":
            words.append(option if text == "on" else f"--no-{option[2:]}")
        else:
            words += [option, text]
    return words


def _differs(field: Field, text: str) -> bool:
    """Whether something else than the default was typed."""
    if field.widget == "flag":
        return (text == "on") != (field.default == "on")
    return text.strip() not in ("", field.default)


def _as_toml(field: Field, text: str) -> Any:
    if field.widget == "flag":
        return text == "on"
    if field.widget in ("slider", "number"):
        return float(text) if "." in text or "e" in text.lower() else int(text)
    return text


def toml(values: Mapping[str, Any]) -> str:
    """A table as TOML."""
    return "".join(f"{name} = {_toml(value)}\n" for name, value in values.items())


def _toml(value: Any) -> str:
    """A value as TOML: texts as JSON writes them, tables in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(str(k))} = {_toml(v)}" for k, v in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _reading(source: Source) -> list[str]:
    words = []
    for name, value in source.reading.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif isinstance(value, Mapping):
            words += [option, ",".join(f"{ours}={theirs}" for ours, theirs in value.items())]
        else:
            words += [option, str(value)]
    return words


def _prepare(source: Source) -> list[str]:
    return [] if source.prepare == "default" else ["--prepare", source.prepare]
