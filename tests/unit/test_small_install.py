"""What a core install can do: everything but pictures, and tables of pandas."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from coterie import synth

_WITHOUT = """
import sys
for name in ("pandas", "pyarrow", "altair", "vl_convert"):
    sys.modules[name] = None  # what is not installed cannot be imported
from coterie.cli.main import run
sys.argv = ["coterie", *sys.argv[1:]]
sys.exit(run())
"""


def _run(*arguments):
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT, *map(str, arguments)], capture_output=True, text=True, env=os.environ
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "log.tsv.zst"
    synth.write(path, 40, 7)
    return path


@pytest.mark.parametrize("kind", ["tsv.gz", "jsonl.zst", "parquet"])
def test_logs_are_anonymized_and_verified(log, tmp_path, kind):
    out = tmp_path / f"safe.{kind}"
    code, said = _run("anonymize", "suppress_rare", log, "-o", out, "-k", "3")
    assert code == 0, said
    code, said = _run("verify", out, "-O", log)
    assert code == 0, said
    if kind == "parquet":
        code, said = _run("inspect", out)
        assert code == 0, said


def test_reports_without_pictures(log, tmp_path):
    out = tmp_path / "safe.tsv"
    assert _run("anonymize", "suppress_rare", log, "-o", out, "-k", "3")[0] == 0
    code, said = _run("report", out, "-O", log, "-o", tmp_path / "r.md")
    assert code == 0, said
    code, said = _run("report", out, "-O", log, "-o", tmp_path / "r.html")
    assert code == 2, said
    assert "install coterie[charts]" in " ".join(said.split())
    assert not (tmp_path / "r.html").exists()


def test_the_demo_looks_first(tmp_path):
    code, said = _run("demo", "-o", tmp_path / "demo")
    assert code == 2, said
    assert "install coterie[charts]" in " ".join(said.split())
    assert not (tmp_path / "demo").exists()


@pytest.mark.parametrize("missing", ["pandas", "pyarrow"])
def test_a_pandas_frame_names_what_it_needs(missing):
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "import coterie; from coterie.testing import queries_log\n"
        "log = queries_log()\n"
        "for thing in (log, coterie.anonymize(log, 'suppress_rare', k=3)):\n"
        "    try: thing.to_pandas()\n"
        "    except coterie.errors.MissingError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    said = f"A pandas frame needs the package {missing}, which is not installed: install coterie[pandas], or use "
    assert done.stdout.count(said) == 2, done.stderr


def test_the_core_is_small():
    """Each large dependency was measured: docs/install.md. A new one of that size needs an extra."""
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    core = text[text.index("dependencies = [") : text.index("[project.optional-dependencies]")]
    assert not [name for name in ("pandas", "pyarrow", "altair", "vl-convert", "scipy") if f'"{name}' in core]
