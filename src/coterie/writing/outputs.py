"""Outputs: a release is written and listed, and summed up in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from coterie.core.log import Listing, Release
from coterie.core.threads import Progress, Told
from coterie.errors import CoterieError, InputError
from coterie.writing.elsewhere import write_elsewhere
from coterie.writing.files import write_release
from coterie.writing.history import History
from coterie.writing.record import warned
from coterie.writing.target import Target


def _silent(_stage: str, _told: Told | None = None) -> None: ...


def write_and_list(
    release: Release, target: Target, listing: Listing | None, progress: Progress = _silent
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
    told = warned(release, warning)
    place = target.place
    digest = write_release(told, target, progress) if place is None else write_elsewhere(told, target, place)
    if book is not None:
        try:
            book.add(release, digest_of_log, digest)
        except CoterieError as error:
            raise InputError(f"{target.label} is written, and the list of releases lacks it. {error}") from None
    return digest, warning


@dataclass(frozen=True, kw_only=True)
class Summary:
    """One written release in numbers and sentences; no value of the log."""

    target: str
    headline: str
    sentence: str
    rows: int
    rows_read: int
    size: str
    """What stands in it, beside what was read."""
    checks: int
    largest_k: int | None
    subjects: str
    """What people call those among whom k hides somebody."""
    warnings: tuple[str, ...]
    cautions: tuple[str, ...] = ()
    """Those of them that are said even where nothing else is: k may not count people."""
    steps: tuple[str, ...]
    scrubbed: Mapping[str, int]
    """Rows that were left out because they look like personal data, by kind."""


def summary(release: Release, target: str) -> Summary:
    """A release in numbers."""
    history = release.log.history
    return Summary(
        target=target,
        headline=release.headline,
        sentence=release.verdict.sentence,
        rows=release.rows,
        rows_read=release.log.rows_read,
        size=release.size,
        checks=len(release.checks),
        largest_k=release.verdict.largest_k,
        subjects=release.verdict.subjects,
        warnings=release.warnings,
        cautions=release.log.warnings,
        steps=release.log.steps,
        scrubbed={kind: count for step in history if step.name == "scrub" for kind, count in step.counts.items()},
    )
