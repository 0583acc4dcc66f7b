"""Prepare: Log -> Log. One small pure step per file, a value with parameters that is called on a log.

File name = public name, and the class is the CamelCase of it: a frozen keyword-only dataclass whose fields are its
parameters, annotated like those of methods, with

    __call__(log) -> Log        ends in `log.then(frame, Step(name=spelled(self)))`

A step that is not for all shapes refuses the others with a sentence. What it counts stands in its `counts`, and as a
sentence without values in its `notes`, which the command line prints. Where what stays of one subject depends on
others, the class says `across_subjects = True`: methods with differential privacy refuse it.

A step is given as a value (`Sessions(minutes=10)`), or as the text that stands for it (`"sessions(minutes=10)"`).
Third parties add theirs by an entry point of the group `coterie.steps`.
"""

from __future__ import annotations

from collections.abc import Iterable

from coterie.core import registry
from coterie.core.log import Log
from coterie.errors import InputError, ParameterError
from coterie.steps._spelling import PrepareStep, StepLike, name_in, spelled, step_of, steps_of

__all__ = ["DEFAULT", "PrepareStep", "StepLike", "name_in", "parse_steps", "prepare", "spelled", "step_of", "steps_of"]

DEFAULT = ("default",)


def prepare(log: Log, steps: str | Iterable[StepLike] = DEFAULT) -> Log:
    """The log after the steps, in the given order."""
    for step in steps_of(steps):
        after = step(log)
        if not isinstance(after, Log):
            raise InputError(
                f"The step {registry.name_of(step)} gave no Log: it was made for another version of Coterie. Ask those "
                f"who made it for a newer one; coterie/steps/drop_empty.py shows what a step gives."
            )
        log = after
    return log


def parse_steps(text: str) -> tuple[PrepareStep, ...]:
    """The steps of `--prepare`; what is wrong is reported before any work."""
    steps = steps_of(text)
    if not steps and text.strip() != "none":
        raise ParameterError("--prepare needs step names separated by commas, or 'none'.")
    return steps
