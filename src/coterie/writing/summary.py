"""Summaries: what whoever ran a job is told about a release that was written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from coterie.core.log import Release


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
