"""Plain: what server and worker tell each other. Names, numbers and sentences; rows only where the owner asked.

Sources: what was typed as the name of a log, and whether its files are still those that were opened.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from coterie.core.files import place_of
from coterie.core.params import With
from coterie.errors import InputError, ParameterError
from coterie.reading.reading import Reading
from coterie.reports.decision import Line

Stamp = tuple[tuple[str, int, int], ...]
"""Files, with their sizes and when they were last changed."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """A log, and how to read and prepare it."""

    paths: tuple[str, ...]
    reading: Reading = field(default_factory=Reading)
    prepare: str = "default"
    kept: bool = True
    """Whether the files are the owner's own; False for what was dropped into the studio, which goes with it."""

    shown: tuple[str, ...] = ()
    """What people call the files, where they are the studio's own copies."""
    stamp: Stamp = ()
    """The files as they were when the log was opened."""

    @property
    def names(self) -> tuple[str, ...]:
        """The files as people call them."""
        return self.shown or self.paths

    @property
    def key(self) -> tuple[object, ...]:
        """What rows depend on."""
        return self.paths, repr(self.reading), self.prepare, self.stamp


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A log that was read, in names and numbers."""

    format: str
    shape: str
    subjects: str
    items: str
    lines: int
    bad: int
    rows: int
    people: int
    distinct: int
    days: int | None
    without_subject: int
    left_out: int
    """Rows that the prepare steps left out."""
    steps: tuple[str, ...]
    notes: tuple[str, ...]
    synthetic: bool
    columns: tuple[tuple[str, str], ...]
    """Columns of the log, and what each means."""
    masked: tuple[tuple[str, ...], ...]
    """The first rows, with letters and digits that stand for others."""
    names: tuple[str, ...]
    """Columns of the file, where it is a table that says them."""
    chosen: Mapping[str, str] = field(default_factory=dict)
    """Which of them holds what, named by its owner or guessed."""
    searches: tuple[tuple[str, int], ...] = ()
    """Parameters of addresses that hold searches, and in how many rows: an access log can be read by them."""


@dataclass(frozen=True, kw_only=True)
class RiskNumber:
    """One of the three large numbers."""

    risk: str
    question: str
    number: float | None
    text: str
    says: str
    """Who succeeds, and in what."""
    control: str = ""
    """What somebody reaches who knows nothing of the person."""
    others: tuple[tuple[str, str], ...] = ()
    """Further rates under the same name: what, how much."""


@dataclass(frozen=True, kw_only=True)
class Risk:
    """How exposed people are before any protection."""

    numbers: tuple[RiskNumber, ...]
    personal: tuple[tuple[str, int], ...]
    """Kinds of personal data, and in how many rows."""
    people: int
    """How many people were attacked, which may be some of all."""
    some: int
    """How many of them in ways that take long, which is what inference takes."""
    left_out: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One figure of a release."""

    measure: str
    key: str
    section: str
    title: str
    reading: str
    before: str
    after: str
    number: float | None
    axis: str = ""
    """Its name on an axis, where it can be one."""
    random: str = ""
    random_number: float | None = None
    """The same for random groups of the same size."""

    @property
    def id(self) -> str:
        """Names it in an address."""
        return f"{self.measure}:{self.key}"


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A release that was made and checked, and is nowhere but in the studio."""

    label: str
    method: str
    params: Mapping[str, Any]
    headline: str
    sentence: str
    limits: tuple[str, ...]
    size: str
    checks: int
    k: int | None
    largest_k: int | None
    warnings: tuple[str, ...]
    personal: tuple[tuple[str, int], ...]
    """Personal data that is left in it: kinds, and in how many rows."""
    figures: tuple[Shown, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    groups: bool = False
    """Whether random groups of the same size can stand beside it."""
    bound: float | None = None
    """The largest share of people, in percent, that the promise lets anyone who links names be right about."""
    needs_record: bool = False
    """Whether the promise can be checked only by who has the private record."""


@dataclass(frozen=True, kw_only=True)
class Attacked:
    """What attacks made of a release, and of random groups in its place."""

    figures: tuple[Shown, ...]
    weighed: tuple[Line, ...]
    advice: str
    """What a report would recommend, and why."""
    findings: tuple[tuple[str, tuple[str, ...]], ...]
    """Each risk's question, and what there is to say."""
    left_out: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A decision: which release shall be written, and how."""

    source: Source
    number: int
    """Of the release that was tried."""
    offer: Offer
    typed: Mapping[str, str]
    folder: str
    kind: str
    about: Mapping[str, Any]
    keep_record: bool


@dataclass(frozen=True, kw_only=True)
class Written:
    """What a decision put on disk."""

    folder: str
    files: tuple[tuple[str, str], ...]
    """Names, and what each is."""
    sentence: str
    sha256: str
    notes: tuple[str, ...] = ()
    report: str = ""
    """Where the page is."""
    paper: Literal["printed", "no browser", "failed"] = "no browser"
    advice: str = ""
    """What the report recommends, and why."""
    recommended: bool = False
    weighed: tuple[Line, ...] = ()
    """The three lines of its first page."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The verdict on a release."""

    state: str
    """kept, broken, not checked."""
    sentence: str
    verdict: str
    largest_k: int | None
    checks: tuple[tuple[str, str, str, bool], ...]
    """Name, status, text, whether the promise rests on it."""
    notes: tuple[str, ...] = ()


Widget = Literal["slider", "number", "choice", "several", "flag", "text"]


@dataclass(frozen=True, kw_only=True)
class Field:
    """One parameter in a form."""

    name: str
    label: str
    widget: Widget
    doc: str
    default: str
    options: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    step: float = 1
    allowed: str = ""
    first: bool = False
    """Whether it stands above the others: k, and whatever else has a slider and does something at first."""
    only: With | None = None
    """With which value of another one it does something; None: always."""
    beside: str = ""
    """What that other one is, unless somebody says otherwise."""

    def matters(self, typed: Mapping[str, str]) -> bool:
        """Whether it does something with what was typed."""
        return self.only is None or self.only.matters(typed.get(self.only.name, self.beside))


@dataclass(frozen=True, kw_only=True)
class Offer:
    """One method in a menu."""

    name: str
    doc: str
    status: str
    accepts: tuple[str, ...]
    publishes: str
    about: str
    fields: tuple[Field, ...]
    spends: bool
    """Whether each release, also one that is only tried, uses up privacy of the people in the log."""
    promises: bool = True
    """Whether it promises anything; a yardstick that does not is no choice for anybody who wants to publish."""


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """What there is to choose from: all of it is asked of the registry."""

    offers: Mapping[str, Offer]
    groups: Mapping[str, tuple[tuple[str, str, tuple[str, ...]], ...]]
    """For each shape: what one wants to publish, how to read that, and the methods for it."""
    formats: tuple[tuple[str, str], ...]
    promises: tuple[tuple[str, str], ...]
    columns: Mapping[str, tuple[tuple[str, str], ...]]
    """For each shape that files have: its columns and their meaning."""
    kinds: tuple[str, ...]
    """Kinds of files that releases are written as."""
    synthetic: tuple[str, ...]
    """Kinds of made-up logs."""
    questions: tuple[tuple[str, str], ...]
    """What a report asks of people: names, and the questions."""
    thresholds: tuple[str, ...]
    """The risks for which they may set thresholds."""


MADE_UP = "synth:"
_CHANGED = (
    "The log has changed since it was opened, so that figures of before and after would be about different rows. Open "
    "it again; of a log that is still being written, open a copy."
)


def whole_path(text: str) -> str:
    """Where a file is, from the root, so that commands work in any folder.

    What is elsewhere (`s3://`, a table of a database) or made up stays as it was typed. ParameterError where it is no
    place that Coterie knows.
    """
    if text.startswith(MADE_UP) or place_of(text) is not None:
        return text
    try:
        return str(Path(text).expanduser().absolute())
    except RuntimeError:
        raise ParameterError("There is no user of the name behind ~. Type the whole path.") from None


def stamp_of(paths: Sequence[str]) -> Stamp:
    """The files that are there, with their sizes and when they were last changed."""
    found = []
    for path in paths:
        if path.startswith(MADE_UP) or place_of(path) is not None:
            continue
        for file in sorted(glob.glob(path)) or [path]:  # noqa: PTH207 (a pattern may begin at the root)
            try:
                about = os.stat(file)  # noqa: PTH116 (a name may hold what no path may)
            except (OSError, ValueError):
                continue
            found.append((file, about.st_size, about.st_mtime_ns))
    return tuple(found)


def refuse_changed(source: Source) -> None:
    """Raise InputError where the files of a log are not those that were opened, or no files at all."""
    now = stamp_of(source.paths)
    for file, _, _ in now:
        if stat.S_ISCHR(Path(file).stat().st_mode):
            raise InputError(f"{file} is a device and never ends. Name a file.")
    if source.stamp and now != source.stamp:
        raise InputError(_CHANGED)
