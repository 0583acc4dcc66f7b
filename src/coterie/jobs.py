"""Jobs: what the command line and the studio share. Whole tasks on files, with the rules that keep them safe.

Several k from one reading, targets that are refused before any work is done, and summaries in numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from coterie import verbs
from coterie.core.log import Log, Release
from coterie.core.params import early_params
from coterie.core.plan import Method
from coterie.errors import ParameterError
from coterie.verbs import Learnt, Progress
from coterie.writing.files import refuse_existing, refuse_targets

STDOUT = "-"


def _silent(_step: str, _share: float | None = None) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where one release goes."""

    path: str
    """A file, or `-` for standard output."""
    kind: str | None = None
    """What to write, where the name does not say it."""
    sidecar: str | None = None
    record: Path | None = None

    def refuse(self, inputs: Sequence[Path], force: bool) -> None:
        """Refuse before the work what would be refused after it."""
        refuse_targets(self.path, kind=self.kind, sidecar=self.sidecar, record=self.record, inputs=inputs, force=force)


def targets(
    ks: Sequence[int | None],
    path: str,
    *,
    kind: str | None = None,
    sidecar: str | None = None,
    record: str | None = None,
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
        if len(ks) > 1 and pattern is not None and "{k}" not in pattern:
            raise ParameterError(f"Several k need a pattern for {option}, for example {option} {example}")

    def filled(pattern: str, k: int | None) -> str:
        return pattern.replace("{k}", str(k))

    return [
        Target(
            path=filled(path, k),
            kind=kind,
            sidecar=None if sidecar is None else filled(sidecar, k),
            record=None if record is None else Path(filled(record, k)),
        )
        for k in ks
    ]


@dataclass(frozen=True, kw_only=True)
class Summary:
    """One written release in numbers and sentences; no value of the log."""

    target: str
    headline: str
    sentence: str
    rows: int
    rows_read: int
    checks: int
    largest_k: int | None
    warnings: tuple[str, ...]


def anonymize_each(
    log: Log,
    methods: Sequence[Method],
    *,
    seed: int | None = None,
    blocks: int | None = None,
    record: bool = True,
    progress: Progress = _silent,
) -> Iterator[Release]:
    """The release of each method; neighbours that differ in k alone share what is learnt."""
    learnt: Learnt | None = None
    for place, method in enumerate(methods):
        if learnt is None or not learnt.serves(log, method):
            alike = _alike(methods[place:])
            learnt = verbs.learn(log, alike, seed=seed, blocks=blocks, record=record, progress=progress)
        yield verbs.anonymize(log, method, seed=seed, record=record, progress=progress, learnt=learnt)


def _alike(methods: Sequence[Method]) -> list[Method]:
    """The methods at the beginning that differ in late parameters alone."""
    alike = []
    for method in methods:
        if early_params(method) != early_params(methods[0]):
            break
        alike.append(method)
    return alike


def write_each(
    log: Log,
    methods: Sequence[Method],
    to: Sequence[Target],
    *,
    seed: int | None = None,
    blocks: int | None = None,
    force: bool = False,
    progress: Progress = _silent,
) -> list[Summary]:
    """Anonymize a log with each method and write each release to its target."""
    for target in to:
        target.refuse(log.sources, force)
    keep_rows = any(target.record is not None for target in to)
    releases = anonymize_each(log, methods, seed=seed, blocks=blocks, record=keep_rows, progress=progress)
    summaries = []
    for release, target in zip(releases, to, strict=True):
        progress("write")
        verbs.write(release, target.path, kind=target.kind, sidecar=target.sidecar, record=target.record, force=force)
        summaries.append(summary(release, target.path))
    return summaries


def summary(release: Release, target: str) -> Summary:
    """A release in numbers."""
    read = [step.counts for step in release.log.history if step.name == "read"]
    return Summary(
        target=target,
        headline=release.headline,
        sentence=release.verdict.sentence,
        rows=release.log.frame.select(pl.len()).collect(engine="streaming").item(),
        rows_read=sum(counts.get("lines", 0) - counts.get("bad", 0) for counts in read),
        checks=len(release.checks),
        largest_k=release.verdict.largest_k,
        warnings=release.warnings,
    )


def refuse_report(outs: Sequence[str], records: Sequence[Path], to: Path, force: bool) -> None:
    """Refuse before any work what would be refused when a report is written."""
    if records and len(records) != len(outs):
        raise ParameterError(f"Give one --record for each of the {len(outs)} files, or none.")
    verbs.report_kind(to)
    refuse_existing(to, force)


def report_files(
    original: Log, outs: Sequence[str], records: Sequence[Path], to: Path, *, force: bool = False, **given: Any
) -> list[str]:
    """Write a report about released files, each verified again; returns those whose promise is broken."""
    refuse_report(outs, records, to, force)
    loaded = [verbs.load_release(path, records[i] if records else None) for i, path in enumerate(outs)]
    releases = [verbs.verified_again(release, original) for release in loaded]
    verbs.report_verified(original, releases, to, force=force, **given)
    return [path for path, release in zip(outs, releases, strict=True) if release.verdict.broken]
