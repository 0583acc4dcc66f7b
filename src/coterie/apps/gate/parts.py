"""Parts: what comes out of the gate at a fixed time, as a released file with its sidecar, and the list of all parts.

A part is staged first: written and checked in a hidden folder beside its place. It gets its name once the snapshot that
knows it is on the disk. So after a kill a part is there if and only if the state says so: one that the state knows is
put in place when the gate starts again, and any other is made again from the input.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from coterie.apps.gate.rules import Rules
from coterie.core.declared import json_bytes
from coterie.core.digests import digest_of_rows
from coterie.core.log import Log, Release, Step
from coterie.core.params import public_params
from coterie.core.promise import Case, Check
from coterie.core.shapes import COUNTS, Shape
from coterie.errors import BrokenPromiseError, ParameterError
from coterie.promises import judge
from coterie.promises.windowed_query_k_anonymity import WindowedQueryKAnonymity
from coterie.reading.people import cautions, together
from coterie.writing.files import sha256, write_release
from coterie.writing.history import onto_the_disk
from coterie.writing.sidecar import sidecar_path
from coterie.writing.target import Target, kind_of, refuse_kind
from coterie.writing.targets import temporary

_STAGED = ".staged"
INDEX = "index.json"


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part that was written: its file, and what everybody may know about it."""

    name: str
    closed: str
    """The fixed time at which it closed."""
    rows: int
    sha256: str


class Parts:
    """The folder of the parts."""

    def __init__(self, rules: Rules, shape: Shape, steps: tuple[str, ...], settings: Mapping[str, Any]) -> None:
        """`shape`: that of the log; `steps` and `settings`: what sidecars tell about how rows were made."""
        refuse_kind(kind_of("-", rules.kind)[0], COUNTS)
        self.rules, self.shape, self.steps, self.settings = rules, shape, steps, dict(sorted(settings.items()))
        self.folder = Path(rules.output)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._staged = self.folder / _STAGED

    def stage(self, number: int, closed: datetime, rows: pl.DataFrame, watched: Check | None) -> Part:
        """Write a part and its sidecar to the hidden folder; what the judge can see without the log is checked."""
        self._staged.mkdir(mode=0o700, exist_ok=True)
        lines = COUNTS.completed(rows.lazy()).sort(COUNTS.order).collect().lazy()  # sorted once, looked at often
        rules, steps = self.rules, tuple(Step(name=step) for step in self.steps)
        promise = WindowedQueryKAnonymity(k=rules.k, window=rules.window, shape=self.shape.name)
        verdict = judge(Case(rows=lines, shape=COUNTS), (promise,))
        if verdict.broken:
            raise BrokenPromiseError("A part of the gate does not keep its promise, so it was not written.")
        log = Log(frame=lines, shape=COUNTS, history=steps, settings=self.settings)
        release = Release(
            log=log,
            promises=(promise,),
            method="windowed_counts",
            params=public_params(rules.method),
            checks=tuple(check for check in (*verdict.checks, watched) if check and check.status == "passed"),
            warnings=cautions(log.settings),
            verified=digest_of_rows(lines),
        )
        name = f"part-{number:06}-{closed:%Y-%m-%dT%H%M%S}.{rules.kind}"
        path = self._staged / name
        digest = write_release(release, Target(path=str(path), kind=rules.kind, force=True))
        for file in (path, sidecar_path(path)):
            onto_the_disk(file)
        onto_the_disk(self._staged)
        return Part(name=name, closed=closed.isoformat(sep=" "), rows=rows.height, sha256=digest)

    def publish(self, parts: Sequence[Part]) -> None:
        """Give staged parts their names, the sidecar first, and list them."""
        for part in parts:
            staged = self._staged / part.name
            for file in (sidecar_path(staged), staged):
                if file.exists():  # after a kill, one of them may have its name already
                    file.replace(self.folder / file.name)
        if parts:
            onto_the_disk(self.folder)
        with suppress(OSError):
            self._staged.rmdir()

    def list(self, parts: Sequence[Part]) -> None:
        """The index: all parts with their digests."""
        with temporary(self.folder, INDEX) as part:
            part.write_bytes(json_bytes({"format": 1, "parts": [asdict(each) for each in parts]}))
            part.replace(self.folder / INDEX)

    def refuse_another(self, known: Sequence[Part]) -> None:
        """Refuse a folder where the parts of a state are not: its index would list files that are elsewhere."""
        listed = []
        with suppress(FileNotFoundError, ValueError):
            listed = json.loads((self.folder / INDEX).read_bytes())["parts"]
        here = listed or any((folder / part.name).exists() for part in known for folder in (self.folder, self._staged))
        if (known and not here) or any(asdict(ours) != theirs for ours, theirs in zip(known, listed, strict=False)):
            raise ParameterError(
                f"The parts of this state are in another folder than {self.folder}. Give that folder (-o), or begin a "
                f"new state."
            )

    def settle(self, known: Sequence[Part]) -> None:
        """After a start: put in place what the state knows and a kill kept from it, and remove anything else staged."""
        self.refuse_another(known)
        self.publish(known)
        shutil.rmtree(self._staged, ignore_errors=True)
        there = [part for part in known if (self.folder / part.name).exists()]
        if changed := [part.name for part in there if sha256(self.folder / part.name) != part.sha256]:
            raise BrokenPromiseError(f"{len(changed)} parts are not as the gate wrote them: {', '.join(changed[:3])}.")

    def with_steps(self, steps: tuple[str, ...], settings: Mapping[str, Any]) -> None:
        """What the sidecars of later parts tell about how rows are read and prepared.

        A part holds rows of many pieces of a log: whoever was counted in any of them is counted in it.
        """
        counted = together(*(str(each.get("counted", "")) for each in (self.settings, settings)))
        said = {**settings, **({"counted": counted} if counted else {})}
        self.steps, self.settings = steps, dict(sorted(said.items()))
