"""What people give: a log or what stands for one, a method or its name; and what follows from a method alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from coterie.core import registry
from coterie.core.log import Log, Release, Step
from coterie.core.plan import Facts, Method
from coterie.core.shapes import QUERIES
from coterie.engines.clusters import cluster_of
from coterie.errors import CoterieError, InputError, ParameterError
from coterie.reading.logs import table_log
from coterie.reading.reading import Reading
from coterie.steps import DEFAULT, PrepareStep, StepLike, prepare, steps_of
from coterie.writing.history import USUAL

LogLike: TypeAlias = Any
"""A log, or a polars, pandas or Arrow table that becomes one as `log` makes it."""


UNSCRUBBED = (
    "whole queries of single people are released, and none was left out because it looks like personal data: the "
    "prepare step scrub does that"
)
_MANY = 1 << 62  # people and rows: enough for any k


def as_log(given: LogLike) -> Log:
    """A log from what stands for one; InputError where nothing does."""
    if isinstance(given, Log):
        return given
    if isinstance(given, Release):
        raise InputError("This is a release, and a log is expected. Its rows are a log as release.log.")
    if isinstance(given, (str, Path)):
        raise InputError("A log is expected, not the name of a file. Read it first: coterie.read(...).")
    return log_of_table(given, Reading())


def log_of_table(table: Any, options: Reading) -> Log:
    """A log from a table of this machine, or of a cluster, where its rows then stay."""
    cluster = None if isinstance(table, (pl.DataFrame, pl.LazyFrame)) else cluster_of(table)
    log: Log = table_log(table, options) if cluster is None else cluster.log(table, options)
    return log


def as_method(method: Method | str, params: Mapping[str, Any]) -> Method:
    """A method from its name and parameters, or as it is given; InputError where it is none."""
    if isinstance(method, str):
        made: Method = registry.method_with(method, params)
        return made
    if isinstance(method, type) or not hasattr(method, "accepts"):
        known = ", ".join(registry.names("methods"))
        raise InputError(
            f"A method is expected, by its name or with its parameters, not {type(method).__name__}. For example "
            f'coterie.anonymize(log, "suppress_rare", k=5). Known: {known}.'
        )
    if params:
        raise ParameterError(f"Give {' and '.join(params)} to the method itself, or name the method by a text.")
    complete: Method = registry.complete("methods", registry.name_of(method), method)
    return complete


def original_first(original: Any, releases: Any) -> tuple[Any, Any]:
    """A log and its release, or releases, in whichever order they were typed."""
    first = original[:1] if isinstance(original, (list, tuple)) else [original]
    return (releases, original) if first and isinstance(first[0], Release) else (original, releases)


def as_release(given: Any) -> Release:
    """A release; InputError where it is something else."""
    if isinstance(given, Release):
        return given
    raise InputError(
        f"A release is expected, as coterie.anonymize and coterie.load_release give it, not {type(given).__name__}."
    )


def publishes_whole_queries(method: Method) -> bool:
    """Whether a method releases queries as one person wrote them, whom k others only share a profile with."""
    if QUERIES not in method.accepts:
        return False
    try:
        promises = method.promises(Facts(subjects=_MANY, rows=_MANY, shape=QUERIES))
    except CoterieError:
        return False
    return any(promise.about == "subjects" and promise.releases == "text" for promise in promises)


def unscrubbed(log: Log, method: Method) -> tuple[str, ...]:
    """A warning where nothing was left out that looks like personal data, and whole queries are released."""
    scrubbed = any(step.startswith("scrub") for step in log.steps)
    return () if scrubbed or not publishes_whole_queries(method) else (UNSCRUBBED,)


def default_steps(methods: Sequence[Method], steps: Sequence[PrepareStep]) -> tuple[PrepareStep, ...]:
    """The default steps, and scrub for methods that release whole queries of single users, which k do not share."""
    needed = any(publishes_whole_queries(method) for method in methods)
    return (*steps, *steps_of("scrub")) if needed else tuple(steps)


def prepared_for(log: Log, method: Method, steps: str | Iterable[StepLike]) -> Log:
    """The log after these steps; after the default ones, where none were said and it was not prepared."""
    if steps != USUAL:
        return prepare(log, steps)
    return log if log.steps else prepare(log, default_steps([method], steps_of(DEFAULT)))


def synthetic(text: str, options: Reading) -> Log:
    """A log from `synth:users=1000,seed=7` or `synth:users=1000,seed=7,kind=people`."""
    from coterie import synth

    frame = synth.from_text(text)
    made = table_log(frame, options)
    return replace(made, history=(Step(name="synth", counts={"lines": frame.height}),))
