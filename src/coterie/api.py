"""The public functions: read, prepare, anonymize, verify, write, measure, report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Literal, TypeAlias

import polars as pl

from coterie.core import randomness, registry
from coterie.core.digests import digest_of_rows
from coterie.core.log import GROUPS_DIGEST, GROUPS_OF, Log, Record, Release, Step, groups_digest
from coterie.core.params import early_params, public_params, showing, values_of
from coterie.core.plan import Facts, Method, refuse_log, refuse_seed
from coterie.core.promise import Case, Promise, Verdict, promise_nothing, refuse_judging_on, with_k
from coterie.core.run import HERE, Engine, Run
from coterie.core.scores import score_table
from coterie.core.shapes import QUERIES, Shape
from coterie.core.threads import Progress, Told
from coterie.engines import clusters
from coterie.engines.clusters import cluster_of
from coterie.engines.local import engine_for
from coterie.errors import (
    BrokenPromiseError,
    CoterieError,
    InputError,
    MissingError,
    ParameterError,
    UnknownNameError,
    warn,
)
from coterie.measures import seed_for
from coterie.measures.comparison import ONE_MACHINE, Comparison, Store, scores_of
from coterie.promises import judge
from coterie.reading import logs, places
from coterie.reading.logs import table_log
from coterie.reading.people import cautions
from coterie.reading.reading import Reading
from coterie.reading.searches import search_log
from coterie.reports import RANDOM, render, report_kind
from coterie.reports.about import About, as_about, today
from coterie.reports.decision import Sheet, decide
from coterie.reports.figures import Figures, findings_of, headlines
from coterie.reports.views import (
    ReleaseView,
    overview,
    personal_data,
    refuse_idle,
    singled_out,
    site_searches,
    with_baseline,
)
from coterie.reports.views import log_view as log_view
from coterie.reports.views import release_view as release_view
from coterie.steps import DEFAULT, PrepareStep, StepLike, facts_of, spelled, steps_of
from coterie.steps import prepare as apply_steps
from coterie.writing import released
from coterie.writing.files import bring_release, in_order, sha256, write_and_list
from coterie.writing.history import USUAL, history_for, listing_in, spend_in, unlisted_in
from coterie.writing.record import is_record_of, read_record
from coterie.writing.sidecar import Sidecar, prepare_steps, read_sidecar, reading_like, sidecar_path
from coterie.writing.target import Target
from coterie.writing.targets import placed, refuse_output

LogLike: TypeAlias = Any
"""A log, or a polars, pandas or Arrow table that becomes one as `log` makes it."""


UNSCRUBBED = (
    "whole queries of single people are released, and none was left out because it looks like personal data: the "
    "prepare step scrub does that"
)
Rows: TypeAlias = tuple[pl.LazyFrame, Shape, list[str], tuple[object, ...]]
"""Released rows, their shape, the columns of their file, and what keeps them there."""
_MANY = 1 << 62  # people and rows: enough for any k
_NO_BASELINE = "Random groups of the same k are shown only where the run record is given (--record DIR)."


def silent(_stage: str, _told: Told | None = None) -> None:
    """Nobody hears it."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Job:
    """How a whole task is done: who hears of it, where it is done, and what it takes from before."""

    progress: Progress = silent
    """Hears which stage the task is at, and how far."""
    note: Callable[[str], None] = silent
    """Hears what people should know about the input or the result; never a value of the log."""
    seed: int | None = None
    blocks: int | None = None
    engine: str | None = None
    """The address of a Spark cluster that does the work; None for this machine."""
    parts: int | None = None
    """In so many tasks the cluster does it."""
    groups_of: Record | str | Path | None = None
    """The run record of an earlier release, whose groups all releases use."""
    independent: bool = False
    """Whether each of several k has groups of its own, as studies need that compare k."""
    store: Store | None = None
    """Scores that were measured before."""
    sidecars: Sequence[str] = ()
    """Those of released files that are tables of databases, one for each; others have theirs beside them."""
    for_people: bool = False
    """Whether keys of scores are in the words of the log; programs get the same for every log."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """Where a report goes, and what it is to be."""

    to: Path
    about: About | None = None
    edition: Literal["internal", "external"] = "internal"
    force: bool = False
    weighed: Callable[[Sheet], None] | None = None
    """Hears what the first page says, before the page is there."""


@showing(Reading)
def read(
    source: str | Path | Sequence[str | Path],
    reading: Reading | None = None,
    *,
    progress: Progress | None = None,
    **options: Any,
) -> Log:
    """A log from a file, a glob, several of them, or standard input (`-`); the format is sniffed.

    It may be elsewhere: `s3://`, `gs://`, `az://`, `https://`, or a database, of which a table is read
    (`sqlite:log.db#queries`) or what `sql` asks for. `options` are those of a `Reading`: `columns`
    says which columns of a table hold what. Those that it
    does not name are guessed, unless it names the query, or `guess` is false. `details` names further columns of a
    table, such as `device,country`, that may accompany a query in a release. Documents are read from folders and
    archives too; `terms` and `min_length` say what becomes of them. With `query_param` an access log is read as the
    search log of its site. `coterie formats` says more. With the `session` of a Spark cluster, its nodes read the
    files, and all work on rows runs there, in so many `parts`. `progress` hears how far reading is, on this machine.
    """
    paths = [source] if isinstance(source, (str, Path)) else list(source)
    reading = (reading or Reading()).with_options(options)
    if reading.session is not None:
        return clusters.read(paths, reading)
    if len(paths) == 1 and str(paths[0]).startswith("synth:"):
        made_up = synthetic(str(paths[0]), reading)
        return made_up if reading.query_param is None else search_log(made_up, reading.query_param)
    brought = places.bring(paths, reading.sql)
    if brought is None:
        return logs.read(paths, reading, progress=progress)
    log = logs.read(brought.files, reading, progress=progress)
    # A table has rows and no bytes: its digest is that of its rows.
    return replace(log, resources=(*log.resources, brought), sources=() if brought.table else log.sources, home=None)


def log(
    table: Any,
    columns: Mapping[str, str] | None = None,
    *,
    details: str | Mapping[str, str] | Sequence[str] = (),
    terms: int | None = None,
    min_length: int | None = None,
) -> Log:
    """A log from a polars, pandas or Arrow table; `columns` maps our names to the table's. Texts become vectors.

    `details` names further columns that may accompany a query in a release. The rows of a Spark DataFrame stay on its
    cluster, and all work on them runs there.
    """
    given = {"columns": columns, "details": details, "terms": terms, "min_length": min_length}
    return log_of_table(table, Reading().with_options(given))


def prepare(log: LogLike, steps: str | Iterable[StepLike] = DEFAULT) -> Log:
    """The log after some steps, given as values, names or texts; unless said, those that suit its shape."""
    return apply_steps(as_log(log), steps)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Learnt:
    """What releases of one log by one method have in common, whatever their k: made by `learn`, used by `anonymize`."""

    source: Log
    """The log as it was given."""
    log: Log
    """The same rows, where they can be read several times."""
    facts: Facts
    engine: Engine
    seed: int = field(repr=False)
    learner: tuple[type, Mapping[str, Any]]
    """The method, but for its late parameters."""
    value: Any
    """What the method itself learnt."""

    def serves(self, method: Method) -> bool:
        """Whether this is what `learn` would give."""
        return early_params(method) == self.learner


def learn(
    log: Log,
    methods: Sequence[Method],
    *,
    seed: int | None = None,
    blocks: int | None = None,
    progress: Progress = silent,
) -> Learnt:
    """What does not depend on k, computed once for methods that differ in k alone.

    Raises InputError where one of them cannot keep its promise for this log.
    """
    first = registry.complete("methods", registry.name_of(methods[0]), methods[0])
    if any(early_params(method) != early_params(first) for method in methods):
        raise ParameterError("What is learnt serves methods that differ in k alone.")
    refuse_seed(first, seed)
    refuse_log(first, log)
    engine = engine_for(log, first, blocks)
    progress("learn")
    rows = replace(log, frame=engine.again(log.frame))
    facts = facts_of(rows, engine)
    for method in methods:
        method.promises(facts)
    run = Run(seed=randomness.new_seed() if seed is None else seed, engine=engine)
    if first.holds_rows:
        rows = replace(rows, frame=run.keep(rows.frame), resources=(log.resources, engine))
    value = first.learn(rows, replace(run, tell=partial(progress, "learn")))
    return Learnt(
        source=log, log=rows, facts=facts, engine=engine, seed=run.seed, learner=early_params(first), value=value
    )


def anonymize(
    log: LogLike,
    method: Method | str,
    *,
    seed: int | None = None,
    blocks: int | None = None,
    record: bool = True,
    prepare: str | Iterable[StepLike] = USUAL,
    history: str | Path | None = USUAL,
    log_name: str | None = None,
    groups_of: Record | str | Path | None = None,
    progress: Progress = silent,
    **params: Any,
) -> Release:
    """Prepare, learn, plan, release, verify. Raises BrokenPromiseError rather than return a release that fails.

    A method may be named, with its parameters behind it: `anonymize(log, "suppress_rare", k=5)`.
    A log that was not prepared is prepared as by the command line; `prepare` gives other steps, `()` none.
    `history` is the private list of the log's releases: beside its file, unless given. `write` adds this one, under the
    name of that file or `log_name`. A method with differential privacy adds what it spends before it draws noise; for a
    table, give `history=PATH`, or `history=None` to keep no account. `blocks` are chosen by size. `groups_of` is the
    run record of an earlier release, or its folder: users are then in the same groups, or in unions of them where k is
    larger, and both releases together give away hardly more than one.
    """
    if "columns" in params:
        raise ParameterError("Columns belong to the log: anonymize(coterie.log(data, columns={...}), ...).")
    log, method = as_log(log), as_method(method, params)
    log = prepared_for(log, method, prepare)
    book = history_for(log, method, history, log_name)
    unlisted = spend_in(log, method, book, seed)
    for text in unlisted:
        warn(f"{text[0].upper()}{text[1:]}.")
    release = anonymize_prepared(
        log, method, seed=seed, blocks=blocks, record=record, groups_of=groups_of, progress=progress
    )
    listing = None if book is None else book.listing(log)
    return replace(release, warnings=(*release.warnings, *unlisted), listing=listing)


def anonymize_prepared(
    log: Log | Learnt,
    method: Method,
    *,
    seed: int | None = None,
    blocks: int | None = None,
    record: bool = True,
    groups_of: Record | str | Path | None = None,
    progress: Progress = silent,
) -> Release:
    """The same for a log as it is, and nothing is listed. For several k, `learn` once, and give that for the log."""
    source = log.source if isinstance(log, Learnt) else log
    earlier = None if groups_of is None else released.groups_to_reuse(source, method, groups_of)
    learnt, seed_of_run = _learnt(log, method, seed, blocks, progress)
    name, log = registry.name_of(method), learnt.log
    promises = method.promises(learnt.facts)
    shape = method.shape_given(log, promises)
    before = () if earlier is None else earlier.digests
    run = Run(seed=seed_of_run, engine=learnt.engine, naming=partial(naming_of, source, method, before))
    progress("plan")
    decide = method.plan if earlier is None else partial(released.plan_on, earlier, method)
    plan = decide(learnt.value, log, replace(run, tell=partial(progress, "plan")))
    progress("release")
    draft = method.release(log, plan, replace(run, tell=partial(progress, "release")))
    judged_by_rows = any("rows" in promise.evidence for promise in promises)
    looked_up = record and log.in_lines  # else nobody could look rows up by their numbers
    progress("release: sort")
    rows, row_map = in_order(draft, shape, run, keep_rows=judged_by_rows or looked_up)
    progress("verify")
    private = Record(
        run={
            "method": name,
            "parameters": values_of(method),
            "seed": run.seed,
            "seed_chosen": seed is not None,
            "learning_seed": learnt.seed,
            "subjects": learnt.facts.subjects,
            "rows": learnt.facts.rows,
            "history": [asdict(step) for step in log.history],
            "input_sha256": list(source.file_digests) if record else [],
            # Of rows on a cluster it takes a sort of all of them, so only where names depend on it.
            "input_digest": source.digest if looked_up or draft.names_anybody else "",
            GROUPS_DIGEST: "" if draft.ungrouped else groups_digest(draft.subjects),
            GROUPS_OF: list(before),
        },
        subjects=draft.subjects,
        rows=row_map,
        tables=plan.evidence,
    )
    told = log.told(private=method.spends is not None)
    about_people = log.warnings if method.spends is None else cautions(told)
    warnings = (*about_people, *plan.notes, *draft.warnings, *unscrubbed(log, method))
    case = Case(
        rows=rows,
        shape=shape,
        original=log,
        evidence=private.evidence,
        run=private.run,
        engine=log.engine,
        warnings=warnings,
    )
    return Release(
        log=replace(log, frame=rows, shape=shape, resources=(log.resources, run), settings=told),
        promises=promises,
        method=name,
        params=public_params(method),
        checks=_kept(name, case, promises, progress).checks,
        warnings=warnings,
        record=private,
        verified=digest_of_rows(rows),
    )


def _learnt(
    log: Log | Learnt, method: Method, seed: int | None, blocks: int | None, progress: Progress
) -> tuple[Learnt, int]:
    """What a method learns of a log, or has learnt, and the seed of this run."""
    if not isinstance(log, Learnt):
        learnt = learn(log, [method], seed=seed, blocks=blocks, progress=progress)
        return learnt, learnt.seed
    if not log.serves(method):
        raise ParameterError("What was learnt belongs to another log, or to a method that differs in more than k.")
    if blocks is not None:
        raise ParameterError("What was learnt has its blocks already: give them to learn, not here.")
    return log, randomness.new_seed() if seed is None else seed


def _kept(method: str, case: Case, promises: tuple[Promise, ...], progress: Progress) -> Verdict:
    """The verdict on promises that are kept; BrokenPromiseError otherwise."""
    verdict = judge(case, promises, partial(progress, "verify"))
    if not verdict.broken and (verdict.promise_checked or promise_nothing(promises)):
        return verdict
    details = "; ".join(f"{check.name}: {check.text}" for check in verdict.broken or verdict.unchecked)
    raise BrokenPromiseError(f"The release of {method} does not keep its promise, so nothing was written. {details}.")


def naming_of(log: Log, method: Method, groups_of: Sequence[str] = ()) -> str:
    """What the names in a release depend on besides the seed; `groups_of`: digests of earlier groups it is made on."""
    return randomness.naming(registry.name_of(method), values_of(method), log.steps, log.digest, groups_of)


def verify(
    release: Release | Log | str | Path,
    original: LogLike | str | Path | None = None,
    *,
    promise: str | None = None,
    k: int | None = None,
    steps: str | Sequence[StepLike] | None = None,
    record: str | Path | Record | None = None,
    sidecar: str | Path | None = None,
    progress: Progress = silent,
) -> Verdict:
    """Check a release again, from its rows; with the original log everything can be checked.

    An original may be a file, which is read as the release says; `read` it where it needs other options.
    Who is counted is said as the original tells it; a sidecar that tells something else fails.
    A file with a sidecar says itself what it promises and how the original has to be prepared (unless `steps` says it,
    or the original was prepared already). Rows that Coterie did
    not make (a Log, or a file without a sidecar; prepared like any log, unless they are) need `promise` and `k`. A run
    record tells whose names these are (its seed gives them again), so that people can be counted, and where to look;
    none of its tables is believed. `sidecar` is for tables of databases, which have nothing beside them.
    """
    near = bring_release(release, sidecar) if isinstance(release, (str, Path)) else None
    original = _original_of(original, release if near is None else near.path)
    if isinstance(release, Release):
        if (promise, steps, record) != (None, None, None):
            raise ParameterError("A release knows its promises, steps and record: give only the original, and k.")
        return _verify_release(release, original, k, progress)
    if near is None:
        return released.verify_foreign(as_log(release), steps, original, promise, k)
    path, said = near.path, read_sidecar(near.path)
    if said is None:
        return released.verify_foreign(read(path, Reading(as_published=True)), steps, original, promise, k)
    table = released.released_rows(path, said)
    if promise is not None and promise not in [each.name for each in said.promised]:
        raise ParameterError(f"{path.name} promises {', '.join(each.name for each in said.promised)}, not {promise}.")
    released.refuse_other_shape(table[1], original)
    private = read_record(Path(record)) if isinstance(record, (str, Path)) else record
    case = _case_of(path, said, table, _prepared_as_said(path, said, original, private, steps), private)
    verdict = _judged(case, k, len(said.checks), progress).about(said.reading, case.original)
    progress("verify: file")
    of_file = released.file_checks(path, table[0], case.shape, said, case.original, verdict.checks)
    return replace(verdict, checks=(*of_file, *verdict.checks))


def _judged(case: Case, k: int | None, made: int, progress: Progress) -> Verdict:
    """The verdict on what a release promised, or on that with another k; when it was made, it passed `made` checks."""
    promises = case.promised if k is None else with_k(case.promised, k)
    return judge(case, promises, partial(progress, "verify"), made if k is None else None)


def _original_of(given: LogLike | str | Path | None, release: Release | Log | str | Path) -> Log | None:
    """The original that a release is compared with, if any; a file is read as the release says."""
    if given is None:
        return None
    original = read(given, _reading_of(release)) if isinstance(given, (str, Path)) else as_log(given)
    if not original.named:
        raise InputError(
            f"The original has no {original.shape.subject_noun} in any row, so nothing can be counted. Say which "
            f"column holds it: --original-columns {original.shape.subject}=NAME (in Python: columns=...)."
        )
    return original


def _prepared_as_said(
    path: Path, said: Sidecar, original: Log | None, private: Record | None, steps: str | Sequence[StepLike] | None
) -> Log | None:
    """The original with the steps of a release, or with `steps`; refused where the record tells of another one."""
    if private is not None and not is_record_of(said, private):
        raise InputError(f"The run record belongs to another release than {path.name}.")
    if original is None:
        return None
    if private is not None:
        released.refuse_other_input(original, private)
    if not original.steps:
        original = prepare(original, prepare_steps(said, path, private) if steps is None else steps)
    if private is not None and steps is None:
        released.refuse_other_digest(original, private)
    return original


def _case_of(path: Path, said: Sidecar, table: Rows, original: Log | None, private: Record | None) -> Case:
    """What judges look at; the rows go to where those of the original are."""
    frame, shape, names, _ = table
    extra = [pl.lit(None).alias(name) for name in names if name not in shape.released]
    rows, engine = frame.drop("bad").with_columns(extra), HERE
    if original is not None and not extra:  # else these columns are all that is looked at
        engine = original.engine
        refuse_judging_on(engine, said.promised)
        original = replace(original, frame=engine.again(original.frame))
        rows = engine.bring(rows, [path / part.name for part in said.parts] or [path], shape.released)
    return replace(_case(rows, shape, original, private, engine), promised=said.promised, warnings=said.warnings)


def _case(rows: pl.LazyFrame, shape: Shape, original: Log | None, private: Record | None, engine: Engine) -> Case:
    """What judges look at, with what they may see of a run record."""
    case = Case(rows=rows, shape=shape, original=original, engine=engine)
    return case if private is None else replace(case, evidence=private.evidence, run=private.run)


def _reading_of(release: Release | Log | str | Path) -> Reading:
    """How to read the original of a release: as it says itself."""
    if isinstance(release, Release):
        return Reading.again(release.log.settings)
    return reading_like(release) if isinstance(release, (str, Path)) else Reading()


def _verify_release(release: Release, original: Log | None, k: int | None, progress: Progress) -> Verdict:
    if original is not None and not original.steps:
        original = prepare(original, release.log.steps)
    engine = HERE if original is None or original.engine is not release.log.engine else original.engine
    refuse_judging_on(engine, release.promises)
    case = _case(release.log.frame, release.log.shape, original, release.record, engine)
    case = replace(case, promised=release.promises, warnings=release.warnings)
    return _judged(case, k, len(release.checks), progress).about(release.log.settings, original)


@showing(Target)
def write(
    release: Release,
    path: str | Path,
    *,
    history: str | Path | None = USUAL,
    progress: Progress = silent,
    **options: Any,
) -> str:
    """Write a verified release, its public sidecar and, if asked, its private record; returns the SHA-256 of the file.

    It is added to the list that `anonymize` was given, or to `history`; a second release of a log is warned of.

    `options` are those of a `Target`: `kind`, `sidecar`, `record`, `force`, `csv_safe`, `parts`, `promise`.
    `csv_safe`: in csv and tsv an apostrophe stands before text that a spreadsheet would take for a formula. A release
    that promises nothing is written only with `promise="none"`. With `parts` the release is a folder of so many files,
    and the SHA-256 is that of their list. To `s3://`, `gs://` and `az://` it goes as it is; to a table of a database
    (`sqlite:safe.db#safe`) with a `sidecar`, and the SHA-256 is that of its rows.
    """
    target = Target.of(path, options)
    listing = as_release(release).listing if history == USUAL else listing_in(release, history)
    digest, warning = write_and_list(release, target, listing, progress)
    for text in filter(None, (unlisted_in(listing), warning)):
        warn(text)
    return digest


def load_release(path: str | Path, record: str | Path | None = None, *, sidecar: str | Path | None = None) -> Release:
    """A release that was written earlier, for measuring and reporting. It is not verified again.

    `sidecar` is for tables of databases, which have nothing beside them.
    """
    near = bring_release(path, sidecar)
    path, said = near.path, read_sidecar(near.path)
    if said is None:
        if not path.exists():
            raise MissingError(f"{path.name}: no such file.")
        raise MissingError(
            f"{path.name}.json, the sidecar of the release, is missing. `coterie anonymize` writes it beside a release."
        )
    frame, shape, _, resources = released.as_described(path, said)
    private = read_record(Path(record)) if record is not None else None
    history = tuple(Step(name=spelled(step)) for step in prepare_steps(said, path, private))
    digest = sha256(path) if released.is_one_file(said) else said.sha256  # parts and rows have been compared with it
    if private is not None and private.run.get("released_sha256") != digest:
        raise InputError(f"The run record in {record} belongs to another release than {path.name}.")
    return Release(
        log=Log(
            frame=frame.drop("bad"),
            shape=shape,
            history=history,
            resources=(*resources, near),
            settings=dict[str, Any](said.reading.items()),
        ),
        promises=said.promised,
        method=said.method,
        params=said.parameters,
        checks=said.checks,
        warnings=said.warnings,
        record=private,
        sha256=said.sha256,
        path=path,
        regime=said.regime,
        changed=said.changed,
    )


def measure(
    release: Release,
    names: str | Sequence[str] | None = None,
    original: LogLike = None,
    *,
    seed: int | None = None,
    show_values: bool = False,
    left_out: Callable[[str], None] = silent,
    store: Store | None = None,
    progress: Progress = silent,
    **inputs: Any,
) -> pl.DataFrame:
    """Scores of a release as a table: name, key, value, unit (and label, where values may be shown).

    `names` are measures, or one; without them all measures are taken that what is given allows; `left_out` is told
    which ones have no meaning for this release, and why. Some measures need `inputs`, which `coterie.measures.inputs`
    declares: `kappas`, numbers of clusters, for `partition_agreement`; `labels`, which queries are sensitive, a file or
    a table, for `f_beta`; `later`, what the same users searched for afterwards, a log, for `later_queries`,
    `train_on_release` and `completion`; `second`, another release of the same log, and `second_record`, its run record
    where it has none, for `composition`; `taxonomy`, where measures of meaning look up queries, "wordnet" or a packed
    file. `injection` runs the method again, and only if it is named. What is in the `store` (measures/comparison.py)
    is not measured again.
    """
    refuse_old_order(names, "coterie.measure(release, original=log)")
    if original is None or isinstance(names, Log):
        raise InputError("The log that the release was made from is missing: coterie.measure(release, original=log).")
    original = as_log(original)
    comparison = Comparison.of(original, as_release(release), seed, show_values or original.synthetic, inputs)
    comparison.refuse_other_log()
    return scores_of(
        comparison,
        [names] if isinstance(names, str) else names,
        lambda name, reason: left_out(f"{name}: {reason}"),
        store=store,
        tell=partial(progress, "measure"),
    )


def inspect(log: LogLike, as_read: Log | None = None) -> pl.DataFrame:
    """What is in a log and how exposed it is before any protection; searches in addresses are looked for `as_read`."""
    log = as_log(log)
    log.engine.require_local("A log is inspected on one machine: leave out --engine.")
    return score_table([*overview(log), *singled_out(log), *personal_data(log), *site_searches(as_read or log)])


# --- reports ---------------------------------------------------------------------------------------


def report(
    releases: Release | Sequence[Release],
    original: LogLike,
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
    page = Page(to=Path(to), about=as_about(about), edition=edition, force=force)
    refuse_old_order(original, "coterie.report([release], original=log, to=...)")
    given |= {"names": [given["names"]]} if isinstance(given.get("names"), str) else {}
    original = as_log(original)
    releases = [as_release(each) for each in ([releases] if isinstance(releases, Release) else releases)]
    refuse_output(page.to, force, _files_read(original, releases))
    refuse_read_differently(
        [release.method if release.path is None else release.path.name for release in releases],
        [
            Reading.again(release.log.settings) if release.path is None else reading_like(release.path)
            for release in releases
        ],
    )
    original.engine.require_local(ONE_MACHINE)
    again = [verified_again(release, original) for release in releases]
    return report_verified(original, again, page, Job(seed=seed), show_values=show_values, **given)


def verified_again(release: Release, original: Log) -> Release:
    """A release with the checks of today in place of those that its sidecar tells of."""
    if release.path is None:
        return replace(release, checks=verify(release, _prepared_like(original, release)).checks)
    return replace(release, checks=verify(release.path, original, record=release.record).checks)


def _prepared_like(original: Log, release: Release) -> Log:
    """The log after the steps that the release had; those that it had already are not made again."""
    done, steps = original.steps, release.log.steps
    if steps[: len(done)] != done:
        raise InputError(
            f"The log was prepared by {', '.join(done)} and the release of {release.method} by "
            f"{', '.join(steps) or 'nothing'}: they cannot be compared. Give the log as it was read."
        )
    return prepare(original, steps[len(done) :]) if len(steps) > len(done) else original


def refuse_read_differently(names: Sequence[str], readings: Sequence[Reading]) -> None:
    """Who is counted, and of what, must be the same for all that stands on a page with one log."""
    for name, reading in zip(names, readings, strict=True):
        if reading != readings[0]:
            pair = reading.said, readings[0].said
            what = [key for key in sorted({*pair[0], *pair[1]}) if pair[0].get(key) != pair[1].get(key)]
            raise InputError(
                f"{names[0]} and {name} were made from a log that was read in different ways ({', '.join(what)}), so "
                f"they cannot stand on one page. Make a report about each, or say how to read it for both: --columns."
            )


def report_verified(original: Log, releases: Sequence[Release], page: Page, job: Job, **given: Any) -> Path:
    """The same for releases whose checks were made just now; `job.note` hears what they cost, in a sentence."""
    kind = report_kind(page.to)
    if not releases:
        raise ParameterError("A report needs at least one release.")
    inputs = _files_read(original, releases)
    refuse_output(page.to, page.force, inputs)
    # The same draws for what stands side by side.
    job = job if job.seed is not None else replace(job, seed=seed_for(original))
    views = list(_views(original, releases, job, given))
    refuse_idle(views, given.get("names"))
    job.progress("draw")
    of_log = log_view(original)
    if page.weighed is not None:
        page.weighed(decide(of_log, views, Figures.collect(original.shape), page.about, page.edition))
    text = render(of_log, views, kind, about=page.about, edition=page.edition, date=today())
    with placed(page.to, page.force, inputs) as part:
        part.write_text(text, encoding="utf-8")
    for view in views:
        for cost in headlines(view.scores, findings_of(original.shape)):
            job.note(f"{view.label}: {cost}")
    return page.to


def _views(original: Log, releases: Sequence[Release], job: Job, given: Mapping[str, Any]) -> Iterator[ReleaseView]:
    """Releases as a page shows them, with random groups of the same k beside those that group users."""
    prepared = dict[tuple[str, ...], Log]()
    baselines = [(release, _baseline(release)) for release in releases]
    random = sum(release.record is not None and baseline is not None for release, baseline in baselines)
    parts = count()  # releases and random groups, each of which is taken to last as long as the others

    inputs = {**given}
    names, show_values = inputs.pop("names", None), inputs.pop("show_values", False) or original.synthetic

    def measured(log: Log, release: Release, label: str = "") -> ReleaseView:
        before = next(parts)

        def tell(share: float) -> None:
            job.progress("measure", (before + share) / (len(releases) + random))

        comparison = Comparison.of(log, release, job.seed, show_values, inputs, as_read=original)
        view = release_view(comparison, label, names=names, store=job.store, tell=tell)
        tell(1.0)
        return view

    for release, baseline in baselines:
        if release.log.steps not in prepared:  # once for all that share it, so that measures share what they work out
            prepared[release.log.steps] = _prepared_like(original, release)
        log = prepared[release.log.steps]
        view = measured(log, release)
        if baseline is not None and release.record is None:
            view = replace(view, warnings=(*view.warnings, _NO_BASELINE))
        elif baseline is not None and release.record is not None:
            at_random = anonymize_prepared(log, baseline, seed=release.record.run["seed"])  # never written
            view = with_baseline(view, measured(log, at_random, RANDOM))
        yield view


def _files_read(original: Log, releases: Sequence[Release]) -> list[Path]:
    """The files that logs and releases were read from, which no report replaces."""
    files = [path for log in (original, *(release.log for release in releases)) for path in log.sources]
    loaded = [release.path for release in releases if release.path is not None]
    return [*files, *loaded, *map(sidecar_path, loaded)]


def _baseline(release: Release) -> Method | None:
    """The method of a release with random groups; None where it is no question of groups."""
    try:
        kept = {} if release.record is None else release.record.run  # where files are is told there alone
        method: Method = registry.method(release.method)(**kept.get("parameters", release.params))
        return method.baseline()
    except (UnknownNameError, ParameterError, TypeError):  # made by a package or a version that is not here
        return None


# --- what people give ------------------------------------------------------------------------------


def as_log(given: LogLike) -> Log:
    """A log from what stands for one; InputError where nothing does."""
    if isinstance(given, Log):
        return given
    if isinstance(given, Release):
        raise InputError("This is a release, and a log is expected. Its rows are a log as release.log.")
    if isinstance(given, (str, Path)):
        raise InputError("A log is expected, not the name of a file. Read it first: coterie.read(...).")
    return log_of_table(given, Reading())


def log_of_table(table: Any, options: Reading) -> Log:
    """A log from a table of this machine, or of a cluster, where its rows then stay."""
    cluster = None if isinstance(table, (pl.DataFrame, pl.LazyFrame)) else cluster_of(table)
    log: Log = table_log(table, options) if cluster is None else cluster.log(table, options)
    return log


def as_method(method: Method | str, params: Mapping[str, Any]) -> Method:
    """A method from its name and parameters, or as it is given; InputError where it is none."""
    if isinstance(method, str):
        made: Method = registry.method_with(method, params)
        return made
    if isinstance(method, type) or not hasattr(method, "accepts"):
        known = ", ".join(registry.names("methods"))
        given = "a class" if isinstance(method, type) else type(method).__name__
        raise InputError(
            f"A method is expected, by its name or with its parameters, not {given}. For example "
            f'coterie.anonymize(log, "suppress_rare", k=5). Known: {known}.'
        )
    if params:
        raise ParameterError(f"Give {' and '.join(params)} to the method itself, or name the method by a text.")
    complete: Method = registry.complete("methods", registry.name_of(method), method)
    return complete


def refuse_old_order(second: Any, call: str) -> None:
    """InputError where releases stand behind their log, as they once did."""
    first = second[:1] if isinstance(second, (list, tuple)) else [second]
    if first and isinstance(first[0], Release):
        raise InputError(f"A release comes first, and its log after it: {call}.")


def as_release(given: Any) -> Release:
    """A release; InputError where it is something else."""
    if isinstance(given, Release):
        return given
    raise InputError(
        f"A release is expected, as coterie.anonymize and coterie.load_release give it, not {type(given).__name__}."
    )


def publishes_whole_queries(method: Method) -> bool:
    """Whether a method releases queries as one person wrote them, whom k others only share a profile with."""
    if QUERIES not in method.accepts:
        return False
    try:
        promises = method.promises(Facts(subjects=_MANY, rows=_MANY, shape=QUERIES))
    except CoterieError:
        return False
    return any(promise.about == "subjects" and promise.releases == "text" for promise in promises)


def unscrubbed(log: Log, method: Method) -> tuple[str, ...]:
    """A warning where nothing was left out that looks like personal data, and whole queries are released."""
    scrubbed = any(step.startswith("scrub") for step in log.steps)
    return () if scrubbed or not publishes_whole_queries(method) else (UNSCRUBBED,)


def default_steps(methods: Sequence[Method], steps: Sequence[PrepareStep]) -> tuple[PrepareStep, ...]:
    """The default steps, and scrub for methods that release whole queries of single users, which k do not share."""
    needed = any(publishes_whole_queries(method) for method in methods)
    return (*steps, *steps_of("scrub")) if needed else tuple(steps)


def prepared_for(log: Log, method: Method, steps: str | Iterable[StepLike]) -> Log:
    """The log after these steps; after the default ones, where none were said and it was not prepared."""
    if steps != USUAL:
        return apply_steps(log, steps)
    return log if log.steps else apply_steps(log, default_steps([method], steps_of(DEFAULT)))


def synthetic(text: str, options: Reading) -> Log:
    """A log from `synth:users=1000,seed=7` or `synth:users=1000,seed=7,kind=people`."""
    from coterie import synth

    frame = synth.from_text(text)
    made = table_log(frame, options)
    return replace(made, history=(Step(name="synth", counts={"lines": frame.height}),))
