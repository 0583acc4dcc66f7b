"""Commands: what to type for the same thing, and the same as a file of settings. Built from what was chosen alone."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from coterie.apps.studio.plain import Field, Offer, Source
from coterie.core.files import place_of

_OUT = "OUT"  # where a name goes that the shell makes


def spelled(words: Sequence[str]) -> str:
    """Words as they are typed into a shell."""
    return shlex.join(words)


def inspect(source: Source) -> str:
    """Look at a log."""
    prepare = [] if source.prepare == "default" else ["--prepare", source.prepare]
    return spelled(["coterie", "inspect", *_names(source), *source.reading.words_said, *prepare])


def anonymize(source: Source, offer: Offer, typed: Mapping[str, str], out: str, record: str = "") -> str:
    """Release a log."""
    kept = ["--record", record] if record else []
    # Said even where it is the default, as some methods have more steps unless they are told.
    settings = [*_parameters(offer, typed), *source.reading.words_said, "--prepare", source.prepare]
    return spelled([*_anonymize(source, offer, out), *settings, *kept])


def anonymize_by(source: Source, offer: Offer, out: str, config: str) -> str:
    """Release a log with the settings in a file."""
    return spelled([*_anonymize(source, offer, out), "--config", config])


def nightly(source: Source, offer: Offer, folder: Path, ending: str, config: str) -> str:
    """A line for a crontab, in which % would end the line."""
    words = [*_anonymize(source, offer, _OUT), "--config", config, "--quiet"]
    dated = " ".join(f'"night.$(date +%F).{ending}"' if word is _OUT else shlex.quote(word) for word in words)
    return "0 2 * * *  " + f"{spelled(['cd', str(folder)])} && {dated}".replace("%", "\\%")


def measure(source: Source, out: str, record: str) -> str:
    """Attack and measure a release."""
    return spelled(["coterie", "measure", out, *_originals(source), *source.reading.words_said, "--record", record])


def report(source: Source, outs: Sequence[str], to: str, records: Sequence[str] = (), about: str = "") -> str:
    """One page about releases."""
    kept = [word for record in records for word in ("--record", record)]
    signed = ["--about", about] if about else []
    return spelled(
        ["coterie", "report", *outs, *_originals(source), *source.reading.words_said, *kept, *signed, "-o", to]
    )


def verify(out: str, source: Source | None, promise: str = "", k: int | None = None, record: str = "") -> str:
    """Check a release again."""
    original = [] if source is None else [*_originals(source), *source.reading.words_said]
    asked = [*(["--promise", promise] if promise else []), *(["--k", str(k)] if k else [])]
    return spelled(["coterie", "verify", _name(out), *original, *asked, *(["--record", record] if record else [])])


def settings(source: Source, offer: Offer, typed: Mapping[str, str]) -> str:
    """The options of a release as TOML, for `--config`."""
    values: dict[str, Any] = {}
    for each in offer.fields:
        if each.name in typed and (each.name == "k" or _differs(each, typed[each.name])):
            values[each.name.replace("_", "-")] = _as_toml(each, typed[each.name])
    values["prepare"] = source.prepare
    for name, value in source.reading.said.items():
        values[name.replace("_", "-")] = value
    return toml(values)


def _anonymize(source: Source, offer: Offer, out: str) -> list[str]:
    """Without settings; what is elsewhere has no place beside it for the list of its releases."""
    elsewhere = source.kept and any(place_of(path) is not None for path in source.paths)
    unlisted = ["--history", "none"] if elsewhere else []
    return ["coterie", "anonymize", offer.name, *_names(source), "-o", out, *unlisted]


def _names(source: Source) -> list[str]:
    return [_name(name) for name in source.names]


def _name(name: str) -> str:
    """The name of a file; one that looks like an option says that it is none."""
    return f"./{name}" if name.startswith("-") else name


def _originals(source: Source) -> list[str]:
    return [word for name in _names(source) for word in ("--original", name)]


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
