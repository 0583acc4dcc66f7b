"""Releases of parts: the same rows in a folder of files, whoever brings them, and nothing half-written."""

import json
import os
import stat
import sys
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coterie
from coterie.core.digests import even_sizes
from coterie.core.files import open_bytes
from coterie.engines.remote import recut
from coterie.errors import BrokenPromiseError, ParameterError
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing import queries_log
from coterie.testing.scattered import Scattered
from coterie.writing.files import write_release
from coterie.writing.target import Target

WRITE = sys.modules[write_release.__module__]
KINDS = ["tsv", "csv", "parquet", "jsonl", "tsv.gz", "jsonl.zst"]


@pytest.fixture(scope="module")
def release():
    return coterie.anonymize(queries_log(), SuppressRare(k=3), seed=1)


def _text(path):
    with open_bytes(path) as stream:
        return stream.read()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("parts", [1, 3, 1000])
def test_a_folder_has_the_rows_and_the_digest_of_the_file(release, tmp_path, kind, parts):
    one, many = tmp_path / f"one.{kind}", tmp_path / f"many.{kind}"
    coterie.write(release, one)
    digest = coterie.write(release, many, parts=parts)
    single, folder = (json.loads(path.with_name(path.name + ".json").read_text()) for path in (one, many))
    assert single["rows_sha256"] == folder["rows_sha256"] == release.verified
    assert folder["sha256"] == digest != single["sha256"]
    assert [part["rows"] for part in folder["parts"]] == even_sizes(release.rows, parts)
    assert {path.name for path in many.iterdir()} == {part["name"] for part in folder["parts"]}
    assert stat.S_IMODE(many.stat().st_mode) & 0o500 == 0o500
    if kind != "parquet":
        assert b"".join(map(_text, sorted(many.iterdir()))) == _text(one)
    again = coterie.load_release(many)
    assert again.to_polars().equals(release.to_polars())
    verdict = coterie.verify(many, queries_log())
    assert [check.text for check in verdict.checks if check.status != "passed"] == []
    assert again.to_polars().equals(coterie.load_release(one).to_polars())


@pytest.mark.parametrize("kind", KINDS)
def test_without_rows_there_is_one_part(tmp_path, kind):
    frame = pl.DataFrame({"user": list("abc"), "query": list("xyz")})
    release = coterie.anonymize(coterie.log(frame), SuppressRare(k=3), seed=1)
    coterie.write(release, tmp_path / f"safe.{kind}", parts=4)
    assert len(list((tmp_path / f"safe.{kind}").iterdir())) == 1
    assert coterie.load_release(tmp_path / f"safe.{kind}").rows == 0
    assert coterie.verify(tmp_path / f"safe.{kind}").broken == ()


@given(sizes=st.lists(st.integers(0, 9), min_size=1, max_size=8), parts=st.integers(1, 9))
def test_rows_are_cut_anew_however_they_arrive(sizes, parts):
    ends = [sum(sizes[: at + 1]) for at in range(len(sizes))]
    frames = [
        pl.DataFrame({"x": range(end - size, end)}, schema={"x": pl.Int64})
        for size, end in zip(sizes, ends, strict=True)
    ]
    wanted = even_sizes(ends[-1], parts)
    got = [each.collect() for each in recut(iter(frames), wanted)]
    assert [each.height for each in got] == wanted
    assert pl.concat(got)["x"].to_list() == list(range(ends[-1]))
    for wrong in ([*wanted, 1], [ends[-1] - 1] if ends[-1] > 1 else [7]):
        with pytest.raises(BrokenPromiseError, match="not as many rows"):
            list(recut(iter(frames), wrong))


def test_no_frame_at_all():
    with pytest.raises(BrokenPromiseError):
        list(recut(iter(()), [0]))


def _elsewhere(release, frames):
    """The release with rows that come as these frames."""

    class Pieces(Scattered):
        def parts(self, _):
            return iter(frames)

    return replace(release, log=replace(release.log, engine=Pieces(), resources=()))


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl.zst"])
def test_an_engine_may_bring_the_rows_piece_by_piece(release, tmp_path, kind):
    rows = release.to_polars()
    coterie.write(release, tmp_path / f"local.{kind}", parts=3)
    write_release(
        _elsewhere(release, [rows.slice(at, 4) for at in range(0, rows.height, 4)]),
        Target(path=str(tmp_path / f"remote.{kind}"), parts=3),
    )
    local, remote = (
        {p.name: p.read_bytes() for p in (tmp_path / f"{n}.{kind}").iterdir()} for n in ("local", "remote")
    )
    assert local == remote
    with pytest.raises(BrokenPromiseError, match="not the rows that were verified"):
        write_release(_elsewhere(release, [rows.reverse()]), Target(path=str(tmp_path / f"other.{kind}"), parts=3))
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(("other", "."))]


def test_a_record_belongs_to_its_parts(release, tmp_path):
    coterie.write(release, tmp_path / "safe.tsv", parts=2, record=tmp_path / "record")
    assert coterie.load_release(tmp_path / "safe.tsv", tmp_path / "record").record is not None
    assert coterie.verify(tmp_path / "safe.tsv", queries_log(), record=tmp_path / "record").exit_code == 0
    scores = coterie.measure(coterie.load_release(tmp_path / "safe.tsv", tmp_path / "record"), original=queries_log())
    assert scores.height


def _files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class _BoomError(Exception):
    pass


@pytest.mark.parametrize("before", ["nothing", "parts", "file"])
@pytest.mark.parametrize("where", ["_sink", "_compare", "put_in_place", "write_record", "write_sidecar", "kept_aside"])
def test_whatever_fails_leaves_what_was_there(release, tmp_path, monkeypatch, where, before):
    if before != "nothing":
        coterie.write(
            release, tmp_path / "safe.tsv", record=tmp_path / "record", parts=2 if before == "parts" else None
        )
    was, real = _files(tmp_path), getattr(WRITE, where)

    def fail(*args, **kwargs):
        if where == "write_record" and was:  # its files are there, and those before them kept
            real(*args, **kwargs)
        raise _BoomError

    monkeypatch.setattr(WRITE, where, fail)
    other = coterie.anonymize(queries_log(), Microaggregate(k=3), seed=2)
    with pytest.raises(_BoomError):
        coterie.write(other, tmp_path / "safe.tsv", record=tmp_path / "record", parts=3, force=True)
    assert _files(tmp_path) == was
    monkeypatch.undo()
    for parts in (3, None, 2):  # parts replace a file, and a file replaces parts
        coterie.write(other, tmp_path / "safe.tsv", record=tmp_path / "record", parts=parts, force=True)
        assert coterie.load_release(tmp_path / "safe.tsv", tmp_path / "record").rows == other.rows
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("before", ["parts", "file"])
def test_what_fails_between_the_parts_and_their_sidecar(release, tmp_path, monkeypatch, before):
    path = tmp_path / "safe.tsv"
    coterie.write(release, path, parts=2 if before == "parts" else None)
    was, real = _files(tmp_path), WRITE.put_in_place

    def placed_and_stopped(*arguments):
        real(*arguments)
        assert len(list(path.iterdir())) == 3  # the new ones are in place
        raise _BoomError

    monkeypatch.setattr(WRITE, "put_in_place", placed_and_stopped)
    with pytest.raises(_BoomError):
        coterie.write(coterie.anonymize(queries_log(), SuppressRare(k=4), seed=2), path, parts=3, force=True)
    assert _files(tmp_path) == was
    assert not [each for each in tmp_path.iterdir() if each.name.startswith(".")]


def test_a_folder_that_came_meanwhile_is_not_removed(release, tmp_path, monkeypatch):
    path, real = tmp_path / "safe.tsv", WRITE.write_sidecar

    def slow(*arguments):
        real(*arguments)
        path.mkdir()
        (path / "mine").write_text("mine")

    monkeypatch.setattr(WRITE, "write_sidecar", slow)
    with pytest.raises(ParameterError, match="is a folder"):
        coterie.write(release, path, parts=3, force=True)
    assert _files(tmp_path) == {"safe.tsv/mine": b"mine"}


def test_the_sidecar_comes_last(release, tmp_path, monkeypatch):
    monkeypatch.setattr(WRITE, "kept_aside", lambda *_: (_ for _ in ()).throw(_BoomError))
    seen = []
    monkeypatch.setattr(
        WRITE, "refuse_output", lambda path, *_: seen.append((path.name, (tmp_path / "safe.tsv").is_dir()))
    )
    with pytest.raises(_BoomError):
        coterie.write(release, tmp_path / "safe.tsv", parts=2)
    assert seen[-1] == ("safe.tsv.json", True)
    assert list(tmp_path.iterdir()) == []


def _logs(folder):
    folder.mkdir()
    (folder / "part-00000.tsv").write_text("theirs")


def _more(folder):
    (folder / "notes").write_text("theirs")


@pytest.mark.parametrize("made", [True, False])
def test_no_other_folder_is_replaced(release, tmp_path, made):
    """Neither one that looks like parts, nor a release of parts in which somebody keeps something."""
    path = tmp_path / "safe.tsv"
    if made:
        coterie.write(release, path, parts=2)
        _more(path)
    else:
        _logs(path)
    was = _files(tmp_path)
    for parts in (2, None):
        with pytest.raises(ParameterError, match="is a folder" if made is False else "safe.tsv"):
            coterie.write(release, path, parts=parts, force=True)
    assert _files(tmp_path) == was


def test_what_is_refused(release, tmp_path):
    path = tmp_path / "safe.tsv"
    coterie.write(release, path, parts=2)
    for arguments, message in (
        ({"parts": 2}, "exists"),
        ({}, "exists"),
        ({"parts": 0, "force": True}, "from 1 to 100,000"),
        ({"parts": 100_001, "force": True}, "from 1 to 100,000"),
        ({"parts": 2, "force": True, "sidecar": tmp_path / "s.json"}, "leave out sidecar"),
        ({"parts": 2, "force": True, "record": path / "record"}, "lies in the release itself"),
    ):
        with pytest.raises(ParameterError, match=message):
            coterie.write(release, path, **arguments)
    with pytest.raises(ParameterError, match="standard output"):
        coterie.write(release, "-", kind="tsv", parts=2)
    log = replace(release.log, sources=(path / "part-00000.tsv",))
    with pytest.raises(ParameterError, match="holds one of the inputs"):
        coterie.write(replace(release, log=log), path, parts=2, force=True)
    (tmp_path / "link.tsv").symlink_to(path)
    os.link(tmp_path / "safe.tsv.json", tmp_path / "link.tsv.json")
    with pytest.raises(ParameterError, match="is a link"):
        coterie.write(release, tmp_path / "link.tsv", parts=2, force=True)
