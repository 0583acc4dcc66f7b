"""What third parties made for another version of Coterie is refused with a sentence. Covers: core/registry.py."""

import sys
import types
from dataclasses import dataclass

import pytest

import coterie
from coterie.core import registry
from coterie.core.promise import Promise
from coterie.core.shapes import QUERIES
from coterie.errors import InputError, ParameterError
from coterie.testing import queries_log


@dataclass(frozen=True, kw_only=True)
class OldMethod:
    """As methods were once: one promise, no plan."""

    k: int = 3
    accepts = (QUERIES,)
    status = "stable"

    def promise(self, _log):
        return None

    def release(self, _log, _run):
        return None


@pytest.fixture
def ship(monkeypatch):
    """Install a module of a third party under a name."""

    def ship(kind, name, **parts):
        module = types.ModuleType(f"shipped_{name}")
        vars(module).update(parts)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        point = type("Point", (), {"name": name, "module": module.__name__})
        monkeypatch.setattr(registry, "_entry_points", lambda asked: [point] if asked == kind else [])

    return ship


def test_a_method_of_the_old_protocol(ship):
    with pytest.raises(
        InputError, match=r"lacks promises, plan, learn: .*Ask those who made it.*methods/_template\.py"
    ):
        coterie.anonymize(queries_log(), OldMethod())
    ship("methods", "old_method", OldMethod=OldMethod)
    with pytest.raises(InputError, match="The method old_method lacks promises, plan"):
        registry.method("old_method")


def test_a_module_without_its_class(ship):
    ship("methods", "old_method")
    with pytest.raises(InputError, match="The method old_method has no class OldMethod"):
        registry.method("old_method")


def test_a_promise_that_says_nothing_or_is_none(ship):
    @dataclass(frozen=True, kw_only=True)
    class Silent(Promise):
        """What has no defaults is missing."""

        name = "silent"
        sentence = "It holds."
        limits = ("It says nothing else.",)

    ship("promises", "silent", Silent=Silent)
    with pytest.raises(InputError, match="The promise silent lacks headline, releases, check: "):
        registry.member("promises", "silent")
    alone = dict.fromkeys(("headline", "sentence", "limits", "releases", "evidence", "check", "of_foreign"))
    ship("promises", "silent", Silent=type("Silent", (), alone))
    with pytest.raises(InputError, match="The promise silent lacks anywhere, levels, covers: "):
        registry.member("promises", "silent")


def test_a_format_that_lacks_something_or_gives_no_table(ship, tmp_path):
    path = tmp_path / "log.txt"
    path.write_text("a line\n")
    ship("formats", "theirs", shape=QUERIES, sniff=lambda _head: 0, load=lambda _source, _options: None)
    with pytest.raises(InputError, match=r"The format theirs lacks expected.*formats/excite\.py"):
        coterie.read(path, format="theirs")
    ship("formats", "theirs", shape=QUERIES, sniff=lambda _head: 0, load=lambda _source, _options: None, expected={})
    with pytest.raises(InputError, match=r"The format theirs gave no Loaded table.*formats/excite\.py"):
        coterie.read(path, format="theirs")


def test_a_step_that_gives_no_log():
    with pytest.raises(InputError, match=r"gave no Log.*steps/drop_empty\.py"):
        coterie.prepare(queries_log(), [lambda log: log.frame])
    with pytest.raises(ParameterError, match="not int"):
        coterie.prepare(queries_log(), [3])
