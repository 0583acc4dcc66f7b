"""Measures: (original, released) -> numbers. One per file, in privacy/, utility/ and attacks/.

A measure is a module with

    needs                 the names of what it cannot do without: those of FACTS and INPUTS (measures/inputs.py)
    figures               what a report shows of it (core/scores.py); () where its numbers stand under "Other measures"
    measure(comparison)   yields Score(key, value, unit), or raises NotApplicableError with the reason
    findings              optional: what it says under "What an attacker can and cannot do" (core/scores.py)
    weighed               optional: its rates of success that a decision weighs against a threshold (core/scores.py)
    series                optional: keys of scores of which studies tell how they vary with k (study/run.py)
    by_name_only          optional: True for one that is too costly to be taken unless it is asked for, by its name or
                          by giving an input that it needs
    effort                optional: how long it takes beside others, for bars that tell how far a job is; 1 unless said

Percentages are on 0..100. A label holds a string of the log and is given only where values may be shown.

Third parties ship a measure by an entry point of the group `coterie.measures`; `coterie.testing.check_measure` examines
it. Importing this package is cheap, because the command line does so to know its options.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, cast

from coterie.core import registry
from coterie.errors import ParameterError

if TYPE_CHECKING:
    from coterie.core.log import Log
    from coterie.core.scores import Figure, Finding, Score, Weighed
    from coterie.measures.comparison import Comparison


class Measure(Protocol):
    """What the module of a measure has."""

    @property
    def needs(self) -> frozenset[str]:
        """What it cannot do without."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """What a report shows of it."""

    def measure(self, comparison: Comparison) -> Iterator[Score]:
        """The numbers."""


def load(name: str) -> Measure:
    """The measure of that name."""
    module = registry.module("measures", name)
    lacking = [part for part in ("needs", "figures", "measure") if part not in vars(module)]
    if lacking:
        raise ParameterError(
            f"The measure {name!r} lacks {', '.join(lacking)}. A measure is a module with needs, figures and "
            f"measure(comparison); see `coterie.measures`."
        )
    return cast(Measure, module)


def names_of_all(given: Collection[str] = ()) -> list[str]:
    """The measures that are taken where none is named; `given` are the inputs that somebody gave."""
    return [
        name
        for name in registry.names("measures")
        if not getattr(load(name), "by_name_only", False) or load(name).needs & set(given)
    ]


def seed_for(log: Log) -> int:
    """Whom attacks are tried on, where no seed is given: it follows from the log, so that a page can be made again.

    Names in releases never depend on it.
    """
    return int.from_bytes(hashlib.sha256(f"measuring {log.digest}".encode()).digest()[:16], "little")


def effort(name: str) -> int:
    """How long a measure takes beside others."""
    return int(getattr(load(name), "effort", 1))


def needing(need: str) -> list[str]:
    """The names of the measures that cannot do without something, such as "record"."""
    return [name for name in registry.names("measures") if need in load(name).needs]


def findings() -> tuple[Finding, ...]:
    """What the measures say about attackers, each with its measure."""
    return tuple(
        replace(finding, measure=name)
        for name in registry.names("measures")
        for finding in getattr(load(name), "findings", ())
    )


def on_sheet() -> list[str]:
    """The names of the measures of which a figure stands on the decision sheet."""
    return list(dict.fromkeys(figure.measure for figure in figures() if figure.section == "sheet"))


def weighed() -> tuple[Weighed, ...]:
    """The rates that a decision weighs against thresholds, each with its measure."""
    return tuple(
        replace(each, measure=name)
        for name in registry.names("measures")
        for each in getattr(load(name), "weighed", ())
    )


def figures() -> tuple[Figure, ...]:
    """The figures of all measures, in the order in which a report shows them, each with its measure and all needs."""
    every = [
        replace(figure, measure=name, needs=figure.needs | module.needs)
        for name, module in ((name, load(name)) for name in registry.names("measures"))
        for figure in module.figures
    ]
    return tuple(sorted(every, key=lambda figure: figure.order))
