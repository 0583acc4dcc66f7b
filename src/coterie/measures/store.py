"""Store: scores of releases that were measured before, so that a second report need not measure again.

A file per measure and release, named after a digest of all that its scores depend on: the log and how it was prepared,
the released file, the groups in its run record, the seed, the inputs of the measure and the version of Coterie. It
holds keys, numbers and units, and no string of the log: scores with a label are never kept. The folder is readable by
its owner only.

The command line uses `$COTERIE_CACHE`, or `coterie` in the folder for caches; with `--no-cache`, or with
`COTERIE_CACHE=off`, it uses none. The folder can be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from coterie import __version__, measures
from coterie.core.log import GROUPS_DIGEST, sha256_of
from coterie.core.scores import Score
from coterie.measures.inputs import INPUTS, files_of
from coterie.writing.targets import placed

if TYPE_CHECKING:
    from coterie.measures.comparison import Comparison

FORMAT = 1
OFF = "off"


class _Kept(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    scores: tuple[tuple[str, float | None, str, tuple[float, ...]], ...] = ()
    """key, value, unit, samples."""
    left_out: str | None = None
    """Why it has no meaning for this release."""


@dataclass(frozen=True)
class Store:
    """Scores kept in a folder."""

    folder: Path

    def find(self, comparison: Comparison, name: str) -> tuple[list[Score], str | None] | None:
        """The scores of a measure, or why it has none; None where it was not measured yet, or cannot be kept."""
        path = self._path(comparison, name)
        if path is None:
            return None
        try:
            kept = msgspec.json.decode(path.read_bytes(), type=_Kept)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):  # not there, or damaged: it is measured again
            return None
        return [Score(key, value, unit, None, samples) for key, value, unit, samples in kept.scores], kept.left_out

    def keep(self, comparison: Comparison, name: str, scores: Sequence[Score], left_out: str | None = None) -> None:
        """Keep what was measured, unless it holds a string of the log. A full or strange disk is no reason to stop."""
        path = self._path(comparison, name)
        if path is None or any(score.label is not None for score in scores):
            return
        kept = _Kept(scores=tuple((s.key, s.value, s.unit, s.samples) for s in scores), left_out=left_out)
        text = msgspec.json.encode(kept)
        if b"NaN" in text or _not_finite(scores):
            return
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with placed(path, force=True) as part:
                part.touch(mode=0o600)
                part.write_bytes(text)

    def _path(self, comparison: Comparison, name: str) -> Path | None:
        """Where scores are kept; None where not everything that they depend on has a digest."""
        release = comparison.release
        released = release.sha256 or release.verified
        inputs = _inputs(comparison, name)
        if not released or inputs is None:
            return None
        record = release.record
        parts = [
            FORMAT, __version__, name, comparison.seed, comparison.log.digest, comparison.log.steps,
            comparison.as_read.steps, released,
            release.method, release.params, record is not None, record and record.run.get(GROUPS_DIGEST), inputs,
        ]  # fmt: skip
        text = json.dumps(parts, sort_keys=True, default=str)
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()}.json"


def _not_finite(scores: Sequence[Score]) -> bool:
    numbers = (number for score in scores for number in (score.value, *score.samples) if number is not None)
    return any(number != number or number in (float("inf"), float("-inf")) for number in numbers)


def _inputs(comparison: Comparison, name: str) -> list[Any] | None:
    """What a measure was given, by name and digest; None where that has no digest."""
    given: list[Any] = []
    for need in sorted(measures.load(name).needs & set(INPUTS)):
        value = comparison.inputs.get(need, INPUTS[need].default)
        if isinstance(value, (str, Path)) and need in (paths := files_of({need: value})):
            value = sha256_of([paths[need]])
        elif not isinstance(value, (str, int, tuple, type(None))):
            return None
        given.append([need, value])
    return given


def default_store(asked_for: bool = True) -> Store | None:
    """The store of whoever runs the program; None where it is turned off."""
    place = os.environ.get("COTERIE_CACHE", "")
    if not asked_for or place == OFF:
        return None
    if place:
        return Store(Path(place))
    try:
        return Store(Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "coterie")
    except RuntimeError:  # nobody knows where the home of this user is
        return None
