"""The command line, run inside the test process for speed; signals and installs use real processes."""

import sys
from dataclasses import dataclass

import pytest

from coterie import synth
from coterie.cli.main import run as run_command


@dataclass
class Result:
    code: int
    out: str
    err: str


@pytest.fixture
def coterie(monkeypatch, capsys):
    def run(*arguments, code=0):
        monkeypatch.setattr(sys, "argv", ["coterie", *map(str, arguments)])
        capsys.readouterr()
        ended = run_command()
        out, err = capsys.readouterr()
        assert ended == code, f"exit {ended}, expected {code}\n{out}\n{err}"
        return Result(ended, out, err)

    return run


@pytest.fixture(scope="session")
def log(tmp_path_factory):
    """A synthetic log of 300 people."""
    path = tmp_path_factory.mktemp("log") / "log.tsv"
    synth.write(path, 300, 7)
    return path
