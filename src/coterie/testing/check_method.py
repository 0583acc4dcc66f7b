"""What every method must pass."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields, is_dataclass, replace
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np
import polars as pl

from coterie import api
from coterie.core import registry
from coterie.core.log import Log, Release
from coterie.core.params import Choice, Range, Rule, params_of
from coterie.core.plan import YARDSTICK, Method, Plan, refuse_engine
from coterie.core.promise import promise_nothing
from coterie.core.run import HERE, Engine, Run
from coterie.core.shapes import QUERIES, TERMS, VISITS
from coterie.engines.local import Local
from coterie.errors import BrokenPromiseError, CoterieError, ParameterError
from coterie.testing._logs import larger_log, queries_log, terms_log, visits_log
from coterie.testing._variations import variations
from coterie.testing.scattered import Scattered

SECTIONS = ("Paper:", "Symbols:", "Promise:", "Differs:", "Cost:")
_LOGS: dict[str, Callable[[], Log]] = {QUERIES.name: queries_log, VISITS.name: visits_log, TERMS.name: terms_log}
_STATUS = ("stable", "experimental", "reproduction", "example", YARDSTICK)
_SEED = 11
_K = "k"


def check_method(
    cls: Any, params: Mapping[str, Any] | None = None, *, vary: bool = True, without_effect: Collection[str] = ()
) -> None:
    """Raise AssertionError if the method breaks the contract; `params` suit logs of six people.

    Besides, unless `vary` is false, larger random logs are released with several values of each parameter, as its
    annotation allows them. Each parameter must change a release, but for those `without_effect` on logs of that size.
    A method that says `anywhere` is also tried on rows that are scattered over processes, where cloudpickle is there.
    """
    _is_well_formed(cls)
    has_k = any(param.name == _K for param in params_of(cls))
    given = {**({_K: 3} if has_k else {}), **(params or {})}
    rejects_wrong_parameters(cls, params)
    for shape in cls.accepts:
        if shape.name not in _LOGS:
            continue
        log = _LOGS[shape.name]()
        method = cls(**given)
        release = api.anonymize_prepared(log, method, seed=_SEED if method.seeded else None)
        _has_the_shape_it_gives(log, method, release)
        _names_no_original(log, release)
        if not method.seeded:
            _takes_no_seed(log, method)
            _has_drawn_all_noise_in_its_plan(log, method)
            _depends_on_nothing_but_values_before_noise(log, method)
            continue
        _leaves_the_input_alone(log, method)
        _has_decided_all_in_its_plan(log, method, release)
        _depends_on_nothing_but_values(log, method, release)
        _refuses_small_logs(log, method)
        _learns_what_serves_every_late_value(log, method, release)
        _has_a_baseline_like_itself(log, method, release)
        _keeps_groups_together(log, method, release)
        _gives_the_same_elsewhere(log, method, release)
    if vary and cls.seeded:
        _keeps_its_word_with_other_parameters(cls, given, without_effect)


def _keeps_its_word_with_other_parameters(cls: Any, given: Mapping[str, Any], without_effect: Collection[str]) -> None:
    """On larger logs, with several values of each parameter: promises hold, and only values, seed and steps count."""
    logs = [larger_log(shape) for shape in cls.accepts if shape.name in _LOGS]
    sets = list(variations(cls, given))
    idle: set[str] = set()
    active = set(without_effect) | set(given)
    for log in logs:
        base = _released(log, cls(**given))
        if base is None:
            continue
        _is_settled(log, cls(**given), base)
        tried: set[str] = set()
        for name, values in sets:
            release = _released(log, cls(**values))
            if release is None:
                continue
            idle.add(name)
            if name not in active and _differ(base, release):
                active.add(name)
            if name not in tried:  # the smallest value, which bites most
                tried.add(name)
                _is_settled(log, cls(**values), release)
    for name in sorted(idle - active):
        assert _has_an_effect_beside_another(cls, name, sets, logs), (
            f"no value of {name} changes a release: a parameter that does nothing. Where only larger logs show what it "
            f"does, say check_method(..., without_effect=[{name!r}])"
        )


def _released(log: Log, method: Any) -> Release | None:
    """A release; None where parameters do not suit the log, or something is not installed."""
    try:
        return api.anonymize_prepared(log, method, seed=_SEED)
    except BrokenPromiseError as error:
        raise AssertionError(
            f"the promise holds on a log of thirty people, where rows of nobody would tip the scale: {method}. {error}"
        ) from None
    except CoterieError:
        return None


def _is_settled(log: Log, method: Any, release: Release) -> None:
    """Rows in another order, and in blocks, give the same release; where they do not, say which of the two it is."""

    def same(frame: pl.LazyFrame, blocks: int) -> bool:
        again = api.anonymize_prepared(replace(log, frame=frame), method, seed=_SEED, blocks=blocks, record=False)
        return again.to_polars().equals(release.to_polars())

    if same(_shuffled(log), blocks=5):
        return
    assert same(log.frame, blocks=1), f"the same seed gives the same release: {method}"
    assert same(log.frame, blocks=5), f"engine blocks never change the answer: does one split a user? {method}"
    raise AssertionError(f"the order of rows never changes the answer: {method}")


def _shuffled(log: Log) -> pl.LazyFrame:
    """The rows of a log in another order; where they have numbers, these follow it."""
    shuffled = log.frame.collect().sample(fraction=1, shuffle=True, seed=1)
    if "row" in shuffled.columns:
        shuffled = shuffled.with_columns(pl.int_range(pl.len(), dtype=pl.UInt64).alias("row"))
    return shuffled.lazy()


def _differ(one: Release, other: Release) -> bool:
    """Whether two releases say something else, but for random names, which always differ."""
    if one.promises != other.promises or one.log.shape is not other.log.shape:
        return True

    def said(release: Release) -> pl.DataFrame:
        shape = release.log.shape
        columns = [name for name in shape.released if name != shape.subject]
        names = [] if not shape.subject else [pl.col(shape.subject).count().over(shape.item).alias("_named")]
        return release.to_polars().select(*columns, *names).sort(*columns)

    return not said(one).equals(said(other))


def _has_an_effect_beside_another(
    cls: Any, name: str, sets: Sequence[tuple[str, dict[str, Any]]], logs: Sequence[Log]
) -> bool:
    """Whether a parameter changes a release where another one has another value, too."""
    own = [values[name] for changed, values in sets if changed == name]
    others = [values for changed, values in sets if changed != name]
    for log, values in product(logs, others):
        base = _released(log, cls(**values))
        for value in own if base is not None else ():
            try:
                method = cls(**{**values, name: value})
            except CoterieError:
                continue
            other = _released(log, method)
            if other is not None and base is not None and _differ(base, other):
                return True
    return False


def is_declared(cls: Any, kind: str, values: str) -> None:
    """Raise AssertionError unless it is a frozen dataclass whose `values` are given by name."""
    made: Any = cls
    assert is_dataclass(cls), f"a {kind} is a dataclass"
    assert made.__dataclass_params__.frozen, f"a {kind} is frozen: its {values} never change"
    assert all(field.kw_only for field in fields(made)), f"{values} are given by name"


def is_documented(cls: Any) -> None:
    """Raise AssertionError unless each field says which values are allowed, and what it means."""
    declared = {name for name, hint in get_type_hints(cls, include_extras=True).items() if _has_a_rule(hint)}
    loose = [field.name for field in fields(cls) if field.name not in declared]
    assert not loose, f"the annotation of {loose} lacks the values that are allowed: Annotated[int, Range(1), ...]"
    undocumented = [param.name for param in params_of(cls) if not param.doc]
    assert not undocumented, f"the annotation of {undocumented} lacks a text"


def _is_well_formed(cls: Any) -> None:
    is_declared(cls, "method", "parameters")
    assert issubclass(cls, Method), "a method is a Method: what it does not say of itself, it cannot do"
    assert cls.status in _STATUS, "status says how far to trust it"
    assert cls.accepts, "a method accepts at least one shape"
    doc = sys.modules[cls.__module__].__doc__ or ""
    missing = [section for section in SECTIONS if section not in doc]
    assert not missing, f"the module docstring lacks {missing}"
    is_documented(cls)


def _has_a_rule(hint: Any) -> bool:
    return get_origin(hint) is Annotated and any(isinstance(extra, Rule) for extra in get_args(hint)[1:])


def rejects_wrong_parameters(cls: Any, others: Mapping[str, Any] | None = None) -> None:
    """Raise AssertionError if a parameter takes a wrong value; `others` are values that must be given."""
    for param in params_of(cls):
        wrong: list[Any] = [None, "no such value", [1]]
        if isinstance(param.rule, Range):
            wrong += [param.rule.low - 1, True]
            wrong += [param.rule.high + 1] if param.rule.high is not None else []
            wrong += [param.rule.low + 0.5] if param.kind is int else []
        elif isinstance(param.rule, Choice):
            wrong += [param.rule.options[0].upper() + "x"]
        for value in wrong:
            message = _refusal(cls, param.name, value, others or {})
            assert f"The {param.name!r} parameter of" in message, "the standard sentence"
            expected = f"must be {param.rule.describe(param.kind)}. Got {value!r} instead."
            assert expected in message, "the standard sentence"


def _refusal(cls: Any, name: str, value: Any, others: Mapping[str, Any]) -> str:
    """The message with which a wrong value is refused."""
    try:
        cls(**{**others, name: value})
    except ParameterError as error:
        return str(error)
    raise AssertionError(f"{name}={value!r} was accepted")


def _has_the_shape_it_gives(log: Log, method: Any, release: Release) -> None:
    shape = method.shape_given(log, release.promises)
    assert release.log.shape is shape, "the shape that it gives"
    rows = release.to_polars()
    assert rows.columns == list(shape.released), "the columns of the shape, without private ones"
    names = [promise.name for promise in release.promises]
    assert names, "a release promises something"
    assert set(names) <= set(registry.names("promises")), "promises whose judges are known"
    _was_verified(method, release)
    assert release.record is not None
    subjects = release.record.subjects.collect()
    assert set(subjects.columns) == {"original", "released", "group"}
    users = log.frame.select(log.shape.subject).drop_nulls().unique().collect().to_series()
    assert set(subjects["original"]) == set(users), "the record knows every subject"


def _was_verified(method: Any, release: Release) -> None:
    assert release.checks, "a release was verified"
    made = [check for check in release.checks if not (method.status == YARDSTICK and check.name == "promise")]
    assert all(check.status == "passed" for check in made), "every check passed, but of a promise that there is not"
    assert promise_nothing(release.promises) == (method.status == YARDSTICK), "a yardstick promises nothing, in words"


def _names_no_original(log: Log, release: Release) -> None:
    if not release.log.shape.subject:  # numbers of no one person
        return
    before = set(log.frame.select(log.shape.subject).drop_nulls().collect().to_series())
    after = set(release.to_polars()[release.log.shape.subject].drop_nulls())
    assert not before & after, "original subjects are never released"


def _leaves_the_input_alone(log: Log, method: Any) -> None:
    before = log.frame.collect()
    api.anonymize_prepared(log, method, seed=_SEED)
    assert log.frame.collect().equals(before), "the input is untouched"


def _depends_on_nothing_but_values(log: Log, method: Any, release: Release) -> None:
    expected = release.to_polars()

    def rows(frame: pl.LazyFrame, blocks: int = 1) -> pl.DataFrame:
        return api.anonymize_prepared(replace(log, frame=frame), method, seed=_SEED, blocks=blocks).to_polars()

    assert rows(log.frame).equals(expected), "the same seed gives the same release"
    assert rows(log.frame, blocks=7).equals(expected), "engine blocks never change the answer"
    assert rows(_shuffled(log)).equals(expected), "the order of rows never changes the answer"


def _can_run_elsewhere(method: Any) -> bool:
    """Whether a method runs anywhere with these parameters, and this can be tried here."""
    try:
        refuse_engine(method)
    except ParameterError:  # it says that it runs on one machine
        return False
    return find_spec("cloudpickle") is not None


def _gives_the_same_elsewhere(log: Log, method: Any, release: Release) -> None:
    """Rows that are scattered, shuffled and cut at random give the same release, record and checks."""
    if not _can_run_elsewhere(method) or release.record is None:
        return
    for cut in (1, 2):
        engine = Scattered(cut)
        there = api.anonymize_prepared(replace(log, frame=engine.keep(log.frame), engine=engine), method, seed=_SEED)
        assert there.to_polars().equals(release.to_polars()), "where rows are never changes the answer"
        assert [check.text for check in there.checks] == [check.text for check in release.checks], (
            "where rows are never changes what judges see"
        )
        assert there.record is not None
        subjects = (each.subjects.collect().sort("original", "released") for each in (there.record, release.record))
        assert next(subjects).equals(next(subjects)), "where rows are never changes who becomes whom"


def _takes_no_seed(log: Log, method: Any) -> None:
    with suppress(ParameterError):
        api.anonymize_prepared(log, method, seed=_SEED)
        raise AssertionError("noise that carries a promise takes no seed")


def _has_drawn_all_noise_in_its_plan(log: Log, method: Any) -> None:
    """A stored plan is published as it is, however often: noise that is drawn twice can be averaged away."""
    run = Run(engine=Local())
    plan = method.plan(method.learn(log, run), log, run)
    shape = method.shape_given(log)

    def rows(given: Plan) -> pl.DataFrame:
        frame: pl.LazyFrame = method.release(log, given, Run(engine=Local())).frame
        return frame.select(shape.released).sort(shape.order).collect()

    with TemporaryDirectory() as folder:
        plan.write(Path(folder))
        stored = Plan.read(Path(folder))
        assert rows(stored).equals(rows(plan)), "a stored plan gives the same release: its noise was drawn once"


def _depends_on_nothing_but_values_before_noise(log: Log, method: Any) -> None:
    shape = method.shape_given(log)

    def rows(frame: pl.LazyFrame, blocks: int = 1, engine: Engine | None = None) -> pl.DataFrame:
        words = np.random.default_rng(_SEED)  # the same words for every run, as only tests can have them
        run = Run(engine=engine or Local(blocks), words=lambda count: words.integers(0, 2**64, count, dtype=np.uint64))
        given = replace(log, frame=frame, engine=engine or HERE)
        plan = method.plan(method.learn(given, run), given, run)
        table: pl.DataFrame = plan.table.select(shape.released).sort(shape.order).collect()
        return table

    expected = rows(log.frame)
    assert rows(log.frame, blocks=7).equals(expected), "engine blocks never change the weights"
    shuffled = log.frame.collect().sample(fraction=1, shuffle=True, seed=1)
    assert rows(shuffled.lazy()).equals(expected), "the order of rows never changes the weights"
    if _can_run_elsewhere(method):
        engine = Scattered(_SEED)
        assert rows(engine.keep(log.frame), engine=engine).equals(expected), "where rows are never changes the weights"


def _has_decided_all_in_its_plan(log: Log, method: Any, release: Release) -> None:
    """A stored plan, in a run that knows nothing else, gives the same release; so does one in another order."""
    run = Run(seed=_SEED, engine=Local())
    plan = method.plan(method.learn(log, run), log, run)

    def rows(given: Plan) -> pl.DataFrame:
        run = Run(seed=_SEED, engine=Local(), naming=partial(api.naming_of, log, method))
        draft = method.release(log, given, run)
        shape = release.log.shape
        whole_seconds = pl.col(pl.Datetime).dt.truncate("1s")
        frame: pl.LazyFrame = draft.frame.select(shape.released)
        return frame.with_columns(whole_seconds).sort(shape.order).collect()

    with TemporaryDirectory() as folder:
        plan.write(Path(folder))
        stored = Plan.read(Path(folder))
        assert rows(stored).equals(release.to_polars()), (
            "a stored plan gives the same release: it is the whole decision"
        )
        assert stored.notes == plan.notes, "notes are part of a plan"
        assert rows(_reordered(stored)).equals(release.to_polars()), "order and numbers of groups mean nothing"


def _reordered(plan: Plan) -> Plan:
    """The same plan with its rows backwards and its groups renumbered."""

    def backwards(table: pl.LazyFrame) -> pl.LazyFrame:
        rows = table.collect().reverse()
        if "group" in rows.columns:
            rows = rows.with_columns((pl.lit(1_000_000, pl.UInt32) - pl.col("group")).alias("group"))
        return rows.lazy()

    return replace(
        plan, table=backwards(plan.table), tables={name: backwards(table) for name, table in plan.tables.items()}
    )


def _refuses_small_logs(log: Log, method: Any) -> None:
    subject = pl.col(log.shape.subject)
    names = log.frame.select(subject).drop_nulls().unique().collect().to_series().sort()
    small = {"an empty log": log.frame.clear()}
    k = asdict(method).get(_K)
    if k is not None:
        small["one user"] = log.frame.filter(subject == names[0])
        small["fewer users than k"] = log.frame.filter(subject.is_in(names[: k - 1].to_list()))
    for what, frame in small.items():
        with suppress(CoterieError):
            api.anonymize_prepared(replace(log, frame=frame), method, seed=_SEED)
            raise AssertionError(f"{what} was not refused")


def _learns_what_serves_every_late_value(log: Log, method: Any, release: Release) -> None:
    """What was learnt for another value of a late parameter gives the release that learning alone gives."""
    for param in params_of(type(method)):
        if not (param.late and isinstance(param.rule, Range)):
            continue
        value = asdict(method)[param.name]
        for other in (value - 1, value + 1):
            if param.rule.accepts(other, param.kind):
                learnt = api.learn(log, [replace(method, **{param.name: other}), method], seed=_SEED)
                rows = api.anonymize_prepared(learnt, method, seed=_SEED).to_polars()
                assert rows.equals(release.to_polars()), (
                    f"what is learnt does not depend on {param.name}, which is Late"
                )


def _has_a_baseline_like_itself(log: Log, method: Any, release: Release) -> None:
    """Random groups beside a grouping must differ from it in nothing but the groups."""
    baseline = method.baseline()
    if baseline is None:
        return
    assert type(baseline) is type(method), "the baseline is the same method with random groups"
    assert baseline.baseline() is None, "the baseline has no baseline"
    random = api.anonymize_prepared(log, baseline, seed=_SEED)
    assert random.promises == release.promises, "the baseline promises the same"


def _keeps_groups_together(log: Log, method: Any, release: Release) -> None:
    """A second release on the groups of the first has the same groups; for a larger k unions of them."""
    if not method.regroups or release.record is None:
        return
    before = release.record.subjects.drop_nulls("group").select("original", "group").collect()
    if before.is_empty():
        return
    for k in (asdict(method)[_K], before.height):
        second = api.anonymize_prepared(log, replace(method, k=k), seed=_SEED, groups_of=release.record)
        assert second.record is not None
        after = second.record.subjects.drop_nulls("group").collect()
        assert after.group_by("group").len()["len"].min() >= k, "earlier groups are joined until they have k members"  # type: ignore[operator]
        unions = before.join(after, on="original").group_by("group").agg(pl.col("group_right").n_unique())
        assert set(unions["group_right"]) == {1}, "nobody changes groups"
        assert not set(after["released"]) & set(release.to_polars()[release.log.shape.subject]), "names are new"
