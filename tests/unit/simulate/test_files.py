"""Simulations of files: what is written, and what is refused."""

import csv
import json

import pytest

from coterie import synth
from coterie.errors import NotApplicableError, ParameterError
from coterie.simulate import protocol
from coterie.simulate.run import simulate_files


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.tsv"
    synth.write(path, 30, 7)
    return path


def _run(log, **more):
    return simulate_files([str(log)], protocol("friends", degree=4), **{"measures": ["exposure"], "seed": 7, **more})


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
        simulate_files(
            [str(log)], protocol("friends", topology=str(edges)), seed=7, folder=tmp_path / "out", force=True
        )
    assert edges.read_text().startswith("0 1")


def test_a_measure_without_a_meaning_is_refused_where_it_was_asked_for(log):
    with pytest.raises(NotApplicableError, match="unmix has no meaning for unlinkable"):
        simulate_files([str(log)], protocol("unlinkable"), measures=["unmix"], seed=7)


def test_notes_are_told(log):
    notes = []
    _run(log, note=notes.append, users=5)
    simulate_files([str(log)], protocol("friends", degree=1), measures=["exposure"], seed=7, note=notes.append)
    assert any("who submit their queries themselves" in note for note in notes)
