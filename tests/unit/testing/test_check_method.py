"""The examination of methods catches methods that keep their promise and break the contract."""

from dataclasses import dataclass

import pytest

from coterie.core import registry
from coterie.methods._template import Template
from coterie.testing import check_method
from tests.helpers import careless_methods as careless
from tests.helpers.count_queries import CommonQueries, CountQueries


@dataclass(frozen=True, kw_only=True)
class WithoutDocs(Template):
    """The module it is in has no sections."""


@pytest.mark.parametrize(("method", "said"), [
    (careless.RemembersItsPlan, "it is the whole decision"),
    (careless.HidesNotes, "notes are part of a plan"),
    (careless.ReadsGroupNumbers, "order and numbers of groups mean nothing"),
    (careless.ReadsThePlanInOrder, "order and numbers of groups mean nothing"),
    (careless.ReadsTheLogInOrder, "the order of rows never changes the answer"),
    (careless.DrawsWithoutTheSeed, "it is the whole decision|the same seed gives the same release"),
    (careless.AcceptsAnything, "k=None was accepted"),
    (careless.PromisesToAnyone, "was not refused"),
    (careless.LearnsItsK, "what is learnt does not depend on k"),
    (careless.ComparesWithAnother, "the baseline promises the same"),
    (careless.Changes, "a method is frozen"),
    (careless.SaysNothingOfItsParameter, "lacks a text"),
    (WithoutDocs, "the module docstring lacks"),
    (object, "a method is a dataclass"),
])  # fmt: skip
def test_a_mistake_is_caught(method, said):
    with pytest.raises(AssertionError, match=said):
        check_method(method)


def test_a_method_without_mistakes_passes():
    check_method(Template, {"k": 2})


def _ships(monkeypatch, kind, name):
    point = type("Point", (), {"name": name, "module": f"tests.helpers.{name}"})
    monkeypatch.setattr(registry, "_entry_points", lambda asked: [point] if asked == kind else [])


def test_a_method_that_gives_another_shape(monkeypatch):
    _ships(monkeypatch, "promises", "cell_k")
    check_method(CountQueries)


def test_a_method_without_a_k(monkeypatch):
    _ships(monkeypatch, "promises", "cell_k")
    check_method(CommonQueries)
