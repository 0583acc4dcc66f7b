"""What the package does and can do, as facts: `tools/freeze.py` records and compares them. Deleted with it.

Each function of `PARTS` yields (key, value) of one fact each, and is a file of them. Facts are asked of the members (by
the functions that the package itself asks with) and of releases of made-up logs; none is copied. The program of a part
runs in an empty folder, which `tools/freeze.py` makes, so that no path is in a fact.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import MISSING, asdict, fields, is_dataclass, replace
from functools import cache
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock

import click
import polars as pl
from freeze import together

import coterie
from coterie import errors, measures
from coterie import steps as coterie_steps
from coterie.core import plan, registry
from coterie.core.params import params_of
from coterie.core.promise import refuse_judging_on
from coterie.core.shapes import QUERIES, SHAPES, TERMS, VISITS
from coterie.errors import CoterieError
from coterie.reading.reading import takes_of
from coterie.reading.sniff import format_of
from coterie.testing._logs import larger_log, queries_log, terms_log, visits_log
from coterie.testing._variations import variations
from coterie.testing.check_measure import _another, _of_strangers, _of_the_next, _topics
from coterie.testing.check_promise import _smallest
from coterie.testing.scattered import Scattered

Fact = tuple[str, Any]
GIVEN: dict[str, dict[str, Any]] = {"private_counts": {"epsilon": 20.0, "delta": 0.01}}
"""Parameters without which a method says nothing about so small a log."""
KS, SEED = (2, 3), 5
_PEOPLE = [f"person {number:02}" for number in range(9)]
_TODAY = re.compile(r"\b20(2[6-9]|[3-9]\d)-\d\d-\d\d(T[\d:+.]+)?")  # made-up logs are older
_LEFT_OUT = ("sha256", "digest", "date", "coterie")
"""Parts of names of fields whose values change by themselves (digests of bytes, days, the version): left out."""


def digest(value: Any) -> str:
    """A few letters of the SHA-256 of rows, or of any value that has a text."""
    if isinstance(value, pl.DataFrame):
        value = f"{value.schema}\n{value.write_ndjson()}"
    return hashlib.sha256(str(value).encode()).hexdigest()[:12]


def short(value: Any) -> str:
    """A value in one line; the end of a long text is a digest."""
    text = value if isinstance(value, str) else json.dumps(value, default=str, sort_keys=True, ensure_ascii=False)
    text = re.sub(" at 0x[0-9a-f]+", "", text.replace("\n", "⏎").strip())
    return text if len(text) <= 160 else f"{text[:120]} … {len(text)} {digest(text)}"


@contextmanager
def same_words() -> Iterator[None]:
    """The operating system gives one random word again and again: noise is the same, in whatever order it is drawn."""
    with mock.patch("os.urandom", lambda size: b"\xa5" * size):
        yield


def _tried(ask: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """What comes of it, or the kind of error and its exit code."""
    try:
        return ask(*given, **named)
    except CoterieError as error:
        return f"{type(error).__name__} ({error.exit_code})"


# --- what each class can do ----------------------------------------------------------------------------------

METHOD: dict[str, Callable[[Any], Any]] = {
    "accepts": lambda cls: [shape.name for shape in cls.accepts],
    "gives": lambda cls: cls.gives.name if cls.gives else "what it got",
    "status": lambda cls: cls.status,
    "holds rows in memory": lambda cls: cls.holds_rows,
    "takes a seed": lambda cls: cls.seeded,
    "further details": lambda cls: cls.further_details,
    "learns": lambda cls: cls.learn is not plan.Method.learn,
    "regroups": lambda cls: cls.regroups,
    "refuses logs": lambda cls: cls.refuse is not plan.Method.refuse,
}
MADE: dict[str, Callable[[Any], Any]] = {  # of a method with parameters
    "distributed": lambda method: _tried(plan.refuse_engine, method) or "yes",
    "promises": lambda method: _tried(lambda: [_spelled(promise) for promise in _promised(method)]),
    "spends": lambda method: _tried(lambda: method.spends),
    "baseline": lambda method: _tried(lambda: _spelled(method.baseline())),
}
PROMISE: dict[str, Callable[[Any], Any]] = {  # of a promise with numbers
    "about": lambda promise: promise.about,
    "covers": lambda promise: getattr(type(promise), "covers", ()),
    "judged where rows are": lambda promise: _tried(refuse_judging_on, Scattered(), [promise]) or "yes",
    "releases": lambda promise: promise.releases,
    "linkage bound": lambda promise: promise.linkage_bound,
    "evidence": lambda promise: promise.evidence,
    "levels of times": lambda promise: getattr(promise, "levels", ()),
    "headline": lambda promise: promise.headline,
    "words": lambda p: digest((p.sentence, p.limits, getattr(p, "foreign_sentence", None))),
    "of foreign rows": lambda p: [_of_foreign(p, named) for named in (True, False)],
}
MEASURE: dict[str, Callable[[str], Any]] = {
    "needs": lambda name: sorted(measures.load(name).needs),
    "by name only": lambda name: name not in measures.names_of_all(),
    "effort": measures.effort,
    "series": lambda name: list(measures.load(name).series),
    "findings": lambda name: [_rest(each) for each in measures.findings() if each.measure == name],
    "weighed": lambda name: [_rest(each) for each in measures.weighed() if each.measure == name],
}


def _promised(method: Any) -> Any:
    shape = type(method).accepts[0]
    return method.promises(plan.Facts(subjects=100, rows=1000, shape=shape))


def _spelled(value: Any) -> Any:
    """The name of a method or promise, with what is not as by default."""
    if not is_dataclass(value):
        return value
    said = {f.name: getattr(value, f.name) for f in fields(value)}
    changed = [f"{f.name}={said[f.name]}" for f in fields(value) if f.default is MISSING or f.default != said[f.name]]
    return f"{registry.name_of(value)}({','.join(changed)})"


def _of_foreign(promise: Any, named: bool) -> Any:
    foreign = _tried(type(promise).of_foreign, asdict(promise), named=named)
    return "the same" if foreign == promise else _spelled(foreign)


def _rest(value: Any) -> dict[str, Any]:
    """The fields of a value that are not as by default."""
    made = {f.name: getattr(value, f.name) for f in fields(value)}
    return {f.name: _sorted(made[f.name]) for f in fields(value) if made[f.name] != f.default and made[f.name]}


def _sorted(value: Any) -> Any:
    return sorted(value) if isinstance(value, (set, frozenset)) else value


def _params(params: dict[str, Any]) -> str:
    return ",".join(f"{name}={value}" for name, value in params.items())


def members() -> Iterator[Fact]:
    """What each method, promise, measure, step, format and the rest can do."""
    for kind in (
        "methods",
        "promises",
        "measures",
        "formats",
        "steps",
        "embeddings",
        "protocols",
        "simulation_measures",
    ):
        yield f"names: {kind}", " ".join(registry.names(kind))
    for part in (methods, promises, measured, declared, steps, formats_):
        yield from part()


def _parameters(kind: str, name: str) -> Iterator[Fact]:
    params = list(params_of(registry.member(kind, name)))
    if params:
        yield f"{kind[:-1]} {name}: parameters", " ".join(param.name for param in params)
    for param in params:
        late, only = " late" * param.late, f" only {param.only}" if param.only else ""
        rule = param.rule.describe(param.kind)
        yield f"{kind[:-1]} {name}: parameter {param.name}", f"{rule}; default {param.default!r}{late}{only}"


def methods() -> Iterator[Fact]:
    """What methods accept, give and need, and what they promise with other parameters."""
    for name in registry.names("methods"):
        cls = registry.method(name)
        yield from _parameters("methods", name)
        yield from ((f"method {name}: {what}", ask(cls)) for what, ask in METHOD.items())
        made = ((label, cls(**params)) for label, params in _sets(name))
        yield from ((f"method {name}: {what}{label}", value) for label, what, value in _changing(made, MADE))


def promises() -> Iterator[Fact]:
    """What promises are about, where they are judged and what they need, with other numbers, too."""
    for name in registry.names("promises"):
        cls = registry.member("promises", name)
        yield from _parameters("promises", name)
        numbers = [_smallest(cls), *(each for _, each in variations(cls, _smallest(cls)))]
        made = (
            (_params({key: each[key] for key in each if each[key] != numbers[0].get(key)}), cls(**each))
            for each in numbers
        )
        yield from ((f"promise {name}: {what}{label}", value) for label, what, value in _changing(made, PROMISE))


def measured() -> Iterator[Fact]:
    """What measures need and show."""
    for name in registry.names("measures"):
        yield from ((f"measure {name}: {what}", ask(name)) for what, ask in MEASURE.items())
    for figure in measures.figures():
        yield (
            f"measure {figure.measure}: figure {figure.section} {figure.key}",
            f"{figure.title} {digest(_rest(figure))}",
        )
    for name, each in measures.inputs.INPUTS.items():
        yield f"input: {name}", {key: value for key, value in _rest(each).items() if not callable(value)}


def declared() -> Iterator[Fact]:
    """Shapes, errors, public functions and protocols."""
    for shape in SHAPES.values():
        columns = [f"{column.name} {column.dtype}{'?' * column.nullable}" for column in shape.columns]
        yield f"shape {shape.name}: columns", ", ".join(columns)
        yield from ((f"shape {shape.name}: {key}", value) for key, value in _rest(shape).items() if key != "columns")
    for name in sorted(dir(errors)):
        if inspect.isclass(cls := getattr(errors, name)) and issubclass(cls, CoterieError):
            yield f"error: {name}", f"{cls.__base__.__name__} exit {cls.exit_code}"
    for name in coterie.__all__:
        parameters = inspect.signature(getattr(coterie, name)).parameters.values()
        shown = [p.replace(annotation=p.empty) for p in parameters]
        yield f"public: {name}", str(inspect.Signature(shown))
    for name in registry.names("protocols"):
        yield from _parameters("protocols", name)


def _changing(made: Iterable[tuple[str, Any]], asks: dict[str, Callable[[Any], Any]]) -> Iterator[tuple[str, str, str]]:
    """All that is asked of the first one, and of the others what is not as with it."""
    usual: dict[str, str] = {}
    for label, member in made:
        found = {what: short(ask(member)) for what, ask in asks.items()}
        changed = ((what, value) for what, value in found.items() if usual.get(what) != value)
        yield from ((f"({label})" if usual else "", what, value) for what, value in changed)
        usual = usual or found


def steps() -> Iterator[Fact]:
    """What steps look at, and what they do to each log."""
    for name in registry.names("steps"):
        cls = registry.member("steps", name)
        yield from _parameters("steps", name)
        given = {param.name: 2 for param in params_of(cls) if param.default is None}
        step = _tried(cls, **given)
        yield f"step {name}: looks at", _tried(coterie_steps.looks_at, step)
        for shape, log in logs().items():
            yield (
                f"step {name}: on {shape}",
                _tried(_after, log, step),
            )


def formats_() -> Iterator[Fact]:
    """What formats take, and what is read from their samples, named or sniffed."""
    for name in registry.names("formats"):
        module = registry.module("formats", name)
        yield f"format {name}: shape", module.shape.name
        yield f"format {name}: takes", list(takes_of(name))
        yield f"format {name}: expected", sorted(module.expected)
        path = Path(f"sample_{name}")
        path.write_bytes(module.sample.encode(getattr(module, "encoding", "utf-8")))
        yield f"format {name}: found in its sample", _tried(format_of, path)
        for how, options in (("sniffed", {}), ("named", {"format": name}), ("as searches", {"query_param": "auto"})):
            yield f"format {name}: {how}", _tried(_as_read, path, options)


def _after(log: Any, step: Any) -> str:
    return _described(coterie.prepare(log, [step]))


def _as_read(path: Path, options: dict[str, str]) -> str:
    return _described(coterie.read(path, **options))


def _described(log: Any) -> str:
    step, rows = log.history[-1], log.frame.collect()
    said = {"counts": dict(step.counts), "notes": step.notes, "settings": dict(log.settings), "warned": log.warnings}
    told = " ".join(f"{what}={short(value)}" for what, value in said.items() if value)
    return f"{log.shape.name} {rows.height} rows {digest(rows.sort(rows.columns))} {told}"


# --- the command line ----------------------------------------------------------------------------------------


def options() -> Iterator[Fact]:
    """Every option and argument of every command, also hidden ones."""
    from coterie.cli.main import cli

    yield from _options(cli, click.Context(cli, info_name="coterie"))


def _options(command: click.Command, context: click.Context) -> Iterator[Fact]:
    for param in command.get_params(context):
        names = "/".join((*param.opts, *param.secondary_opts))
        kind = param.type.to_info_dict()
        said = {key: value for key, value in kind.items() if value and key not in ("param_type", "func")}
        flags = ("required", "multiple", "hidden", "is_flag", "count", "prompt", "envvar")
        flags_set = [flag for flag in flags if getattr(param, flag, False)]
        default = param.default if isinstance(param.default, (bool, int, float, str, tuple, list)) else None
        parts = [
            str(said.pop("name")),
            *([] if default is None or default is False else [f"default {default!r}"]),
            *flags_set,
        ]
        parts += [f"nargs {param.nargs}"] * (param.nargs != 1) + [short(said)] * bool(said)
        yield f"{context.command_path}: {names}", " ".join(parts)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                yield f"{context.command_path}: command {name}", f"hidden {inner.hidden}"
                yield from _options(inner, click.Context(inner, info_name=name, parent=context))


# --- releases ------------------------------------------------------------------------------------------------


@cache
def logs() -> dict[str, Any]:
    """A log of nine people of each shape that is read, with rows of nobody; and queries with a further detail."""
    made = {}
    for shape in (QUERIES, VISITS, TERMS):
        who = pl.col(shape.subject)
        rows = larger_log(shape).frame.filter(who.is_in(_PEOPLE) | who.is_null()).drop("row", strict=False).collect()
        if shape is TERMS:
            number = who.str.slice(-2).cast(pl.Int32)
            rows = rows.with_columns(owner=pl.when(number % 2 == 0).then(pl.lit("owner ") + (number // 4).cast(str)))
        made[shape.name] = coterie.log(rows)
        if shape is QUERIES:
            device = pl.when(pl.int_range(pl.len()) % 3 > 0).then(pl.lit("phone"))
            made["DETAILED"] = coterie.log(rows.with_columns(device=device), details="device")
    return made


def _given(name: str, **params: Any) -> dict[str, Any]:
    cls = registry.method(name)
    known = {field.name for field in fields(cls)}
    return {**GIVEN.get(name, {}), **{key: value for key, value in params.items() if key in known}}


def _sets(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Usual parameters of a method, then one or more others: those of the testing kit and of golden releases."""
    from tests.helpers.golden_releases import cases

    base = _given(name, k=3)
    seen = [base]
    yield "", base
    golden = [{**GIVEN.get(name, {}), **case.params} for case in cases() if case.method == name]
    for params in (*(params for _, params in variations(registry.method(name), base)), *golden):
        if params not in seen:
            seen.append(params)
            yield _params({key: value for key, value in params.items() if base.get(key) != value}), params


def _released(log: Any, name: str, params: dict[str, Any], **more: Any) -> Any:
    """A release whose random words are always the same, also those of noise."""
    method = registry.method(name)(**params)
    seed = SEED if method.seeded else None
    with same_words():
        return coterie.anonymize(log, method, seed=seed, history=None, **more)


def _verdict(release: Any, **given: Any) -> str:
    verdict = coterie.verify(release, **given)
    bad = [
        f"{c.name} not checked" if c.status == "not checked" else f"{c.name} {c.broken}/{c.looked_at}/{c.concerns}"
        for c in verdict.checks
        if c.status != "passed"
    ]
    return f"exit {verdict.exit_code}, largest k {verdict.largest_k}; {'; '.join(bad)}".replace("None", "-")


def _tampered(release: Any) -> Iterator[tuple[str, Any]]:
    """The release with one value changed in its first row, with all rows twice, and without its last column."""
    rows, shape = release.to_polars(), release.log.shape
    changed = {
        "another item": rows.with_columns(_first(shape.item, pl.lit("nobody asked for this"))),
        "another subject": rows.with_columns(_first(shape.subject or shape.item, pl.lit("person 01"))),
        "rows twice": pl.concat([rows, rows]),
        "no rows": rows.clear(),
    }
    if numbers := [name for name, dtype in rows.schema.items() if dtype.is_numeric() and rows[name].null_count() == 0]:
        changed["another number"] = rows.with_columns(_first(numbers[0], pl.col(numbers[0]) + 1))
    for what, frame in changed.items():
        yield what, replace(release, log=replace(release.log, frame=frame.cast(rows.schema).lazy()))


def _first(column: str, value: pl.Expr) -> pl.Expr:
    return pl.when(pl.int_range(pl.len()) == 0).then(value).otherwise(column).alias(column)


def _facts_of(release: Any) -> Iterator[Fact]:
    yield "rows", f"{release.rows} {digest(release.to_polars())}"
    yield "shape", release.log.shape.released
    yield "promises", [_spelled(promise) for promise in release.promises]
    yield "warnings", digest(release.warnings)
    for name, table in sorted(release.record.evidence.items()):
        table = table.collect()
        yield f"evidence {name}", f"{table.height} {digest(table.sort(table.columns))} {','.join(table.columns)}"
    for check in release.checks:
        counts = {"looked at": check.looked_at, "broken": check.broken or None, "concerned": check.concerns,
                  "largest k": check.largest_k}  # fmt: skip
        said = [f"{number} {what}" for what, number in counts.items() if number is not None]
        marks = [mark for mark in ("carries_promise", "needs_original") if getattr(check, mark)]
        yield f"check {check.promise}/{check.name}", ", ".join([check.status, *said, *marks])


def _judged(log: Any, release: Any) -> Iterator[Fact]:
    yield "verified again", _tried(_verdict, release, original=log)
    yield "verified alone", _tried(_verdict, release)
    yield "verified with k 7", _tried(_verdict, release, original=log, k=7)
    for what, other in _tampered(release):
        yield f"with {what}", _tried(_verdict, other, original=log)


def _places(name: str) -> Iterator[tuple[str, Any]]:
    cls = registry.method(name)
    yield from ((shape.name, logs()[shape.name]) for shape in cls.accepts if shape.name in logs())
    if METHOD["further details"](cls) and QUERIES in cls.accepts:
        yield "DETAILED", logs()["DETAILED"]


def releases() -> Iterator[Fact]:
    """Every method x shape x two k, in one block and in seven; judged again, and tampered with; on old groups."""
    for name in registry.names("methods"):
        for shape, log in _places(name):
            for k in KS if _given(name, k=2) != _given(name) else (None,):
                of_blocks = {}
                for blocks in (1, 7):
                    release = _tried(_released, log, name, _given(name, k=k), blocks=blocks)
                    found = {"": release} if isinstance(release, str) else dict(_facts_of(release))
                    if blocks == 1 and not isinstance(release, str):
                        found |= _judged(log, release)
                        first = release
                    of_blocks[f"blocks={blocks}"] = {key: short(value) for key, value in found.items()}
                judged = {
                    key: value for key, value in of_blocks["blocks=1"].items() if key not in of_blocks["blocks=7"]
                }
                of_blocks["blocks=7"] |= judged  # which is done once
                for key, value in together(of_blocks).items():
                    yield f"{name} {shape} k={k}: {key}", value
            if registry.method(name).regroups:
                again = _released(log, name, _given(name, k=4), groups_of=first.record)
                yield from ((f"{name} {shape} k=4 on groups of k=3: {key}", v) for key, v in _facts_of(again))


def other_parameters() -> Iterator[Fact]:
    """The same with other parameters: the rows, checks and evidence of each release as one digest."""
    for name in registry.names("methods"):
        for shape, log in _places(name):
            for label, params in _sets(name):
                yield (
                    f"{name} {shape}: {label or 'as usual'}",
                    _tried(_as_one, log, name, params),
                )


def _as_one(log: Any, name: str, params: dict[str, Any]) -> str:
    release = _released(log, name, params)
    found = dict(_facts_of(release))
    judged = {key: value for key, value in found.items() if key.startswith("check ")}
    alone = _verdict(release)
    return f"{found['rows']}; {len(judged)} checks {digest(judged)}; all {digest(found)}; alone {digest(alone)}"


# --- scores --------------------------------------------------------------------------------------------------


def scores() -> Iterator[Fact]:
    """Every measure of six releases of a hand-made log and of one of nine people."""
    small = {"QUERIES": queries_log(), "VISITS": visits_log(), "TERMS": terms_log()}
    mine = {name: coterie.prepare(log) for name, log in logs().items()}
    made = [("QUERIES", "suppress_rare", {"users": "pseudonym"}), ("QUERIES", "microaggregate", {}),
            ("QUERIES", "suppress_rare", {"users": "session"}), ("VISITS", "common_visits", {}),
            ("VISITS", "generalize_visits", {"k": 2, "details": "browser"}), ("TERMS", "microaggregate_documents", {}),
            ("QUERIES", "generalize", {})]  # fmt: skip
    for label, some in (("small", small), ("nine", mine)):
        for shape, name, params in made:
            log, params = some[shape], {"k": 3, **params}
            release = coterie.anonymize(log, registry.method(name)(**params), seed=3, history=None, prepare=())
            given = _inputs(log)
            for measure in registry.names("measures"):
                table = _tried(coterie.measure, release, [measure], original=log, seed=SEED, **given)
                key = f"{measure} of {name}({_params(params)}) {label}"
                if isinstance(table, str):
                    yield f"{key}: all", table
                elif label == "small":
                    yield f"{key}: all", _in_one(table.sort("key"))
                else:
                    yield from (
                        (f"{key}: {row['key']}", _number(row["value"], row["unit"])) for row in table.to_dicts()
                    )


def _number(value: float | None, unit: str) -> str:
    return f"{'-' if value is None else format(value, '.12g')} {unit}"


def _in_one(table: pl.DataFrame) -> str:
    """All scores in one number, which tells where each of them stands."""
    total = sum(place * value for place, value in enumerate(table["value"], 1) if value is not None)
    return _number(
        total, f"from {table.height} scores {digest(table.select('key', 'unit', pl.col('value').is_null()))}"
    )


def _inputs(log: Any) -> dict[str, Any]:
    """What measures need besides, as the testing kit makes it."""
    queries = log.frame.select(query=pl.col(log.shape.item)).unique().collect().sort("query")
    labels = queries.with_columns(sensitive=pl.Series(["yes", "no"] * queries.height).head(queries.height))
    strangers = _of_strangers(log)
    later = replace(log, frame=pl.concat([*[log.frame] * 4, _of_the_next(log), strangers]))
    second = coterie.anonymize(log, _another(log), seed=3, history=None, prepare=())
    given = {"labels": labels, "later": later, "second": second, "outsiders": replace(log, frame=strangers)}
    if log.shape is TERMS:
        given |= {"topics": _topics(log), "public": replace(log, frame=_of_the_next(log))}
    return given


# --- files: what commands say, sidecars, records, pages ------------------------------------------------------------

LOGS = {"QUERIES": "queries.csv", "VISITS": "visits.csv", "TERMS": "documents.csv"}
PAGES = {
    "queries.html": "m_microaggregate.tsv m_suppress_rare.tsv -O queries.csv --record m_microaggregate.record",
    "visits.md": "m_common_visits.tsv -O visits.csv --record m_common_visits.record --edition external",
    "documents.html": "m_microaggregate_documents.tsv -O documents.csv --record m_microaggregate_documents.record",
}
WALK = """
synth -o synth.tsv --users 12 --seed 3
synth --kind visits -o synth.log --users 12
inspect queries.csv
inspect synth.log --json
inspect synth.log --query-param q
anonymize suppress_rare queries.csv -o one.csv -k 2 --seed 5 --csv-safe --force
anonymize suppress_rare queries.csv -o one.jsonl -k 2 --seed 5
anonymize suppress_rare queries.csv -o one.tsv.gz -k 2 --seed 5
anonymize suppress_rare queries.csv -o one.parquet -k 2 --seed 5
anonymize suppress_rare queries.csv -o parts.parquet -k 2 --seed 5 --parts 3
anonymize suppress_rare synth.tsv -o two.{k}.tsv -k 2,3 --seed 5 --users pseudonym
anonymize microaggregate queries.csv -o groups.{k}.tsv -k 2,4 --seed 5
anonymize regime:commission_2026 queries.csv -o regime.tsv --seed 5 -k 3
anonymize suppress_rare synth.log -o visits.tsv -k 2 --seed 5
anonymize suppress_rare queries.csv -o many.tsv -k 50 --seed 5
anonymize microaggregate queries.csv -o many.tsv -k 50 --seed 5
anonymize suppress_rare queries.csv -o one.csv -k 2
anonymize common_visits queries.csv -o no.tsv
anonymize suppress_rare nowhere.csv -o no.tsv
anonymize suppress_rare queries.csv -o no.tsv -k 1
anonymize no_such queries.csv -o no.tsv
anonymize unprotected queries.csv -o no.tsv
verify one.csv
verify one.csv -O queries.csv
verify one.csv -O queries.csv --json
verify one.csv -O queries.csv -k 9
verify one.csv -O visits.csv
verify parts.parquet -O queries.csv
verify m_microaggregate.tsv -O queries.csv --record m_microaggregate.record
verify m_microaggregate.tsv -O queries.csv --record m_affinity.record
verify changed.csv -O queries.csv
verify queries.csv --promise query_k_anonymity -k 2
verify queries.csv --promise query_k_anonymity -k 2 -O queries.csv
verify queries.csv
measure m_microaggregate.tsv -O queries.csv --record m_microaggregate.record --no-cache --seed 5
measure m_common_visits.tsv -O visits.csv --no-cache --seed 5
measure m_affinity.tsv exposure -O visits.csv --no-cache
measure m_affinity.tsv no_such -O queries.csv --no-cache
explain affinity queries.csv
explain private_counts --epsilon 1 --population 1000
simulate synth.tsv --protocol unprotected --users 5 --seed 5
simulate synth.tsv --protocol uup --users 5 --seed 5
simulate synth.tsv --protocol friends --users 12 --seed 5 --degree 2
study study.toml -o studied
gate run sorted.tsv --state gate -o gated -k 2 --window 7d --flush 1d
gate status --state gate
append suppress_rare synth.tsv --state state -o appended -k 2 --end-window
ledger show queries.csv
formats
methods
measures
promises
regimes
study --list
no-such-command
"""
STUDY = """
[read]
source = "synth.tsv"
[[anonymize]]
method = "suppress_rare"
k = [2, 3]
[[anonymize]]
method = "microaggregate"
k = 3
[measure]
names = ["exposure", "release_share"]
[report]
to = "studied.html"
"""


def run(arguments: list[str]) -> tuple[int, str, str]:
    """The exit code of a command, and what it says."""
    from coterie.cli.main import run as run_cli

    out, err = StringIO(), StringIO()
    with same_words(), mock.patch("sys.argv", ["coterie", *arguments]), redirect_stdout(out), redirect_stderr(err):
        try:
            code = run_cli()
        except SystemExit as stopped:
            code = stopped.code
    said = [line for line in err.getvalue().splitlines() if not line.startswith("Compiling, ")]
    return code, _undated(out.getvalue()), _undated("\n".join(said))


def _undated(text: str) -> str:
    """A text without the day and the version, which change by themselves."""
    return _TODAY.sub("DAY", text).replace(coterie.__version__, "VERSION")


def _command(name: str, more: str = "") -> str:
    """How a method is run on the log of its shape."""
    cls, given = registry.method(name), _given(name, k=3)
    params = [f"-k {value}" if key == "k" else f"--{key} {value}" for key, value in given.items()]
    params += ["--seed 5"] * cls.seeded + ["--promise none"] * (cls.status == plan.YARDSTICK)
    params += ["--history none"] * (cls(**given).spends is None)
    return " ".join([f"anonymize {name} {LOGS[cls.accepts[0].name]} -o m_{name}.tsv", *params, more]).strip()


def _made_on_the_way() -> None:
    """What commands need besides: a study, a release with a row too many, a log in the order of time."""
    Path("study.toml").write_text(STUDY)
    if Path("one.csv.json").exists():
        lines = Path("one.csv").read_text().splitlines()
        Path("changed.csv").write_text("\n".join([*lines, lines[-1]]) + "\n")
        Path("changed.csv.json").write_text(Path("one.csv.json").read_text())
    if Path("synth.tsv").exists():
        head, *lines = Path("synth.tsv").read_text().splitlines()
        Path("sorted.tsv").write_text("\n".join([head, *sorted(lines, key=lambda line: line.split("\t")[2])]) + "\n")


@cache
def _walked() -> dict[str, tuple[int, str, str]]:
    """Commands and what came of them, in this folder; each method writes a release and its record first."""
    for shape, name in LOGS.items():
        logs()[shape].to_polars().write_csv(name)
    methods = [_command(name, f"--record m_{name}.record") for name in registry.names("methods")]
    done = {}
    for command in [*methods, *WALK.strip().splitlines(), *(f"report {files} -o {to}" for to, files in PAGES.items())]:
        _made_on_the_way()
        done[command] = run(command.split())
    return done


def walk() -> Iterator[Fact]:
    """Exit codes and words of commands, and the bytes of what they released."""
    for command, (code, out, err) in _walked().items():
        yield f"{command}: exit", code
        yield from ((f"{command}: {what}", text) for what, text in (("out", out), ("err", err)) if text)
    paths = [
        path for path in sorted(Path().rglob("*")) if path.is_file() and path.parent.name not in ("cells", "shadow")
    ]
    for path in paths:
        if path.suffix in (".tsv", ".csv", ".jsonl", ".gz", ".parquet") and "record" not in path.parent.name:
            yield f"released: {path}", digest(path.read_bytes())
    for folder in sorted({path.parent for path in paths}):
        yield f"files in: {folder}", " ".join(path.name for path in paths if path.parent == folder)


def spark() -> Iterator[Fact]:
    """The same bytes of each method that may run on a cluster; in a run of its own."""
    from tests.spark.cluster import Cluster

    settings = (
        "spark.driver.host=127.0.0.1",
        "spark.executor.memory=1g",
        "spark.sql.shuffle.partitions=4",
        "spark.ui.enabled=false",
    )
    confs = " ".join(f"--conf {setting}" for setting in settings)
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1",
                   "PYSPARK_SUBMIT_ARGS": f"--driver-memory 512m {confs} pyspark-shell"}  # fmt: skip
    for shape, name in LOGS.items():
        logs()[shape].to_polars().write_csv(name)
    with Cluster(Path("cluster").absolute()) as cluster:
        for name in registry.names("methods"):
            cls = registry.method(name)
            if cls.seeded and MADE["distributed"](cls(**_given(name, k=3))) == "yes":
                code, _, err = run(_command(name, f"--engine {cluster.address}").split())
                path = Path(f"m_{name}.tsv")
                yield f"released: {path}", digest(path.read_bytes()) if path.exists() else f"exit {code}: {err}"


def files() -> Iterator[Fact]:
    """The fields of sidecars and run records, and the tables of records."""
    _walked()
    sidecars = [*Path().glob("m_*.json"), *Path().glob("parts.*.json"), *Path().glob("two.2.*.json")]
    for path in sorted([*sidecars, *Path().glob("*.record/run.json"), *Path().glob("s*.history.json")]):
        for name, value in _flat(json.loads(path.read_text())):
            yield f"{path}: {name}", _undated(short(value))
    for path in sorted(Path().glob("*.record/*.parquet")):
        table = pl.read_parquet(path)
        columns = ",".join(f"{name} {dtype}" for name, dtype in table.schema.items())
        yield f"{path.parent}: {path.name}", f"{table.height} {digest(table.sort(table.columns))} {columns}"


def _flat(value: Any, name: str = "") -> Iterator[Fact]:
    """Each field of a sidecar or record; a check in one line, without what is empty in it."""
    if any(part in name for part in _LEFT_OUT):
        yield name, f"left out: {type(value).__name__}"
    elif name.endswith("seed") and isinstance(value, int) and value != SEED:
        yield name, "drawn"
    elif isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}" if name else key)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        yield f"{name} have", list(value[0])
        for place, inner in enumerate(value):
            said = {key: part for key, part in inner.items() if part not in (None, 0, "", False)}
            yield f"{name}[{place}]", {key: said[key] for key in said if not any(part in key for part in _LEFT_OUT)}
    else:
        yield name, value


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.skipped = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:  # noqa: ARG002 (its signature)
        self.skipped = self.skipped or (tag if tag in ("style", "script") else "")

    def handle_endtag(self, tag: str) -> None:
        self.skipped = "" if tag == self.skipped else self.skipped

    def handle_data(self, data: str) -> None:
        if not self.skipped and data.strip():
            self.lines.append(" ".join(data.split()))


def pages() -> dict[str, list[str]]:
    """The words of three reports, line by line."""
    _walked()
    found = {}
    for name in PAGES:
        text = _undated(Path(name).read_text())
        words = _Words()
        words.feed(text)
        found[f"page_{name}"] = words.lines if name.endswith(".html") else [line for line in text.splitlines() if line]
    return found


PARTS: dict[str, tuple[Callable[[], Any], ...]] = {
    "threads": (releases, other_parameters),
    "once": (members, options, scores, walk, files, pages),
    "spark": (spark,),
}


def computed(part: str, wanted: Sequence[str] = ()) -> dict[str, Any]:
    """All facts of a part, or those wanted: name of the file -> key -> value; pages are lists of lines."""
    found: dict[str, Any] = {}
    for facts in PARTS[part]:
        if facts is pages:
            found |= pages() if not wanted or "pages" in wanted else {}
        elif not wanted or facts.__name__ in wanted:
            found[facts.__name__] = {key: short(value) for key, value in facts()}
    return found


if __name__ == "__main__":
    print(json.dumps(computed(sys.argv[1], sys.argv[2:])))
