"""Prepare: Log -> Log. One small pure step per file, a value with parameters that is called on a log.

File name = public name, and the class is the CamelCase of it: a `PrepareStep`, which is a frozen keyword-only dataclass
whose fields are its parameters, annotated like those of methods, with

    __call__(log) -> Log        ends in `self.done(log, frame)`

A step that is not for all shapes refuses the others with a sentence. What it counts stands in its `counts`, and as a
sentence without values in its `notes`, which the command line prints. `looks_at` says what decides about a row:

    "rows"          that row alone: a gate, which sees each row once, takes no other steps
    "subjects"      all rows of its subject: it runs wherever rows are, as one that looks at rows does
    "log"           rows of others, too; so does a step that says nothing. Methods with differential privacy refuse it

A step is given as a value (`Sessions(minutes=10)`), or as the text that stands for it (`"sessions(minutes=10)"`).
Third parties add theirs by an entry point of the group `coterie.steps`.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from coterie.core import registry
from coterie.core.log import Log
from coterie.core.plan import Facts
from coterie.core.run import Engine
from coterie.errors import InputError, ParameterError
from coterie.steps._spelling import (
    PrepareStep,
    StepLike,
    digested_text,
    lacks_file,
    name_in,
    public_text,
    spelled,
    step_of,
    steps_of,
    with_file_in,
)
from coterie.steps.default import Default, default_steps
from coterie.steps.sessions import session_minutes

__all__ = [
    "DEFAULT", "PrepareStep", "StepLike", "digested_text", "facts_of", "lacks_file", "looks_at", "name_in",
    "parse_steps", "prepare", "public_text", "spelled", "step_of", "steps_of", "with_file_in",
]  # fmt: skip

DEFAULT = ("default",)


def prepare(log: Log, steps: str | Iterable[StepLike] = DEFAULT) -> Log:
    """The log after the steps, in the given order."""
    for step in steps_of(steps):
        if isinstance(step, Default):
            log = prepare(log, default_steps(log.shape))
            continue
        seen = looks_at(step)
        if seen not in ("rows", "subjects") or public_text(spelled(step)) != spelled(step):  # a file is on this machine
            log.engine.require_local(
                f"The step {registry.name_of(step)} runs on one machine; leave it out of --prepare, or leave out "
                f"--engine."
            )
        after = log.engine.stepped(log, step, [log.shape.subject] if seen == "subjects" else [])
        if not isinstance(after, Log):
            raise InputError(
                f"The step {registry.name_of(step)} gave no Log: it was made for another version of Coterie. Ask those "
                f"who made it for a newer one; coterie/steps/drop_empty.py shows what a step gives."
            )
        log = after
    return log


def looks_at(step: PrepareStep) -> str:
    """What decides about a row: "rows" (that row), "subjects" (all rows of its subject), or "log"."""
    return str(getattr(step, "looks_at", "log"))


def parse_steps(text: str) -> tuple[PrepareStep, ...]:
    """The steps of `--prepare`; what is wrong is reported before any work."""
    steps = steps_of(text)
    if not steps and text.strip() != "none":
        raise ParameterError("--prepare needs step names separated by commas, or 'none'.")
    return steps


def facts_of(log: Log, engine: Engine) -> Facts:
    """What a method may know of a prepared log before it promises anything: rows and subjects."""
    name, log_item = log.shape.subject, log.shape.item
    subject, item = pl.col(name), pl.col(log_item)
    numbers = [pl.len().alias("rows"), item.null_count().alias("empty")]
    columns, distinct = [name], [subject.drop_nulls().n_unique().alias("subjects")]
    if (owner := log.shape.owner) in log.frame.collect_schema():
        columns.append(owner)
        distinct.append(pl.coalesce(owner, pl.lit("\0") + subject).n_unique().alias("owners"))
    counts = engine.total(log.frame, lambda rows: rows.select(numbers)).row(0, named=True)
    names = engine.each(log.frame, lambda rows: rows.select(columns).unique())
    counts |= engine.small_blocks(names, lambda rows: rows.select(distinct), [name]).sum().row(0, named=True)
    if counts["rows"] == 0:
        raise InputError("The log has no rows left to anonymize. Check the prepare steps.")
    if empty := counts.pop("empty"):
        raise InputError(f"{empty:,} rows have no {log.shape.item_noun}. Leave them out before anonymizing.")
    return Facts(**counts, session_minutes=session_minutes(log), in_lines=log.in_lines, shape=log.shape)
