"""The examination of promises catches promises that break the contract."""

from dataclasses import dataclass, replace

import pytest

from coterie.core import registry
from coterie.promises.query_k_anonymity import QueryKAnonymity
from coterie.testing import check_promise
from tests.helpers.cell_k import CellK

MODULE = CellK.__module__


@pytest.fixture(autouse=True)
def shipped(monkeypatch):
    point = type("Point", (), {"name": "cell_k", "module": MODULE})
    monkeypatch.setattr(registry, "_entry_points", lambda kind: [point] if kind == "promises" else [])


def test_a_promise_of_a_third_party_passes():
    check_promise(CellK)
    check_promise(CellK, {"least": 5})


def _spoilt(monkeypatch, **parts):
    for name, part in parts.items():
        monkeypatch.setattr(CellK, name, part)
    return CellK


@pytest.mark.parametrize(("parts", "said"), [
    ({"name": "cells"}, "the name of a promise is that of its file"),
    ({"about": "rows"}, "about says what it is about"),
    ({"headline": ""}, "a promise has a headline"),
    ({"sentence": "every cell"}, "a whole sentence"),
    ({"limits": ()}, "a promise has limits"),
    ({"releases": "rows"}, "what released items are"),
    ({"linkage_bound": 101}, "a share in percent"),
    ({"evidence": "labels"}, "evidence names tables"),
    ({"check": lambda self, case: iter(())}, "what the promise rests on"),
    ({"__eq__": lambda self, other: self is other}, "the whole promise"),
    ({"__post_init__": lambda self: None}, "was accepted"),
    ({"of_foreign": classmethod(lambda cls, values, named: QueryKAnonymity(k=2))}, "the same promise"),
])  # fmt: skip
def test_a_mistake_is_caught(monkeypatch, parts, said):
    with pytest.raises(AssertionError, match=said):
        check_promise(_spoilt(monkeypatch, **parts))


@pytest.mark.parametrize(("changes", "said"), [
    ({"carries_promise": False}, "what the promise rests on"),
    ({"broken": 1, "status": "passed"}, "a check fails by a number"),
    ({"detail": ""}, "says what must hold"),
    ({"detail": "tide tables north"}, "checks show no value"),
    ({"status": "passed", "broken": 0, "needs_original": True}, "not checked without it"),
    ({"needs": "", "needs_original": False}, "says what it needs"),
])  # fmt: skip
def test_a_careless_judge_is_caught(monkeypatch, changes, said):
    check = CellK.check
    judge = lambda self, case: (replace(made, **changes) for made in check(self, case))  # noqa: E731
    with pytest.raises(AssertionError, match=said):
        check_promise(_spoilt(monkeypatch, check=judge))


def test_a_number_without_a_range_is_caught(monkeypatch):
    monkeypatch.setitem(CellK.__annotations__, "least", int)
    with pytest.raises(AssertionError, match=r"\['least'\] lacks the values that are allowed"):
        check_promise(CellK)


def test_what_is_no_promise():
    @dataclass(kw_only=True)
    class Changes:
        k: int = 2

    with pytest.raises(AssertionError, match="is a dataclass"):
        check_promise(object)
    with pytest.raises(AssertionError, match="is frozen"):
        check_promise(Changes)
