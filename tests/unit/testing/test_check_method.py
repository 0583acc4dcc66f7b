"""The examination of methods catches methods that keep their promise and break the contract."""

from dataclasses import dataclass
from importlib import import_module

import pytest

from coterie.core import registry
from coterie.errors import BrokenPromiseError
from coterie.methods._template import Template
from coterie.testing import check_method
from tests.helpers import careless_methods as careless
from tests.helpers.count_queries import CommonQueries, CountQueries
from tests.helpers.limit_activity import LimitActivity


@dataclass(frozen=True, kw_only=True)
class WithoutDocs(Template):
    """The module it is in has no sections."""


def _careless():
    """All careless methods, by their name: whatever is put into that module is tried."""
    own = {
        name: thing for name, thing in vars(careless).items() if getattr(thing, "__module__", "") == careless.__name__
    }
    return {name: cls for name, cls in own.items() if isinstance(cls, type)}


@pytest.mark.parametrize("name", _careless())
def test_a_careless_method_is_caught(name):
    method = _careless()[name]
    assert "said" in vars(method), "a careless method tells what it must be caught by"
    with pytest.raises((AssertionError, BrokenPromiseError), match=method.said):
        check_method(method)


@pytest.mark.parametrize(("method", "said"), [
    (WithoutDocs, "the module docstring lacks"),
    (object, "a method is a dataclass"),
])  # fmt: skip
def test_a_mistake_is_caught(method, said):
    with pytest.raises(AssertionError, match=said):
        check_method(method)


def test_a_parameter_may_need_larger_logs():
    check_method(LimitActivity)
    check_method(careless.IgnoresItsParameter, without_effect=["d"])


@pytest.mark.parametrize("name", ["methods", "documents", "records", "visits", "walks"])
def test_every_broken_method_is_tried(name):
    """Those that judges must catch stand in a table with what catches them; none may be forgotten there."""
    module = import_module(f"tests.helpers.broken_{name}")
    made = {cls for cls in vars(module).values() if isinstance(cls, type) and cls.__module__ == module.__name__}
    broken = {cls for cls in made if hasattr(cls, "accepts") and not cls.__name__.startswith("_")}
    tried = {entry[0] for entry in module.CAUGHT_BY}
    bases = {base for cls in tried for base in cls.__mro__[1:]}
    assert broken - tried - bases == set()


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
