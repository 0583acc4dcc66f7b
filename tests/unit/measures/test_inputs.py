"""Inputs of measures: declared once, given in Python, on the command line and in studies."""

from pathlib import Path

import click
import polars as pl
import pytest

import coterie
from coterie.cli import options
from coterie.errors import InputError, MissingError, ParameterError
from coterie.measures.inputs import INPUTS, files_of, from_study, read_inputs
from coterie.methods.microaggregate import Microaggregate
from coterie.testing import queries_log, visits_log


def test_nothing_given_is_nothing_read():
    assert read_inputs({"kappas": (), "labels": None, "later": None}) == {}
    assert read_inputs({"kappas": [2, 5], "taxonomy": Path("t.npz")}) == {"kappas": (2, 5), "taxonomy": "t.npz"}


def test_an_unknown_name_gets_a_hint():
    log = queries_log()
    release = coterie.anonymize(log, Microaggregate(k=3), seed=1)
    with pytest.raises(ParameterError, match=r"'lables'\. Did you mean 'labels'"):
        coterie.measure(release, original=log, lables="x.csv")


@pytest.mark.parametrize("kappas", [[1], [2.5], [True], "2", ["2"]])
def test_kappas_are_whole_numbers(kappas):
    with pytest.raises(ParameterError, match="kappas"):
        read_inputs({"kappas": kappas})


def test_labels_are_read_before_any_measure(tmp_path):
    with pytest.raises(MissingError):
        read_inputs({"labels": tmp_path / "none.csv"})
    (tmp_path / "labels.csv").write_text("query,sensitive\nMaps,yes\n")
    assert read_inputs({"labels": tmp_path / "labels.csv"})["labels"].rows() == [("Maps", True)]


def test_a_later_log_has_the_shape_of_the_original():
    log = queries_log()
    release = coterie.anonymize(log, Microaggregate(k=3), seed=1)
    with pytest.raises(InputError, match="later log has the shape VISITS"):
        coterie.measure(release, ["later_queries"], original=log, later=visits_log())


@pytest.mark.parametrize("name", ["later", "outsiders", "public"])
def test_a_log_is_read_by_whoever_gives_it(name):
    """The path of a file ended in the middle of a measure, with an AttributeError."""
    with pytest.raises(ParameterError, match=f"{name} is a log, as read and log give it, not str"):
        read_inputs({name: "later.tsv"})


def test_studies_give_files_beside_them(tmp_path):
    (tmp_path / "labels.csv").write_text("query,sensitive\n")
    given = from_study({"kappas": [2], "labels": "labels.csv", "taxonomy": "wordnet"}, tmp_path)
    assert given == {"kappas": [2], "labels": tmp_path / "labels.csv", "taxonomy": "wordnet"}
    assert files_of(given) == {"labels": tmp_path / "labels.csv"}
    with pytest.raises(MissingError, match="relative to the study"):
        from_study({"labels": "other.csv"}, tmp_path)
    with pytest.raises(ParameterError, match="later"):
        from_study({"later": "log.tsv"}, tmp_path)
    assert files_of({"labels": pl.DataFrame()}) == {}


def test_each_input_is_an_option():
    made = {option.name: option for option in options.collected(options.measuring)}
    assert list(made) == list(INPUTS)
    for name, each in INPUTS.items():
        assert isinstance(made[name], click.Option)
        assert made[name].opts == [each.option]
        assert made[name].help == each.help
