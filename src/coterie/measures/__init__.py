"""Measures: (original, released) -> numbers. One per file, in privacy/, utility/ and attacks/.

A measure is a module with the names that `Measure` declares; it may leave out those that have a default.

Percentages are on 0..100. A label holds a string of the log and is given only where values may be shown.

Third parties ship a measure by an entry point of the group `coterie.measures`; `coterie.testing.check_measure` examines
it. Importing this package is cheap, because the command line does so to know its options.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import MISSING, dataclass, fields, replace
from typing import TYPE_CHECKING

from coterie.core import registry
from coterie.errors import ParameterError

if TYPE_CHECKING:
    from coterie.core.log import Log
    from coterie.core.scores import Figure, Finding, Score, Weighed
    from coterie.measures.comparison import Comparison


@dataclass(frozen=True, kw_only=True)
class Measure:
    """What the module of a measure says of it."""

    needs: frozenset[str]
    """The names of what it cannot do without: those of FACTS and INPUTS (measures/inputs.py)."""
    figures: tuple[Figure, ...]
    """What a report shows of it (core/scores.py); () where its numbers stand under "Other measures"."""
    measure: Callable[[Comparison], Iterator[Score]]
    """Yields Score(key, value, unit), or raises NotApplicableError with the reason."""
    findings: tuple[Finding, ...] = ()
    """What it says under "What an attacker can and cannot do" (core/scores.py)."""
    weighed: tuple[Weighed, ...] = ()
    """Its rates of success that a decision weighs against a threshold (core/scores.py)."""
    series: tuple[str, ...] = ()
    """Keys of scores of which studies tell how they vary with k (study/run.py)."""
    by_name_only: bool = False
    """True for one that is too costly to be taken unless it is asked for, by its name or by giving an input that it
    needs."""
    effort: int = 1
    """How long it takes beside others, for bars that tell how far a job is."""


def load(name: str) -> Measure:
    """The measure of that name."""
    parts = vars(registry.module("measures", name))
    lacking = [part.name for part in fields(Measure) if part.default is MISSING and part.name not in parts]
    if lacking:
        raise ParameterError(
            f"The measure {name!r} lacks {', '.join(lacking)}. A measure is a module with needs, figures and "
            f"measure(comparison); see `coterie.measures`."
        )
    return Measure(**{part.name: parts[part.name] for part in fields(Measure) if part.name in parts})


def _all() -> Iterator[tuple[str, Measure]]:
    return ((name, load(name)) for name in registry.names("measures"))


def names_of_all(given: Collection[str] = ()) -> list[str]:
    """The measures that are taken where none is named; `given` are the inputs that somebody gave."""
    return [name for name, each in _all() if not each.by_name_only or each.needs & set(given)]


def seed_for(log: Log) -> int:
    """Whom attacks are tried on, where no seed is given: it follows from the log, so that a page can be made again.

    Names in releases never depend on it.
    """
    return int.from_bytes(hashlib.sha256(f"measuring {log.digest}".encode()).digest()[:16], "little")


def effort(name: str) -> int:
    """How long a measure takes beside others."""
    return load(name).effort


def needing(need: str) -> list[str]:
    """The names of the measures that cannot do without something, such as "record"."""
    return [name for name, each in _all() if need in each.needs]


def findings() -> tuple[Finding, ...]:
    """What the measures say about attackers, each with its measure."""
    return tuple(replace(finding, measure=name) for name, each in _all() for finding in each.findings)


def on_sheet() -> list[str]:
    """The names of the measures of which a figure stands on the decision sheet."""
    return list(dict.fromkeys(figure.measure for figure in figures() if figure.section == "sheet"))


def weighed() -> tuple[Weighed, ...]:
    """The rates that a decision weighs against thresholds, each with its measure."""
    return tuple(replace(rate, measure=name) for name, each in _all() for rate in each.weighed)


def figures() -> tuple[Figure, ...]:
    """The figures of all measures, in the order in which a report shows them, each with its measure and all needs."""
    every = (
        replace(figure, measure=name, needs=figure.needs | each.needs)
        for name, each in _all()
        for figure in each.figures
    )
    return tuple(sorted(every, key=lambda figure: figure.order))
