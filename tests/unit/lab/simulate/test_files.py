"""Simulations of files: what is written, and what is refused."""

import csv
import json

import pytest

from coterie import synth
from coterie.api import silent
from coterie.errors import NotApplicableError, ParameterError
from coterie.jobs import Job
from coterie.lab.simulate import protocol
from coterie.lab.simulate.run import Replay, simulate_files
from coterie.writing.target import Target


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.tsv"
    synth.write(path, 30, 7)
    return path


def _run(log, **more):
    return _replay(log, protocol("friends", degree=4), **{"measures": ["exposure"], **more})


def _replay(log, by, *, folder=None, force=False, note=silent, **what):
    to = None if folder is None else Target(path=str(folder), force=force)
    return simulate_files([str(log)], Replay(by=by, **what), to=to, job=Job(seed=7, note=note))


def test_a_folder_of_numbers(log, tmp_path):
    done = _run(log, folder=tmp_path / "out", users=20, language="none")
    with (tmp_path / "out" / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["name"], row["key"]) for row in rows] == done.scores.select("name", "key").rows()
    about = json.loads((tmp_path / "out" / "simulation.json").read_text())
    assert about["protocol"] == "friends"
    assert (about["seed"], about["users"], about["language"]) == ("7", 20, "none")
    assert "no release" in about["simulation"]


def test_nothing_is_overwritten(log, tmp_path):
    _run(log, folder=tmp_path / "out")
    with pytest.raises(ParameterError):
        _run(log, folder=tmp_path / "out")
    _run(log, folder=tmp_path / "out", force=True)
    with pytest.raises(ParameterError, match="not a folder"):
        _run(log, folder=log)


def test_an_edge_list_is_never_replaced(log, tmp_path):
    (tmp_path / "out").mkdir()
    edges = tmp_path / "out" / "scores.csv"
    edges.write_text("".join(f"{i} {i + 1}\n" for i in range(60)))
    with pytest.raises(ParameterError, match="one of the inputs"):
        _replay(log, protocol("friends", topology=str(edges)), folder=tmp_path / "out", force=True)
    assert edges.read_text().startswith("0 1")


def test_a_measure_without_a_meaning_is_refused_where_it_was_asked_for(log):
    with pytest.raises(NotApplicableError, match="unmix has no meaning for unlinkable"):
        _replay(log, protocol("unlinkable"), measures=["unmix"])


def test_notes_are_told(log):
    notes = []
    _run(log, note=notes.append, users=5)
    _replay(log, protocol("friends", degree=1), measures=["exposure"], note=notes.append)
    assert any("who submit their queries themselves" in note for note in notes)
