"""The public functions: read, prepare, anonymize, verify, write, measure, report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from coterie.core import randomness, registry
from coterie.core.log import GROUPS_DIGEST, GROUPS_OF, Log, Record, Release, Step, groups_digest
from coterie.core.params import early_params, public_params, showing
from coterie.core.plan import Facts, Method, holds_rows, refuse_log, refuse_seed, shape_given, spends
from coterie.core.plan import learn as learn_by
from coterie.core.promise import Case, Verdict, promise_nothing, refuse_judging_on, with_k
from coterie.core.row_digest import digest_of_rows
from coterie.core.run import HERE, Engine, Run
from coterie.core.scores import score_table
from coterie.core.threads import Progress, Told
from coterie.engines import clusters
from coterie.engines.local import engine_for
from coterie.errors import BrokenPromiseError, InputError, MissingError, ParameterError, warn
from coterie.given import LogLike, as_log, as_method, as_release, log_of_table, original_first, prepared_for
from coterie.given import synthetic as synthetic
from coterie.given import unscrubbed as unscrubbed
from coterie.measures.comparison import Comparison, scores_of
from coterie.measures.store import Store
from coterie.promises import judge
from coterie.reading import logs, places
from coterie.reading.people import cautions
from coterie.reading.reading import Reading
from coterie.reading.searches import search_log
from coterie.reports.views import log_view as log_view
from coterie.reports.views import overview, personal_data, singled_out, site_searches
from coterie.reports.views import release_view as release_view
from coterie.steps import DEFAULT, StepLike, spelled
from coterie.steps import prepare as apply_steps
from coterie.steps._facts import facts_of
from coterie.writing.elsewhere import bring_release
from coterie.writing.files import in_order, sha256
from coterie.writing.history import USUAL, history_for, listing_in, spend_in, unlisted_in
from coterie.writing.outputs import write_and_list
from coterie.writing.record import is_record_of, read_record
from coterie.writing.released import (
    as_described,
    file_checks,
    groups_to_reuse,
    is_one_file,
    plan_on,
    refuse_other_digest,
    refuse_other_input,
    refuse_other_shape,
    released_rows,
    verify_foreign,
)
from coterie.writing.sidecar import prepare_steps, read_sidecar, reading_like
from coterie.writing.target import Target


def _silent(_stage: str, _told: Told | None = None) -> None: ...


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

    def serves(self, log: Log, method: Method) -> bool:
        """Whether this is what `learn` would give."""
        return log is self.source and early_params(method) == self.learner


def learn(
    log: Log,
    methods: Sequence[Method],
    *,
    seed: int | None = None,
    blocks: int | None = None,
    progress: Progress = _silent,
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
    if holds_rows(first):
        rows = replace(rows, frame=run.keep(rows.frame), resources=(log.resources, engine))
    value = learn_by(first, rows, replace(run, tell=partial(progress, "learn")))
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
    progress: Progress = _silent,
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
    log: Log,
    method: Method,
    *,
    seed: int | None = None,
    blocks: int | None = None,
    record: bool = True,
    progress: Progress = _silent,
    learnt: Learnt | None = None,
    groups_of: Record | str | Path | None = None,
) -> Release:
    """The same for a log as it is, and nothing is listed. For several k, `learn` once, and give it as `learnt`."""
    earlier = None if groups_of is None else groups_to_reuse(log, method, groups_of)
    if learnt is None:
        learnt = learn(log, [method], seed=seed, blocks=blocks, progress=progress)
        seed_of_run = learnt.seed
    elif not learnt.serves(log, method):
        raise ParameterError("What was learnt belongs to another log, or to a method that differs in more than k.")
    elif blocks is not None:
        raise ParameterError("What was learnt has its blocks already: give them to learn, not here.")
    else:
        seed_of_run = randomness.new_seed() if seed is None else seed
    name, log = registry.name_of(method), learnt.log
    promises = method.promises(learnt.facts)
    shape = shape_given(method, log, promises)
    before = () if earlier is None else earlier.digests
    run = Run(seed=seed_of_run, engine=learnt.engine, naming=partial(naming_of, learnt.source, method, before))
    progress("plan")
    decide = method.plan if earlier is None else partial(plan_on, earlier, method)
    plan = decide(learnt.value, log, replace(run, tell=partial(progress, "plan")))
    progress("release")
    draft = method.release(log, plan, replace(run, tell=partial(progress, "release")))
    judged_by_rows = any("rows" in promise.evidence for promise in promises)
    keep_rows = judged_by_rows or (record and log.in_lines)  # else nobody could look them up by their numbers
    progress("release: sort")
    released, row_map = in_order(draft, shape, run, keep_rows=keep_rows)
    progress("verify")
    private = Record(
        run={
            "method": name,
            "parameters": asdict(method),  # type: ignore[call-overload]
            "seed": run.seed,
            "seed_chosen": seed is not None,
            "learning_seed": learnt.seed,
            "subjects": learnt.facts.subjects,
            "rows": learnt.facts.rows,
            "history": [asdict(step) for step in log.history],
            "input_sha256": list(learnt.source.file_digests) if record else [],
            # Of rows on a cluster it takes a sort of all of them, so only where names depend on it.
            "input_digest": learnt.source.digest if (record and log.in_lines) or draft.names_anybody else "",
            GROUPS_DIGEST: "" if draft.ungrouped else groups_digest(draft.subjects),
            GROUPS_OF: list(before),
        },
        subjects=draft.subjects,
        rows=row_map,
        tables=plan.evidence,
    )
    told = log.told(private=spends(method) is not None)
    about_people = log.warnings if spends(method) is None else cautions(told)
    warnings = (*about_people, *plan.notes, *draft.warnings, *unscrubbed(log, method))
    case = Case(
        rows=released,
        shape=shape,
        original=log,
        evidence=private.evidence,
        run=private.run,
        engine=log.engine,
        warnings=warnings,
    )
    verdict = judge(case, promises, partial(progress, "verify"))
    if verdict.broken or not (verdict.promise_checked or promise_nothing(promises)):
        raise BrokenPromiseError(_broken_message(name, verdict))
    return Release(
        log=replace(log, frame=released, shape=shape, resources=(log.resources, run), settings=told),
        promises=promises,
        method=name,
        params=public_params(method),
        checks=verdict.checks,
        warnings=warnings,
        record=private,
        verified=digest_of_rows(released),
    )


def naming_of(log: Log, method: Method, groups_of: Sequence[str] = ()) -> str:
    """What the names in a release depend on besides the seed; `groups_of`: digests of earlier groups it is made on."""
    parameters = asdict(method)  # type: ignore[call-overload]
    return randomness.naming(registry.name_of(method), parameters, log.steps, log.digest, groups_of)


def verify(
    release: Release | Log | str | Path,
    original: LogLike | str | Path | None = None,
    *,
    promise: str | None = None,
    k: int | None = None,
    steps: str | Sequence[StepLike] | None = None,
    record: str | Path | Record | None = None,
    sidecar: str | Path | None = None,
    progress: Progress = _silent,
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
    if isinstance(original, (str, Path)):
        original = read(original, _reading_of(release if near is None else near.path))
    original = None if original is None else as_log(original)
    if original is not None and not original.named:
        raise InputError(
            f"The original has no {original.shape.subject_noun} in any row, so nothing can be counted. Say which "
            f"column holds it: --original-columns {original.shape.subject}=NAME (in Python: columns=...)."
        )
    if isinstance(release, Release):
        if not (promise is None and steps is None and record is None):
            raise ParameterError("A release knows its promises, steps and record: give only the original, and k.")
        return _verify_release(release, original, k, progress)
    if near is None:
        return verify_foreign(as_log(release), steps, original, promise, k)
    path, said = near.path, read_sidecar(near.path)
    if said is None:
        return verify_foreign(read(path, as_published=True), steps, original, promise, k)
    frame, shape, names, _resources = released_rows(path, said)
    promises = said.promised
    if promise is not None and promise not in [each.name for each in promises]:
        raise ParameterError(f"{path.name} promises {', '.join(each.name for each in promises)}, not {promise}.")
    refuse_other_shape(shape, original)
    private = read_record(Path(record)) if isinstance(record, (str, Path)) else record
    if private is not None and not is_record_of(said, private):
        raise InputError(f"The run record belongs to another release than {path.name}.")
    if private is not None and original is not None:
        refuse_other_input(original, private)
    if original is not None and not original.steps:
        original = prepare(original, prepare_steps(said, path, private) if steps is None else steps)
    if private is not None and original is not None and steps is None:
        refuse_other_digest(original, private)
    extra = [pl.lit(None).alias(name) for name in names if name not in shape.released]
    rows = frame.drop("bad").with_columns(extra)
    engine = HERE
    if original is not None and not extra:  # else these columns are all that is looked at
        engine = original.engine
        refuse_judging_on(engine, promises)
        original = replace(original, frame=engine.again(original.frame))
        rows = engine.bring(rows, [path / part.name for part in said.parts] or [path], shape.released)
    case = Case(
        rows=rows,
        shape=shape,
        original=original,
        evidence={} if private is None else private.evidence,
        run={} if private is None else private.run,
        promised=promises,
        engine=engine,
        warnings=said.warnings,
    )
    checks = len(said.checks) if k is None else None  # when it was made, it passed as many
    verdict = judge(case, promises if k is None else with_k(promises, k), partial(progress, "verify"), checks)
    progress("verify: file")
    of_file = file_checks(path, frame, shape, said, original, verdict.checks)
    return replace(verdict.about(said.reading, original), checks=(*of_file, *verdict.checks))


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
    case = Case(
        rows=release.log.frame,
        shape=release.log.shape,
        original=original,
        evidence={} if release.record is None else release.record.evidence,
        run={} if release.record is None else release.record.run,
        promised=release.promises,
        engine=engine,
        warnings=release.warnings,
    )
    promises = release.promises if k is None else with_k(release.promises, k)
    verdict = judge(case, promises, partial(progress, "verify"), len(release.checks) if k is None else None)
    return verdict.about(release.log.settings, original)


@showing(Target)
def write(
    release: Release,
    path: str | Path,
    *,
    history: str | Path | None = USUAL,
    progress: Progress = _silent,
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
    frame, shape, _, resources = as_described(path, said)
    private = read_record(Path(record)) if record is not None else None
    history = tuple(Step(name=spelled(step)) for step in prepare_steps(said, path, private))
    digest = sha256(path) if is_one_file(said) else said.sha256  # parts and rows have been compared with it
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
    original: LogLike,
    release: Release,
    names: str | Sequence[str] | None = None,
    *,
    seed: int | None = None,
    show_values: bool = False,
    left_out: Callable[[str], None] = _silent,
    store: Store | None = None,
    progress: Progress = _silent,
    **inputs: Any,
) -> pl.DataFrame:
    """Scores of a release as a table: name, key, value, unit (and label, where values may be shown).

    `names` are measures, or one; without them all measures are taken that what is given allows; `left_out` is told
    which ones have no meaning for this release, and why. Some measures need `inputs`, which `coterie.measures.inputs`
    declares: `kappas`, numbers of clusters, for `partition_agreement`; `labels`, which queries are sensitive, a file or
    a table, for `f_beta`; `later`, what the same users searched for afterwards, a log, for `later_queries`,
    `train_on_release` and `completion`; `second`, another release of the same log, and `second_record`, its run record
    where it has none, for `composition`; `taxonomy`, where measures of meaning look up queries, "wordnet" or a packed
    file. `injection` runs the method again, and only if it is named. What is in the `store` (measures/store.py) is not
    measured again.
    """
    original, release = original_first(original, release)
    original = as_log(original)
    comparison = Comparison.of(
        original,
        as_release(release),
        seed=randomness.new_seed() if seed is None else seed,
        show_values=show_values or original.synthetic,
        inputs=inputs,
    )
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


def _broken_message(name: str, verdict: Verdict) -> str:
    details = "; ".join(f"{check.name}: {check.text}" for check in verdict.broken or verdict.unchecked)
    return f"The release of {name} does not keep its promise, so nothing was written. {details}."
