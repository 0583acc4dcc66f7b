"""Studies that come along: all of them can be loaded, and the first one is written down to be changed."""

import pytest

from coterie.errors import MissingError, ParameterError
from coterie.study import load_study
from coterie.study.file import FIRST, located, shipped, write_first


@pytest.mark.parametrize("name", [FIRST, "suppress_rare", "grouping"])
def test_they_are_studies(name):
    assert load_study(shipped()[name]).cells


def test_a_name_a_file_and_neither(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    from pathlib import Path

    path, results = located(Path(FIRST))
    assert path == shipped()[FIRST]
    assert results == Path("quick.results")
    assert located(Path("own.toml")) == (Path("own.toml"), None)
    (tmp_path / FIRST).touch()
    assert located(Path(FIRST)) == (Path(FIRST), None), "a file of that name counts first"
    with pytest.raises(MissingError, match="quick"):
        located(Path("quik"))


def test_the_first_study_is_written_once(tmp_path):
    write_first(tmp_path / "mine.toml")
    study = load_study(tmp_path / "mine.toml")
    assert study.figures
    assert study.report == tmp_path / "mine.results" / "report.html"
    assert "coterie study mine.toml" in (tmp_path / "mine.toml").read_text()
    with pytest.raises(ParameterError, match="exists"):
        write_first(tmp_path / "mine.toml")
