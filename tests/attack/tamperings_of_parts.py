"""Tamperings with releases of parts; see `tamperings.py`. What can be made to fit the sidecar again is made so."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pyarrow.parquet as pq

import coterie
from coterie import api
from coterie.core.digests import Part, list_digest
from coterie.methods.suppress_rare import SuppressRare
from coterie.writing.canonical import _sink
from coterie.writing.files import sha256
from coterie.writing.target import kind_of
from tests.attack.tamperings import SEED, Forgery, tampering, write_release

TEXT, PACKED, COLUMNS = PARTS = ("parts.tsv", "parts.tsv.gz", "parts.parquet")
LAST = 2


def make_releases(folder: Path) -> None:
    """One release in three parts, in three kinds of files, after those of `tamperings.py`."""
    release = api.anonymize_prepared(coterie.prepare(coterie.read(folder / "log.tsv")), SuppressRare(k=3), seed=SEED)
    for name in PARTS:
        write_release(folder, name, release, "log.tsv", parts=LAST + 1)


def _part(f: Forgery, number: int) -> Path:
    return f.path / f"part-{number:05}{f.path.name.removeprefix('parts')}"


def _text(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


def _put_text(path: Path, text: str) -> None:
    """As our own writer packs it."""
    import pyarrow as pa

    if path.suffix == ".gz":
        with pa.output_stream(str(path), compression="gzip") as stream:
            stream.write(text.encode())
    else:
        path.write_text(text)


def _seal(f: Forgery, rows: Sequence[int] | None = None, names: Sequence[str] | None = None) -> None:
    """Let sidecar and record describe the folder as it is now; `rows`: of each part, else as they were said before."""
    said = json.loads(f._side.read_text())["parts"]
    names = sorted(path.name for path in f.path.iterdir()) if names is None else names
    rows = [part["rows"] for part in said] if rows is None else rows
    parts = [
        Part(name=name, rows=number, sha256=sha256(f.path / name))
        for name, number in zip(names, rows, strict=len(names) == len(rows))
    ]
    digest = list_digest(parts)

    def describe(data: dict[str, Any]) -> None:
        data.update(parts=msgspec.to_builtins(parts), sha256=digest)

    f.edit_sidecar(describe)
    f.edit_run(released_sha256=digest)
    f.seal_rows(parts)


@tampering(*PARTS)
def a_part_is_missing(f: Forgery) -> None:
    _part(f, 1).unlink()


@tampering(TEXT, COLUMNS)
def the_first_part_is_missing_and_the_others_are_renamed(f: Forgery) -> None:
    _part(f, 0).unlink()
    for number in range(LAST):
        _part(f, number + 1).rename(_part(f, number))
    said = [part["rows"] for part in json.loads(f._side.read_text())["parts"]]
    _seal(f, said[1:] if f.path.name == COLUMNS else said[:2])


@tampering(*PARTS)
def one_part_more(f: Forgery) -> None:
    shutil.copy(_part(f, LAST), _part(f, LAST + 1))


@tampering(TEXT, COLUMNS)
def one_part_twice(f: Forgery) -> None:
    shutil.copy(_part(f, LAST), _part(f, LAST + 1))
    said = [part["rows"] for part in json.loads(f._side.read_text())["parts"]]
    _seal(f, [*said, said[-1]])


@tampering(TEXT)
def a_hidden_file(f: Forgery) -> None:
    (f.path / ".who").write_text("row 1 is user 7")


@tampering(TEXT)
def a_folder_among_the_parts(f: Forgery) -> None:
    (f.path / "row 1 is user 7").mkdir()


@tampering(COLUMNS)
def a_link_in_place_of_a_part(f: Forgery) -> None:
    _part(f, 1).rename(f.path.with_name("elsewhere"))
    _part(f, 1).symlink_to(f.path.with_name("elsewhere"))


@tampering(*PARTS)
def names_that_tell_something(f: Forgery) -> None:
    _part(f, LAST).rename(_part(f, 77))
    _seal(f)


@tampering(TEXT, COLUMNS)
def names_of_another_kind(f: Forgery) -> None:
    for number in range(LAST + 1):
        _part(f, number).rename(_part(f, number).with_suffix(".csv"))
    _seal(f)


@tampering(TEXT)
def parts_in_another_order_in_the_sidecar(f: Forgery) -> None:
    _seal(f, names=[_part(f, number).name for number in (0, 2, 1)])


@tampering(*PARTS)
def parts_in_another_order(f: Forgery) -> None:
    spare = f.path.with_name("spare")
    for old, new in ((_part(f, 1), spare), (_part(f, 2), _part(f, 1)), (spare, _part(f, 2))):
        old.rename(new)
    _seal(f)


@tampering(*PARTS)
def a_part_is_changed(f: Forgery) -> None:
    shutil.copy(_part(f, 1), _part(f, 2))


@tampering(TEXT)
def the_list_has_another_digest(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data.update(sha256="0" * 64))


@tampering(TEXT, PACKED, COLUMNS)
def the_rows_have_another_digest(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data.update(rows_sha256="0" * 64))


@tampering(*PARTS)
def files_end_where_they_tell_something(f: Forgery) -> None:
    said = [part["rows"] for part in json.loads(f._side.read_text())["parts"]]
    if f.path.name == COLUMNS:
        one, two = pl.read_parquet(_part(f, 1)), pl.read_parquet(_part(f, 2))
        _sink(one.head(-7).lazy(), _part(f, 1), *kind_of(_part(f, 1)))
        _sink(pl.concat([one.tail(7), two]).lazy(), _part(f, 2), *kind_of(_part(f, 2)))
    else:
        lines = _text(_part(f, 1)).splitlines(keepends=True)
        _put_text(_part(f, 1), "".join(lines[:-7]))
        _put_text(_part(f, 2), "".join(lines[-7:]) + _text(_part(f, 2)))
    _seal(f, [said[0], said[1] - 7, said[2] + 7])


@tampering(TEXT)
def files_end_where_they_tell_something_and_the_sidecar_is_silent(f: Forgery) -> None:
    lines = _text(_part(f, 1)).splitlines(keepends=True)
    _put_text(_part(f, 1), "".join(lines[:-7]))
    _put_text(_part(f, 2), "".join(lines[-7:]) + _text(_part(f, 2)))
    _seal(f)


@tampering(TEXT, PACKED)
def files_end_within_a_line(f: Forgery) -> None:
    text = _text(_part(f, 1))
    _put_text(_part(f, 1), text[:-5])
    _put_text(_part(f, 2), text[-5:] + _text(_part(f, 2)))
    _seal(f)


@tampering(TEXT, PACKED)
def every_part_has_a_header(f: Forgery) -> None:
    header = _text(_part(f, 0)).splitlines(keepends=True)[0]
    _put_text(_part(f, 1), header + _text(_part(f, 1)))
    _seal(f)


@tampering(TEXT, PACKED)
def blank_lines_in_a_later_part(f: Forgery) -> None:
    _put_text(_part(f, 2), _text(_part(f, 2)) + "\n\n")
    _seal(f)


@tampering(PACKED)
def a_name_in_the_header_of_a_later_part(f: Forgery) -> None:
    text = _text(_part(f, 2)).encode()
    with _part(f, 2).open("wb") as stream, gzip.GzipFile("user 7", "wb", fileobj=stream) as packed:
        packed.write(text)
    _seal(f)


@tampering(PACKED)
def a_later_part_is_not_packed(f: Forgery) -> None:
    _part(f, 2).write_text(_text(_part(f, 2)))
    _seal(f)


@tampering(COLUMNS)
def notes_in_a_later_part(f: Forgery) -> None:
    table = pq.read_table(_part(f, 2))
    pq.write_table(table.replace_schema_metadata({"who": "row 1 is user 7"}), _part(f, 2))
    _seal(f)


@tampering(COLUMNS)
def a_column_more_in_a_later_part(f: Forgery) -> None:
    rows = pl.read_parquet(_part(f, 2)).with_row_index("who")
    _sink(rows.lazy(), _part(f, 2), "parquet", None)
    _seal(f)
