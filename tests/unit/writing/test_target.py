"""Where releases go: one place for each k, and all files of it that must not be there already."""

from dataclasses import replace
from inspect import signature
from pathlib import Path

import pytest

import coterie
from coterie.errors import ParameterError
from coterie.writing.target import Target


def test_one_target_for_each_k():
    few, many = Target(path="out.{k}.tsv", record=Path("record.{k}"), sidecar="side.{k}.json", csv_safe=True).for_each(
        (2, 5)
    )
    assert few == Target(path="out.2.tsv", record=Path("record.2"), sidecar="side.2.json", csv_safe=True)
    assert (many.path, many.record, many.sidecar) == ("out.5.tsv", Path("record.5"), "side.5.json")


def test_all_files_of_a_target():
    files = Target(path="a.tsv", record=Path("r")).files
    assert files[:2] == [Path("a.tsv"), Path("a.tsv.json")]
    assert Path("r/run.json") in files
    assert Target(path="-", kind="tsv", sidecar="s.json").files == [Path("s.json")]


def test_what_is_there_is_refused(tmp_path):
    (tmp_path / "a.tsv").touch()
    target = Target(path=str(tmp_path / "a.tsv"))
    with pytest.raises(ParameterError, match="--force"):
        target.refuse([])
    replace(target, force=True).refuse([])
    with pytest.raises(ParameterError, match="input"):
        replace(target, force=True).refuse([tmp_path / "a.tsv"])


def test_an_option_that_there_is_not_is_refused(tmp_path):
    with pytest.raises(TypeError, match="unexpected keyword argument 'sidecars'"):
        coterie.write(None, tmp_path / "a.tsv", sidecars="x")
    with pytest.raises(TypeError, match="unexpected keyword argument 'regime'"):
        coterie.write(None, tmp_path / "a.tsv", regime="x")
    assert "regime" not in signature(coterie.write).parameters
