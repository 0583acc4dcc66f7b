"""Fields: methods and their parameters as a form shows them, and what was typed as the values of parameters.

Everything is taken from the registry and from the rule of each parameter. A rule that nobody knows here is a line of
text with its description: the method checks what is typed in any case. What cannot be is said in a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from coterie.apps.studio.plain import Field, Offer
from coterie.core import registry
from coterie.core.params import Above, Choice, File, Flag, Param, Range, Several, params_of
from coterie.core.plan import Facts
from coterie.core.promise import promise_nothing
from coterie.core.shapes import SHAPES
from coterie.errors import CoterieError, ParameterError
from coterie.reading.reading import Reading, options

if TYPE_CHECKING:
    from starlette.datastructures import FormData

SLIDER_TO = 50
"""Where a slider without an end ends; more can be typed beside it."""
GROUPS = {
    ("text", "items"): ("Single {items} as they are", "What too few people have in common is left out."),
    ("text", "subjects"): ("Profiles of whole {items}", "One for each {subject}, the same for everybody in a group."),
    ("phrases", "items"): ("Parts of {items}", "The parts that enough people have in common."),
    ("phrases", "subjects"): (
        "Profiles of phrases",
        "One for each {subject}, the same for a group, in words that many have.",
    ),
    ("concepts", "items"): ("Topics in place of {items}", "Concepts of a taxonomy that enough people share."),
    ("concepts", "subjects"): ("Topics in place of {items}", "Concepts of a taxonomy that enough people share."),
    ("counts", "items"): ("Numbers only", "How often, or how many people; no row of anybody."),
    ("counts", "subjects"): ("Numbers only", "How often, or how many people; no row of anybody."),
}
"""What is published, by what released items are and what the promise is about."""


def offers() -> tuple[Offer, ...]:
    """All methods there are."""
    return tuple(_offer(name) for name in registry.names("methods"))


def _offer(name: str) -> Offer:
    method = registry.method(name)
    publishes, about, promises = _kind(method)
    params = list(params_of(method))
    defaults = {param.name: "" if param.default is None else str(param.default) for param in params}
    return Offer(
        name=name,
        doc=" ".join((method.__doc__ or name).split()),
        status=method.status,
        accepts=tuple(shape.name for shape in method.accepts),
        publishes=publishes,
        about=about,
        fields=tuple(_field(param, defaults) for param in params),
        spends=not method.seeded,
        promises=promises,
    )


def _kind(method: Any) -> tuple[str, str, bool]:
    """What it publishes unless told otherwise, about what, and whether it promises anything.

    Of a method that needs to be told something, by the shape it gives.
    """
    counts = method.gives is not None and method.gives.count
    try:
        promises = method().promises(Facts(subjects=10**6, rows=10**7, owners=None, shape=method.accepts[0]))
        return promises[0].releases, promises[0].about, not promise_nothing(promises)
    except (CoterieError, IndexError, TypeError):
        return ("counts", "items", True) if counts else ("text", "items", True)


def _field(param: Param, defaults: Mapping[str, str]) -> Field:
    only, widget = param.only, _widget(param)
    beside = "" if only is None else defaults[only.name]
    at_first = widget["widget"] == "slider" and (only is None or only.matters(beside))
    return Field(
        name=param.name,
        label=param.name.replace("_", " "),
        doc=param.doc,
        allowed=param.rule.describe(param.kind),
        first=param.name == "k" or at_first,
        only=only,
        beside=beside,
        **{"default": defaults[param.name], **widget},
    )


def _widget(param: Param) -> dict[str, Any]:
    """How a parameter is asked for, by its rule."""
    match param.rule:
        case Flag():
            return {"widget": "flag", "default": "on" if param.default else ""}
        case Choice(options=options):
            return {"widget": "choice", "options": options}
        case Several(options=options):
            return {"widget": "several", "options": options}
        case File(names=names):
            return {"widget": "text", "options": names}
        case Range() | Above() as rule:
            high, whole = getattr(rule, "high", None), param.kind is int
            slides = param.name == "k" or param.late or high is not None
            return {
                "widget": "slider" if slides else "number",
                "low": rule.low if isinstance(rule, Range) else rule.low + (1 if whole else 0.1),
                "high": high if high is not None else max(SLIDER_TO, 2 * float(param.default or 0)),
                "step": 1 if whole else 0.05 if (high or SLIDER_TO) <= 1 else 0.1,
            }
    return {"widget": "text"}


def groups_for(shape: str, every: tuple[Offer, ...]) -> list[tuple[str, str, list[Offer]]]:
    """The methods for a log of that shape by what one wants to publish: heading, reading, methods, stable first.

    A yardstick, which promises nothing, is not among them.
    """
    every = tuple(sorted((each for each in every if each.promises), key=lambda each: each.status != "stable"))
    of_shape = SHAPES[shape]
    nouns = {"items": of_shape.item_nouns, "subject": of_shape.subject_noun}
    found: dict[tuple[str, str], list[Offer]] = {}
    for kind, words in GROUPS.items():
        title, reading = (text.format(**nouns) for text in words)
        fitting = [each for each in every if shape in each.accepts and (each.publishes, each.about) == kind]
        found.setdefault((title, reading), []).extend(fitting)
    known = {each.name for some in found.values() for each in some}
    rest = [each for each in every if shape in each.accepts and each.name not in known]
    return [(*head, some) for head, some in [*found.items(), (("Other", ""), rest)] if some]


def values_of(name: str, typed: Mapping[str, str]) -> dict[str, Any]:
    """What was typed into the form of a method, as its parameters; what is empty has its default."""
    values: dict[str, Any] = {}
    for param in params_of(registry.method(name)):
        text = typed.get(param.name, "").strip()
        if isinstance(param.rule, Flag):
            if param.name in typed:
                values[param.name] = text == "on"
        elif text:
            values[param.name] = _value(name, param, text)
    return values


def _value(name: str, param: Param, text: str) -> Any:
    read = getattr(param.rule, "read", param.kind if param.kind in (int, float) else str)
    try:
        return read(text)
    except (ValueError, OverflowError):
        raise ParameterError(
            f"The {param.name!r} parameter of {name} must be {param.rule.describe(param.kind)}. Got {text[:40]!r} "
            f"instead."
        ) from None


def method_of(name: str, typed: Mapping[str, str]) -> Any:
    """The method of that name with what was typed; ParameterError in a sentence where that cannot be."""
    return registry.method(name)(**values_of(name, typed))


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


def parameters_of(form: FormData, offer: Offer) -> dict[str, str]:
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


def k_of(offer: Offer) -> str:
    """What k is unless somebody says otherwise."""
    return next((field.default for field in offer.fields if field.name == "k"), "")


def release_among(paths: list[str], names: list[str]) -> tuple[str, str]:
    """Which of the files that were dropped is the release: not the sidecar of another one."""
    sidecars = {path for path in paths if path.removesuffix(".json") in paths and path.endswith(".json")}
    place = next((i for i, path in enumerate(paths) if path not in sidecars), 0)
    return paths[place], names[place]
