"""Files, sidecars and records.

Covers: writing/files.py
"""

import json
import os
import stat
import subprocess
import sys
import types
from dataclasses import asdict, replace

import polars as pl
import pytest

import coterie
from coterie import synth
from coterie.errors import BrokenPromiseError, InputError, MissingError, ParameterError
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing import queries_log, visits_log
from coterie.writing.target import Target, kind_of

WRITE = sys.modules["coterie.writing.files"]
KINDS = ["tsv", "csv", "parquet", "jsonl", "tsv.gz", "csv.gz", "jsonl.gz", "tsv.zst", "csv.zst", "jsonl.zst"]


@pytest.fixture
def release():
    return coterie.anonymize(queries_log(), SuppressRare(k=3), seed=1)


@pytest.mark.parametrize("make", [queries_log, visits_log])
@pytest.mark.parametrize("kind", KINDS)
def test_round_trip(tmp_path, kind, make):
    release = coterie.anonymize(make(), SuppressRare(k=3), seed=1)
    path = tmp_path / f"safe.{kind}"
    coterie.write(release, path)
    again = coterie.load_release(path)
    assert again.to_polars().equals(release.to_polars())
    assert again.promises == release.promises
    assert sorted(p.name for p in tmp_path.iterdir()) == [path.name, path.name + ".json"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_run_gives_the_same_bytes(tmp_path, kind):
    for name, blocks in (("a", 1), ("b", 1), ("c", 7)):
        made = coterie.anonymize(queries_log(), SuppressRare(k=3, users="pseudonym"), seed=1, blocks=blocks)
        coterie.write(made, tmp_path / f"{name}.{kind}")
    first, *others = [(tmp_path / f"{name}.{kind}").read_bytes() for name in "abc"]
    assert all(other == first for other in others)


def test_the_same_bytes_for_many_rows_and_any_threads(tmp_path):
    """Large enough that rows arrive in several pieces, in an order that threads could change."""
    code = (
        "import sys, coterie; from coterie.methods.suppress_rare import SuppressRare\n"
        "log = coterie.prepare(coterie.read(sys.argv[2]))\n"
        "release = coterie.anonymize(log, SuppressRare(k=2), seed=1, blocks=int(sys.argv[1]))\n"
        "for out in sys.argv[3:]: coterie.write(release, out)"
    )
    kinds = ("parquet", "tsv.gz", "jsonl.zst")
    log = tmp_path / "log.tsv"
    synth.write(log, 8000, 7)
    runs = (("1", "1"), ("2", "1"), ("2", "3"))
    for threads, blocks in runs:
        files = [tmp_path / f"{threads}{blocks}.{kind}" for kind in kinds]
        subprocess.run(
            [sys.executable, "-c", code, blocks, log, *files],
            env={**os.environ, "POLARS_MAX_THREADS": threads},
            check=True,
        )
    for kind in kinds:
        first, *others = [(tmp_path / f"{''.join(run)}.{kind}").read_bytes() for run in runs]
        assert all(other == first for other in others), kind


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_without_rows(tmp_path, kind):
    log = queries_log()
    rare = replace(log, frame=log.frame.filter(pl.col("query").str.len_chars() > 18))
    release = coterie.anonymize(replace(rare, frame=pl.concat([rare.frame] + [
        rare.frame.head(1).with_columns(pl.lit(f"x{n}").alias("user"), pl.lit(f"q{n}").alias("query")) for n in range(3)
    ])), SuppressRare(k=3), seed=1)  # fmt: skip
    path = tmp_path / f"safe.{kind}"
    coterie.write(release, path)
    assert coterie.load_release(path).to_polars().height == 0
    assert coterie.verify(path).broken == ()


def test_text_looks_as_documented(release, tmp_path):
    coterie.write(release, tmp_path / "safe.tsv")
    lines = (tmp_path / "safe.tsv").read_text().splitlines()
    assert lines[0] == "time\ttime_level\tquery\trank\turl", "nobody is named, so that there is no column of names"
    assert lines[1] == "\t\tbread recipe\t\t"
    assert lines[-1] == "2020-02-03 00:00:00\tday\tweather\t1\thttp://sky.example"
    assert json.loads((tmp_path / "safe.tsv.json").read_text())["left_out"] == ["user"]
    coterie.write(release, tmp_path / "safe.jsonl")
    *_, last = map(json.loads, (tmp_path / "safe.jsonl").read_text().splitlines())
    click = {"rank": 1, "url": "http://sky.example"}
    assert last == {"time": "2020-02-03 00:00:00", "time_level": "day", "query": "weather", **click}
    coterie.write(release, tmp_path / "safe.parquet")
    assert pl.read_parquet(tmp_path / "safe.parquet").columns == list(release.log.shape.released)
    assert json.loads((tmp_path / "safe.parquet.json").read_text())["left_out"] == []


def test_quotes_are_data_in_tsv_and_quoted_in_csv(tmp_path):
    frame = pl.DataFrame({"user": ["1", "2", "3"] * 2, "query": ['say "hi", you'] * 3 + ["'x"] * 3})
    release = coterie.anonymize(coterie.log(frame), SuppressRare(k=3), seed=1)
    coterie.write(release, tmp_path / "safe.tsv")
    assert '\tsay "hi", you\t' in (tmp_path / "safe.tsv").read_text()
    coterie.write(release, tmp_path / "safe.csv")
    assert ',"say ""hi"", you",' in (tmp_path / "safe.csv").read_text()


def test_an_unverified_release_is_refused(release, tmp_path):
    for checks in (
        (),
        (replace(release.checks[0], status="failed"),),
        (replace(release.checks[0], status="not checked"),),
    ):
        with pytest.raises(BrokenPromiseError):
            coterie.write(replace(release, checks=checks), tmp_path / "safe.tsv")
    assert not list(tmp_path.iterdir())


def test_only_the_rows_that_were_verified_can_be_written(release, tmp_path):
    log = queries_log()
    raw = replace(release.log, frame=log.frame.select(log.shape.released), shape=log.shape)
    with pytest.raises(BrokenPromiseError, match="not the rows that were verified"):
        coterie.write(replace(release, log=raw), tmp_path / "raw.tsv")
    assert not list(tmp_path.iterdir())
    coterie.write(release, tmp_path / "safe.tsv")
    with pytest.raises(BrokenPromiseError, match="loaded"):
        coterie.write(coterie.load_release(tmp_path / "safe.tsv"), tmp_path / "again.tsv")


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl", "parquet"])
def test_times_are_whole_seconds(tmp_path, kind):
    times = ["2020-02-03T09:00:00.123Z", "2020-02-03T09:00:00.9Z", "2020-02-03 09:00:01"]
    frame = pl.DataFrame({"user": ["1", "2", "3"], "query": ["tea"] * 3, "time": times})
    release = coterie.anonymize(coterie.log(frame), SuppressRare(k=3, attrs="keep"), seed=1)
    coterie.write(release, tmp_path / f"safe.{kind}")
    again = coterie.load_release(tmp_path / f"safe.{kind}").to_polars()["time"]
    assert [time.isoformat() for time in again] == ["2020-02-03T09:00:00"] * 2 + ["2020-02-03T09:00:01"]


def test_names_with_brackets(release, tmp_path):
    folder = tmp_path / "a[1]*"
    folder.mkdir()
    for kind in ("tsv", "csv", "jsonl", "parquet"):
        coterie.write(release, folder / f"s[2]?.{kind}")
        assert coterie.verify(folder / f"s[2]?.{kind}", queries_log()).exit_code == 0


def test_a_record_belongs_to_its_release(release, tmp_path):
    other = coterie.anonymize(queries_log(), SuppressRare(k=5), seed=1)
    coterie.write(release, tmp_path / "a.tsv", record=tmp_path / "ra")
    coterie.write(other, tmp_path / "b.tsv", record=tmp_path / "rb")
    with pytest.raises(InputError, match="belongs to another release"):
        coterie.load_release(tmp_path / "a.tsv", tmp_path / "rb")
    (tmp_path / "ra" / "run.json").write_text("{")
    with pytest.raises(InputError, match="damaged"):
        coterie.load_release(tmp_path / "a.tsv", tmp_path / "ra")


def test_a_record_belongs_to_its_log(tmp_path):
    for name, query in (("one", "tea"), ("two", "maps")):
        (tmp_path / name).write_text("".join(f"{u}\t{query}\t2020-02-03 09:00:00\t\t\n" for u in range(3)))
    coterie.write(
        coterie.anonymize(coterie.read(tmp_path / "one"), SuppressRare(k=3)), tmp_path / "s.tsv", record=tmp_path / "r"
    )
    loaded = coterie.load_release(tmp_path / "s.tsv", tmp_path / "r")
    assert coterie.measure(loaded, original=coterie.read(tmp_path / "one")).height
    with pytest.raises(InputError, match="other input files"):
        coterie.measure(loaded, original=coterie.read(tmp_path / "two"))


def test_the_sidecar_states_the_limits(release, tmp_path):
    coterie.write(release, tmp_path / "safe.tsv")
    assert json.loads((tmp_path / "safe.tsv.json").read_text())["limits"] == [
        limit for promise in release.promises for limit in promise.limits
    ]


def test_an_existing_file_is_refused_without_force(release, tmp_path):
    path = tmp_path / "safe.tsv"
    path.write_text("mine")
    with pytest.raises(ParameterError, match="exists"):
        coterie.write(release, path)
    assert path.read_text() == "mine"
    coterie.write(release, path, force=True)
    assert path.read_text().startswith("time")


@pytest.mark.parametrize("name", ["safe", "safe.xls", "safe.parquet.gz", "safe.gz", "tsv"])
def test_a_name_must_say_what_to_write(release, tmp_path, name):
    with pytest.raises(ParameterError):
        coterie.write(release, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_kinds():
    assert kind_of("a.b.tsv.gz") == ("tsv", "gz")
    assert kind_of("-", "csv") == ("csv", None)


def test_a_missing_folder(release, tmp_path):
    with pytest.raises(MissingError, match="does not exist"):
        coterie.write(release, tmp_path / "no" / "safe.tsv")


def test_the_sidecar_is_public(tmp_path):
    seed = 123456789123456789
    release = coterie.anonymize(queries_log(), SuppressRare(k=3, users="pseudonym"), seed=seed)
    coterie.write(release, tmp_path / "safe.tsv")
    text = (tmp_path / "safe.tsv.json").read_text()
    sidecar = json.loads(text)
    assert str(seed) not in text
    assert "weather" not in text
    assert sidecar["method"] == "suppress_rare"
    assert sidecar["parameters"] == asdict(SuppressRare(k=3, users="pseudonym"))
    assert any("reproducible" in warning for warning in sidecar["warnings"])
    assert any("AOL" in warning for warning in sidecar["warnings"])
    coterie.write(coterie.anonymize(queries_log(), SuppressRare(k=3, attrs="drop")), tmp_path / "b.tsv")
    assert json.loads((tmp_path / "b.tsv.json").read_text())["warnings"] == []


def test_the_record_is_private(release, tmp_path):
    coterie.write(release, tmp_path / "safe.tsv", record=tmp_path / "record")
    assert stat.S_IMODE((tmp_path / "record").stat().st_mode) == 0o700
    for path in (tmp_path / "record").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    record = coterie.load_release(tmp_path / "safe.tsv", tmp_path / "record").record
    assert record.run["seed"] == 1
    assert record.rows.collect().equals(release.record.rows.collect())
    assert set(record.subjects.collect()["original"]) == {"ann", "bob", "cyd", "dan", "eve", "fay"}
    with pytest.raises(ParameterError, match="not empty"):
        coterie.write(release, tmp_path / "b.tsv", record=tmp_path / "record")
    with pytest.raises(MissingError, match="no run record"):
        coterie.load_release(tmp_path / "safe.tsv", tmp_path)


def test_the_digest_of_the_input_is_in_the_record(tmp_path):
    path = tmp_path / "log.tsv"
    path.write_text("".join(f"{u}\ttea\t2020-02-03 09:00:00\t\t\n" for u in range(3)))
    release = coterie.anonymize(coterie.read(path), SuppressRare(k=3))
    import hashlib

    assert release.record.run["input_sha256"] == [hashlib.sha256(path.read_bytes()).hexdigest()]


class _BoomError(Exception):
    pass


@pytest.mark.parametrize("where", ["_sink", "_compare", "sidecar_of"])
def test_nothing_is_left_when_writing_fails(release, tmp_path, monkeypatch, where):
    def fail(*args, **kwargs):
        raise _BoomError

    monkeypatch.setattr(WRITE, where, fail)
    with pytest.raises(_BoomError):
        coterie.write(release, tmp_path / "safe.tsv", record=tmp_path / "record")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("where", ["put_in_place", "write_record", "write_sidecar"])
@pytest.mark.parametrize("links", [True, False])
def test_what_was_replaced_comes_back_when_writing_fails(release, tmp_path, monkeypatch, where, links):
    coterie.write(release, tmp_path / "safe.tsv", record=tmp_path / "record")
    (tmp_path / "record" / "run.json").chmod(0o600)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert len(before) == 5
    real = getattr(WRITE, where)

    def fail(*args, **kwargs):
        if where == "write_record":
            real(*args, **kwargs)
        raise _BoomError

    def no_links(*args, **kwargs):
        raise PermissionError

    if not links:
        monkeypatch.setattr(os, "link", no_links)
    monkeypatch.setattr(WRITE, where, fail)
    other = coterie.anonymize(queries_log(), Microaggregate(k=3), seed=2)
    with pytest.raises(_BoomError):
        coterie.write(other, tmp_path / "safe.tsv", record=tmp_path / "record", force=True)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    monkeypatch.undo()
    coterie.write(other, tmp_path / "safe.tsv", record=tmp_path / "record", force=True)
    assert len(list(tmp_path.rglob("*.*"))) == len(before) - (other.record.rows is None)


def test_a_full_disk(release, tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(WRITE, "_sink", fail)
    with pytest.raises(InputError, match="full"):
        coterie.write(release, tmp_path / "safe.tsv")
    assert not list(tmp_path.iterdir())


def test_a_full_disk_behind_standard_output(release, monkeypatch):
    class Full:
        def write(self, _data):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("coterie.writing.files.sys.stdout", types.SimpleNamespace(buffer=Full()))
    with pytest.raises(InputError, match="disk that standard output goes to is full"):
        coterie.write(release, "-", kind="tsv")


def test_a_file_that_reads_back_differently_is_not_left(release, tmp_path, monkeypatch):
    monkeypatch.setattr(WRITE, "_sink", lambda frame, path, *a: frame.slice(1).sink_csv(path, separator="\t"))
    with pytest.raises(BrokenPromiseError):
        coterie.write(release, tmp_path / "safe.tsv")
    assert not list(tmp_path.iterdir())


# --- what is never replaced ------------------------------------------------------------------------


def _link(path):
    path.with_name("target.txt").write_text("theirs")
    path.symlink_to(path.with_name("target.txt"))


def _device(path):
    """A device of our own, which leads nowhere; never one of the system's."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(0, 0))
    except (OSError, AttributeError):
        pytest.skip("making a device is not allowed here")


NOT_FILES = {
    "link": (_link, "is a link"),
    "dangling": (lambda path: path.symlink_to(path.with_name("nowhere")), "is a link"),
    "loop": (lambda path: path.symlink_to(path), "is a link"),
    "folder": (lambda path: path.mkdir(), "is a folder"),
    "pipe": (lambda path: os.mkfifo(path), "is a device or a pipe"),
    "device": (_device, "is a device or a pipe"),
}


def _state(folder):
    """Name, kind and content of everything in a folder."""
    return {
        path.name: (stat.S_IFMT(path.lstat().st_mode), path.read_bytes() if stat.S_ISREG(path.lstat().st_mode) else b"")
        for path in folder.iterdir()
    }


@pytest.mark.parametrize("force", [True, False])
@pytest.mark.parametrize("name", ["safe.tsv", "safe.tsv.json"])
@pytest.mark.parametrize("kind", NOT_FILES)
def test_only_regular_files_are_replaced(release, tmp_path, kind, name, force):
    make, message = NOT_FILES[kind]
    make(tmp_path / name)
    before = _state(tmp_path)
    with pytest.raises(ParameterError, match=message) as refused:
        coterie.write(release, tmp_path / "safe.tsv", record=tmp_path / "record", force=force)
    assert ("path '-' and a kind" in str(refused.value)) == (name == "safe.tsv")
    assert _state(tmp_path) == before


@pytest.mark.parametrize("name", ["safe.tsv", "safe.tsv.json", "record/rows.parquet"])
@pytest.mark.parametrize("kind", ["link", "dangling", "pipe", "folder"])
def test_what_came_while_the_rows_were_written_stays(release, tmp_path, monkeypatch, kind, name):
    make, message = NOT_FILES[kind]
    sink = WRITE._sink
    place = tmp_path / name

    def slow(*arguments):
        sink(*arguments)
        place.parent.mkdir(exist_ok=True)
        make(place)

    monkeypatch.setattr(WRITE, "_sink", slow)
    with pytest.raises(ParameterError, match=message):
        coterie.write(release, tmp_path / "safe.tsv", record=tmp_path / "record", force=True)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.name != "target.txt"}
    assert left == {name, *({"record"} if "/" in name else ())}
    assert _state(place.parent)[place.name][0] != stat.S_IFREG


def test_what_came_at_the_last_moment_stays(release, tmp_path, monkeypatch):
    """The sidecar is in place already, and is taken back."""
    write_record = WRITE.write_record

    def slow(*arguments):
        written = write_record(*arguments)
        (tmp_path / "safe.tsv").symlink_to(tmp_path / "nowhere")
        return written

    monkeypatch.setattr(WRITE, "write_record", slow)
    with pytest.raises(ParameterError, match="is a link"):
        coterie.write(release, tmp_path / "safe.tsv", record=tmp_path / "record", force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["safe.tsv"]


def test_a_sidecar_that_somebody_made_meanwhile_is_not_removed(release, tmp_path, monkeypatch):
    write_record = WRITE.write_record

    def slow(*arguments):
        written = write_record(*arguments)
        (tmp_path / "safe.tsv.json").write_text("theirs")
        return written

    monkeypatch.setattr(WRITE, "write_record", slow)
    with pytest.raises(ParameterError, match="exists"):
        coterie.write(release, tmp_path / "safe.tsv", record=tmp_path / "record")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"safe.tsv.json": "theirs"}


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_has_a_name_of_its_own(name):
    """Only asked, never written."""
    if not os.path.lexists(name):
        pytest.skip(f"no {name} here")
    for kind in ("tsv", None):
        with pytest.raises(ParameterError, match="path '-' and a kind"):
            Target(path=name, kind=kind, force=True).refuse([])


@pytest.mark.parametrize("kind", ["link", "dangling", "pipe", "folder"])
def test_a_record_replaces_regular_files_only(release, tmp_path, kind):
    make, message = NOT_FILES[kind]
    (tmp_path / "record").mkdir()
    make(tmp_path / "record" / "subjects.parquet")
    before = _state(tmp_path / "record")
    with pytest.raises(ParameterError, match=message):
        coterie.write(release, tmp_path / "safe.tsv", record=tmp_path / "record", force=True)
    assert _state(tmp_path / "record") == before
    assert [path.name for path in tmp_path.iterdir()] == ["record"]


def test_with_force_a_record_replaces_a_record_and_nothing_else(release, tmp_path):
    record = tmp_path / "record"
    coterie.write(release, tmp_path / "safe.tsv", record=record)
    for name in ("notes.txt", "other.parquet"):
        (record / name).write_text("mine")
    other = coterie.anonymize(queries_log(), SuppressRare(k=3), seed=2)
    coterie.write(other, tmp_path / "safe.tsv", record=record, force=True)
    assert json.loads((record / "run.json").read_text())["seed"] == 2
    assert [(record / name).read_text() for name in ("notes.txt", "other.parquet")] == ["mine", "mine"]


@pytest.mark.parametrize("make", [lambda path: path.write_text(""), lambda path: path.symlink_to("nowhere")])
def test_a_record_needs_a_folder(release, tmp_path, make):
    make(tmp_path / "record")
    with pytest.raises(ParameterError, match="not a folder"):
        coterie.write(release, tmp_path / "safe.tsv", record=tmp_path / "record", force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["record"]


def test_a_folder_for_the_sidecar(release, tmp_path):
    with pytest.raises(MissingError, match="does not exist"):
        coterie.write(release, tmp_path / "safe.tsv", sidecar=tmp_path / "no" / "side.json")
    assert not list(tmp_path.iterdir())
