"""Measuring: what released files score, and the page about them. It takes time, so it says how far it is.

`report` is public; `measure_file` and `report_files` are whole tasks on files, with the rules that keep them safe, as
in `jobs`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import polars as pl

from coterie import verbs
from coterie.core import registry
from coterie.core.files import label_of, place_of
from coterie.core.log import Log, Release
from coterie.core.plan import Method, baseline_of
from coterie.core.threads import Counted, Progress, Told
from coterie.core.wording import scores_in_words_of
from coterie.errors import InputError, ParameterError, UnknownNameError
from coterie.given import LogLike, as_log, as_release, original_first
from coterie.jobs import Note, files_of_paths, read_logs, read_original
from coterie.measures import names_of_all, needing, on_sheet, seed_for
from coterie.measures.comparison import ONE_MACHINE
from coterie.measures.inputs import INPUTS
from coterie.measures.store import Store
from coterie.reading.reading import Reading
from coterie.reports import RANDOM, render, report_kind
from coterie.reports.about import About, as_about, today
from coterie.reports.decision import Sheet, decide
from coterie.reports.figures import Figures, findings_of, headlines
from coterie.reports.views import log_view, refuse_idle, release_view, with_baseline
from coterie.writing.elsewhere import Near, bring_release
from coterie.writing.record import read_record, record_files
from coterie.writing.sidecar import reading_like, sidecar_path
from coterie.writing.targets import placed, refuse_output

_NO_BASELINE = "Random groups of the same k are shown only where the run record is given (--record DIR)."


def _silent(_stage: str, _told: Told | None = None) -> None: ...


def report(
    original: LogLike,
    releases: Release | Sequence[Release],
    to: str | Path,
    *,
    about: About | Mapping[str, Any] | str | Path | None = None,
    edition: Literal["internal", "external"] = "internal",
    show_values: bool = False,
    seed: int | None = None,
    force: bool = False,
    **given: Any,
) -> Path:
    """A page about one or several releases of a log: .html, .md or .json by the end of its name.

    Releases are verified again, whatever their sidecars say. `about` is what only people can say (name,
    purpose, recipient ...): a TOML file as `coterie report --about` takes it, or a dictionary with the same keys.
    `given` is what some measures need, as in `measure`; `names` are measures to take in place of all.
    """
    report_kind(Path(to))
    about = as_about(about)
    original, releases = original_first(original, releases)
    given |= {"names": [given["names"]]} if isinstance(given.get("names"), str) else {}
    original = as_log(original)
    releases = [as_release(each) for each in ([releases] if isinstance(releases, Release) else releases)]
    refuse_output(Path(to), force, _files_read(original, releases))
    _refuse_read_differently(
        [release.method if release.path is None else release.path.name for release in releases],
        [
            Reading.again(release.log.settings) if release.path is None else reading_like(release.path)
            for release in releases
        ],
    )
    original.engine.require_local(ONE_MACHINE)
    again = [verified_again(release, original) for release in releases]
    return report_verified(
        original, again, to, about=about, edition=edition, show_values=show_values, seed=seed, force=force, **given
    )


def verified_again(release: Release, original: Log) -> Release:
    """A release with the checks of today in place of those that its sidecar tells of."""
    if release.path is None:
        return replace(release, checks=verbs.verify(release, _prepared_like(original, release)).checks)
    return replace(release, checks=verbs.verify(release.path, original, record=release.record).checks)


class _Done:
    """How much of the measuring is done: releases and random groups, each as long as the others."""

    def __init__(self, whole: int, progress: Progress) -> None:
        self._whole, self._progress, self._before = whole, progress, 0

    def part(self, share: float) -> None:
        """A share of the one that is being measured."""
        self._progress("measure", (self._before + share) / self._whole)

    def next(self) -> None:
        """One is finished."""
        self._before += 1
        self.part(0.0)


def _prepared_like(original: Log, release: Release) -> Log:
    """The log after the steps that the release had; those that it had already are not made again."""
    done, steps = original.steps, release.log.steps
    if steps[: len(done)] != done:
        raise InputError(
            f"The log was prepared by {', '.join(done)} and the release of {release.method} by "
            f"{', '.join(steps) or 'nothing'}: they cannot be compared. Give the log as it was read."
        )
    return verbs.prepare(original, steps[len(done) :]) if len(steps) > len(done) else original


def _refuse_read_differently(names: Sequence[str], readings: Sequence[Reading]) -> None:
    """Who is counted, and of what, must be the same for all that stands on a page with one log."""
    for name, reading in zip(names, readings, strict=True):
        if reading != readings[0]:
            pair = reading.said, readings[0].said
            what = [key for key in sorted({*pair[0], *pair[1]}) if pair[0].get(key) != pair[1].get(key)]
            raise InputError(
                f"{names[0]} and {name} were made from a log that was read in different ways ({', '.join(what)}), so "
                f"they cannot stand on one page. Make a report about each, or say how to read it for both: --columns."
            )


def report_verified(
    original: Log,
    releases: Sequence[Release],
    to: str | Path,
    *,
    about: About | None = None,
    edition: Literal["internal", "external"] = "internal",
    show_values: bool = False,
    seed: int | None = None,
    force: bool = False,
    tell: Callable[[str], None] = _silent,
    weighed: Callable[[Sheet], None] | None = None,
    store: Store | None = None,
    progress: Progress = _silent,
    **given: Any,
) -> Path:
    """The same for releases whose checks were made just now; `tell` hears what they cost, in a sentence.

    `weighed` hears what the first page says, before the page is there.
    """
    seed = seed_for(original) if seed is None else seed  # the same draws for what stands side by side
    path = Path(to)
    kind = report_kind(path)
    if not releases:
        raise ParameterError("A report needs at least one release.")
    inputs = _files_read(original, releases)
    refuse_output(path, force, inputs)
    views, prepared = [], dict[tuple[str, ...], Log]()
    given = {**given, "show_values": show_values, "seed": seed, "store": store}
    with_random = [release for release in releases if release.record is not None and _baseline(release) is not None]
    done = _Done(len(releases) + len(with_random), progress)
    for release in releases:
        if release.log.steps not in prepared:  # once for all that share it, so that measures share what they work out
            prepared[release.log.steps] = _prepared_like(original, release)
        log = prepared[release.log.steps]
        view = release_view(log, release, tell=done.part, as_read=original, **given)
        done.next()
        baseline = _baseline(release)
        if baseline is not None and release.record is None:
            view = replace(view, warnings=(*view.warnings, _NO_BASELINE))
        elif baseline is not None and release.record is not None:
            at_random = verbs.anonymize_prepared(log, baseline, seed=release.record.run["seed"])  # never written
            random = release_view(log, at_random, RANDOM, tell=done.part, as_read=original, **given)
            view = with_baseline(view, random)
            done.next()
        views.append(view)
    refuse_idle(views, given.get("names"))
    progress("draw")
    of_log = log_view(original)
    if weighed is not None:
        weighed(decide(of_log, views, Figures.collect(original.shape), about, edition))
    page = render(of_log, views, kind, about=about, edition=edition, date=today())
    with placed(path, force, inputs) as part:
        part.write_text(page, encoding="utf-8")
    for view in views:
        for cost in headlines(view.scores, findings_of(original.shape)):
            tell(f"{view.label}: {cost}")
    return path


def _files_read(original: Log, releases: Sequence[Release]) -> list[Path]:
    """The files that logs and releases were read from, which no report replaces."""
    files = [path for log in (original, *(release.log for release in releases)) for path in log.sources]
    loaded = [release.path for release in releases if release.path is not None]
    return [*files, *loaded, *map(sidecar_path, loaded)]


def _baseline(release: Release) -> Method | None:
    """The method of a release with random groups; None where it is no question of groups."""
    try:
        kept = {} if release.record is None else release.record.run  # where files are is told there alone
        return baseline_of(registry.method(release.method)(**kept.get("parameters", release.params)))
    except (UnknownNameError, ParameterError, TypeError):  # made by a package or a version that is not here
        return None


def measure_file(
    out: str,
    original: Sequence[str],
    names: Sequence[str] = (),
    *,
    reading: Reading | None = None,
    record: Path | None = None,
    seed: int | None = None,
    show_values: bool = False,
    given: Mapping[str, Any] | None = None,
    sidecar: str | None = None,
    for_people: bool = False,
    store: Store | None = None,
    progress: Progress = _silent,
    note: Note = _silent,
) -> pl.DataFrame:
    """Scores of a released file; `note` hears which measures were left out, and why.

    `given` is what some measures need besides: see `verbs.measure`. Logs in it (`later`) are paths here. Keys are
    in the words of the log where they are `for_people`.
    """
    _refuse_unknown(names)
    progress("read")
    near = bring_release(out, sidecar)
    release = verbs.load_release(near.path, record)
    no_meaning: list[str] = []
    log = read_original(original, near.path, reading or Reading(), progress=progress, note=note)
    loaded = _loaded(given or {}, reading, note)
    progress("measure")
    scores = verbs.measure(
        log,
        release,
        list(names) or None,
        seed=seed_for(log) if seed is None else seed,
        show_values=show_values,
        left_out=no_meaning.append,
        store=store,
        progress=progress,
        **loaded,
    )
    if not names and record is None:
        left_out = [name for name in names_of_all() if name in needing("record")]
        note(f"Left out, because they need --record DIR: {', '.join(left_out)}.")
    for text in (*(f"Left out: {reason}" for reason in no_meaning), *headlines(scores, findings_of(log.shape))):
        note(text)
    return scores_in_words_of(log.shape, scores) if for_people else scores


def _refuse_unknown(names: Sequence[str]) -> None:
    """Raise an error for a measure that nobody knows."""
    for name in names:
        registry.module("measures", name)


def _loaded(given: Mapping[str, Any], reading: Reading | None, note: Note) -> dict[str, Any]:
    """What measures need, with logs and releases in place of their paths."""
    readers: dict[str, Callable[[Any], Any]] = {
        "log": lambda paths: read_logs(paths, reading, note=note),
        "release": verbs.load_release,
    }
    return {name: readers.get(INPUTS[name].kind, lambda same: same)(value) for name, value in given.items()}


def report_files(
    outs: Sequence[str],
    original: Sequence[str],
    to: Path,
    *,
    records: Sequence[Path] = (),
    reading: Reading | None = None,
    names: Sequence[str] = (),
    about: About | None = None,
    edition: Literal["internal", "external"] = "internal",
    given: Mapping[str, Any] | None = None,
    seed: int | None = None,
    show_values: bool = False,
    sidecars: Sequence[str] = (),
    force: bool = False,
    store: Store | None = None,
    weighed: Callable[[Sheet], None] | None = None,
    progress: Progress = _silent,
    note: Note = _silent,
) -> list[str]:
    """Write a report about released files, each verified again; returns those whose promise is broken.

    `records` are run records of some of the files, or of all, in any order. `sidecars` are those of tables of
    databases, one for each of them. `names` are the measures to take, in place of
    all; what the first page cannot do without is always counted. `weighed`: see `report_verified`.
    """
    _refuse_unknown(names)
    given = given or {}
    report_kind(to)
    nearby = _brought(outs, sidecars)
    released = [near.path for near in nearby]
    named = [Path(value) for name, value in given.items() if INPUTS[name].kind == "file"]
    released += [Path(value) for name, value in given.items() if INPUTS[name].kind == "release"]
    folders = [*records, *(Path(value) for name, value in given.items() if INPUTS[name].kind == "record")]
    inside = [folder / name for folder in folders for name in record_files(folder)]
    others = [files_of_paths(value) for name, value in given.items() if INPUTS[name].kind == "log"]
    logs = [*files_of_paths(original), *(path for files in others for path in files)]
    refuse_output(to, force, [*logs, *released, *map(sidecar_path, released), *inside, *named])
    loaded = _with_records(nearby, records)
    progress("read")
    without = [label_of(out) for out, release in zip(outs, loaded, strict=True) if release.record is None]
    if without and not names:
        which = f" for {', '.join(without)}" if records else ""
        note(
            f"Left out{which}, because they need --record DIR: {', '.join(needing('record'))}. So risks may stand on "
            f"the page as not measured, and no release is recommended then. `coterie anonymize --record DIR` keeps one."
        )
    readings = [reading_like(near.path, reading) for near in nearby]
    _refuse_read_differently([label_of(out) for out in outs], readings)
    log = read_original(original, nearby[0].path, readings[0], progress=progress, note=note)
    also = _loaded(given, reading, note)
    releases = []
    for place, release in enumerate(loaded):
        progress("verify", Counted(place, len(loaded), "releases"))
        releases.append(verified_again(release, log))
    if names:
        also["names"] = list(dict.fromkeys([*names, *on_sheet()]))
    report_verified(
        log,
        releases,
        to,
        about=about,
        edition=edition,
        show_values=show_values,
        seed=seed,
        force=force,
        tell=note,
        weighed=weighed,
        store=store,
        progress=progress,
        **also,
    )
    return [label_of(out) for out, release in zip(outs, releases, strict=True) if release.verdict.broken]


def _with_records(nearby: Sequence[Near], records: Sequence[Path]) -> list[Release]:
    """Released files, each with its run record if that is among `records`: a record knows the digest of its file."""
    folders = {read_record(folder).run["released_sha256"]: folder for folder in records}
    releases = [verbs.load_release(near.path) for near in nearby]
    for digest in folders.keys() - {release.sha256 for release in releases}:
        raise InputError(f"The run record in {folders[digest]} belongs to another release than those that were given.")
    return [
        verbs.load_release(near.path, folders[release.sha256]) if release.sha256 in folders else release
        for near, release in zip(nearby, releases, strict=True)
    ]


def _brought(outs: Sequence[str], sidecars: Sequence[str]) -> list[Near]:
    """Released files that can be read here; tables of databases have their sidecars apart, one for each."""
    tables = [place is not None and place.is_database for place in map(place_of, outs)]
    if len(sidecars) != sum(tables):
        raise ParameterError(f"Give one --sidecar for each table of a database, of which there are {sum(tables)}.")
    theirs = iter(sidecars)
    return [bring_release(out, next(theirs) if is_table else None) for out, is_table in zip(outs, tables, strict=True)]
