"""Importing is cheap: what is heavy is loaded where it is used.

Covers: __init__.py, kernels/__init__.py, models/__init__.py
"""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from coterie.core import registry

HEAVY = ("numba", "altair", "vl_convert", "phonenumbers", "pandas")


def loaded_by(code: str, names: tuple[str, ...] = HEAVY) -> list[str]:
    """Which of some modules a fresh interpreter has after running some code."""
    asked = f"{code}\nimport sys\nprint([name for name in {names!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    found: list[str] = eval(done.stdout)  # noqa: S307 (our own list)
    return found


@pytest.mark.parametrize("module", ["coterie", "coterie.verbs", "coterie.jobs"])
def test_packages(module):
    assert loaded_by(f"import {module}") == []


def test_every_measure_and_its_figures():
    names = registry.names("measures")
    assert len(names) > 15
    assert loaded_by("from coterie import measures\nmeasures.figures()") == []


def test_the_inputs_of_measures_cost_nothing():
    assert loaded_by("import coterie.measures.inputs", ("polars", "numpy", *HEAVY)) == []


@pytest.mark.parametrize("room", ["kernels", "models"])
def test_modules_of_a_room_are_loaded_on_first_use(room):
    assert loaded_by(f"import coterie.{room}") == []
    package = importlib.import_module(f"coterie.{room}")
    assert all(getattr(package, name).__name__ == f"coterie.{room}.{name}" for name in package.__all__)
    files = {path.stem for path in Path(package.__file__).parent.glob("[a-z]*.py")}
    assert files == set(package.__all__), "each module is named"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = package.nothing
