"""The examination of measures catches measures that break the contract."""

import itertools
import sys
from types import ModuleType

import pytest

from coterie.core import registry
from coterie.core.scores import Figure, Score
from coterie.testing import check_measure

FIGURE = Figure(key="share", section="utility", title="A share")
_COUNTER = itertools.count()


@pytest.fixture
def measure(monkeypatch):
    """Ships a measure as another package would; its numbers are those of a function of the comparison."""

    def measure(scores, **parts):
        module = ModuleType("their_measure", parts.pop("doc", "A share."))
        own = {"needs": frozenset(), "figures": (FIGURE,), "measure": scores, **parts}
        vars(module).update({name: part for name, part in own.items() if part is not None})
        monkeypatch.setitem(sys.modules, "their_measure", module)
        point = type("Point", (), {"name": "their_measure", "module": "their_measure"})
        monkeypatch.setattr(registry, "_entry_points", lambda kind: [point] if kind == "measures" else [])
        check_measure("their_measure")

    return measure


def _one(value=1.0, key="share", unit="%"):
    return lambda comparison: iter([Score(key, value, unit)])


def test_a_sound_measure_passes(measure):
    measure(_one())
    measure(_one(value=None))


@pytest.mark.parametrize(("scores", "parts", "said"), [
    (_one(), {"doc": ""}, "says what its numbers mean"),
    (_one(), {"needs": frozenset({"luck"})}, "facts of a release and inputs that are declared"),
    (lambda comparison: iter([]), {}, "at least one number"),
    (lambda comparison: iter([Score("share", 1.0, "%")] * 2), {}, "each key once"),
    (_one(key="A Share"), {}, "dotted lower-case words"),
    (_one(unit=None), {}, "has a unit"),
    (_one(value=float("nan")), {}, "finite numbers"),
    (_one(key="tide", unit="ships of glass"), {"figures": ()}, "show no value"),
    (_one(), {"figures": (FIGURE, FIGURE)}, "stands once in its section"),
    (_one(), {"figures": (Figure(key="share", section="utility", title=""),)}, "has a title"),
    (_one(), {"figures": (Figure(key="other", section="utility", title="t"),)}, "a figure is one of the scores"),
    (lambda comparison: _one(value=float(next(_COUNTER)))(comparison), {}, "the same seed, the same numbers"),
])  # fmt: skip
def test_a_mistake_is_caught(measure, scores, parts, said):
    with pytest.raises(AssertionError, match=said):
        measure(scores, **parts)
