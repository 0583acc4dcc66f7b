"""What every promise must pass."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from typing import Any, get_args

import polars as pl

from coterie.core import registry
from coterie.core.params import Range, params_of
from coterie.core.promise import Case, Check, Kind, Promise, Status, from_dict, to_dict
from coterie.core.shapes import COUNTS, SHAPES
from coterie.errors import CoterieError
from coterie.testing._logs import queries_log
from coterie.testing.check_method import is_declared, is_documented, rejects_wrong_parameters

_COVERABLE = {name for shape in SHAPES.values() for name in shape.identifying if name not in shape.never_given}


def check_promise(cls: Any, numbers: Mapping[str, Any] | None = None) -> None:
    """Raise AssertionError if the promise breaks the contract; `numbers` are those of the promise to examine.

    Numbers that must be given and are not get the smallest value that they may have.
    """
    _is_well_formed(cls)
    given = {**_smallest(cls), **(numbers or {})}
    rejects_wrong_parameters(cls, given)
    promise = cls(**given)
    _says_what_it_promises(promise)
    _can_be_stored(promise)
    _answers_about_foreign_rows(cls, given)
    case = _case(promise)
    _judges(promise, case)
    _says_what_it_needs(promise, replace(case, original=None))
    _judges(promise, replace(case, rows=case.rows.clear()))
    for name in promise.evidence:
        damaged = {name: pl.LazyFrame({"no_such_column": [1]})}
        assert _checks(promise, replace(case, evidence=damaged)) == _checks(promise, case), (
            "evidence that is damaged is as good as none"
        )


def _is_well_formed(cls: Any) -> None:
    is_declared(cls, "promise", "numbers")
    assert cls.name == cls.__module__.rpartition(".")[2], "the name of a promise is that of its file"
    assert cls.__name__ == registry.class_name(cls.name), "its class is the CamelCase of its name"
    assert sys.modules[cls.__module__].__doc__, "the module says what is promised"
    assert cls.about in ("items", "subjects"), "about says what it is about"
    assert issubclass(cls, Promise), "a promise is a Promise: what it does not say is refused"
    assert isinstance(cls.covers, tuple), "covers names columns"
    assert set(cls.covers) <= _COVERABLE, "a judge can answer for identifying columns only, and never for an address"
    assert "covers" not in {field.name for field in fields(cls)}, "a sidecar must not say what a promise covers"
    registry.complete("promises", cls.name, cls)
    is_documented(cls)


def _smallest(cls: Any) -> dict[str, Any]:
    needed = {field.name for field in fields(cls) if field.default is MISSING}
    return {
        param.name: param.kind(param.rule.low)
        for param in params_of(cls)
        if param.name in needed and isinstance(param.rule, Range)
    }


def _says_what_it_promises(promise: Promise) -> None:
    assert promise.headline, "a promise has a headline"
    assert promise.sentence.endswith("."), "a person signs a whole sentence"
    assert promise.limits, "a promise has limits"
    assert all(limit.endswith(".") for limit in promise.limits), "limits are whole sentences"
    assert promise.releases in get_args(Kind), "releases says what released items are"
    bound = promise.linkage_bound
    assert bound is None or 0 <= bound <= 100, "the bound is a share in percent"
    assert isinstance(promise.evidence, tuple), "evidence names tables"


def _can_be_stored(promise: Promise) -> None:
    stored = json.loads(json.dumps(to_dict(promise)))
    assert from_dict(stored) == promise, "its name and numbers are the whole promise"


def _answers_about_foreign_rows(cls: Any, given: Mapping[str, Any]) -> None:
    for named in (True, False):
        try:
            promise = cls.of_foreign(given, named=named)
        except CoterieError:
            continue
        assert isinstance(promise, cls), "foreign rows are checked for the same promise"


def _case(promise: Promise) -> Case:
    """A log released as it is, or as counts: whether that keeps the promise does not matter here."""
    log = queries_log()
    if promise.releases != "counts":
        rows = log.frame.select(log.shape.released).sort(log.shape.order)
        return Case(rows=rows, shape=log.shape, original=log)
    count = pl.len().cast(pl.Int64).alias(COUNTS.count)
    cells = log.frame.group_by(pl.col(log.shape.item).alias(COUNTS.item)).agg(count).sort(COUNTS.item)
    return Case(rows=COUNTS.completed(cells), shape=COUNTS, original=log)


def _checks(promise: Promise, case: Case) -> tuple[Check, ...]:
    return tuple(promise.check(case))


def _judges(promise: Promise, case: Case) -> None:
    checks = _checks(promise, case)
    assert any(check.carries_promise for check in checks), "a judge looks at what the promise rests on"
    assert all(check.status in get_args(Status) for check in checks), "a check passed, failed or was not made"
    assert all(bool(check.broken) == (check.status == "failed") for check in checks), "a check fails by a number"
    assert all(check.name and check.detail for check in checks), "a check says what must hold"
    assert _checks(promise, case) == checks, "the same case, the same checks"
    _show_nothing(checks)


def _show_nothing(checks: tuple[Check, ...]) -> None:
    log = queries_log()
    values = {value for column in ("user", "query", "url") for value in log.to_polars()[column].drop_nulls()}
    shown = " ".join(check.text for check in checks)
    assert not any(value in shown for value in values if len(value) > 4), "checks show no value"


def _says_what_it_needs(promise: Promise, case: Case) -> None:
    """Without the original."""
    _judges(promise, case)
    for check in promise.check(case):
        made = check.status != "not checked"
        assert not (made and check.needs_original), "what needs the original is not checked without it"
        assert made or check.needs, "a check that was not made says what it needs"
