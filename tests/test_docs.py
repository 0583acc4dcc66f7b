"""The docs say what the code does: generated parts are fresh, links lead somewhere, examples run."""

import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from coterie import __version__
from coterie.cli.main import COMMANDS
from coterie.core import registry

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def test_generated_parts_are_fresh():
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "generate_docs.py", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        assert "://" in target or (page.parent / target).exists(), target


def test_everything_is_documented():
    readme = (ROOT / "README.md").read_text()
    for kind in ("methods", "formats", "measures"):
        assert all(f"`{name}`" in readme for name in registry.names(kind))
    reference = (ROOT / "docs" / "cli.md").read_text()
    assert all(f"## coterie {name}" in reference for name in COMMANDS)


def test_the_changelog_knows_the_version():
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_python_example_runs(tmp_path, monkeypatch):
    from coterie.synth import write_aol

    monkeypatch.chdir(tmp_path)
    write_aol(tmp_path / "log.tsv.gz", 200, 7)
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[1]
    exec(compile(code, "README", "exec"), {})  # noqa: S102 (our own page)
    assert (tmp_path / "safe.parquet").exists()
    assert (tmp_path / "report.html").exists()


def test_every_make_target_is_explained():
    text = (ROOT / "Makefile").read_text()
    targets = set(re.search(r"^\.PHONY: (.*)$", text, re.M)[1].split())
    assert targets == set(re.findall(r"^([a-z-]+):.*## ", text, re.M))


def test_the_pins_name_no_host():
    pins = (ROOT / "constraints.txt").read_text()
    assert "://" not in pins
    assert "@" not in pins


def test_the_study_example_is_valid():
    from coterie.study import load_study

    for path in (ROOT / "studies").glob("*.toml"):
        assert load_study(path).cells


@pytest.mark.parametrize("name", [*registry.names("methods"), "_template"])
def test_the_example_of_a_method_runs(name):
    module = importlib.import_module(f"coterie.methods.{name}")
    result = doctest.testmod(module)
    assert result.attempted > 0, "every method has an example"
    assert result.failed == 0
