"""Scores, figures and findings: the numbers that measures give, and what a report says about them.

A Score is one number. A Figure is the part of a report that a measure owns: which of its scores is shown, where, under
which title, and how to read it. A Finding says in one sentence what an attacker can do. What is Weighed is compared
with a threshold before anything is shared.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

SCORES = {"name": pl.String, "key": pl.String, "value": pl.Float64, "unit": pl.String}
"""A table of scores; `label` comes last where values of the log may be shown."""
LABELLED = {**SCORES, "label": pl.String}
Section = Literal["sheet", "verdict", "notes", "privacy", "attacks", "utility"]
"""Where a figure stands: on the decision sheet, in the table of a section or, as a sentence, in the verdict or the
notes."""
Risk = Literal["singling out", "linkability", "inference"]
"""What regulators ask of anonymous data: Article 29 Working Party, Opinion 05/2014 on anonymisation techniques."""
LAST = 1_000
"""The order of figures that stand after those of Coterie itself."""


@dataclass(frozen=True)
class Score:
    """One number: a dotted key, the value and its unit."""

    key: str
    value: float | None
    unit: str
    label: str | None = None
    """A string of the log; it is shown only where values may be."""
    samples: tuple[float, ...] = field(default=(), repr=False)
    """What it is in samples of users drawn anew (measures/rates.py), so that ratios to it have an interval."""


@dataclass(frozen=True, kw_only=True)
class Glance:
    """How a figure is drawn at the top of the page, where safety stands beside use."""

    axis: str
    """Its name on an axis."""
    reading: str


@dataclass(frozen=True, kw_only=True)
class Picture:
    """Drawings of several figures that answer one question."""

    kind: Literal["bars", "ranking"]
    """Bars before and after; or the scores `word.1`, `word.1.original`, `word.2` ... of a figure `word.xyz`."""
    title: str
    reading: str


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One number of a report: which score it is, where it stands, its title and how to read it."""

    key: str
    section: Section
    title: str
    reading: str = ""
    before: str = ""
    """What the original has: a text, the key of a score that begins with `before.`, or a count of the log."""
    order: int = LAST
    """Its place within the section; figures of equal order stand together, in the order in which they are declared."""
    expected: bool = False
    """Whether every release should have it: shown as a dash where it is missing, and the page says why."""
    needs: frozenset[str] = frozenset()
    """What it needs besides what its measure needs."""
    if_zero: str = ""
    """A sentence for the page where the number is 0."""
    glance: Glance | None = None
    over_k: int | None = None
    """Its place among the curves over k; None: it is not drawn there."""
    picture: Picture | None = None
    picture_title: str = ""
    """Its title in the picture, where that is not its own."""
    beside: tuple[tuple[str, str], ...] = ()
    """What an attack is compared with, a word and the key of a score each: ("chance", "after.chance") for a guess that
    knows nothing, ("control", ...) for the same attack on somebody whom it cannot concern."""
    measure: str = ""
    """The name of its measure; filled in when figures are collected."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What an attacker can or cannot do, in one sentence, with scores of its measure in it."""

    risk: Risk
    text: str
    """With keys of scores in braces, as in "{after.half} of cases"; it is said where all of them have a value."""
    headline: bool = False
    """Whether it is also said beside the promise, and by the commands that measure."""
    options: str = ""
    """What must be given on the command line so that it is measured, besides the original."""
    measure: str = ""
    """The name of its measure; filled in when findings are collected."""


@dataclass(frozen=True, kw_only=True)
class Weighed:
    """A rate of success that a decision weighs against a threshold: a line of one of the three questions."""

    risk: Risk
    rate: str
    """The name of the rate, whose scores are those of measures/rates.py: `before.NAME`, `released.NAME.risk` ..."""
    attacker: str
    """Who succeeds, and in what: "somebody who knows half of a person's queries finds the name"."""
    control: str = ""
    """What the rate is compared with: "what is known of another person". Empty: nothing was measured, and it is 0."""
    bound: str = ""
    """The score of what a promise bounds the rate by, which is shown and decides nothing."""
    shape: str = ""
    """The name of the shape it is about, where it has no meaning for logs of another one."""
    names: str = ""
    """A score that is 0 where the release has no names, so that there is nothing that such an attack could find."""
    measure: str = ""
    """The name of its measure; filled in when these are collected."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of all scores that a decision looks at."""
        before, after, released = (f"{moment}.{self.rate}" for moment in ("before", "after", "released"))
        ends = (released, f"{released}.control", f"{released}.people", *(f"{released}.risk{end}" for end in ENDS))
        return tuple(
            filter(None, (before, f"{before}.control", f"{before}.risk", after, *ends, self.bound, self.names))
        )


ENDS = ("", ".low", ".high")
"""What stands behind the key of a score, and of the ends of its interval."""


def score_table(rows: Iterable[tuple[Any, ...]], *, labelled: bool = False) -> pl.DataFrame:
    """Rows of name, key, value, unit (and label) as a table."""
    return pl.DataFrame(list(rows), schema=LABELLED if labelled else SCORES, orient="row")
