"""Outputs: where each release of a job goes, one for each k, refused before any work where it cannot go there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from coterie import regimes
from coterie.core.log import Listing, Release
from coterie.core.place import place_of
from coterie.core.shapes import Shape
from coterie.core.threads import Progress, Told
from coterie.errors import CoterieError, InputError, ParameterError
from coterie.writing.elsewhere import refuse_place_to_write, write_elsewhere
from coterie.writing.files import STDOUT, kind_of, refuse_kind, refuse_targets, write_release
from coterie.writing.history import History
from coterie.writing.record import record_files, warned
from coterie.writing.sidecar import sidecar_path


def _silent(_stage: str, _told: Told | None = None) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where one release goes."""

    path: str
    """A file, a folder of parts or a place, or `-` for standard output."""
    kind: str | None = None
    """What to write, where the name does not say it."""
    sidecar: str | None = None
    record: Path | None = None
    csv_safe: bool = False
    """Whether an apostrophe stands before text that a spreadsheet would take for a formula."""
    parts: int | None = None
    """Of how many files it is a folder; None for one file."""
    promise: str | None = None
    """What the caller says that is promised: "none", for a method that promises nothing, and for no other."""
    regime: str = ""
    """The regime that the method was made after; its sidecar names it, and which settings are others."""

    @property
    def files(self) -> list[Path]:
        """The files of this machine that it will be, as far as their names are known."""
        elsewhere = self.path == STDOUT or place_of(self.path) is not None
        rows = [] if elsewhere else [Path(self.path), sidecar_path(Path(self.path))]
        side = [] if self.sidecar is None else [Path(self.sidecar)]
        inside = [] if self.record is None else [self.record / name for name in record_files(self.record)]
        return [*rows, *side, *inside]

    def refuse(self, inputs: Sequence[Path], force: bool) -> None:
        """Refuse before the work what would be refused after it."""
        given: dict[str, Any] = {
            "kind": self.kind,
            "sidecar": self.sidecar,
            "record": self.record,
            "force": force,
            "csv_safe": self.csv_safe,
            "parts": self.parts,
        }
        if (place := place_of(self.path)) is not None:
            refuse_place_to_write(place, **given)
        else:
            refuse_targets(self.path, inputs=inputs, **given)

    @property
    def label(self) -> str:
        """What people may read: a place without who logs in there."""
        place = place_of(self.path)
        return self.path if place is None else place.label

    def refuse_shape(self, shape: Shape) -> None:
        """Refuse a kind of file that cannot hold such rows; a table of a database holds any."""
        place = place_of(self.path)
        if place is None or not place.is_database:
            refuse_kind(kind_of(self.path, self.kind)[0], shape)

    def named(self, release: Release, note: Callable[[str], None]) -> Release:
        """A release that names the regime whose settings it has; `note` hears which of them are others."""
        if not self.regime:
            return release
        regime = regimes.load(self.regime)
        details = release.log.shape.further
        changed = regime.changed(release.params, release.log.steps, details)
        ours = {**regime.settings, "prepare": ",".join(regime.prepare), "details": "none"}
        theirs = {**release.params, "prepare": ",".join(release.log.steps), "details": ",".join(details)}
        others = ", ".join(f"{name} = {theirs[name]} in place of {ours[name]}" for name in changed)
        note(f"Regime {self.regime}: {regime.title}" + (f"; changed: {others}." if others else "."))
        return replace(release, regime=self.regime, changed=changed)


def targets(
    ks: Sequence[int | None],
    path: str,
    *,
    kind: str | None = None,
    sidecar: str | None = None,
    record: str | Path | None = None,
    csv_safe: bool = False,
    parts: int | None = None,
    promise: str | None = None,
    regime: str = "",
) -> list[Target]:
    """One target for each k: `{k}` in the names stands for it."""
    if len(set(ks)) < len(ks):
        raise ParameterError("--k names a number twice.")
    patterns = {
        "-o": (path, "out.{k}.tsv"),
        "--sidecar": (sidecar, "side.{k}.json"),
        "--record": (record, "record.{k}"),
    }
    for option, (pattern, example) in patterns.items():
        if len(ks) > 1 and pattern is not None and "{k}" not in str(pattern):
            raise ParameterError(f"Several k need a pattern for {option}, for example {option} {example}")

    def filled(pattern: str | Path, k: int | None) -> str:
        return str(pattern) if k is None else str(pattern).replace("{k}", str(k))

    return [
        Target(
            path=filled(path, k),
            kind=kind,
            sidecar=None if sidecar is None else filled(sidecar, k),
            record=None if record is None else Path(filled(record, k)),
            csv_safe=csv_safe,
            parts=parts,
            promise=promise,
            regime=regime,
        )
        for k in ks
    ]


def write_and_list(
    release: Release, target: Target, listing: Listing | None, *, force: bool = False, progress: Progress = _silent
) -> tuple[str, str]:
    """Write a verified release; returns its digest, and a warning where it is not the first one of its log.

    The list is looked at before anything is written, and added to last: it names no release that is not there.
    """
    book, warning, digest_of_log = None, "", ""
    if listing is not None:
        book = History(path=listing.path, log_name=listing.log_name, beside=listing.beside)
        digest_of_log = listing.digest
        book.refuse([*release.log.sources, *target.files])
        warning = book.warning(release, digest_of_log)
    told, place = warned(release, warning), place_of(target.path)
    given: dict[str, Any] = {"kind": target.kind, "sidecar": target.sidecar, "record": target.record, "force": force}
    given |= {"csv_safe": target.csv_safe, "promise": target.promise, "parts": target.parts}
    if place is not None:
        digest = write_elsewhere(told, place, **given)
    else:
        digest = write_release(told, target.path, **given, progress=progress)
    if book is not None:
        try:
            book.add(release, digest_of_log, digest)
        except CoterieError as error:
            raise InputError(f"{target.label} is written, and the list of releases lacks it. {error}") from None
    return digest, warning
