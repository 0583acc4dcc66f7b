"""Lines are parsed once: rows of large files are read again from a private copy, and say the same.

Covers: reading/reading.py
"""

import stat
from collections.abc import Iterator

import polars as pl
import pytest

import coterie
from coterie import synth
from coterie.core import registry
from coterie.core.shapes import NORMAL
from coterie.errors import ParameterError
from coterie.methods.suppress_rare import SuppressRare
from coterie.reading import source as _source
from coterie.reading.reading import Reading, takes_of


@pytest.fixture
def file(tmp_path):
    """A log with queries that need normalizing, and some that are empty."""
    path = tmp_path / "log.tsv"
    synth.write(path, 60, 3)
    with path.open("a", encoding="utf-8") as out:
        for user in range(9):
            for query in ("  Ünïcode  STRASSE ", "a-b", "-", "Ｆｕｌｌ width"):
                out.write(f"x{user}\t{query}\t2006-03-01 00:00:0{user}\t\t\n")
    return path


@pytest.fixture(params=["small", "large"])
def size(request, monkeypatch) -> Iterator[str]:
    """Whether files count as small, so that their rows stay in memory."""
    if request.param == "large":
        monkeypatch.setattr(_source, "_SMALL", -1)
    return request.param


def _released(path, steps, tmp_path, name):
    release = coterie.anonymize(coterie.prepare(coterie.read(path), steps), SuppressRare(k=3), seed=1, record=False)
    coterie.write(release, tmp_path / name)
    return (tmp_path / name).read_bytes()


@pytest.mark.parametrize("steps", [["normalize", "drop_empty"], ["sessions", "normalize", "events"], ["events"], []])
def test_large_files_give_the_same_release(file, steps, tmp_path, monkeypatch):
    small = _released(file, steps, tmp_path, "small.tsv")
    monkeypatch.setattr(_source, "_SMALL", -1)
    assert _released(file, steps, tmp_path, "large.tsv") == small
    assert coterie.verify(tmp_path / "large.tsv", coterie.read(file)).exit_code == 0


def test_what_is_normal_is_marked_once_and_gone_after_normalizing(file, size):
    log = coterie.read(file)
    assert (NORMAL in log.frame.collect_schema()) == (size == "large")
    assert NORMAL not in coterie.prepare(log, ["normalize"]).frame.collect_schema()
    assert NORMAL not in log.to_polars().columns


def test_normalizing_is_the_same_with_and_without_marks(file, monkeypatch):
    plain = coterie.prepare(coterie.read(file)).to_polars()
    monkeypatch.setattr(_source, "_SMALL", -1)
    assert coterie.prepare(coterie.read(file)).to_polars().equals(plain)
    assert "ünïcode strasse" in plain["query"]
    assert "full width" in plain["query"]


def test_the_copy_is_private_and_goes_with_the_log(file, monkeypatch):
    monkeypatch.setattr(_source, "_SMALL", -1)
    log = coterie.read(file)
    folder = log.resources[0].path
    copy = folder / "rows.parquet"
    assert copy.exists()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    del log
    assert not folder.exists()


def test_the_copy_goes_with_the_last_rows_of_it(file, monkeypatch):
    """Nobody holds a log here, and its rows are there all the same."""
    monkeypatch.setattr(_source, "_SMALL", -1)
    prepared = coterie.prepare(coterie.read(file))
    folder, height = prepared.resources[0].path, prepared.to_polars().height
    frame = prepared.frame
    assert coterie.prepare(coterie.read(file)).frame.collect().height == height
    assert coterie.read(file).frame.select(pl.len()).head(1).collect(engine="streaming").item() >= height
    del prepared
    assert frame.filter(pl.col("query") != "").collect().height == height
    assert folder.exists()
    del frame
    assert not folder.exists()


def test_rows_of_a_release_are_there_without_it(file, monkeypatch):
    monkeypatch.setattr(_source, "_SMALL", -1)
    log = coterie.prepare(coterie.read(file))
    method = SuppressRare(k=2, attrs="drop")
    expected = coterie.anonymize(log, method, seed=1).to_polars()
    shape = log.shape.released
    assert coterie.anonymize(log, method, seed=1, blocks=3).log.frame.select(shape).collect().equals(expected)


def test_lines_are_parsed_once(file, size, monkeypatch):
    log = coterie.prepare(coterie.read(file))
    rows = log.frame.select(pl.len()).collect().item()
    file.write_text("something else\n")  # nobody looks at the file again
    assert log.frame.select(pl.len()).collect().item() == rows
    release = coterie.anonymize(log, SuppressRare(k=3), seed=1, record=False)
    assert release.checks


_SAID = {
    "columns": {"user": "u", "query": "q"}, "details": "device", "user_field": "u", "date": "2024-03-07", "terms": 7,
    "min_length": 5, "words": "all",
}  # fmt: skip


@pytest.mark.parametrize("said", _SAID)
@pytest.mark.parametrize("name", registry.names("formats"))
def test_what_a_format_makes_no_use_of_is_refused(tmp_path, name, said):
    """An option that changes nothing is a mistake of whoever gave it, and must not pass without a word."""
    path = tmp_path / "log"
    path.write_bytes(registry.module("formats", name).sample.encode("utf-8"))
    refused = rf"log is read as {name}, which makes no use of {said}\. Leave that out"
    if said not in takes_of(name):
        with pytest.raises(ParameterError, match=refused):
            coterie.read(path, format=name, **{said: _SAID[said]})
    elif said not in ("columns", "details"):
        assert coterie.read(path, format=name, **{said: _SAID[said]}).frame.collect().height > 0


@pytest.mark.parametrize("name", Reading.inner)
def test_what_only_coterie_says_is_no_option(file, name):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
        coterie.read(file, **{name: True})


def test_values_of_other_types_are_refused(file):
    with pytest.raises(ParameterError, match="allow_bad must be true or false"):
        coterie.read(file, allow_bad=1)
    with pytest.raises(ParameterError, match="names of parameters of addresses"):
        coterie.read(file, query_param=["q"])


def test_lines_and_folders_make_no_use_of_columns(tmp_path):
    vectors = tmp_path / "vectors.jsonl"
    vectors.write_text('{"doc": "a", "terms": {"tea": 1.0}}\n')
    with pytest.raises(ParameterError, match="no use of columns"):
        coterie.read(vectors, format="term_vectors", columns={"doc": "a"})
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("tea and cake")
    with pytest.raises(ParameterError, match="no use of columns"):
        coterie.read(tmp_path / "texts", format="documents", columns={"doc": "a"})


def test_made_up_logs_and_tables_refuse_what_they_make_no_use_of():
    with pytest.raises(ParameterError, match="makes no use of user_field"):
        coterie.read("synth:users=3,seed=7", user_field="u")
    with pytest.raises(ParameterError, match="makes no use of terms"):
        coterie.log(pl.DataFrame({"user": ["u"], "query": ["q"]}), terms=7)
