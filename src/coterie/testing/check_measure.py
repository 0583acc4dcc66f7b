"""What every measure must pass."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import replace
from types import ModuleType
from typing import Any

import polars as pl

from coterie import api, measures
from coterie.core import registry
from coterie.core.log import Log, Release
from coterie.core.scores import Figure
from coterie.core.shapes import TERMS
from coterie.errors import NotApplicableError
from coterie.measures.inputs import FACTS, INPUTS
from coterie.methods.common_visits import CommonVisits
from coterie.methods.generalize_visits import GeneralizeVisits
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.microaggregate_documents import MicroaggregateDocuments
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing._logs import queries_log, terms_log, visits_log

_KEY = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*$")


def check_measure(name: str | ModuleType) -> None:
    """Raise AssertionError if the measure of that name, or module, breaks the contract."""
    name = registry.name_in("measures", name)
    declared = measures.load(name)
    assert declared.needs <= {*FACTS, *INPUTS}, "needs names facts of a release and inputs that are declared"
    assert registry.module("measures", name).__doc__, "a measure says what its numbers mean"
    log, release = _examined(name)
    scores = _scores(name, log, release)
    assert scores.height, "a measure gives at least one number"
    assert scores["key"].is_unique().all(), "each key once"
    assert all(_KEY.match(key) for key in scores["key"]), "keys are dotted lower-case words"
    assert scores["unit"].null_count() == 0, "each number has a unit"
    _figures_are_sound(declared.figures, set(scores["key"]))
    assert all(value is None or math.isfinite(value) for value in scores["value"]), "finite numbers"
    assert "label" not in scores.columns, "no value of the log unless asked"
    _shows_nothing(log, scores.drop("value").rows())
    assert _scores(name, log, release).equals(scores), "the same seed, the same numbers"
    shuffled = replace(log, frame=log.frame.collect().sample(fraction=1, shuffle=True, seed=1).lazy())
    again = _scores(name, shuffled, release)
    assert again["value"].to_list() == scores["value"].to_list(), "the order of rows does not matter"
    _survives_an_empty_release(name, log)


def _figures_are_sound(figures: tuple[Figure, ...], keys: set[str]) -> None:
    shown = [(figure.section, figure.key) for figure in figures]
    assert len(shown) == len(set(shown)), "a figure stands once in its section"
    for figure in figures:
        assert figure.title, "a figure has a title"
        assert figure.needs <= {*FACTS, *INPUTS}, "a figure needs facts of a release and inputs that are declared"
    forms = {_form(key) for key in keys}
    assert not shown or any(_form(key) in forms for _, key in shown), "a figure is one of the scores"


def _form(key: str) -> str:
    """A key whatever its numbers, which may depend on the size of the log."""
    return re.sub(r"[0-9]+", "0", key)


def _scores(name: str, log: Log, release: Release) -> pl.DataFrame:
    queries = log.frame.select(query=pl.col(log.shape.item)).unique().collect().sort("query")
    labels = queries.with_columns(pl.Series("sensitive", ["yes", "no"] * queries.height).head(queries.height))
    strangers = _of_strangers(log)
    rows = [*[log.frame] * 4, _of_the_next(log), strangers]  # enough of it, something new, and other people
    later, second = replace(log, frame=pl.concat(rows)), api.anonymize_prepared(log, _another(log), seed=3)
    given: dict[str, Any] = {"labels": labels, "later": later, "second": second}
    given["outsiders"] = replace(log, frame=strangers)
    if log.shape is TERMS:
        given |= {"topics": _topics(log), "public": replace(log, frame=_of_the_next(log))}
    return api.measure(release, [name], original=log, seed=5, **given)


def _another(log: Log) -> Any:
    """A method for a second release."""
    if log.shape is TERMS:
        return MicroaggregateDocuments(k=3, groups="random")
    return Microaggregate(k=3, partition="random") if log.shape in Microaggregate.accepts else SuppressRare(k=3)


def _topics(log: Log) -> pl.DataFrame:
    """Which topic documents have, in turn."""
    names = log.frame.select(doc=log.shape.subject).unique().collect().sort("doc")
    return names.with_columns(topic=pl.concat_str(pl.lit("topic "), pl.int_range(pl.len()) % 2))


def _of_the_next(log: Log) -> pl.LazyFrame:
    """The rows of a log under the name of the user before, the last ones under that of the first."""
    subject = pl.col(log.shape.subject)
    users = log.frame.select(subject.drop_nulls().unique().sort()).collect().to_series().to_list()
    return log.frame.with_columns(subject.replace(dict(zip(users, [users[-1], *users[:-1]], strict=True))))


def _of_strangers(log: Log) -> pl.LazyFrame:
    """The rows of a log under names that nobody in it has."""
    return log.frame.with_columns(pl.col(log.shape.subject) + " (a stranger)")


def _examined(name: str) -> tuple[Log, Release]:
    """A log and a release that the measure is about: one that keeps rows, common profiles, a name for each session,
    walks through a website, requests with their browsers, or documents."""
    queries, visits = queries_log(), visits_log()
    examined = (
        (queries, SuppressRare(k=3, users="pseudonym")),
        (queries, Microaggregate(k=3)),
        (queries, SuppressRare(k=3, users="session")),
        (visits, CommonVisits(k=3)),
        (visits, GeneralizeVisits(k=2, details="browser")),
        (terms_log(), MicroaggregateDocuments(k=3)),
    )
    for log, method in examined:
        release = api.anonymize_prepared(log, method, seed=3)
        with suppress(NotApplicableError):
            _scores(name, log, release)
            return log, release
    raise AssertionError("a measure applies to one of the releases that measures are examined with")


def _shows_nothing(log: Log, rows: list[tuple[object, ...]]) -> None:
    text = repr(rows)
    others = [name for name in (log.shape.page, "referrer") if name in log.shape.schema]
    for column in (log.shape.subject, log.shape.item, *others):
        values = log.frame.select(column).drop_nulls().unique().collect().to_series()
        assert not any(value in text for value in values if len(value) > 4), "keys and units show no value"


def _survives_an_empty_release(name: str, log: Log) -> None:
    release: Release = api.anonymize_prepared(log, _another(log) if log.shape is TERMS else SuppressRare(k=6), seed=3)
    empty = replace(release, log=replace(release.log, frame=release.log.frame.clear()))
    assert empty.record is not None
    rows = empty.record.rows
    empty = replace(empty, record=replace(empty.record, rows=None if rows is None else rows.clear()))
    try:
        values = _scores(name, log, empty)["value"]
    except NotApplicableError:
        return
    assert all(value is None or math.isfinite(value) for value in values), "an empty release has numbers or nulls"
