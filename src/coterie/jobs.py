"""Jobs: whole tasks on files, which the command line and the studio share, with the rules that keep them safe:
several k from one reading, targets that are refused before any work is done, files that Coterie did not make, and
summaries in numbers. A job takes paths and options, and hands back values; it prints nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from coterie import api, measures
from coterie.api import Job as Job
from coterie.api import Page as Page
from coterie.api import silent
from coterie.core import registry
from coterie.core.files import expand, files_in, home_of, label_of, place_of, stop_if_asked
from coterie.core.log import GROUPS_DIGEST, Log, Release
from coterie.core.params import early_params, files_of
from coterie.core.plan import Method, refuse_engine
from coterie.core.promise import Verdict
from coterie.core.threads import Counted, Progress
from coterie.core.wording import scores_in_words_of
from coterie.engines.clusters import session_for
from coterie.errors import InputError, ParameterError
from coterie.measures import attacks, names_of_all, needing, on_sheet, seed_for
from coterie.measures.inputs import INPUTS
from coterie.reading.places import is_elsewhere
from coterie.reading.reading import Reading
from coterie.reports import report_kind
from coterie.reports.figures import findings_of, headlines
from coterie.steps import StepLike
from coterie.writing.files import Near, bring_release, summary, write_and_list
from coterie.writing.files import Summary as Summary
from coterie.writing.history import Allowance, History, for_the_operator, spend
from coterie.writing.record import read_record, record_files
from coterie.writing.released import refuse_groups
from coterie.writing.sidecar import reading_like, sidecar_path
from coterie.writing.target import Target as Target
from coterie.writing.targets import placed, refuse_output

if TYPE_CHECKING:
    from coterie.taxonomies.build import Built

T = TypeVar("T")
PLAIN = Job()
"""Nobody hears of it, and it is done here and anew."""


# --- reading ---------------------------------------------------------------------------------------


def read_logs(
    paths: Sequence[str],
    reading: Reading | None = None,
    *,
    steps: Sequence[StepLike] | None = None,
    job: Job = PLAIN,
) -> Log:
    """One log from files, globs or standard input, prepared by `steps`; the job's `note` hears what was left out."""
    log = api.read(list(paths), reading, progress=job.progress)
    log = log if steps is None else api.prepare(log, steps)
    for text in log.notes:
        job.note(text)
    return log


def read_original(paths: Sequence[str], out: str | Path, given: Reading, job: Job, *, own: bool = False) -> Log:
    """The original of a released file, read as its sidecar says but for what is given; where it fails, this is said.

    `own`: the original has options of its own, `--original-columns` and `--original-format`.
    """
    reading = reading_like(out, given)
    try:
        return read_logs(paths, reading, job=job)
    except InputError as error:
        text = re.sub(r"--(columns|format)\b", r"--original-\1", str(error)) if own else str(error)
        side = sidecar_path(Path(out))
        if "--" in text and reading.words_said and side.exists():
            said = " ".join(reading.words_said)
            text += f" The original is read with {said}: as {side.name} says, where the command does not."
        error.args = (text,)
        raise


def _is_made_up(paths: Sequence[str]) -> bool:
    return len(paths) == 1 and paths[0].startswith("synth:")


def files_of_paths(paths: Sequence[str]) -> list[Path]:
    """The files that paths and globs stand for, folders and the files in them too; none of a log that is elsewhere."""
    given = expand(paths, folders=True) if paths and not (_is_made_up(paths) or is_elsewhere(paths)) else []
    return [*given, *(file for path in given if path.is_dir() for file in files_in(path))]


def inspect_logs(
    paths: Sequence[str],
    reading: Reading | None = None,
    *,
    steps: Sequence[StepLike] | None = None,
    job: Job = PLAIN,
) -> pl.DataFrame:
    """What is in a log, and how exposed it is before any protection: name, key, value, unit.

    The rates of attacks that are quick are those that a report on the same log has under Before.
    """
    job.progress("read")
    as_read = api.read(list(paths), replace(reading or Reading(), as_published=True), progress=job.progress)
    log = as_read if steps is None else api.prepare(as_read, steps)
    for text in (*log.notes, *log.warnings):
        job.note(text)
    job.progress("inspect")
    if log.shape.subject in log.frame.collect_schema() and not log.named:
        nouns = log.shape.subject_nouns
        job.note(
            f"No row says whose it is. Without {nouns} nobody can tell how exposed they are, which does not mean that "
            f"the log is safe, and nothing that has a k can be released. Say which column names them."
        )
    scores = api.inspect(log, as_read)
    if log.named:
        job.progress("attack")
        seed = measures.seed_for(as_read)
        _, people = attacks.some_people(log, seed, attacks.MANY)
        if people is not None:
            job.note(f"Attacks were tried on {people:,} {log.shape.subject_nouns} drawn at random, among themselves.")
        scores = scores.vstack(attacks.rates_before(attacks.attacked(log, seed, attacks.names(attacks.QUICK))[0]))
    return scores_in_words_of(log.shape, scores) if job.for_people else scores


# --- anonymizing -----------------------------------------------------------------------------------


def methods_for(name: str, params: Mapping[str, Any], ks: Sequence[int | None]) -> list[Method]:
    """The method of that name for each k; None stands for a method without k."""
    make = registry.method(name)
    return [make(**params, **({} if k is None else {"k": k})) for k in ks]


@dataclass(frozen=True, kw_only=True)
class Account:
    """Where the releases of a log are listed, and what may be spent of its people over all of them."""

    history: str | None = None
    """The file: beside the log unless given, or "none"."""
    log_name: str | None = None
    """What the log is called there."""
    budget: Allowance | None = None


def anonymize_files(
    paths: Sequence[str],
    methods: Sequence[Method],
    to: Sequence[Target],
    *,
    reading: Reading | None = None,
    steps: Sequence[StepLike] = (),
    account: Account | None = None,
    job: Job = PLAIN,
) -> list[Summary]:
    """Read and prepare log files, anonymize them with each method, and write each release to its target."""
    account = account or Account()
    for method in methods if job.engine is not None else ():
        refuse_engine(method)
    files = files_of_paths(paths) if job.engine is None else [path for path in map(Path, paths) if path.is_file()]
    _refuse(to, [*files, *_files_of(methods, job)])
    _refuse_groups(methods, job)
    needed = any(method.spends is not None for method in methods)
    # Nobody is in a log that is made up.
    made_up = _is_made_up(paths)
    book = None if made_up else History.of(home_of(files), account.history, account.log_name, needed=needed)
    if book is not None:
        book.refuse(files)
    job.progress("read")
    with nullcontext() if book is None else book.told(job.note), session_for(job.engine) as session:
        there = replace(reading or Reading(), session=session, parts=job.parts)
        log = read_logs(paths, there, steps=steps, job=job)
        return write_each(log, methods, to, history=book, budget=account.budget, job=job)


def write_each(
    log: Log,
    methods: Sequence[Method],
    to: Sequence[Target],
    *,
    history: History | None = None,
    budget: Allowance | None = None,
    job: Job = PLAIN,
) -> list[Summary]:
    """Anonymize a log with each method and write each release to its target, and list it in the log's `history`.

    Whatever can be refused is refused before anything is written. Where a later release fails all the same, the error
    says which ones are there.
    """
    inputs = [*log.sources, *_files_of(methods, job)]
    _refuse(to, inputs)
    for method, target in zip(methods, to, strict=False):
        target.refuse_shape(method.shape_given(log))
    if history is not None:
        history.refuse([*inputs, *(path for target in to for path in target.files)])
    spend(log, methods, history, budget, job.seed)
    releases = anonymize_each(log, methods, record=any(target.record is not None for target in to), job=job)
    summaries, written = list[Summary](), list[str]()
    with saying_what_is_there(written):
        for release, target in zip(releases, to, strict=True):
            job.progress("write")
            release = target.named(release, job.note)
            listing = None if history is None else history.listing(log)
            with counted(written, target.label, target.file):
                _, warning = write_and_list(release, target, listing, job.progress)
            stop_if_asked()
            done = summary(release, target.label)
            warnings = (*done.warnings, *filter(None, [warning]), *for_the_operator(release))
            summaries.append(replace(done, warnings=warnings))
    return summaries


@contextmanager
def saying_what_is_there(written: Sequence[str | Path]) -> Iterator[None]:
    """Whatever ends a job early carries the names of the files that are `written` by then, for the last sentence."""
    try:
        yield
    except BaseException as error:
        error.written = tuple(map(str, written))  # type: ignore[attr-defined]
        raise


@contextmanager
def counted(written: list[T], name: T, path: Path) -> Iterator[None]:
    """Add a name to those that are `written` where the block puts its file in place, also if a stop comes right after.

    So it is there first, and is taken away again where the file did not change.
    """
    before = _seen(path)
    try:
        written.append(name)
        yield
    except BaseException:
        if _seen(path) == before and name in written:
            written.remove(name)
        raise


def _seen(path: Path) -> tuple[int, int] | None:
    with suppress(OSError):
        stat = path.stat()
        return stat.st_ino, stat.st_mtime_ns
    return None


def _refuse(to: Sequence[Target], inputs: Sequence[Path]) -> None:
    if len(to) > 1 and any(target.is_stdout for target in to):
        raise ParameterError("Standard output takes one release only. Give a file for each, for example out.{k}.tsv")
    if len({target.path for target in to}) < len(to):
        raise ParameterError("Two releases cannot go to one file. Give each its own.")
    for target in to:
        target.refuse(inputs)


def _files_of(methods: Sequence[Method], job: Job = PLAIN) -> list[Path]:
    """The files that parameters of methods name, and those of the record whose groups are used."""
    files = [path for method in methods for path in files_of(method).values()]
    if not isinstance(job.groups_of, (str, Path)):
        return files
    folder = Path(job.groups_of)
    return [*files, *(folder / name for name in record_files(folder))]


def anonymize_each(log: Log, methods: Sequence[Method], *, record: bool = True, job: Job = PLAIN) -> Iterator[Release]:
    """The release of each method; neighbours that differ in k alone share what is learnt, and groups.

    These come from the smallest k up, and users are in unions of the groups of the k before: so whoever has several of
    these releases learns no more than from one, unless the job is to make `independent` groups.
    """
    _refuse_groups(methods, job)
    how: dict[str, Any] = {"seed": job.seed, "progress": job.progress}
    for alike in _alike(methods):
        below = job.groups_of
        if len(alike) == 1:  # then nobody else needs what is learnt, and one seed serves the whole run
            yield api.anonymize_prepared(log, alike[0], blocks=job.blocks, record=record, groups_of=below, **how)
            continue
        learnt = api.learn(log, alike, blocks=job.blocks, **how)
        for method in alike:
            release = api.anonymize_prepared(learnt, method, record=record, groups_of=below, **how)
            if release.record is not None and release.record.run[GROUPS_DIGEST] and not job.independent:
                below = release.record
            yield release


def _refuse_groups(methods: Sequence[Method], job: Job) -> None:
    """Refuse before any work groups that cannot be used, and k in an order in which groups cannot be joined."""
    if job.groups_of is not None:
        if job.independent:
            raise ParameterError(
                "--independent makes new groups for each k, and --groups-of uses old ones: leave out one."
            )
        for method in methods:
            refuse_groups(method)
    for before, method in pairwise(methods):
        falls = getattr(method, "k", 0) < getattr(before, "k", 0)
        if falls and not job.independent and method.regroups and early_params(before) == early_params(method):
            raise ParameterError("Several k share groups, which are joined for a larger k: give the smallest k first.")


def stages_of(methods: Sequence[Method]) -> int:
    """How many stages `anonymize_files` tells of: reading, learning for those that are alike, four for each method."""
    return 1 + len(_alike(methods)) + 4 * len(methods)


def _alike(methods: Sequence[Method]) -> list[list[Method]]:
    """Neighbours that differ in late parameters alone stand together."""
    return [list(alike) for _, alike in groupby(methods, key=early_params)]


# --- released files --------------------------------------------------------------------------------


def verify_file(
    out: str,
    original: Sequence[str] = (),
    *,
    reading: Reading | None = None,
    original_reading: Reading | None = None,
    job: Job = PLAIN,
    **asked: Any,
) -> Verdict:
    """Check a released file again; one without a sidecar, which Coterie did not make, is read like any log.

    `reading` says how to read such a file; for a release, which needs none, it describes the original. What
    `original_reading` gives counts for the original alone. `asked` is what `api.verify` takes: `promise`, `k`, `steps`,
    `record`. With an engine, a cluster reads the original and looks at rows.
    """
    if job.engine is not None and not original:
        raise ParameterError(
            "A cluster compares a release with its original: give --original LOG, or leave out --engine."
        )
    job.progress("read")
    near = bring_release(out, next(iter(job.sidecars), None))
    out = str(near.path)
    foreign = not sidecar_path(near.path).exists()
    if job.engine is not None and foreign:
        raise ParameterError("A file without a sidecar is verified on one machine; leave out --engine.")
    reading = shared = reading or Reading()
    if foreign:  # its format and columns say nothing about the original, and searches are read from that alone
        shared = replace(shared, format=None, columns={})
    with session_for(job.engine) as session:
        own = replace((original_reading or Reading()).over(shared), session=session)
        log = read_original(original, out, own, job, own=True) if original else None
        alone = replace(reading, query_param=None, sql=None)
        if log is not None:  # what the format of the file makes no use of was said of the original
            alone = replace(alone, borrowed=frozenset(alone.said))
        alone = replace(alone, as_published=True)
        rows = read_logs([out], alone, job=job) if foreign else out
        job.progress("verify")
        return api.verify(rows, log, progress=job.progress, **asked)


def measure_file(
    out: str,
    original: Sequence[str],
    *,
    reading: Reading | None = None,
    record: Path | None = None,
    job: Job = PLAIN,
    **given: Any,
) -> pl.DataFrame:
    """Scores of a released file; `job.note` hears which measures were left out, and why.

    `given` is what `api.measure` takes: `names`, `show_values`, and what some measures need besides. Logs in it
    (`later`) are paths here.
    """
    names = list(given.pop("names", ()))
    _refuse_unknown(names)
    job.progress("read")
    near = bring_release(out, next(iter(job.sidecars), None))
    release = api.load_release(near.path, record)
    no_meaning: list[str] = []
    log = read_original(original, near.path, reading or Reading(), job)
    loaded = _loaded(given, reading, job)
    job.progress("measure")
    scores = api.measure(
        release,
        names or None,
        original=log,
        seed=seed_for(log) if job.seed is None else job.seed,
        left_out=no_meaning.append,
        store=job.store,
        progress=job.progress,
        **loaded,
    )
    if not names and record is None:
        left_out = [name for name in names_of_all() if name in needing("record")]
        job.note(f"Left out, because they need --record DIR: {', '.join(left_out)}.")
    for text in (*(f"Left out: {reason}" for reason in no_meaning), *headlines(scores, findings_of(log.shape))):
        job.note(text)
    return scores_in_words_of(log.shape, scores) if job.for_people else scores


def _refuse_unknown(names: Sequence[str]) -> None:
    """Raise an error for a measure that nobody knows."""
    for name in names:
        registry.module("measures", name)


def _loaded(given: Mapping[str, Any], reading: Reading | None, job: Job) -> dict[str, Any]:
    """What measures need, with logs and releases in place of their paths."""
    readers: dict[str, Callable[[Any], Any]] = {
        "log": lambda paths: read_logs(paths, reading, job=replace(job, progress=silent)),
        "release": api.load_release,
    }
    kinds = {name: INPUTS[name].kind if name in INPUTS else "" for name in given}
    return {name: readers.get(kinds[name], lambda same: same)(value) for name, value in given.items()}


def report_files(
    outs: Sequence[str],
    original: Sequence[str],
    page: Page,
    *,
    reading: Reading | None = None,
    records: Sequence[Path] = (),
    job: Job = PLAIN,
    **given: Any,
) -> list[str]:
    """Write a report about released files, each verified again; returns those whose promise is broken.

    `records` are run records of some of the files, or of all, in any order. `given` is what `api.report` takes:
    `show_values`, what some measures need, and `names`, the measures to take in place of all; what the first page
    cannot do without is always counted.
    """
    names = given.pop("names", ())
    _refuse_unknown(names)
    report_kind(page.to)
    nearby = _brought(outs, job.sidecars)
    refuse_output(page.to, page.force, _files_of_report(original, nearby, records, given))
    loaded = _with_records(nearby, records)
    job.progress("read")
    without = [label_of(out) for out, release in zip(outs, loaded, strict=True) if release.record is None]
    if without and not names:
        which = f" for {', '.join(without)}" if records else ""
        job.note(
            f"Left out{which}, because they need --record DIR: {', '.join(needing('record'))}. So risks may stand on "
            f"the page as not measured, and no release is recommended then. `coterie anonymize --record DIR` keeps one."
        )
    readings = [reading_like(near.path, reading) for near in nearby]
    api.refuse_read_differently([label_of(out) for out in outs], readings)
    log = read_original(original, nearby[0].path, reading or Reading(), job)
    also = _loaded(given, reading, job)
    releases = []
    for place, release in enumerate(loaded):
        job.progress("verify", Counted(place, len(loaded), "releases"))
        releases.append(api.verified_again(release, log))
    if names:
        also["names"] = list(dict.fromkeys([*names, *on_sheet()]))
    api.report_verified(log, releases, page, job, **also)
    return [label_of(out) for out, release in zip(outs, releases, strict=True) if release.verdict.broken]


def _files_of_report(
    original: Sequence[str], nearby: Sequence[Near], records: Sequence[Path], given: Mapping[str, Any]
) -> list[Path]:
    """The files that a report is made of, which it does not replace."""

    def of_kind(kind: str) -> list[Any]:
        return [value for name, value in given.items() if name in INPUTS and INPUTS[name].kind == kind]

    released = [*(near.path for near in nearby), *map(Path, of_kind("release"))]
    folders = [*records, *map(Path, of_kind("record"))]
    inside = [folder / name for folder in folders for name in record_files(folder)]
    logs = [path for paths in (original, *of_kind("log")) for path in files_of_paths(paths)]
    return [*logs, *released, *map(sidecar_path, released), *inside, *map(Path, of_kind("file"))]


def _with_records(nearby: Sequence[Near], records: Sequence[Path]) -> list[Release]:
    """Released files, each with its run record if that is among `records`: a record knows the digest of its file."""
    folders = {read_record(folder).run["released_sha256"]: folder for folder in records}
    releases = [api.load_release(near.path) for near in nearby]
    for digest in folders.keys() - {release.sha256 for release in releases}:
        raise InputError(f"The run record in {folders[digest]} belongs to another release than those that were given.")
    return [
        api.load_release(near.path, folders[release.sha256]) if release.sha256 in folders else release
        for near, release in zip(nearby, releases, strict=True)
    ]


def _brought(outs: Sequence[str], sidecars: Sequence[str]) -> list[Near]:
    """Released files that can be read here; tables of databases have their sidecars apart, one for each."""
    tables = [place is not None and place.is_database for place in map(place_of, outs)]
    if len(sidecars) != sum(tables):
        raise ParameterError(f"Give one --sidecar for each table of a database, of which there are {sum(tables)}.")
    theirs = iter(sidecars)
    return [bring_release(out, next(theirs) if is_table else None) for out, is_table in zip(outs, tables, strict=True)]


# --- other files -----------------------------------------------------------------------------------


def write_synthetic(
    to: Path, users: int, *, seed: int = 7, kind: str = "topics", force: bool = False, progress: Progress = silent
) -> int:
    """Write a synthetic log of one of `synth.KINDS` in its layout; returns how many rows it has."""
    from coterie import synth

    synth.check_name(to, kind)
    with placed(to, force) as part:
        return synth.write(part, users, seed, kind, partial(progress, "synth"))


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is to be explained, and how it is shown."""

    query_file: Path | None = None
    """Queries, one to a line; None for figures of the whole log."""
    picture: Path | None = None
    """Where those around the first query are drawn."""
    force: bool = False
    show_values: bool = False


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Explained:
    """What a method makes of a log as a whole, or of some queries."""

    scores: pl.DataFrame
    """name, key, value, unit (and label, where values may be shown)."""
    table: pl.DataFrame | None
    """One line for each query, where queries were asked about."""


def explain_files(
    paths: Sequence[str],
    method: Any,
    asked: Asked,
    *,
    reading: Reading | None = None,
    steps: Sequence[StepLike] = (),
    job: Job = PLAIN,
) -> Explained:
    """What `affinity` makes of log files, or of the queries in a file; with a picture of those around the first one."""
    from coterie import explain

    queries = explain.read_queries(asked.query_file) if asked.query_file is not None else []
    inputs = [*files_of_paths(paths), *filter(None, [asked.query_file]), *_files_of([method])]
    if asked.picture is not None:
        if not queries:
            raise ParameterError("A picture shows the queries around one of yours. Give it: --query-file FILE.")
        explain.picture_kind(asked.picture)
        refuse_output(asked.picture, asked.force, inputs)
    job.progress("read")
    log = read_logs(paths, reading, steps=steps, job=job)
    job.progress("explain")
    explanation = explain.explain_affinity(log, method, queries)
    if asked.picture is not None:
        job.progress("draw")
        with placed(asked.picture, asked.force, inputs) as part:
            explain.draw_component(explanation, part, asked.show_values)
    if asked.query_file is None:
        return Explained(scores=explain.overview(explanation.graph), table=None)
    table = explanation.table if asked.show_values else explanation.table.drop("query")
    return Explained(scores=explanation.scores(asked.show_values), table=table)


def build_taxonomy(
    sources: Sequence[str],
    to: Path,
    *,
    name: str | None = None,
    force: bool = False,
    progress: Progress = silent,
    **options: Any,
) -> Built:
    """Pack a table of paths or parents, or a dump of the Open Directory, into one file."""
    from coterie import taxonomies
    from coterie.taxonomies.build import build

    if to.suffix != ".npz":
        raise ParameterError("A packed taxonomy is named .npz.")
    with placed(to, force, files_of_paths(sources)) as part:
        progress("build")
        built = build(sources, name=name or to.stem, **options)
        progress("write")
        taxonomies.write(built.tree, part)
    return built


def taxonomy_coverage(
    paths: Sequence[str],
    taxonomy: str = "wordnet",
    *,
    unit: Any = "term",
    categories: int = 1,
    reading: Reading | None = None,
    steps: Sequence[StepLike] = (),
    job: Job = PLAIN,
) -> pl.DataFrame:
    """Which share of the terms and queries of a log has a concept, and at which level at least."""
    from coterie import taxonomies
    from coterie.taxonomies import cover

    tree = taxonomies.load(taxonomy)
    job.progress("read")
    log = read_logs(paths, reading, steps=steps, job=job)
    job.progress("look up")
    return cover(log, tree, unit=unit, categories=categories)
