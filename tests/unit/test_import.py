"""Importing is cheap: what is heavy is loaded where it is used.

Covers: __init__.py
"""

import subprocess
import sys

import pytest

from coterie.core import registry

HEAVY = ("numba", "altair", "vl_convert", "phonenumbers", "pandas")
WITH_NUMBA = ("microaggregate_visits", "private_counts")


def loaded_by(code: str, names: tuple[str, ...] = HEAVY) -> list[str]:
    """Which of some modules a fresh interpreter has after running some code."""
    asked = f"{code}\nimport sys\nprint([name for name in {names!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    found: list[str] = eval(done.stdout)  # noqa: S307 (our own list)
    return found


@pytest.mark.parametrize("module", ["coterie", "coterie.api", "coterie.jobs"])
def test_packages(module):
    assert loaded_by(f"import {module}") == []


def test_every_measure_and_its_figures():
    names = registry.names("measures")
    assert len(names) > 15
    assert loaded_by("from coterie import measures\nmeasures.figures()") == []


def test_the_inputs_of_measures_cost_nothing():
    assert loaded_by("import coterie.measures.inputs", ("polars", "numpy", *HEAVY)) == []


def test_methods_load_kernels_where_they_use_them():
    methods = [f"coterie.methods.{name}" for name in registry.names("methods") if name not in WITH_NUMBA]
    assert loaded_by(f"import {', '.join(methods)}", ("numba",)) == []
