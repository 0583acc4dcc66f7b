"""The desk: what the owner has opened, tried, written and checked since the studio was started. All of it goes with it.

Pages are made of this alone, so a reload, a second tab and the back button find everything as it is.
"""

from __future__ import annotations

import itertools
import re
import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from coterie.apps.studio import plain
from coterie.apps.studio.plain import MADE_UP, stamp_of, whole_path
from coterie.apps.studio.queue import Job, Queue
from coterie.core.files import place_of
from coterie.reading.reading import Reading

COMPARED = 4
"""Releases that stand side by side at most."""
TRIED = 200
"""Releases that are kept at most."""
HIDDEN = "…"
"""Stands for a name that may be a value."""
SIDECAR = ".json"
_SAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST, _SAFE_LONGEST = 255, 75


@dataclass(kw_only=True)
class OpenLog:
    """A log, and what is known about it."""

    id: int
    source: plain.Source
    job: Job | None = None
    opened: plain.Opened | None = None
    risk: plain.Risk | None = None
    risk_job: Job | None = None
    rows: tuple[tuple[str, ...], ...] | None = None
    """Values of the log: only where the owner asked for them, until they hide them."""
    names: tuple[str, ...] | None = None
    """What stands in the first line of a file that could not be read: only where the owner asked."""
    of_values: bool = False
    """Whether its columns were chosen from such a line, which may hold values: they are shown as long as it is."""
    asked: Job | None = None

    @property
    def hides(self) -> bool:
        """Whether the names of its columns may be values, and nobody asked to see them."""
        return self.of_values and self.names is None

    @property
    def shown(self) -> plain.Source:
        """The log as pages may spell it: without names of columns that may be values."""
        columns = self.source.reading.columns
        if not self.hides or columns is None:
            return self.source
        return replace(self.source, reading=replace(self.source.reading, columns=dict.fromkeys(columns, HIDDEN)))

    @property
    def name(self) -> str:
        """What people call it."""
        shown = self.source.names
        if shown[0].startswith(MADE_UP):
            return f"Made-up log ({shown[0].removeprefix(MADE_UP).replace(',', ', ')})"
        place = place_of(shown[0])
        first = Path(shown[0]).name if place is None else place.label
        return first if len(shown) == 1 else f"{first} and {len(shown) - 1} more"


@dataclass(kw_only=True)
class Attempt:
    """A release that was tried."""

    id: int
    log: int
    method: str
    typed: Mapping[str, str]
    job: Job
    tried: plain.Tried | None = None
    attack: Job | None = None
    attacked: plain.Attacked | None = None

    @property
    def figures(self) -> tuple[plain.Shown, ...]:
        """All figures there are."""
        if self.attacked is not None:
            return self.attacked.figures
        return () if self.tried is None else self.tried.figures


@dataclass(kw_only=True)
class Decision:
    """A folder that was asked for."""

    id: int
    log: int
    attempt: int
    job: Job
    folder: str
    written: plain.Written | None = None

    @property
    def is_there(self) -> bool:
        """Whether the folder got its name all the same, in the moment in which the job was stopped."""
        return bool(self.job.began) and Path(self.folder).is_dir()


@dataclass(kw_only=True)
class Checked:
    """A release that anybody made."""

    id: int
    name: str
    command: str
    log: int | None
    """The original, where it is open."""
    job: Job
    judged: plain.Judged | None = None


@dataclass
class Desk:
    """Everything, by number."""

    folder: Path
    queue: Queue
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    """Every form of ours brings it."""
    logs: dict[int, OpenLog] = field(default_factory=dict)
    attempts: dict[int, Attempt] = field(default_factory=dict)
    decisions: dict[int, Decision] = field(default_factory=dict)
    checks: dict[int, Checked] = field(default_factory=dict)
    catalogue: plain.Catalogue | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    """What was last typed into the form of a decision."""
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1), repr=False)

    def __post_init__(self) -> None:
        self.known = self.queue.submit("Looking at what there is", "catalogue", self._know)

    def _know(self, catalogue: plain.Catalogue) -> None:
        self.catalogue = catalogue

    # --- logs ------------------------------------------------------------------------------------------

    def open(self, source: plain.Source) -> OpenLog:
        """Open a log; the same one, read in the same way, is opened once, unless its files have changed."""
        source = replace(source, stamp=stamp_of(source.paths))
        for log in self.logs.values():
            if log.source.key == source.key and not (log.job is not None and log.job.state in ("failed", "stopped")):
                return log
        log = OpenLog(id=next(self._numbers), source=source)
        self.logs[log.id] = log
        log.job = self.queue.submit(
            f"Opening {log.name}", "open_log", lambda it: setattr(log, "opened", it), source=source
        )
        return log

    def again(self, log: OpenLog, reading: Reading, prepare: str) -> OpenLog:
        """The same files, read in another way: another log."""
        other = self.open(replace(log.source, reading=reading, prepare=prepare))
        if reading.columns and (log.names is not None or log.of_values):
            other.of_values = True
            other.names = other.names or log.names
        return other

    def ask(self, log: OpenLog, what: str) -> None:
        """Show values of a log: `rows`, or the `names` in the first line."""
        title = "Showing the first rows" if what == "rows" else "Showing the first line"
        log.asked = self.queue.submit(title, f"show_{what}", lambda it: setattr(log, what, it), source=log.source)

    def risk(self, log: OpenLog) -> None:
        """Find out how exposed a log is, once."""
        if log.risk_job is None or log.risk_job.state in ("failed", "stopped"):
            title = f"Risk in {log.name}"
            log.risk_job = self.queue.submit(title, "risk", lambda it: setattr(log, "risk", it), source=log.source)

    # --- releases --------------------------------------------------------------------------------------

    def attempt(self, log: OpenLog, method: str, typed: Mapping[str, str]) -> Attempt:
        """Try a method; what was tried before is not tried again."""
        for attempt in self.attempts.values():
            same = (attempt.log, attempt.method, dict(attempt.typed)) == (log.id, method, dict(typed))
            if same and attempt.job.state not in ("failed", "stopped"):
                return attempt
        for waiting in self.attempts.values():  # whoever moves a slider does not want what it passed
            if waiting.log == log.id and waiting.method == method and waiting.job.state == "waiting":
                self.queue.stop(waiting.job)
        number = next(self._numbers)
        job = self.queue.submit(
            f"Trying {method}", "attempt", lambda it: setattr(self.attempts[number], "tried", it),
            source=log.source, number=number, method=method, typed=dict(typed),
        )  # fmt: skip
        self.attempts[number] = Attempt(id=number, log=log.id, method=method, typed=dict(typed), job=job)
        self._forget()
        return self.attempts[number]

    def _forget(self) -> None:
        """Forget the oldest attempts where there are too many; not those that somebody decided about or waits for."""
        decided = {decision.attempt for decision in self.decisions.values()}
        free = [each for each in self.attempts.values() if each.job.over and each.id not in decided]
        for attempt in free[: max(0, len(self.attempts) - TRIED)]:
            self.attempts.pop(attempt.id, None)
            for ending in ("parquet", "parquet.json", "record"):
                path = self.folder / "tried" / f"{attempt.id}.{ending}"
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)

    def attack(self, attempt: Attempt) -> None:
        """Attack a release that was tried, once."""
        if attempt.attack is None or attempt.attack.state in ("failed", "stopped"):
            attempt.attack = self.queue.submit(
                f"Attacking {attempt.method}", "attack", lambda it: setattr(attempt, "attacked", it),
                source=self.logs[attempt.log].source, number=attempt.id, method=attempt.method, typed=attempt.typed,
            )  # fmt: skip

    def tried(self, log: OpenLog) -> list[Attempt]:
        """The releases of a log that were made, the newest first."""
        return [each for each in reversed(self.attempts.values()) if each.log == log.id and each.tried is not None]

    def decide(self, attempt: Attempt, folder: str, kind: str, about: Mapping[str, Any], keep_record: bool) -> Decision:
        """Write a folder."""
        if self.catalogue is None:
            raise LookupError(attempt.method)
        folder = whole_path(folder)
        self.about = {**about, "folder": folder}
        number = next(self._numbers)
        wanted = plain.Wanted(
            source=self.logs[attempt.log].source, number=attempt.id, offer=self.catalogue.offers[attempt.method],
            typed=attempt.typed, folder=folder, kind=kind, about=dict(about), keep_record=keep_record,
        )  # fmt: skip
        job = self.queue.submit(
            f"Writing {folder}", "decide", lambda it: setattr(self.decisions[number], "written", it),
            beside=Path(folder).parent, wanted=wanted,
        )  # fmt: skip
        self.decisions[number] = Decision(id=number, log=attempt.log, attempt=attempt.id, job=job, folder=folder)
        return self.decisions[number]

    def keeps_record(self, attempt: Attempt | None) -> bool:
        """Whether the private record is kept unless its owner says otherwise: where nothing can be checked without."""
        return attempt is not None and attempt.tried is not None and attempt.tried.needs_record

    def check(self, name: str, command: str, log: int | None, **asked: Any) -> Checked:
        """Check a release; `asked` is what the task takes."""
        number = next(self._numbers)
        job = self.queue.submit(
            f"Checking {name}", "verify", lambda it: setattr(self.checks[number], "judged", it), **asked
        )  # fmt: skip
        self.checks[number] = Checked(id=number, name=name, command=command, log=log, job=job)
        return self.checks[number]

    # --- files that were dropped -----------------------------------------------------------------------

    def keep(self, files: Sequence[tuple[str, IO[bytes]]]) -> tuple[list[str], list[str]]:
        """Copy what was dropped into a private folder: where it is, and what it was called.

        Nothing of the name but letters, digits, dots and dashes of its last part becomes part of a path.
        """
        place = self.folder / "dropped" / secrets.token_hex(8)
        place.parent.mkdir(mode=0o700, exist_ok=True)
        place.mkdir(mode=0o700)
        paths, names = list[str](), list[str]()
        for given, stream in files:
            name = last_part(given)
            path = place / (safe_name(name) or "log")
            if path.exists():
                path = place / f"{len(paths)}-{path.name}"
            with path.open("xb") as copy:
                shutil.copyfileobj(stream, copy, 1 << 20)
            path.chmod(0o600)
            paths.append(str(path))
            names.append(name or "log")
        return paths, names


def last_part(name: str) -> str:
    """The last part of a name of a file, whatever system it is from."""
    return re.split(r"[/\\]", name)[-1].strip().replace("\0", "")[-_LONGEST:]


def safe_name(name: str) -> str:
    """A name without anything that could mean more than a name; what it ends in stays, as it tells what the file is.

    A sidecar is still called as its release is, however long their names are.
    """
    ending = SIDECAR if name.endswith(SIDECAR) else ""
    return _SAFE.sub("_", name.removesuffix(ending)).lstrip(".")[-_SAFE_LONGEST:] + ending
