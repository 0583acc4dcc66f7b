"""The examination of formats catches formats that break the contract."""

import sys
from types import ModuleType

import pytest

from coterie.core import registry
from coterie.core.shapes import COUNTS
from coterie.testing import check_format
from tests.helpers import session_lines


@pytest.fixture
def check(monkeypatch):
    """Ships session_lines as another package would, with parts replaced."""

    def check(sample=None, **parts):
        module = ModuleType("their_format", parts.pop("doc", session_lines.__doc__))
        own = {name: part for name, part in vars(session_lines).items() if not name.startswith("__")}
        vars(module).update({**own, **parts})
        monkeypatch.setitem(sys.modules, "their_format", module)
        point = type("Point", (), {"name": "their_format", "module": "their_format"})
        monkeypatch.setattr(registry, "_entry_points", lambda kind: [point] if kind == "formats" else [])
        check_format("their_format", sample)

    return check


def test_a_sound_format_passes(check):
    check()
    check(sample="7\tQ\t1\t2\ttea\n")


@pytest.mark.parametrize(("parts", "said"), [
    ({"doc": ""}, "says what it reads"),
    ({"shape": COUNTS}, "its shape is that of a log"),
    ({"sniff": lambda head: 0.0}, "it knows its own"),
    ({"sniff": lambda head: 2.0}, "it knows its own"),
    ({"sniff": lambda head: 0.9}, "nothing is not its own"),
    ({"sniff": lambda head: 0.9 * bool(head)}, "junk is not its own"),
    ({"sample": "1\tQ\t17\t0\tblue,teapot\n" * 500 + "1\tX\t17\n"}, "no bad line in a valid file"),
])  # fmt: skip
def test_a_mistake_is_caught(check, parts, said):
    with pytest.raises(AssertionError, match=said):
        check(**parts)
