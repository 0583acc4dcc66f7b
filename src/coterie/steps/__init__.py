"""Prepare: Log -> Log. One small pure step per file; a step is the function named after its file."""

from __future__ import annotations

from collections.abc import Iterable

from coterie.core import registry
from coterie.core.log import Log
from coterie.errors import ParameterError

DEFAULT = ("normalize", "drop_empty")


def prepare(log: Log, steps: Iterable[str] = DEFAULT) -> Log:
    """The log after the named steps, in the given order."""
    for name in steps:
        step = getattr(registry.module("steps", name), name)
        log = step(log)
    return log


def parse_steps(text: str) -> tuple[str, ...]:
    """`normalize,drop_empty` as names; `none` for no step at all."""
    if text.strip() == "none":
        return ()
    steps = tuple(part.strip() for part in text.split(",") if part.strip())
    if not steps:
        raise ParameterError("--prepare needs step names separated by commas, or 'none'.")
    for name in steps:
        registry.module("steps", name)  # an unknown name is reported before any work
    return steps
