"""Released files, read back: their rows, and what can be checked of the files themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from coterie.core.log import Log
from coterie.core.parts import changed_parts, refuse_other_files, refuse_other_parts
from coterie.core.promise import Check, Status
from coterie.core.row_digest import digest_of_rows
from coterie.core.shapes import Shape
from coterie.errors import InputError
from coterie.reading.logs import read_release, released_kind
from coterie.writing.canonical import canonical
from coterie.writing.files import sha256, unnamed
from coterie.writing.sidecar import Sidecar, consistent


def released_rows(path: Path, sidecar: Sidecar) -> tuple[pl.LazyFrame, Shape, list[str], tuple[object, ...]]:
    """The rows of a released file, or of a folder that has exactly the files that the sidecar names."""
    if sidecar.parts or path.is_dir():
        refuse_other_files(path, sidecar.parts)
    return read_release(path, sidecar.released_shape, csv_safe=sidecar.csv_safe, parts=sidecar.parts)


def as_described(path: Path, sidecar: Sidecar) -> tuple[pl.LazyFrame, Shape, list[str], tuple[object, ...]]:
    """The same, of parts and tables that are what the sidecar describes, to the byte or to the row."""
    if sidecar.parts:
        refuse_other_parts(path, sidecar.parts)
    frame, shape, names, resources = released_rows(path, sidecar)
    if sidecar.table and digest_of_rows(frame.select(shape.released)) != sidecar.rows_sha256:
        raise InputError(f"{path.stem} is not the table that the sidecar describes: its rows are others.")
    return frame, shape, names, resources


def is_one_file(sidecar: Sidecar) -> bool:
    """Whether the digest of a release is that of its file."""
    return not sidecar.parts and not sidecar.table


def file_checks(
    path: Path,
    frame: pl.LazyFrame,
    shape: Shape,
    sidecar: Sidecar,
    original: Log | None = None,
    made: Sequence[Check] = (),
) -> tuple[Check, ...]:
    """Whether the files are whole, those of the sidecar, and as Coterie writes them; `frame` is what was read.

    With the `original` also whether the sidecar tells who is counted in it, and with the checks that were `made`
    whether it tells of them.
    """
    unread = frame.select(pl.col("bad").is_not_null().sum()).collect(engine="streaming").item()
    rows = frame.drop("bad")
    first = path / sidecar.parts[0].name if sidecar.parts else path
    kind = "parquet" if sidecar.table else released_kind(first)[0]
    left_out = unnamed(Log(frame=rows, shape=shape), kind)
    file = canonical(path, rows, shape, sidecar.csv_safe, sidecar.parts, left_out)
    return (
        _check("readable", unread, "every line can be read", "cannot"),
        _digest(path, rows.select(shape.released), sidecar),
        _as_a_table(file) if sidecar.table else file,
        consistent(sidecar, left_out, original, made),
    )


def _digest(path: Path, rows: pl.LazyFrame, sidecar: Sidecar) -> Check:
    """Whether files and rows have the digests that the sidecar tells."""
    other_rows = sidecar.rows_sha256 != digest_of_rows(rows)
    if sidecar.parts:
        changed = len(changed_parts(path, sidecar.parts)) or other_rows
        return _check("digest", changed, "the parts are those the sidecar describes", "are not")
    if sidecar.table:  # the file is a copy of its rows
        return _check("digest", other_rows, "the table is the one the sidecar describes", "is not")
    changed = sha256(path) != sidecar.sha256 or other_rows
    return _check("digest", changed, "the file is the one the sidecar describes", "is not")


def _as_a_table(file: Check) -> Check:
    """What the check of a copy says about the table: other columns and types have been refused before."""
    return replace(file, detail="the table has the columns and types that Coterie writes, and no others", how="")


def _check(name: str, broken: int, detail: str, fault: str) -> Check:
    status: Status = "failed" if broken else "passed"
    return Check(name=name, status=status, detail=detail, broken=int(broken), fault=fault if broken else "")
