"""Forms: what was typed, as values; or a sentence that says why it cannot be."""

from __future__ import annotations

from typing import Any

from starlette.datastructures import FormData

from coterie.errors import ParameterError
from coterie.reading.reading import Reading, options
from coterie.studio import plain


class BadFormError(Exception):
    """What was typed cannot be; the sentence says why."""


SEARCHES = (("user", ""), ("time", ""), ("query", ""), ("rank", ""), ("url", ""))
"""Columns to ask for where it is not known yet what a file holds."""


def text_of(form: FormData, name: str) -> str:
    """A field, without blanks around it; empty where there is none."""
    value = form.get(name)
    return value.strip()[:4000] if isinstance(value, str) else ""


def whole_of(form: FormData, name: str, least: int, most: int) -> int:
    """A whole number within limits."""
    number = number_in(text_of(form, name), -1)
    if not least <= number <= most:
        raise BadFormError(f"{name} must be a whole number from {least:,} to {most:,}.")
    return number


def number_in(text: str | None, otherwise: int = 0) -> int:
    """A whole number, such as those in our addresses."""
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 12 else otherwise


def percent_in(text: str | None) -> float | None:
    """A share; None where there is none."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number <= 1000 else None


def thresholds_of(form: FormData, risks: tuple[str, ...]) -> dict[str, float]:
    """The thresholds that were typed."""
    found = {}
    for risk in risks:
        text = text_of(form, f"threshold.{risk}")
        number = percent_in(text)
        if text and (number is None or number > 100):
            raise BadFormError(f"The threshold for {risk.replace('_', ' ')} is a percentage from 0 to 100.")
        if number is not None:
            found[risk] = number
    return found


def reading_of(form: FormData) -> Reading:
    """How to read a log, as far as a form says it."""
    typed = {name: text for name in options() if (text := text_of(form, name))}
    named = {name[7:]: text for name in form if name.startswith("column.") and (text := text_of(form, name))}
    try:
        given: dict[str, Any] = {
            name: options()[name].read(text) if options()[name].metavar else True for name, text in typed.items()
        }
        return Reading().with_options({**given, "columns": {**named, **given.get("columns", {})}})
    except ParameterError as error:
        raise BadFormError(str(error)) from None
    except ValueError:
        raise BadFormError("A number is a whole number.") from None


def parameters_of(form: FormData, offer: plain.Offer) -> dict[str, str]:
    """What was typed for each parameter of a method."""
    typed = {}
    for field in offer.fields:
        name = f"p.{field.name}"
        if field.widget == "flag":
            typed[field.name] = "on" if name in form else ""
        elif field.widget == "several":
            typed[field.name] = ",".join(str(each) for each in form.getlist(name)) or "none"
        elif text := text_of(form, name):
            typed[field.name] = text
    return typed


def k_of(offer: plain.Offer) -> str:
    """What k is unless somebody says otherwise."""
    return next((field.default for field in offer.fields if field.name == "k"), "")


def release_among(paths: list[str], names: list[str]) -> tuple[str, str]:
    """Which of the files that were dropped is the release: not the sidecar of another one."""
    sidecars = {path for path in paths if path.removesuffix(".json") in paths and path.endswith(".json")}
    place = next((i for i, path in enumerate(paths) if path not in sidecars), 0)
    return paths[place], names[place]
