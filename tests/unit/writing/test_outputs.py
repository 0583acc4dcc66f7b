"""Where releases go: one place for each k, and all files of it that must not be there already."""

from pathlib import Path

import pytest

from coterie.errors import ParameterError
from coterie.writing.outputs import Target, targets


def test_one_target_for_each_k():
    few, many = targets((2, 5), "out.{k}.tsv", record="record.{k}", sidecar="side.{k}.json", csv_safe=True)
    assert few == Target(path="out.2.tsv", record=Path("record.2"), sidecar="side.2.json", csv_safe=True)
    assert (many.path, many.record, many.sidecar) == ("out.5.tsv", Path("record.5"), "side.5.json")


def test_all_files_of_a_target():
    files = Target(path="a.tsv", record=Path("r")).files
    assert files[:2] == [Path("a.tsv"), Path("a.tsv.json")]
    assert Path("r/run.json") in files
    assert Target(path="-", kind="tsv", sidecar="s.json").files == [Path("s.json")]


def test_what_is_there_is_refused(tmp_path):
    (tmp_path / "a.tsv").touch()
    with pytest.raises(ParameterError, match="--force"):
        Target(path=str(tmp_path / "a.tsv")).refuse([], force=False)
    Target(path=str(tmp_path / "a.tsv")).refuse([], force=True)
    with pytest.raises(ParameterError, match="input"):
        Target(path=str(tmp_path / "a.tsv")).refuse([tmp_path / "a.tsv"], force=True)
