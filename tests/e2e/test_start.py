"""Where containers and services start it: as a user without a home, who may write into the temporary folder only.

Covers: testing/compiling.py
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from coterie import synth
from coterie.algorithms.kernels import _cache
from coterie.apps.gate import kernels as gate_kernels
from coterie.core import registry
from coterie.errors import InternalError
from coterie.lab.simulate import kernels as simulation_kernels
from coterie.methods.affinity import kernels as cosine_join
from coterie.testing import compiling

NOBODY = 65534
# Reading everything lets nobody run an interpreter in root's home; it lets them write nowhere.
_AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
_AND_READS = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")


@pytest.fixture
def scratch():
    """A temporary folder of nobody's own, outside of root's."""
    folder = Path(tempfile.mkdtemp(prefix="coterie-nobody-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def as_nobody(scratch):
    """Run Coterie as nobody, with an environment that names no home and one place to write to."""
    if not hasattr(os, "getuid") or os.getuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("to start a process as another user needs root and setpriv")
    os.chown(scratch, NOBODY, NOBODY)
    for start in (_AS_NOBODY, (*_AS_NOBODY, *_AND_READS)):
        if subprocess.run([*start, sys.executable, "-c", "import coterie"], capture_output=True).returncode == 0:
            break
    else:
        pytest.skip("nobody can read this interpreter or this package")

    def run(*arguments, **environment):
        env = {"HOME": "/nonexistent", "TMPDIR": str(scratch), "PATH": os.environ["PATH"], **environment}
        command = [*start, sys.executable, "-m", "coterie", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, env=env, cwd="/")

    return run


def test_a_user_who_may_write_to_the_temporary_folder_only(as_nobody, scratch):
    synth.write(scratch / "log.tsv", 40, 7)
    done = as_nobody("inspect", scratch / "log.tsv")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Compiling, on first use only") == 1
    kept = scratch / f"coterie-kernels-{NOBODY}"
    assert kept.stat().st_mode & 0o777 == 0o700
    again = as_nobody("inspect", scratch / "log.tsv")
    assert (again.returncode, again.stdout) == (0, done.stdout)
    assert "Compiling" not in again.stderr
    kept.chmod(0o777)  # from now on others may write there
    done = as_nobody("inspect", scratch / "log.tsv")
    assert done.returncode == 0
    assert done.stderr.count("Compiling, at each start") == 1


def test_the_doctor_compiles_into_the_folder_that_is_used(coterie, monkeypatch):
    worked = []
    monkeypatch.setattr(compiling, "compile_everything", worked.append)
    assert f"compiled into {_cache.folder()}" in coterie("doctor", "--compile").out
    assert len(worked) == 1
    monkeypatch.setattr(_cache, "folder", lambda: None)
    assert "Let NUMBA_CACHE_DIR name a folder of yours" in coterie("doctor", "--compile", code=2).err
    assert len(worked) == 1


def test_methods_measures_simulations_and_the_gate_work_once(monkeypatch):
    """All of them take minutes where nothing was compiled; here one of each kind."""
    chosen = {"methods": ["affinity"], "protocols": ["unlinkable"]}
    names = registry.names
    monkeypatch.setattr(registry, "names", lambda kind: chosen.get(kind) or names(kind))
    worked = []
    compiling.compile_everything(worked.append)
    assert worked == ["affinity", "gate", "simulate"]
    of_each = (cosine_join.join, simulation_kernels.attack, gate_kernels.moved, gate_kernels.take_due)
    assert all(kernel.overloads for kernel in of_each)


def test_the_pages_set_what_a_gate_needs():
    page = (Path(__file__).parents[2] / "docs" / "gate.md").read_text()
    unit, image = page.split("```ini")[1].split("```")[0], page.split("```dockerfile")[1].split("```")[0]
    assert "CacheDirectory=gate\nEnvironment=NUMBA_CACHE_DIR=/var/cache/gate\n" in unit
    assert str(InternalError.exit_code) in re.search("RestartPreventExitStatus=(.*)", unit)[1].split()
    assert image.index("USER gate") < image.index("ENV NUMBA_CACHE_DIR=") < image.index("RUN coterie doctor --compile")
