"""Studies of simulations."""

import csv

import pytest
from scipy import stats

from coterie.errors import InputError, ParameterError, UnknownNameError
from coterie.study import load_study, run_study
from coterie.study.run import interval_of_mean, runs

STUDY = """
[read]
source = "synth:users=40,seed=7,kind=people"
[[simulate]]
protocol = "friends"
degree = 4
choice = ["balanced", "sticky_query"]
seed = [1, 2]
[[simulate]]
protocol = "unlinkable"
[measure]
names = ["exposure", "simattack", "personalization"]
[[figure]]
file = "kept.svg"
title = "Kept"
measure = "personalization"
keys = ["kept"]
against = "simattack true_past.recall"
"""


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def test_means_over_seeds_with_intervals(study, tmp_path):
    loaded = load_study(study, folder=tmp_path / "out")
    assert loaded.kind == "simulate"
    assert [len(cells) for cells in runs(loaded.cells)] == [2, 2, 1]
    told = []
    scores = run_study(loaded, lambda label, there: told.append((label, there)))
    assert [there for _, there in told] == [False] * 5
    assert told[0][0] == "friends degree=4 choice=balanced, seed 1"
    with (tmp_path / "out" / "scores.csv").open() as file:
        assert len(list(csv.DictReader(file))) == scores.height
    exposed = scores.filter(name="exposure", key="exposed.mean")
    assert exposed["protocol"].to_list() == [
        "friends degree=4 choice=balanced", "friends degree=4 choice=sticky_query", "unlinkable",
    ]  # fmt: skip
    assert exposed["seeds"].to_list() == [2, 2, 1]
    assert (exposed["low"] <= exposed["value"]).to_list() == [True, True, None]
    assert "svg" in (tmp_path / "out" / "kept.svg").read_text()


def test_a_table_may_have_measures_of_its_own(study, tmp_path):
    study.write_text(STUDY.replace('protocol = "unlinkable"', 'protocol = "unlinkable"\nmeasures = ["cost"]'))
    scores = run_study(load_study(study, folder=tmp_path / "out"))
    assert set(scores.filter(protocol="unlinkable")["name"]) == {"log", "cost"}
    assert "cost" not in scores.filter(seeds=2)["name"]
    study.write_text(STUDY.replace('protocol = "unlinkable"', 'protocol = "unlinkable"\nmeasures = ["costs"]'))
    with pytest.raises(UnknownNameError, match="No simulation measure is called 'costs'"):
        load_study(study)


def test_it_resumes(study, tmp_path):
    first = run_study(load_study(study, folder=tmp_path / "out"))
    told = []
    again = run_study(load_study(study, folder=tmp_path / "out"), lambda label, there: told.append(there))
    assert told == [True] * 5
    assert again.equals(first)
    study.write_text(STUDY.replace("degree = 4", "degree = 6"))
    told.clear()
    run_study(load_study(study, folder=tmp_path / "out"), lambda label, there: told.append(there))
    assert told == [False] * 4 + [True]


def test_a_broken_result_is_refused(study, tmp_path):
    run_study(load_study(study, folder=tmp_path / "out"))
    for path in (tmp_path / "out" / "cells").glob("*.json"):
        path.write_text("{}")
    with pytest.raises(InputError, match="Delete it, and it is computed again"):
        run_study(load_study(study, folder=tmp_path / "out"))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[measure]", '[[anonymize]]\nmethod = "suppress_rare"\n[measure]', "both"),
        ("[measure]", '[report]\nto = "r.html"\n[measure]', "are about releases"),
        ("[measure]", '[prepare]\nsplit = "chronological"\n[measure]', "are about releases"),
        ('against = "simattack true_past.recall"', "", "give 'against'"),
        ("degree = 4", "degre = 4", "did you mean 'degree'"),
        ("degree = 4", "degree = []", "empty list"),
        ('protocol = "unlinkable"', "", "'protocol' is missing in"),
    ],
)
def test_what_does_not_go_together(study, old, new, words):
    study.write_text(STUDY.replace(old, new))
    with pytest.raises(InputError, match=words):
        load_study(study)


def test_bad_values_are_said_before_any_work(study):
    study.write_text(STUDY.replace("degree = 4", "degree = 0"))
    with pytest.raises(ParameterError, match="'degree' parameter of friends"):
        load_study(study)


def test_neither(study):
    study.write_text('[read]\nsource = "synth:users=40"\n')
    with pytest.raises(InputError, match="'anonymize' is missing"):
        load_study(study)


def test_a_figure_of_nothing(study, tmp_path):
    study.write_text(STUDY.replace("true_past.recall", "no.such"))
    with pytest.raises(InputError, match="no protocol has both"):
        run_study(load_study(study, folder=tmp_path / "out"))


@pytest.mark.parametrize("numbers", [[1.0, 2.0], [3.0, 5.0, 4.0, 4.5, 3.5], list(map(float, range(11)))])
def test_intervals_are_students(numbers):
    mean, low, high = interval_of_mean(numbers)
    half = stats.t.ppf(0.975, len(numbers) - 1) * stats.sem(numbers)
    assert mean == pytest.approx(sum(numbers) / len(numbers))
    assert (low, high) == pytest.approx((mean - half, mean + half), rel=0.001)


@pytest.mark.parametrize("n", [12, 20, 100])
def test_intervals_of_many_seeds_are_never_too_narrow(n):
    numbers = [float(i % 7) for i in range(n)]
    mean, low, _ = interval_of_mean(numbers)
    assert 1 <= (mean - low) / (stats.t.ppf(0.975, n - 1) * stats.sem(numbers)) < 1.15


def test_intervals_of_little():
    assert interval_of_mean([]) == (None, None, None)
    assert interval_of_mean([2.0]) == (2.0, None, None)
