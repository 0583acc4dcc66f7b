"""Parameter sets of a method, from the annotations of its parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from coterie.core.params import Above, Choice, File, Flag, NumberOr, Param, Range, Several, ShareOr, Span, params_of
from coterie.errors import CoterieError

_SMALL = (0, 1, 3)  # added to the least that is allowed: numbers that bite in a log of thirty people


def variations(cls: Any, given: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each parameter with other values that it allows, one at a time, beside those that are `given`."""
    for param in params_of(cls):
        default = given.get(param.name, param.default)
        for value in _values(param):
            if value == default or not param.rule.accepts(value, param.kind):
                continue
            params = {**given, param.name: value}
            if _can_be(cls, params):
                yield param.name, params


def _values(param: Param) -> tuple[Any, ...]:
    """A few values: all of few, and of numbers those at the lower end, where they bite."""
    rule: Any = param.rule
    if isinstance(rule, Choice | Several):
        return tuple(rule.options)
    if isinstance(rule, Flag):
        return (True, False)
    if isinstance(rule, File):
        return tuple(rule.names)
    if isinstance(rule, Span):
        return ("1d", "2d")
    if isinstance(rule, ShareOr):
        return (0.2, 0.8)
    if isinstance(rule, Range | NumberOr | Above):
        low = rule.low
        if isinstance(rule, Range) and param.kind is float:
            high = rule.high if rule.high is not None else low + 4
            return tuple(low + share * (high - low) for share in (0.1, 0.9))
        numbers = [type(low)(low + more) for more in _SMALL]
        words = [rule.word] if isinstance(rule, NumberOr) else []
        return (*(number for number in numbers if rule.accepts(number, type(low))), *words)
    return ()


def _can_be(cls: Any, params: Mapping[str, Any]) -> bool:
    """Whether parameters go together."""
    try:
        cls(**params)
    except CoterieError:
        return False
    return True
