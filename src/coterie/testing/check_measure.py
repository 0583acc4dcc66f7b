"""What every measure must pass."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import polars as pl

from coterie import measures, verbs
from coterie.core.log import Log, Release
from coterie.errors import NotApplicableError
from coterie.measures import Measure
from coterie.measures.inputs import FACTS, INPUTS
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing._logs import queries_log

_KEY = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*$")


def check_measure(name: str) -> None:
    """Raise AssertionError if the measure of that name breaks the contract."""
    module = measures.load(name)
    assert module.needs <= {*FACTS, *INPUTS}, "needs names facts of a release and inputs that are declared"
    assert module.__doc__, "a measure says what its numbers mean"
    log = queries_log()
    release = _release(name, log)
    scores = _scores(name, log, release)
    assert scores.height, "a measure gives at least one number"
    assert scores["key"].is_unique().all(), "each key once"
    assert all(_KEY.match(key) for key in scores["key"]), "keys are dotted lower-case words"
    assert scores["unit"].null_count() == 0, "each number has a unit"
    _figures_are_sound(module, set(scores["key"]))
    assert all(value is None or math.isfinite(value) for value in scores["value"]), "finite numbers"
    assert "label" not in scores.columns, "no value of the log unless asked"
    _shows_nothing(log, scores.drop("value").rows())
    assert _scores(name, log, release).equals(scores), "the same seed, the same numbers"
    shuffled = replace(log, frame=log.frame.collect().sample(fraction=1, shuffle=True, seed=1).lazy())
    again = _scores(name, shuffled, release)
    assert again["value"].to_list() == scores["value"].to_list(), "the order of rows does not matter"
    _survives_an_empty_release(name, log)


def _figures_are_sound(module: Measure, keys: set[str]) -> None:
    shown = [(figure.section, figure.key) for figure in module.figures]
    assert len(shown) == len(set(shown)), "a figure stands once in its section"
    for figure in module.figures:
        assert figure.title, "a figure has a title"
        assert figure.needs <= {*FACTS, *INPUTS}, "a figure needs facts of a release and inputs that are declared"
    forms = {_form(key) for key in keys}
    assert not shown or any(_form(key) in forms for _, key in shown), "a figure is one of the scores"


def _form(key: str) -> str:
    """A key whatever its numbers, which may depend on the size of the log."""
    return re.sub(r"[0-9]+", "0", key)


def _scores(name: str, log: Log, release: Release) -> pl.DataFrame:
    queries = log.frame.select("query").unique().collect().sort("query")
    labels = queries.with_columns(pl.Series("sensitive", ["yes", "no"] * queries.height).head(queries.height))
    later = replace(log, frame=pl.concat([*[log.frame] * 4, _of_the_next(log)]))  # enough of it, and something new
    second = verbs.anonymize(log, Microaggregate(k=3, partition="random"), seed=3)
    return verbs.measure(log, release, [name], seed=5, labels=labels, later=later, second=second)


def _of_the_next(log: Log) -> pl.LazyFrame:
    """The rows of a log under the name of the user before, the last ones under that of the first."""
    users = log.frame.select(pl.col("user").drop_nulls().unique().sort()).collect()["user"].to_list()
    return log.frame.with_columns(pl.col("user").replace(dict(zip(users, [users[-1], *users[:-1]], strict=True))))


def _release(name: str, log: Log) -> Release:
    """A release that the measure is about: one that keeps rows, common profiles, or a name for each session."""
    for method in (SuppressRare(k=3, users="pseudonym"), Microaggregate(k=3)):
        release = verbs.anonymize(log, method, seed=3)
        try:
            _scores(name, log, release)
        except NotApplicableError:
            continue
        return release
    return verbs.anonymize(log, SuppressRare(k=3, users="session"), seed=3)


def _shows_nothing(log: Log, rows: list[tuple[object, ...]]) -> None:
    text = repr(rows)
    for column in ("user", "query", "url"):
        values = log.frame.select(column).drop_nulls().unique().collect().to_series()
        assert not any(value in text for value in values if len(value) > 4), "keys and units show no value"


def _survives_an_empty_release(name: str, log: Log) -> None:
    release: Release = verbs.anonymize(log, SuppressRare(k=6), seed=3)
    empty = replace(release, log=replace(release.log, frame=release.log.frame.clear()))
    assert empty.record is not None
    assert empty.record.rows is not None
    empty = replace(empty, record=replace(empty.record, rows=empty.record.rows.clear()))
    try:
        values = _scores(name, log, empty)["value"]
    except NotApplicableError:
        return
    assert all(value is None or math.isfinite(value) for value in values), "an empty release has numbers or nulls"
