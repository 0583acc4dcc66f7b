"""What can be checked of released files themselves, for one file and for parts."""

import json

import pytest

import coterie
from coterie.errors import InputError
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing import queries_log
from coterie.writing.released import as_described, file_checks, is_one_file, released_rows
from coterie.writing.sidecar import read_sidecar, sidecar_path


@pytest.fixture(params=[None, 3])
def path(request, tmp_path):
    where = tmp_path / "safe.tsv"
    coterie.write(coterie.anonymize(queries_log(), SuppressRare(k=3), seed=1), where, parts=request.param)
    return where


def _status(path):
    sidecar = read_sidecar(path)
    frame, shape, *_ = released_rows(path, sidecar)
    return {check.name: check.status for check in file_checks(path, frame, shape, sidecar)}


def _edit(path, **values):
    data = json.loads(sidecar_path(path).read_text())
    sidecar_path(path).write_text(json.dumps({**data, **values}))


def _first(path):
    return path / "part-00000.tsv" if path.is_dir() else path


def test_as_written(path):
    assert set(_status(path).values()) == {"passed"}
    sidecar = read_sidecar(path)
    assert is_one_file(sidecar) != path.is_dir()
    frame, shape, names, _keep = as_described(path, sidecar)
    assert names == [name for name in shape.released if name not in sidecar.left_out]
    assert frame.collect().height > 3


def test_other_rows_than_the_sidecar_tells(path):
    _edit(path, rows_sha256="0" * 64)
    assert _status(path)["digest"] == "failed"


def test_a_line_that_cannot_be_read(path):
    _first(path).write_text(_first(path).read_text() + "x\ty\n")
    status = _status(path)
    assert (status["readable"], status["digest"], status["canonical"]) == ("failed", "failed", "failed")


def test_a_sidecar_that_says_table_and_means_something_else(path):
    _edit(path, table=True)
    with pytest.raises(InputError, match="'table' says that it is about a table, and the rest that it is not"):
        read_sidecar(path)
