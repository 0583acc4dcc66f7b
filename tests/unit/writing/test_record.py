"""The private run record: for its owner only, listed in run.json, whole or refused with a sentence."""

import json
import os
import stat
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie.core.log import Record
from coterie.errors import InputError, InternalError, MissingError, ParameterError
from coterie.methods.affinity import Affinity
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing import queries_log
from coterie.writing import files
from coterie.writing.record import RunFile, read_record, remove_record, write_record
from tests.helpers.examples import examples

RUN = {
    "method": "suppress_rare",
    "parameters": {"k": 3, "users": "drop"},
    "seed": 2**127,
    "seed_chosen": False,
    "subjects": 3,
    "rows": 9,
    "history": [{"name": "read", "counts": {"lines": 9}, "notes": ["a note"]}, {"name": "normalize"}],
    "input_sha256": ["0" * 64],
    "input_digest": "0" * 64,
    "learning_seed": None,
    "groups": "",
    "groups_of": [],
}
SUBJECTS = pl.DataFrame({"original": ["a", "b"], "released": ["x", None], "group": [0, 1]}).lazy()
ROWS = pl.DataFrame({"released_row": [0, 1], "row": [5, 3]}).lazy()
EVIDENCE = {"my_proof": pl.DataFrame({"item": ["q"], "by": [1]}).lazy()}


@pytest.fixture
def record():
    return Record(run=RUN, subjects=SUBJECTS, rows=ROWS, tables=EVIDENCE)


def _mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def _names(folder):
    return sorted(path.name for path in folder.iterdir())


def _same(one, other):
    assert one.subjects.collect().equals(other.subjects.collect())
    assert (one.rows is None) == (other.rows is None)
    assert one.rows is None or one.rows.collect().equals(other.rows.collect())
    assert sorted(one.tables) == sorted(other.tables)
    assert all(table.collect().equals(other.tables[name].collect()) for name, table in one.tables.items())


def test_tables_are_whatever_evidence_there_was(record, tmp_path):
    write_record(record, tmp_path / "r", "1" * 64)
    assert _names(tmp_path / "r") == ["my_proof.parquet", "rows.parquet", "run.json", "subjects.parquet"]
    data = json.loads((tmp_path / "r" / "run.json").read_text())
    assert data["format"] == 1
    assert data["tables"] == {
        "subjects": ["original", "released", "group"],
        "rows": ["released_row", "row"],
        "my_proof": ["item", "by"],
    }
    again = read_record(tmp_path / "r")
    _same(again, record)
    assert again.run["seed"] == 2**127
    assert again.run["released_sha256"] == "1" * 64
    assert again.run["history"][0] == {"name": "read", "counts": {"lines": 9}, "notes": ["a note"]}


@pytest.mark.parametrize("umask", [0, 0o077, 0o777])
@pytest.mark.parametrize("before", [None, 0o755, 0o777, 0o500])
def test_only_its_owner_can_read_it(record, tmp_path, umask, before):
    folder = tmp_path / "r"
    if before is not None:
        folder.mkdir()
        folder.chmod(before)
    former = os.umask(umask)
    try:
        write_record(record, folder)
    finally:
        os.umask(former)
    assert _mode(folder) == 0o700
    assert {_mode(path) for path in folder.iterdir()} == {0o600}


def test_files_are_private_before_anything_is_in_them(record, tmp_path, monkeypatch):
    modes = []
    sink = pl.LazyFrame.sink_parquet
    monkeypatch.setattr(
        pl.LazyFrame, "sink_parquet", lambda self, path, **more: (modes.append(_mode(path)), sink(self, path, **more))
    )
    write_record(record, tmp_path / "r")
    assert modes == [0o600] * 3


@pytest.mark.parametrize("name", ["../x", "a/b", "Proof", "a1", "a.b", "", "a\n", "subjects", "rows"])
def test_names_of_evidence_that_are_refused(record, tmp_path, name):
    with pytest.raises(InternalError):
        write_record(replace(record, tables={name: ROWS}), tmp_path / "r")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("change", [{"blocks": 7}, {"seed": "7"}])
def test_a_run_that_is_not_declared_is_our_fault(record, tmp_path, change):
    with pytest.raises(InternalError, match=r"cannot be written"):
        write_record(replace(record, run={**RUN, **change}), tmp_path / "r")
    assert not list(tmp_path.iterdir())


def test_a_record_that_is_replaced_leaves_no_table_behind(record, tmp_path):
    folder = tmp_path / "r"
    write_record(record, folder)
    (folder / "mine.txt").write_text("mine")
    with pytest.raises(ParameterError, match=r"not empty"):
        write_record(record, folder)
    write_record(replace(record, rows=None, tables={"other": ROWS}), folder, force=True)
    assert _names(folder) == ["mine.txt", "other.parquet", "run.json", "subjects.parquet"]
    assert sorted(read_record(folder).tables) == ["other"]


def test_a_damaged_record_is_replaced_too(record, tmp_path):
    folder = tmp_path / "r"
    write_record(record, folder)
    (folder / "run.json").write_text("{")
    write_record(replace(record, rows=None), folder, force=True)
    assert _names(folder) == ["my_proof.parquet", "run.json", "subjects.parquet"]


def test_a_file_in_place_of_the_folder(record, tmp_path):
    (tmp_path / "r").write_text("mine")
    for force in (False, True):
        with pytest.raises(ParameterError, match=r"not a folder"):
            write_record(record, tmp_path / "r", force=force)


def test_what_was_written_is_taken_back_and_nothing_else(record, tmp_path):
    written = write_record(record, tmp_path / "a" / "b" / "r")
    remove_record(written)
    assert not list(tmp_path.iterdir())
    (tmp_path / "there").mkdir()
    written = write_record(record, tmp_path / "there")
    (tmp_path / "there" / "mine.parquet").write_text("mine")
    remove_record(written)
    assert _names(tmp_path / "there") == ["mine.parquet"]
    (tmp_path / "there" / "mine.parquet").unlink()
    remove_record(write_record(record, tmp_path / "there"))
    assert (tmp_path / "there").is_dir()


class _BoomError(Exception):
    pass


def test_a_failure_leaves_the_former_record_as_it_was(record, tmp_path):
    folder = tmp_path / "r"
    write_record(record, folder)

    def fail(_):
        raise _BoomError

    broken = ROWS.map_batches(fail, schema=ROWS.collect_schema())
    for force, target in ((True, folder), (False, tmp_path / "new")):
        with pytest.raises((_BoomError, pl.exceptions.PolarsError)):
            write_record(replace(record, tables={"broken": broken}), target, force=force)
    assert _names(tmp_path) == ["r"]
    _same(read_record(folder), record)


def test_a_release_that_cannot_be_put_in_place_leaves_no_record(tmp_path, monkeypatch):
    release = coterie.anonymize(queries_log(), SuppressRare(k=3), seed=1)

    def fail(_):
        raise _BoomError

    monkeypatch.setattr(files, "_pour", fail)
    with pytest.raises(_BoomError):
        coterie.write(release, "-", kind="tsv", record=tmp_path / "r", sidecar=tmp_path / "s.json")
    assert not list(tmp_path.iterdir())


def _change(folder, **change):
    data = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**data, **change}))


def _mistakes():
    yield {"tables": {"../x": ["a"]}}, "of the form [a-z_]+"
    yield {"tables": {"rows": ["row", "released_row"]}}, "lists no table of subjects"
    subjects = {"subjects": ["original", "released", "group"]}
    yield {"tables": {**subjects, "more": ["a"]}}, "lists more.parquet, which is missing"
    yield {"tables": {"subjects": ["original", "group"]}}, "subjects.parquet has other columns"
    yield {"history": [{"name": "read", "coutns": {}}]}, "unknown key 'coutns' in history[0]; did you mean 'counts'?"
    yield {"history": [{"name": "read", "counts": {"lines": "9"}}]}, "'counts' (a value in it) in history[0]"
    yield {"sed": 7}, "unknown key 'sed'; did you mean 'seed'?"
    yield {"somebody's query": 7}, "unknown key; known here"
    for key in RunFile.__annotations__:
        if key != "format":
            yield {key: 1.5}, f"'{key}' must be "


@pytest.mark.parametrize(("change", "message"), list(_mistakes()), ids=lambda value: str(value)[:50])
def test_mistakes(record, tmp_path, change, message):
    write_record(record, tmp_path / "r")
    _change(tmp_path / "r", **change)
    with pytest.raises(InputError) as refused:
        read_record(tmp_path / "r")
    assert str(refused.value).startswith(f"The run record in {tmp_path / 'r'} is damaged: ")
    assert message in str(refused.value)


@pytest.mark.parametrize("key", list(RunFile.__annotations__))
def test_every_key_but_one_is_needed(record, tmp_path, key):
    write_record(record, tmp_path / "r")
    data = json.loads((tmp_path / "r" / "run.json").read_text())
    del data[key]
    (tmp_path / "r" / "run.json").write_text(json.dumps(data))
    if key == "warnings":
        assert read_record(tmp_path / "r").run["method"] == "suppress_rare"
        return
    with pytest.raises(InputError, match=f"'{key}' is missing"):
        read_record(tmp_path / "r")


def test_tables_that_are_damaged(record, tmp_path):
    folder = tmp_path / "r"
    write_record(record, folder)
    whole = (folder / "my_proof.parquet").read_bytes()
    for data, message in ((whole[:-9], "cannot be read"), (b"", "cannot be read")):
        (folder / "my_proof.parquet").write_bytes(data)
        with pytest.raises(InputError, match=f"my_proof.parquet {message}"):
            read_record(folder)
    pl.DataFrame({"item": [1]}).write_parquet(folder / "my_proof.parquet")
    with pytest.raises(InputError, match=r"my_proof.parquet has other columns"):
        read_record(folder)
    (folder / "my_proof.parquet").unlink()
    with pytest.raises(InputError, match=r"my_proof.parquet, which is missing"):
        read_record(folder)


@pytest.mark.parametrize("data", [b"", b"\xff", b"[]", b"{", b'{"seed": 1, "seed": 1}', b'{"seed": NaN}', b"[" * 10**5])
def test_junk(record, tmp_path, data):
    write_record(record, tmp_path / "r")
    (tmp_path / "r" / "run.json").write_bytes(data)
    with pytest.raises(InputError, match=r"is damaged"):
        read_record(tmp_path / "r")


def test_no_record_at_all(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path, tmp_path / "no", tmp_path / "file"):
        with pytest.raises(MissingError, match=r"holds no run record"):
            read_record(folder)


def test_another_format_is_refused(record, tmp_path):
    write_record(record, tmp_path / "r")
    _change(tmp_path / "r", format=3)
    with pytest.raises(InputError, match=r"^The run record in .* was written by another version of Coterie \(format 3"):
        read_record(tmp_path / "r")


def test_the_record_of_a_real_run(tmp_path):
    release = coterie.anonymize(queries_log(), Affinity(k=3), seed=5)
    coterie.write(release, tmp_path / "safe.tsv", record=tmp_path / "r")
    loaded = coterie.load_release(tmp_path / "safe.tsv", tmp_path / "r")
    _same(loaded.record, release.record)
    assert sorted(loaded.record.tables) == ["certificate", "degrees"]
    assert coterie.verify(tmp_path / "safe.tsv", queries_log(), record=tmp_path / "r").exit_code == 0


_scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@given(
    parameters=st.dictionaries(st.text(), _scalars | st.lists(_scalars)),
    seed=st.integers(0, 2**128),
    steps=st.lists(st.fixed_dictionaries({"name": st.text(), "counts": st.dictionaries(st.text(), st.integers())})),
    tables=st.dictionaries(st.from_regex(r"[a-z_]{1,20}\Z", fullmatch=True), st.just(ROWS), max_size=3),
    keep_rows=st.booleans(),
)
@settings(max_examples=examples(20))
def test_what_is_written_is_read(tmp_path_factory, parameters, seed, steps, tables, keep_rows):
    tables = {name: frame for name, frame in tables.items() if name not in ("rows", "subjects")}
    run = {**RUN, "parameters": parameters, "seed": seed, "history": steps}
    record = Record(run=run, subjects=SUBJECTS, rows=ROWS if keep_rows else None, tables=tables)
    folder = tmp_path_factory.mktemp("record")
    write_record(record, folder, "0" * 64)
    first = (folder / "run.json").read_bytes()
    again = read_record(folder)
    _same(again, record)
    assert {key: again.run[key] for key in ("parameters", "seed")} == {"parameters": parameters, "seed": seed}
    assert steps == [{"name": step["name"], "counts": step["counts"]} for step in again.run["history"]]
    write_record(again, folder, "0" * 64, force=True)
    assert (folder / "run.json").read_bytes() == first
