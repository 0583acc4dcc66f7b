"""The public functions: read, prepare, anonymize, verify, write, measure, report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from coterie import formats
from coterie.core import randomness, registry
from coterie.core.groups import GROUPS_DIGEST, GROUPS_OF, groups_digest
from coterie.core.log import Log, Record, Release, Step
from coterie.core.params import early_params, public_params, with_values
from coterie.core.plan import Facts, Method, baseline_of, holds_rows, refuse_seed, shape_given
from coterie.core.plan import learn as learn_by
from coterie.core.promise import Case, Check, Status, Verdict, promise_class, with_k
from coterie.core.run import Engine, Run
from coterie.core.scores import score_table
from coterie.core.shapes import SHAPES
from coterie.engines.local import Local, blocks_for
from coterie.errors import BrokenPromiseError, InputError, MissingError, ParameterError, UnknownNameError
from coterie.given import LogLike, as_log, as_method, as_release, synthetic, unscrubbed
from coterie.given import report_kind as report_kind
from coterie.measures.comparison import Comparison, scores_of
from coterie.promises import judge
from coterie.reports import RANDOM, render
from coterie.reports.figures import findings_of, headlines
from coterie.reports.views import log_view as log_view
from coterie.reports.views import overview, personal_data, refuse_idle, singled_out, site_searches, with_baseline
from coterie.reports.views import release_view as release_view
from coterie.steps import DEFAULT, StepLike, spelled
from coterie.steps import prepare as apply_steps
from coterie.steps.sessions import session_minutes
from coterie.writing.canonical import canonical
from coterie.writing.files import (
    fingerprint,
    in_order,
    refuse_other_digest,
    refuse_other_input,
    refuse_other_shape,
    sha256,
    unnamed,
    write_release,
)
from coterie.writing.groups import groups_to_reuse, plan_on
from coterie.writing.record import is_record_of, read_record
from coterie.writing.sidecar import consistent, names_left_out, prepare_steps, read_sidecar, sidecar_path
from coterie.writing.targets import placed, refuse_output

Progress = Callable[..., None]
"""Told the name of each step and, while it lasts, its share that is done."""
_NO_BASELINE = "Random groups of the same k are shown only where the run record is given (--record DIR)."


def _silent(_step: str, _share: float | None = None) -> None: ...


def read(
    source: str | Path | Sequence[str | Path],
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    user_field: str | None = None,
    date: str | None = None,
    query_param: str | None = None,
    terms: int = 100,
    min_length: int = 3,
    words: str = "nouns",
    allow_bad: bool = False,
    guess: bool = True,
) -> Log:
    """A log from a file, a glob, several of them, or standard input (`-`); the format is sniffed.

    `columns` says which columns of a table hold what. Those that it does not name are guessed, unless it names the
    query, or `guess` is false: `formats/_guess.py` says how. Documents are read from folders and archives too; `terms`
    and `min_length` say what becomes of them. With `query_param` an access log is read as the search log of its site:
    `formats/_searches.py` says how.
    """
    paths = [source] if isinstance(source, (str, Path)) else list(source)
    if len(paths) == 1 and str(paths[0]).startswith("synth:"):
        made_up = synthetic(str(paths[0]), formats.Options(terms=terms, min_length=min_length, words=words))
        return made_up if query_param is None else formats.search_log(made_up, query_param)
    options = formats.Options(
        columns=columns or {},
        user_field=user_field,
        date=date,
        query_param=query_param,
        terms=terms,
        min_length=min_length,
        words=words,
        guess=guess,
    )
    return formats.read(paths, format=format, options=options, allow_bad=allow_bad)


def log(table: Any, columns: Mapping[str, str] | None = None, *, terms: int = 100, min_length: int = 3) -> Log:
    """A log from a polars, pandas or Arrow table; `columns` maps our names to the table's. Texts become vectors."""
    return formats.table_log(table, formats.Options(columns=columns or {}, terms=terms, min_length=min_length))


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
    name = registry.name_of(first)
    refuse_seed(first, seed)
    if log.shape not in first.accepts:
        accepted = ", ".join(shape.name for shape in first.accepts)
        others = ", ".join(registry.methods_for(log.shape))
        raise InputError(f"{name} works on {accepted}, and this log is {log.shape.name}. Use one of: {others}.")
    engine = Local(blocks_for(log, holds_rows(first)) if blocks is None else blocks)
    facts = _facts(log)
    for method in methods:
        method.promises(facts)
    run = Run(seed=randomness.new_seed() if seed is None else seed, engine=engine)
    rows = log
    if holds_rows(first):
        progress("read")
        rows = replace(log, frame=run.collect(log.frame), resources=(log.resources, engine))
    progress("learn")
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
    progress: Progress = _silent,
    learnt: Learnt | None = None,
    groups_of: Record | str | Path | None = None,
    **params: Any,
) -> Release:
    """Learn, plan, release, verify. Raises BrokenPromiseError rather than return a release that fails.

    A method may be named, with its parameters behind it: `anonymize(log, "suppress_rare", k=5)`.
    `blocks` are chosen by the size of the log unless given. For several k, `learn` once and give each call what was
    `learnt`. `groups_of` is the run record of an earlier release of the log, or its folder: users are then in the same
    groups as there, or in unions of them where k is larger, and both releases together give away hardly more than one.
    """
    log, method = as_log(log), as_method(method, params)
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
    promises, shape = method.promises(learnt.facts), shape_given(method, log)
    before = () if earlier is None else earlier.digests
    run = Run(seed=seed_of_run, engine=learnt.engine, naming=partial(naming_of, learnt.source, method, before))
    progress("plan")
    decide = method.plan if earlier is None else partial(plan_on, earlier, method)
    plan = decide(learnt.value, log, replace(run, tell=partial(progress, "plan")))
    progress("release")
    draft = method.release(log, plan, replace(run, tell=partial(progress, "release")))
    judged_by_rows = any("rows" in promise.evidence for promise in promises)
    released, row_map = in_order(draft, shape, run, keep_rows=record or judged_by_rows)
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
            "input_digest": learnt.source.digest if record or draft.names_anybody else "",
            GROUPS_DIGEST: groups_digest(draft.subjects),
            GROUPS_OF: list(before),
        },
        subjects=draft.subjects,
        rows=row_map,
        tables=plan.evidence,
    )
    case = Case(rows=released, shape=shape, original=log, evidence=private.evidence, run=private.run)
    verdict = judge(case, promises)
    if verdict.exit_code != 0:
        raise BrokenPromiseError(_broken_message(name, verdict))
    return Release(
        log=replace(log, frame=released, shape=shape, resources=(log.resources, run)),
        promises=promises,
        method=name,
        params=public_params(method),
        checks=verdict.checks,
        warnings=(*plan.notes, *draft.warnings, *unscrubbed(log, method)),
        record=private,
        verified=fingerprint(released),
    )


def naming_of(log: Log, method: Method, groups_of: Sequence[str] = ()) -> str:
    """What the names in a release depend on besides the seed; `groups_of`: digests of earlier groups it is made on."""
    parameters = asdict(method)  # type: ignore[call-overload]
    return randomness.naming(registry.name_of(method), parameters, log.steps, log.digest, groups_of)


def _facts(log: Log) -> Facts:
    """Rows and subjects."""
    subject, item = pl.col(log.shape.subject), pl.col(log.shape.item)
    numbers = [
        pl.len().alias("rows"),
        subject.drop_nulls().n_unique().alias("subjects"),
        item.null_count().alias("empty"),
    ]
    if (owner := log.shape.owner) in log.frame.collect_schema():
        numbers.append(pl.coalesce(owner, pl.lit("\0") + subject).n_unique().alias("owners"))
    counts = log.frame.select(numbers).collect(engine="streaming").row(0, named=True)
    if counts["rows"] == 0:
        raise InputError("The log has no rows left to anonymize. Check the prepare steps.")
    if empty := counts.pop("empty"):
        raise InputError(f"{empty:,} rows have no {log.shape.item_noun}. Leave them out before anonymizing.")
    return Facts(**counts, session_minutes=session_minutes(log), shape=log.shape)


def verify(
    release: Release | Log | str | Path,
    original: LogLike | None = None,
    *,
    promise: str | None = None,
    k: int | None = None,
    steps: str | Sequence[StepLike] | None = None,
    record: str | Path | Record | None = None,
) -> Verdict:
    """Check a release again, from its rows; with the original log everything can be checked.

    A file with a sidecar says itself what it promises and how the original has to be prepared (unless `steps` says it,
    or the original was prepared already). Rows that Coterie did
    not make (a Log, or a file without a sidecar; prepared like any log, unless they are) need `promise` and `k`. A run
    record tells whose names these are (its seed gives them again), so that people can be counted, and where to look;
    none of its tables is believed.
    """
    original = None if original is None else as_log(original)
    if original is not None and not original.named:
        raise InputError(
            f"The original has no {original.shape.subject_noun} in any row, so nothing can be counted. Say which "
            f"column holds it: --original-columns {original.shape.subject}=NAME (in Python: columns=...)."
        )
    if isinstance(release, Release):
        if not (promise is None and steps is None and record is None):
            raise ParameterError("A release knows its promises, steps and record: give only the original, and k.")
        return _verify_release(release, original, k)
    if not isinstance(release, (str, Path)):
        return _verify_foreign(as_log(release), steps, original, promise, k)
    path = Path(release)
    sidecar = read_sidecar(path)
    if sidecar is None:
        return _verify_foreign(read(path), steps, original, promise, k)
    frame, shape, names, _resources = formats.read_release(path, SHAPES[sidecar.shape], csv_safe=sidecar.csv_safe)
    promises = sidecar.promised
    if promise is not None and promise not in [each.name for each in promises]:
        raise ParameterError(f"{path.name} promises {', '.join(each.name for each in promises)}, not {promise}.")
    refuse_other_shape(shape, original)
    private = read_record(Path(record)) if isinstance(record, (str, Path)) else record
    if private is not None and not is_record_of(sidecar, private):
        raise InputError(f"The run record belongs to another release than {path.name}.")
    if private is not None and original is not None:
        refuse_other_input(original, private)
    if original is not None and not original.steps:
        original = prepare(original, prepare_steps(sidecar, path) if steps is None else steps)
    if private is not None and original is not None and steps is None:
        refuse_other_digest(original, private)
    extra = [pl.lit(None).alias(name) for name in names if name not in shape.released]
    rows = frame.drop("bad")
    case = Case(
        rows=rows.with_columns(extra),
        shape=shape,
        original=original,
        evidence={} if private is None else private.evidence,
        run={} if private is None else private.run,
        promised=promises,
    )
    verdict = judge(case, promises if k is None else with_k(promises, k))
    unread = frame.select(pl.col("bad").is_not_null().sum()).collect(engine="streaming").item()
    left_out = unnamed(rows, shape, formats.released_kind(path)[0]) if names_left_out(sidecar) else ()
    of_file = (
        _file_check("readable", unread, "every line can be read", "cannot"),
        _file_check("digest", sha256(path) != sidecar.sha256, "the file is the one the sidecar describes", "is not"),
        canonical(path, rows, shape, sidecar.csv_safe, left_out),
        consistent(sidecar, left_out),
    )
    return replace(verdict, checks=(*of_file, *verdict.checks))


def _verify_release(release: Release, original: Log | None, k: int | None) -> Verdict:
    case = Case(
        rows=release.log.frame,
        shape=release.log.shape,
        original=original,
        evidence={} if release.record is None else release.record.evidence,
        run={} if release.record is None else release.record.run,
        promised=release.promises,
    )
    return judge(case, release.promises if k is None else with_k(release.promises, k))


def write(
    release: Release,
    path: str | Path,
    *,
    kind: str | None = None,
    sidecar: str | Path | None = None,
    record: str | Path | None = None,
    force: bool = False,
    csv_safe: bool = False,
) -> str:
    """Write a verified release, its public sidecar and, if asked, its private record; returns the SHA-256 of the file.

    `csv_safe`: in csv and tsv an apostrophe stands before text that a spreadsheet would take for a formula.
    """
    where = None if record is None else Path(record)
    return write_release(
        as_release(release), path, kind=kind, sidecar=sidecar, record=where, force=force, csv_safe=csv_safe
    )


def load_release(path: str | Path, record: str | Path | None = None) -> Release:
    """A release that was written earlier, for measuring and reporting. It is not verified again."""
    path = Path(path)
    sidecar = read_sidecar(path)
    if sidecar is None:
        if not path.exists():
            raise MissingError(f"{path.name}: no such file.")
        raise MissingError(
            f"{path.name}.json, the sidecar of the release, is missing. `coterie anonymize` writes it beside a release."
        )
    frame, shape, _, resources = formats.read_release(path, SHAPES[sidecar.shape], csv_safe=sidecar.csv_safe)
    history = tuple(Step(name=spelled(step)) for step in prepare_steps(sidecar, path))
    private = read_record(Path(record)) if record is not None else None
    if private is not None and private.run.get("released_sha256") != sha256(path):
        raise InputError(f"The run record in {record} belongs to another release than {path.name}.")
    return Release(
        log=Log(frame=frame.drop("bad"), shape=shape, history=history, resources=resources),
        promises=sidecar.promised,
        method=sidecar.method,
        params=sidecar.parameters,
        checks=sidecar.checks,
        warnings=sidecar.warnings,
        record=private,
        sha256=sidecar.sha256,
        path=path,
    )


def measure(
    original: LogLike,
    release: Release,
    names: Sequence[str] | None = None,
    *,
    seed: int | None = None,
    show_values: bool = False,
    left_out: Callable[[str], None] = _silent,
    **inputs: Any,
) -> pl.DataFrame:
    """Scores of a release as a table: name, key, value, unit (and label, where values may be shown).

    Without `names` all measures are taken that what is given allows; `left_out` is told which ones have no meaning
    for this release, and why. Some measures need `inputs`, which `coterie.measures.inputs` declares: `kappas`, numbers
    of clusters, for `partition_agreement`; `labels`, which queries are sensitive, a file or a table, for `f_beta`;
    `later`, what the same users searched for afterwards, a log, for `later_queries`, `train_on_release` and
    `completion`; `second`, another release of the same log, and `second_record`, its run record where it has none, for
    `composition`; `taxonomy`, where measures of meaning look up queries, "wordnet" or a packed file. `injection` runs
    the method again, and only if it is named.
    """
    original = as_log(original)
    comparison = Comparison.of(
        original,
        as_release(release),
        seed=randomness.new_seed() if seed is None else seed,
        show_values=show_values or original.synthetic,
        inputs=inputs,
    )
    comparison.refuse_other_log()
    return scores_of(comparison, names, lambda name, reason: left_out(f"{name}: {reason}"))


def inspect(log: LogLike, as_read: Log | None = None) -> pl.DataFrame:
    """What is in a log and how exposed it is before any protection; searches in addresses are looked for `as_read`."""
    log = as_log(log)
    return score_table([*overview(log), *singled_out(log), *personal_data(log), *site_searches(as_read or log)])


def report(
    original: LogLike,
    releases: Release | Sequence[Release],
    to: str | Path,
    *,
    show_values: bool = False,
    seed: int | None = None,
    force: bool = False,
    **given: Any,
) -> Path:
    """A page about one or several releases of a log: .html, .md or .json by the end of its name.

    Releases are verified again, whatever their sidecars say. `given` is what some measures need, as in `measure`.
    """
    report_kind(Path(to))
    original = as_log(original)
    releases = [as_release(each) for each in ([releases] if isinstance(releases, Release) else releases)]
    refuse_output(Path(to), force, _files_read(original, releases))
    again = [verified_again(release, original) for release in releases]
    return report_verified(original, again, to, show_values=show_values, seed=seed, force=force, **given)


def verified_again(release: Release, original: Log) -> Release:
    """A release with the checks of today in place of those that its sidecar tells of."""
    if release.path is None:
        return replace(release, checks=verify(release, _prepared_like(original, release)).checks)
    return replace(release, checks=verify(release.path, original, record=release.record).checks)


def _prepared_like(original: Log, release: Release) -> Log:
    return original if original.steps else prepare(original, release.log.steps)


def report_verified(
    original: Log,
    releases: Sequence[Release],
    to: str | Path,
    *,
    show_values: bool = False,
    seed: int | None = None,
    force: bool = False,
    tell: Callable[[str], None] = _silent,
    **given: Any,
) -> Path:
    """The same for releases whose checks were made just now; `tell` hears what they cost, in a sentence."""
    seed = randomness.new_seed() if seed is None else seed  # the same draws for what stands side by side
    path = Path(to)
    kind = report_kind(path)
    if not releases:
        raise ParameterError("A report needs at least one release.")
    inputs = _files_read(original, releases)
    refuse_output(path, force, inputs)
    original = _prepared_like(original, releases[0])
    views = []
    given = {**given, "show_values": show_values, "seed": seed}
    for release in releases:
        view = release_view(original, release, **given)
        baseline = _baseline(release)
        if baseline is not None and release.record is None:
            view = replace(view, warnings=(*view.warnings, _NO_BASELINE))
        elif baseline is not None and release.record is not None:
            at_random = anonymize(original, baseline, seed=release.record.run["seed"])  # never written
            view = with_baseline(view, release_view(original, at_random, RANDOM, **given))
        views.append(view)
    refuse_idle(views, given.get("names"))
    with placed(path, force, inputs) as part:
        part.write_text(render(log_view(original), views, kind), encoding="utf-8")
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


def _broken_message(name: str, verdict: Verdict) -> str:
    details = "; ".join(f"{check.name}: {check.text}" for check in verdict.broken or verdict.unchecked)
    return f"The release of {name} does not keep its promise, so nothing was written. {details}."


def _verify_foreign(
    published: Log, steps: str | Sequence[StepLike] | None, original: Log | None, name: str | None, k: int | None
) -> Verdict:
    """Check rows that Coterie did not make: the promise alone, not the house rules.

    Profiles are compared as they are published: preparing them would hide what tells them apart.
    """
    if name is None or k is None:
        raise MissingError(
            "There is no sidecar that says what is promised. Say what to check, for example "
            "--promise query_k_anonymity --k 5 (promises: " + ", ".join(registry.names("promises")) + ")."
        )
    rows = published if published.steps else prepare(published, DEFAULT if steps is None else steps)
    refuse_other_shape(rows.shape, original)
    if original is not None and not original.steps:
        original = prepare(original, rows.steps)
    promised = with_values(promise_class(name).of_foreign({"k": k}, named=rows.named), shape=rows.shape.name)
    columns = rows.shape.released
    case = Case(
        rows=rows.frame.select(columns),
        shape=rows.shape,
        original=original,
        foreign=True,
        published=published.frame.select(columns),
    )
    return judge(case, (promised,))


def _file_check(name: str, broken: int, detail: str, fault: str) -> Check:
    status: Status = "failed" if broken else "passed"
    return Check(name=name, status=status, detail=detail, broken=int(broken), fault=fault if broken else "")
