"""Tasks: what the worker does. Each takes plain values, calls the public functions, and gives plain values.

The log that was read last stays in memory with what was learnt about it, so that moving k is quick. A release that is
tried is kept in the private folder of the studio with its record, as long as the studio runs, and attacks read it from
there. Nothing is written anywhere else but by `decide`.

Masks: what a value looks like, without what it says. Letters become a, digits 0; what separates them stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from coterie import api, jobs, measures
from coterie.apps.studio.decisions import book_of, decide, needs_record
from coterie.apps.studio.fields import groups_for, method_of, offers
from coterie.apps.studio.figures import findings_in, numbers_now, shown_of, weighed_in
from coterie.apps.studio.plain import MADE_UP, Attacked, Catalogue, Judged, Opened, Risk, Source, Tried, refuse_changed
from coterie.core import registry
from coterie.core.files import expand
from coterie.core.log import Log, Release
from coterie.core.params import early_params
from coterie.core.plan import Method
from coterie.core.threads import Counted, share_of, stage_of
from coterie.errors import CoterieError, NotApplicableError
from coterie.measures import attacks
from coterie.measures.comparison import Comparison, scores_of
from coterie.measures.inputs import INPUTS
from coterie.reading.sniff import format_of
from coterie.reading.source import Source as Lines
from coterie.reports import checks_made
from coterie.reports.views import LogView, ReleaseView, personal_data, site_searches
from coterie.steps import parse_steps
from coterie.writing.history import spend

Told = Callable[..., None]
"""Hears what is being done, and which share of the whole job is."""
PREVIEW = 6
STAGES = {
    "read": "Reading the log",
    "learn": "Learning what does not depend on k",
    "plan": "Deciding",
    "release": "Applying the decision",
    "verify": "Checking the promise with other code",
    "write": "Keeping it for this session",
    "report": "Measuring, attacking and writing the report",
    "measure": "Measuring",
}


@dataclass(eq=False)
class Bench:
    """What the worker holds between tasks."""

    folder: Path
    log: tuple[object, Log, Log] | None = None
    """The log that was read last: which one, as it was read, and prepared."""
    view: tuple[object, LogView] | None = None
    learnt: tuple[object, api.Learnt] | None = None
    tables: tuple[object, Comparison] | None = None
    """What measures computed about the release that was looked at last."""

    def read(self, source: Source, tell: Told = lambda *_: None) -> tuple[Log, Log]:
        """A log as it was read and as it was prepared; from memory where it was the last one."""
        refuse_changed(source)
        if self.log is None or self.log[0] != source.key:
            self.log = self.view = self.learnt = self.tables = None
            tell(STAGES["read"])
            steps = parse_steps(source.prepare)
            as_read = api.read(list(source.paths), source.reading)
            self.log = (source.key, as_read, api.prepare(as_read, steps))
        return self.log[1:]

    def seed(self, source: Source) -> int:
        """Whom attacks are tried on: the same people as in every report on this log."""
        return measures.seed_for(self.read(source)[0])

    def log_view(self, source: Source) -> LogView:
        """The log in counts."""
        if self.view is None or self.view[0] != source.key:
            self.view = (source.key, api.log_view(self.read(source)[1]))
        return self.view[1]

    def tried(self, number: int) -> tuple[Path, Path]:
        """Where a release that was tried is, and its record."""
        folder = self.folder / "tried"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder / f"{number}.parquet", folder / f"{number}.record"


def catalogue(bench: Bench, tell: Told) -> Catalogue:  # noqa: ARG001 (all tasks have this signature)
    """What there is."""
    from coterie.core.shapes import SHAPES
    from coterie.reports.about import QUESTIONS, Thresholds
    from coterie.synth import KINDS as KINDS_OF_LOGS
    from coterie.writing.target import KINDS

    every = offers()
    shapes = sorted({shape for offer in every for shape in offer.accepts})
    return Catalogue(
        offers={offer.name: offer for offer in every},
        groups={
            shape: tuple((title, says, tuple(o.name for o in some)) for title, says, some in groups_for(shape, every))
            for shape in shapes
        },
        formats=tuple((name, _first_line("formats", name)) for name in registry.names("formats")),
        promises=tuple((name, _first_line("promises", name)) for name in registry.names("promises")),
        columns={shape: _columns_of(SHAPES[shape]) for shape in shapes},
        kinds=tuple(KINDS),
        synthetic=tuple(KINDS_OF_LOGS),
        questions=tuple(QUESTIONS.items()),
        thresholds=tuple(Thresholds.__struct_fields__),
    )


def _first_line(kind: str, name: str) -> str:
    return (registry.module(kind, name).__doc__ or "").strip().partition("\n")[0]


def _columns_of(shape: Any) -> tuple[tuple[str, str], ...]:
    return tuple((column.name, column.doc) for column in shape.columns if column.name in shape.readable)


# --- opening -----------------------------------------------------------------------------------------


def open_log(bench: Bench, tell: Told, source: Source) -> Opened:
    """Read a log and count what is in it."""
    tell(STAGES["read"], 0.0)
    as_read, log = bench.read(source)
    tell("Counting rows and people", 0.6)
    view = bench.log_view(source)
    counts = {name: value for step in log.history if step.name == "read" for name, value in step.counts.items()}
    tell("Looking at columns", 0.9)
    shape = log.shape
    have = as_read.frame.collect_schema()
    columns = [(name, says) for name, says in _columns_of(shape) if name in have]
    first = as_read.frame.select(name for name, _ in columns).head(PREVIEW).collect(engine="streaming")
    nobody = int(log.frame.select(pl.col(shape.subject).is_null().sum()).collect(engine="streaming").item())
    return Opened(
        format=_format_of(source),
        shape=shape.name,
        subjects=shape.subject_nouns,
        items=shape.item_nouns,
        lines=counts.get("lines", view.rows),
        bad=counts.get("bad", 0),
        rows=view.rows,
        people=view.users,
        distinct=view.queries,
        days=view.days,
        without_subject=nobody,
        left_out=max(0, log.rows_read - view.rows),
        steps=log.steps,
        notes=log.notes,
        synthetic=log.synthetic,
        columns=tuple(columns),
        masked=tuple(tuple(masked(value) for value in row) for row in first.iter_rows()),
        names=_names_in(source),
        chosen=dict[str, str](as_read.settings.get("columns", {})),  # type: ignore[arg-type]
        searches=tuple((name, int(count or 0)) for _, name, count, _ in site_searches(as_read)),
    )


def _made_up(source: Source) -> bool:
    return len(source.paths) == 1 and source.paths[0].startswith(MADE_UP)


def _format_of(source: Source) -> str:
    if _made_up(source):
        return "made up"
    if source.reading.format:
        return str(source.reading.format)
    try:
        return format_of(expand(source.paths, folders=True)[0])
    except CoterieError:
        return "table"


def _names_in(source: Source) -> tuple[str, ...]:
    """The columns of a file, where it was read as a table and so has names for them."""
    from coterie.reading.formats import table

    if _made_up(source) or _format_of(source) != "table":
        return ()
    try:
        return tuple(table.column_names(Lines(expand(source.paths)), thorough=False))
    except CoterieError:
        return ()


def show_rows(bench: Bench, tell: Told, source: Source) -> tuple[tuple[str, ...], ...]:
    """The first rows as they are: for owners who asked."""
    as_read, _ = bench.read(source, tell)
    names = [name for name, _ in _columns_of(as_read.shape) if name in as_read.frame.collect_schema()]
    rows = as_read.frame.select(names).head(PREVIEW).collect(engine="streaming")
    return tuple(tuple("" if value is None else str(value) for value in row) for row in rows.iter_rows())


def show_names(bench: Bench, tell: Told, source: Source) -> tuple[str, ...]:  # noqa: ARG001 (all have this signature)
    """What stands in the first line of a file that could not be read: for owners who asked."""
    from coterie.reading.formats import table

    return tuple(table.column_names(Lines(expand(source.paths)), thorough=False))


# --- risk before any protection ----------------------------------------------------------------------


def risk(bench: Bench, tell: Told, source: Source) -> Risk:
    """How exposed people are as things are: attacks on the log under other names, and personal data in it."""
    _, log = bench.read(source, tell)
    names = attacks.names()

    def started(name: str) -> None:
        tell(f"Attacking the log as it is: {name.replace('_', ' ')}", (names.index(name) + 0.5) / (len(names) + 1))

    scores, left_out = attacks.attacked(log, bench.seed(source), names, started)
    tell("Looking for personal data", len(names) / (len(names) + 1))
    found = tuple((str(kind), int(rows or 0)) for _, kind, rows, _ in personal_data(log))
    return Risk(
        numbers=numbers_now(log, scores, bench.log_view(source)),
        personal=found,
        left_out=tuple(left_out.items()),
        people=min(bench.log_view(source).users, attacks.MANY),
        some=min(bench.log_view(source).users, attacks.SOME),
    )


# --- choosing ----------------------------------------------------------------------------------------


def attempt(bench: Bench, tell: Told, source: Source, number: int, method: str, typed: Mapping[str, str]) -> Tried:
    """Make a release, check it, keep it for the session, and take the measures that are quick."""
    chosen = method_of(method, typed)
    _, log = bench.read(source, tell)
    order = ("learn", "plan", "release", "verify")

    def progress(step: str, told: float | Counted | None = None) -> None:
        stage = stage_of(step)
        place = order.index(stage) if stage in order else 0
        tell(STAGES.get(stage, stage), 0.6 * (place + (share_of(told) or 0.0)) / len(order))

    if chosen.spends is not None:
        spend(log, [chosen], book_of(source, needed=True), None)
    release = _release(bench, source, log, chosen, progress)
    path, record = bench.tried(number)
    tell(STAGES["write"], 0.6)
    api.write(release, path, record=record, force=True)
    bench.tables = None
    kept = api.load_release(path, record)
    quick = quick_measures()
    view = _view(bench, source, number, kept, quick, lambda name, share: tell(name, 0.65 + 0.3 * share))
    tell("Looking for personal data that is left", 0.96)
    left = tuple((str(kind), int(rows or 0)) for _, kind, rows, _ in _personal(kept.log))
    bounds = [b for promise in release.promises if (b := promise.linkage_bound) is not None]
    return Tried(
        label=view.label,
        method=method,
        params=dict(release.params),
        headline=release.headline,
        sentence=release.verdict.sentence,
        limits=view.limits,
        size=release.size,
        checks=len(release.checks),
        k=view.k,
        largest_k=release.verdict.largest_k,
        warnings=release.warnings,
        personal=left,
        figures=shown_of(bench.log_view(source), view, None, log.shape),
        left_out=tuple(view.left_out.items()),
        groups=chosen.baseline() is not None,
        bound=min(bounds, default=None),
        needs_record=needs_record(release),
    )


def _release(bench: Bench, source: Source, log: Log, method: Method, progress: Told) -> Release:
    """The release of a method; what does not depend on its late parameters is learnt once."""
    key = (source.key, repr(early_params(method)))
    if bench.learnt is None or bench.learnt[0] != key:
        bench.learnt = (key, api.learn(log, [method], progress=progress))
    return api.anonymize_prepared(bench.learnt[1], method, progress=progress)


def _personal(log: Log) -> list[Any]:
    """Personal data in what is released; none where there are no words."""
    return [] if log.shape.weight or log.frame.head(1).collect(engine="streaming").is_empty() else personal_data(log)


def quick_measures() -> list[str]:
    """The measures that a page shows at once: those that every report has, and that attack nobody."""
    wanted = [each.measure for each in measures.figures() if each.expected or each.glance is not None]
    return [name for name in dict.fromkeys(wanted) if not _attacks(name)]


def attacking_measures() -> list[str]:
    """Those that attack, and need nothing that only the owner of the log could give."""
    missing = {name for name, each in INPUTS.items() if each.default is None}
    return [name for name in measures.names_of_all() if _attacks(name) and not measures.load(name).needs & missing]


def _attacks(name: str) -> bool:
    return ".attacks." in f"{registry.module('measures', name).__name__}." or any(
        each.measure == name for each in measures.weighed()
    )


def _view(bench: Bench, source: Source, key: object, release: Release, names: list[str], tell: Told) -> ReleaseView:
    """A release with the scores of some measures, taken one after the other."""
    as_read, log = bench.read(source)
    if bench.tables is None or bench.tables[0] != key:
        seed = bench.seed(source)
        bench.tables = (key, Comparison.of(log, release, seed, as_read=as_read))
    comparison = bench.tables[1]
    view = api.release_view(comparison, names=[])
    scores, left_out = view.scores.drop("label", strict=False), dict[str, str]()
    for place, name in enumerate(names):
        tell(f"Measuring: {name.replace('_', ' ')}", place / len(names))
        try:
            scores = scores.vstack(scores_of(comparison, [name], left_out.__setitem__, strict=False))
        except NotApplicableError as reason:
            left_out[name] = str(reason)
    return replace(view, scores=scores, left_out=left_out)


def attack(bench: Bench, tell: Told, source: Source, number: int, method: str, typed: Mapping[str, str]) -> Attacked:
    """Attack a release that was tried and, where people are in groups, random groups in its place.

    All as a report does it, so that the report of a decision has the same figures.
    """
    _, log = bench.read(source, tell)
    release = api.load_release(*bench.tried(number))
    # With those that the first page of a report cannot do without, or it would recommend something else.
    names = list(dict.fromkeys([*attacking_measures(), *quick_measures(), *measures.on_sheet()]))
    baseline = method_of(method, typed).baseline()
    parts = 1 if baseline is None else 2
    view = _view(bench, source, number, release, names, lambda name, share: tell(name, share / parts))
    random = None
    if baseline is not None:
        tell("Making random groups of the same size, to compare with", 0.5)
        seed = None if release.record is None else release.record.run["seed"]
        at_random = api.anonymize_prepared(log, baseline, seed=seed)  # never written
        random = _view(bench, source, (number, "random"), at_random, names,
                       lambda name, share: tell(f"Random groups. {name}", 0.5 + share / 2))  # fmt: skip
        bench.tables = None
    before = bench.log_view(source)
    weighed, advice = weighed_in(before, view, log.shape)
    return Attacked(
        figures=shown_of(before, view, random, log.shape),
        weighed=weighed,
        advice=advice,
        findings=findings_in(view, log.shape),
        left_out=tuple(view.left_out.items()),
    )


# --- verifying ---------------------------------------------------------------------------------------


def verify(
    bench: Bench,  # noqa: ARG001 (all tasks have this signature)
    tell: Told,
    out: str,
    original: Source | None,
    promise: str = "",
    k: int | None = None,
    record: str = "",
) -> Judged:
    """Check a release that anybody made; what `coterie verify` does."""
    notes: list[str] = []
    verdict = jobs.verify_file(
        out,
        () if original is None else original.paths,
        original_reading=None if original is None else original.reading,
        job=jobs.Job(
            progress=lambda step, told=None: tell(STAGES.get(stage_of(step), step), share_of(told)), note=notes.append
        ),
        promise=promise or None,
        k=k,
        record=Path(record) if record else None,
    )
    if verdict.broken or verdict.promise_checked:
        state = "broken" if verdict.broken else "kept"
        words = checks_made(verdict.checks, verdict.largest_k)
    else:
        state, unchecked = "not checked", f"{len(verdict.unchecked)} of {len(verdict.checks)} checks"
        words = f"Whether the promise holds was not checked: {unchecked} need more than was given."
    return Judged(
        state=state,
        sentence=verdict.sentence,
        verdict=words,
        largest_k=verdict.largest_k,
        checks=tuple((c.name.replace("_", " "), c.status, c.text, c.carries_promise) for c in verdict.checks),
        notes=tuple(notes),
    )


TASKS: dict[str, Callable[..., Any]] = {
    each.__name__: each for each in (catalogue, open_log, show_rows, show_names, risk, attempt, attack, decide, verify)
}


LONGEST = 28
_STAYS = frozenset(" -:/.,@_?&=+%")
HIDDEN = "·"


def masked(value: object) -> str:
    """The form of a value, cut to a bearable length."""
    if value is None:
        return ""
    text = str(value)
    form = "".join(_mask(letter) for letter in text[:LONGEST])
    return form + ("…" if len(text) > LONGEST else "")


def _mask(letter: str) -> str:
    if letter.isdigit() or letter.isdecimal():
        return "0"
    if letter.isalpha():
        return "a"
    if letter in _STAYS:
        return letter
    return " " if letter.isspace() else HIDDEN
