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
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from coterie import measures, verbs
from coterie.core import registry
from coterie.core.files import expand, files_in, home_of
from coterie.core.log import GROUPS_DIGEST, Log, Record, Release
from coterie.core.params import early_params, files_of
from coterie.core.plan import Method, can_regroup, refuse_engine, shape_given, spends
from coterie.core.promise import Verdict
from coterie.core.scratch import stop_if_asked
from coterie.core.threads import Progress, Told
from coterie.core.wording import scores_in_words_of
from coterie.engines.clusters import session_for
from coterie.errors import InputError, ParameterError
from coterie.measures import as_it_is
from coterie.reading.places import is_elsewhere
from coterie.reading.reading import Reading, takes_of
from coterie.reading.sniff import format_of
from coterie.steps import StepLike
from coterie.writing.elsewhere import bring_release
from coterie.writing.history import History, for_the_operator, spend
from coterie.writing.ledger import Allowance
from coterie.writing.outputs import Summary as Summary
from coterie.writing.outputs import summary, write_and_list
from coterie.writing.record import record_files
from coterie.writing.released import refuse_groups
from coterie.writing.sidecar import reading_like, sidecar_path
from coterie.writing.target import Target as Target
from coterie.writing.targets import placed, refuse_output

if TYPE_CHECKING:
    from coterie.taxonomies.build import Built

T = TypeVar("T")
Note = Callable[[str], None]
"""Hears what people should know about the input or the result; never a value of the log."""


def _silent(_stage: str, _told: Told | None = None) -> None: ...


# --- reading ---------------------------------------------------------------------------------------


def read_logs(
    paths: Sequence[str],
    reading: Reading | None = None,
    *,
    steps: Sequence[StepLike] | None = None,
    progress: Progress | None = None,
    note: Note = _silent,
) -> Log:
    """One log from files, globs or standard input, prepared by `steps`; `note` hears what was left out."""
    as_read = verbs.read(list(paths), reading, progress=progress)
    log = as_read if steps is None else verbs.prepare(as_read, steps)
    for text in log.notes:
        note(text)
    return log


def read_original(
    paths: Sequence[str], out: str | Path, given: Reading, *, own: bool = False, progress: Progress, note: Note
) -> Log:
    """The original of a released file, read as its sidecar says but for what is given; where it fails, this is said.

    `own`: the original has options of its own, `--original-columns` and `--original-format`.
    """
    reading = reading_like(out, given)
    try:
        return read_logs(paths, reading, progress=progress, note=note)
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
    for_people: bool = False,
    progress: Progress = _silent,
    note: Note = _silent,
) -> pl.DataFrame:
    """What is in a log, and how exposed it is before any protection: name, key, value, unit; or keys `for_people`.

    The rates of attacks that are quick are those that a report on the same log has under Before.
    """
    progress("read")
    as_read = verbs.read(list(paths), replace(reading or Reading(), as_published=True), progress=progress)
    log = as_read if steps is None else verbs.prepare(as_read, steps)
    for text in (*log.notes, *log.warnings):
        note(text)
    progress("inspect")
    if log.shape.subject in log.frame.collect_schema() and not log.named:
        nouns = log.shape.subject_nouns
        note(
            f"No row says whose it is. Without {nouns} nobody can tell how exposed they are, which does not mean that "
            f"the log is safe, and nothing that has a k can be released. Say which column names them."
        )
    scores = verbs.inspect(log, as_read)
    if log.named:
        progress("attack")
        seed = measures.seed_for(as_read)
        some, people = as_it_is.some_people(log, seed)
        if people is not None:
            note(f"Attacks were tried on {people:,} {log.shape.subject_nouns} drawn at random, among themselves.")
        scores = scores.vstack(
            as_it_is.rates_before(as_it_is.attacked(some, seed, as_it_is.attacks(as_it_is.QUICK))[0])
        )
    return scores_in_words_of(log.shape, scores) if for_people else scores


# --- anonymizing -----------------------------------------------------------------------------------


def methods_for(name: str, params: Mapping[str, Any], ks: Sequence[int | None]) -> list[Method]:
    """The method of that name for each k; None stands for a method without k."""
    make = registry.method(name)
    return [make(**params, **({} if k is None else {"k": k})) for k in ks]


def anonymize_files(
    paths: Sequence[str],
    methods: Sequence[Method],
    to: Sequence[Target],
    *,
    reading: Reading | None = None,
    steps: Sequence[StepLike] = (),
    seed: int | None = None,
    blocks: int | None = None,
    history: str | None = None,
    log_name: str | None = None,
    groups_of: Path | None = None,
    independent: bool = False,
    budget: Allowance | None = None,
    engine: str | None = None,
    parts: int | None = None,
    progress: Progress = _silent,
    note: Note = _silent,
) -> list[Summary]:
    """Read and prepare log files, anonymize them with each method, and write each release to its target.

    `history` is the file that lists the releases of the log called `log_name`: beside the log unless given, or "none".
    `groups_of` and `independent`: see `anonymize_each`. `budget`: what may be spent of its people over all releases.
    `engine` is the address of a Spark cluster that does the work, in tasks of so many `parts`.
    """
    for method in methods if engine is not None else ():
        refuse_engine(method)
    files = files_of_paths(paths) if engine is None else [path for path in map(Path, paths) if path.is_file()]
    _refuse(to, [*files, *_files_of(methods), *_files_of_record(groups_of)])
    _refuse_groups(methods, groups_of, independent)
    needed = any(spends(method) is not None for method in methods)
    # Nobody is in a log that is made up.
    book = None if _is_made_up(paths) else History.of(home_of(files), history, log_name, needed=needed)
    if book is not None:
        book.refuse(files)
    progress("read")
    with nullcontext() if book is None else book.told(note), session_for(engine) as session:
        there = replace(reading or Reading(), session=session, parts=parts)
        log = read_logs(paths, there, steps=steps, progress=progress, note=note)
        return write_each(
            log,
            methods,
            to,
            seed=seed,
            blocks=blocks,
            history=book,
            groups_of=groups_of,
            independent=independent,
            budget=budget,
            progress=progress,
            note=note,
        )


def write_each(
    log: Log,
    methods: Sequence[Method],
    to: Sequence[Target],
    *,
    seed: int | None = None,
    blocks: int | None = None,
    history: History | None = None,
    groups_of: Path | None = None,
    independent: bool = False,
    budget: Allowance | None = None,
    progress: Progress = _silent,
    note: Note = _silent,
) -> list[Summary]:
    """Anonymize a log with each method and write each release to its target, and list it in the log's `history`.

    Whatever can be refused is refused before anything is written. Where a later release fails all the same, the error
    says which ones are there. `groups_of` and `independent`: see `anonymize_each`.
    """
    inputs = [*log.sources, *_files_of(methods), *_files_of_record(groups_of)]
    _refuse(to, inputs)
    for method, target in zip(methods, to, strict=False):
        target.refuse_shape(shape_given(method, log))
    if history is not None:
        history.refuse([*inputs, *(path for target in to for path in target.files)])
    spend(log, methods, history, budget, seed)
    releases = anonymize_each(
        log,
        methods,
        seed=seed,
        blocks=blocks,
        record=any(target.record is not None for target in to),
        groups_of=groups_of,
        independent=independent,
        progress=progress,
    )
    summaries, written = list[Summary](), list[str]()
    with saying_what_is_there(written):
        for release, target in zip(releases, to, strict=True):
            progress("write")
            release = target.named(release, note)
            listing = None if history is None else history.listing(log)
            with counted(written, target.label, target.file):
                _, warning = write_and_list(release, target, listing, progress)
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


def _files_of(methods: Sequence[Method]) -> list[Path]:
    """The files that parameters of methods name."""
    return [path for method in methods for path in files_of(method).values()]


def _files_of_record(folder: Path | None) -> list[Path]:
    return [] if folder is None else [folder / name for name in record_files(folder)]


def anonymize_each(
    log: Log,
    methods: Sequence[Method],
    *,
    seed: int | None = None,
    blocks: int | None = None,
    record: bool = True,
    groups_of: Record | str | Path | None = None,
    independent: bool = False,
    progress: Progress = _silent,
) -> Iterator[Release]:
    """The release of each method; neighbours that differ in k alone share what is learnt, and groups.

    These come from the smallest k up, and users are in unions of the groups of the k before: so whoever has several of
    these releases learns no more than from one. `independent` groups are for studies, which compare k. `groups_of` is
    the run record of an earlier release, whose groups all of them use.
    """
    _refuse_groups(methods, groups_of, independent)
    methods = list(methods)
    while methods:
        alike = _alike(methods)
        methods = methods[len(alike) :]
        if len(alike) == 1:  # then nobody else needs what is learnt, and one seed serves the whole run
            yield verbs.anonymize_prepared(
                log, alike[0], seed=seed, blocks=blocks, record=record, progress=progress, groups_of=groups_of
            )
            continue
        learnt, below = verbs.learn(log, alike, seed=seed, blocks=blocks, progress=progress), groups_of
        for method in alike:
            release = verbs.anonymize_prepared(
                log, method, seed=seed, record=record, progress=progress, learnt=learnt, groups_of=below
            )
            if release.record is not None and release.record.run[GROUPS_DIGEST] and not independent:
                below = release.record
            yield release


def _refuse_groups(methods: Sequence[Method], groups_of: Record | str | Path | None, independent: bool) -> None:
    """Refuse before any work groups that cannot be used, and k in an order in which groups cannot be joined."""
    if groups_of is not None:
        if independent:
            raise ParameterError(
                "--independent makes new groups for each k, and --groups-of uses old ones: leave out one."
            )
        for method in methods:
            refuse_groups(method)
    for before, method in pairwise(methods):
        falls = getattr(method, "k", 0) < getattr(before, "k", 0)
        if falls and not independent and can_regroup(method) and early_params(before) == early_params(method):
            raise ParameterError("Several k share groups, which are joined for a larger k: give the smallest k first.")


def stages_of(methods: Sequence[Method]) -> int:
    """How many stages `anonymize_files` tells of: reading, learning for those that are alike, four for each method."""
    learnt, left = 0, list(methods)
    while left:
        learnt, left = learnt + 1, left[len(_alike(left)) :]
    return 1 + learnt + 4 * len(methods)


def _alike(methods: Sequence[Method]) -> list[Method]:
    """The methods at the beginning that differ in late parameters alone."""
    alike = []
    for method in methods:
        if early_params(method) != early_params(methods[0]):
            break
        alike.append(method)
    return alike


# --- released files --------------------------------------------------------------------------------


def verify_file(
    out: str,
    original: Sequence[str] = (),
    *,
    reading: Reading | None = None,
    original_reading: Reading | None = None,
    steps: Sequence[StepLike] | None = None,
    promise: str | None = None,
    k: int | None = None,
    record: Path | None = None,
    sidecar: str | None = None,
    engine: str | None = None,
    progress: Progress = _silent,
    note: Note = _silent,
) -> Verdict:
    """Check a released file again; one without a sidecar, which Coterie did not make, is read like any log.

    `reading` says how to read such a file; for a release, which needs none, it describes the original. What
    `original_reading` gives counts for the original alone. `engine` is the address of a Spark cluster that reads the
    original and looks at rows.
    """
    if engine is not None and not original:
        raise ParameterError(
            "A cluster compares a release with its original: give --original LOG, or leave out --engine."
        )
    progress("read")
    near = bring_release(out, sidecar)
    out = str(near.path)
    foreign = not sidecar_path(near.path).exists()
    if engine is not None and foreign:
        raise ParameterError("A file without a sidecar is verified on one machine; leave out --engine.")
    reading = shared = reading or Reading()
    if foreign:  # its format and columns say nothing about the original, and searches are read from that alone
        shared = replace(shared, format=None, columns={})
    with session_for(engine) as session:
        own = replace((original_reading or Reading()).over(shared), session=session)
        log = read_original(original, out, own, own=True, progress=progress, note=note) if original else None
        alone = replace(reading, query_param=None, sql=None)
        if foreign and log is not None:  # what the format of the file makes no use of was said of the original
            format = alone.format or format_of(Path(out), Reading(columns=alone.columns))
            takes = ("format", "allow_bad", *takes_of(format))
            alone = Reading(**{name: value for name, value in alone.said.items() if name in takes})
        alone = replace(alone, as_published=True)
        rows = read_logs([out], alone, progress=progress, note=note) if foreign else out
        progress("verify")
        return verbs.verify(rows, log, promise=promise, k=k, steps=steps, record=record, progress=progress)


# --- other files -----------------------------------------------------------------------------------


def write_synthetic(
    to: Path, users: int, *, seed: int = 7, kind: str = "topics", force: bool = False, progress: Progress = _silent
) -> int:
    """Write a synthetic log of one of `synth.KINDS` in its layout; returns how many rows it has."""
    from coterie import synth

    synth.check_name(to, kind)
    with placed(to, force) as part:
        return synth.write(part, users, seed, kind, partial(progress, "synth"))


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
    *,
    query_file: Path | None = None,
    picture: Path | None = None,
    reading: Reading | None = None,
    steps: Sequence[StepLike] = (),
    show_values: bool = False,
    force: bool = False,
    progress: Progress = _silent,
    note: Note = _silent,
) -> Explained:
    """What `affinity` makes of log files, or of the queries in a file; with a picture of those around the first one."""
    from coterie import explain

    queries = explain.read_queries(query_file) if query_file is not None else []
    inputs = [*files_of_paths(paths), *filter(None, [query_file]), *_files_of([method])]
    if picture is not None:
        if not queries:
            raise ParameterError("A picture shows the queries around one of yours. Give it: --query-file FILE.")
        explain.picture_kind(picture)
        refuse_output(picture, force, inputs)
    progress("read")
    log = read_logs(paths, reading, steps=steps, note=note)
    progress("explain")
    explanation = explain.explain_affinity(log, method, queries)
    if picture is not None:
        progress("draw")
        with placed(picture, force, inputs) as part:
            explain.draw_component(explanation, part, show_values)
    if query_file is None:
        return Explained(scores=explain.overview(explanation.graph), table=None)
    table = explanation.table if show_values else explanation.table.drop("query")
    return Explained(scores=explanation.scores(show_values), table=table)


def build_taxonomy(
    sources: Sequence[str],
    to: Path,
    *,
    name: str | None = None,
    force: bool = False,
    progress: Progress = _silent,
    **options: Any,
) -> Built:
    """Pack a table of paths or parents, or a dump of the Open Directory, into one file."""
    from coterie.taxonomies import packed
    from coterie.taxonomies.build import build

    if to.suffix != ".npz":
        raise ParameterError("A packed taxonomy is named .npz.")
    with placed(to, force, files_of_paths(sources)) as part:
        progress("build")
        built = build(sources, name=name or to.stem, **options)
        progress("write")
        packed.write(built.tree, part)
    return built


def taxonomy_coverage(
    paths: Sequence[str],
    taxonomy: str = "wordnet",
    *,
    unit: Any = "term",
    categories: int = 1,
    reading: Reading | None = None,
    steps: Sequence[StepLike] = (),
    progress: Progress = _silent,
    note: Note = _silent,
) -> pl.DataFrame:
    """Which share of the terms and queries of a log has a concept, and at which level at least."""
    from coterie import taxonomies
    from coterie.taxonomies import cover

    tree = taxonomies.load(taxonomy)
    progress("read")
    log = read_logs(paths, reading, steps=steps, note=note)
    progress("look up")
    return cover(log, tree, unit=unit, categories=categories)
