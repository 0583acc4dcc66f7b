"""Elsewhere: releases that go to object stores and databases, and released files that are read from there.

A release for an object store is written to a private folder first, as any release is, with all its checks; then its
files are uploaded and read back, and the sidecar comes last: without it there is no release. Where something fails,
what was uploaded is removed. Nothing that is there is ever replaced.

A table of a database is made in one transaction. It has rows and no bytes, and no order. So its sidecar, which lies
wherever `--sidecar` says, has the digest of the rows in place of that of a file, and the rows are put in the order of a
release before anybody looks at them. Columns must have exactly the names and types that are written here: what else
stands in a table could name people.
"""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from coterie.core.files import OBJECTS, Place, place_of
from coterie.core.log import Release
from coterie.core.parts import listed_parts, sidecar_path
from coterie.core.row_digest import digest_of_rows
from coterie.core.scratch import Scratch
from coterie.core.shapes import TIME, Shape
from coterie.errors import BrokenPromiseError, InputError, MissingError, ParameterError
from coterie.reading.places import fetch
from coterie.reading.places.databases import Database, Kind, connect, quoted
from coterie.writing.files import refuse_unverified, write_release
from coterie.writing.record import record_files, remove_record, write_record
from coterie.writing.rows import _compare, _sink
from coterie.writing.sidecar import Sidecar, read_sidecar, sidecar_of, write_sidecar
from coterie.writing.target import Target, kind_of
from coterie.writing.targets import refuse_output, refuse_record, temporary


def refuse_place(target: Target, place: Place) -> None:
    """Refuse before any work what would be refused when a release is written to a place."""
    if place.is_database:
        for option, given in (("--to", target.kind), ("--csv-safe", target.csv_safe), ("--parts", target.parts)):
            if given:
                raise ParameterError(f"{place.label}: {option} is for files. Leave it out for a table.")
        refuse_table(place, target)
        return
    if place.scheme not in OBJECTS:
        raise ParameterError(f"{place.label}: nothing can be written to a web address. Write a file and send it.")
    kind_of(place.name, target.kind)
    target.refuse_spreadsheets()
    if target.sidecar is not None:
        raise ParameterError(f"{place.label}: the sidecar lies beside the release. Leave out --sidecar.")
    if target.force:
        raise ParameterError(f"{place.label}: --force replaces files of this machine only. Choose another name.")
    if target.record is not None:
        refuse_record(target.record, record_files(target.record), False)
    from coterie.reading.places import objects

    for each in (place, place.beside(".json")):
        if objects.exists(each):
            raise ParameterError(f"{each.label} exists. Choose another name: nothing is replaced there.")


def write_elsewhere(release: Release, target: Target, place: Place) -> str:
    """Write a verified release to an object store or a database; returns its digest."""
    target.refuse([])
    refuse_unverified(release, target.promise)
    if place.is_database:
        return write_table(release, place, target)
    from coterie.reading.places import objects

    scratch, record = Scratch(), target.record
    local = scratch.path / place.name
    known = record is not None and record.exists()
    digest = write_release(release, replace(target, path=str(local)))
    try:
        with objects.uploading(place) as upload:
            for file in sorted(local.iterdir()) if local.is_dir() else [local]:
                upload.put(file, place.beside(f"/{file.name}") if local.is_dir() else place)
            upload.put(sidecar_path(local), place.beside(".json"))
    except BaseException:
        if record is not None:
            files = [record / name for name in record_files(record)]
            remove_record([*([] if known else [record]), *files])
        raise
    return digest


class Near:
    """A released file that can be read here: itself, or a copy that goes with this object."""

    def __init__(self, path: Path, folder: Scratch | None = None) -> None:
        self.path, self.folder = path, folder


def bring_release(path: str | Path, sidecar: str | Path | None = None) -> Near:
    """A released file, with its sidecar beside it; what is elsewhere is copied to a private folder.

    `sidecar` is for tables of databases, which have nothing beside them.
    """
    place = place_of(path)
    if sidecar is not None and (place is None or not place.is_database):
        raise ParameterError("--sidecar is for tables of databases: a file has its sidecar beside it.")
    if place is None:
        return Near(Path(path))
    scratch = Scratch()
    if place.is_database:
        return Near(_table(place, sidecar, scratch.path), scratch)
    target = scratch.path / place.name
    try:
        (beside,) = fetch(place.beside(".json"), scratch.path)
        beside.replace(sidecar_path(target))
    except MissingError:  # rows that Coterie did not make
        fetch(place, scratch.path)
        return Near(target, scratch)
    parts = listed_parts(target)
    if not parts:
        fetch(place, scratch.path)
    elif place.scheme in OBJECTS:
        from coterie.reading.places import objects

        target.mkdir()
        objects.fetch_below(place, target)
    else:  # a web address has no list of files, so others than those named are not seen
        target.mkdir()
        for part in parts:
            fetch(place.beside(f"/{part.name}"), target)
    return Near(target, scratch)


def _table(place: Place, sidecar: str | Path | None, folder: Path) -> Path:
    if sidecar is None:
        raise ParameterError(f"{place.label}: nothing lies beside a table. Say where its sidecar is: --sidecar FILE.")
    name = Path(sidecar).name.removesuffix(".json")
    try:
        shutil.copyfile(sidecar, folder / f"{name}.json")
    except OSError:
        raise MissingError(f"{Path(sidecar).name}: the sidecar is missing, or cannot be read.") from None
    said = read_sidecar(folder / name)
    if said is None:
        raise MissingError(f"{Path(sidecar).name}: the sidecar is missing.")
    path = bring_table(place, said, folder)
    (folder / f"{name}.json").replace(sidecar_path(path))
    return path


_SECONDS = "%Y-%m-%d %H:%M:%S"


def refuse_table(place: Place, target: Target) -> None:
    """Refuse before any work a table that cannot be written."""
    if place.table is None:
        raise ParameterError(f"{place.label}: say which table to write, behind #: {place.scheme}:...#TABLE.")
    if target.sidecar is None:
        raise ParameterError(f"{place.label}: nothing lies beside a table. Say where its sidecar goes: --sidecar FILE.")
    if target.force:
        raise ParameterError(f"{place.label}: --force replaces files, never a table. Choose another name.")
    refuse_output(Path(target.sidecar), False)
    if target.record is not None:
        refuse_record(target.record, record_files(target.record), False)
    if _is_there(place):
        with connect(place) as database:
            _refuse_existing(database, place)


def write_table(release: Release, place: Place, target: Target) -> str:
    """Write a release to a new table, its sidecar and its record; returns the digest of its rows.

    The rows are written to a private file first, and read back from there as for any release; then once more from the
    database, before the transaction ends. Record and sidecar are there before the table is.
    """
    shape, scratch = release.log.shape, Scratch()
    sidecar, record = Path(str(target.sidecar)), target.record
    rows = scratch.path / "rows.parquet"
    _sink(release.log.frame, rows, "parquet", None)
    _compare(rows, release, Target(path=str(rows)))
    table, columns = place.table or "", _columns(shape)
    with ExitStack() as undo, temporary(sidecar.parent, "sidecar") as meta, connect(place, write=True) as database:
        _refuse_existing(database, place)
        database.create(table, columns, rows)
        back = scratch.path / "back.parquet"
        database.read(f"SELECT * FROM {quoted(table)}", back)  # noqa: S608 (a name of letters)
        if digest_of_rows(_as_released(back, shape, place)) != release.verified:
            raise BrokenPromiseError("The table does not hold the rows that were verified, so it was not written.")
        write_sidecar(sidecar_of(release, release.verified, table=True), meta)
        if record is not None and release.record is not None:
            undo.callback(remove_record, write_record(release.record, record, release.verified))
        refuse_output(sidecar, False)
        undo.callback(sidecar.unlink, missing_ok=True)
        meta.replace(sidecar)
        database.commit()
        undo.pop_all()
    return release.verified


def bring_table(place: Place, sidecar: Sidecar, folder: Path) -> Path:
    """The rows of a table that was released, as the file that Coterie would have written."""
    if place.table is None:
        raise ParameterError(f"{place.label}: say which table to read, behind #: {place.scheme}:...#TABLE.")
    if not sidecar.table:
        raise InputError(f"{place.label}: the sidecar that was given describes a file, not a table.")
    shape, raw, target = sidecar.released_shape, folder / "raw.parquet", folder / f"{place.table}.parquet"
    with connect(place) as database:
        if not database.has(place.table):
            raise MissingError(f"{place.label}: there is no such table.")
        database.read(f"SELECT * FROM {quoted(place.table)}", raw)  # noqa: S608 (a name of letters)
    _sink(_as_released(raw, shape, place), target, "parquet", None)
    raw.unlink()
    return target


def _refuse_existing(database: Database, place: Place) -> None:
    if place.table is not None and database.has(place.table):
        raise ParameterError(f"{place.label} exists, and a table is never replaced. Choose another name.")


def _is_there(place: Place) -> bool:
    """Whether there is a database to ask; a file that is not there yet will be made."""
    return place.scheme == "postgresql" or Path(place.address.partition(":")[2].removeprefix("//")).exists()


def _columns(shape: Shape) -> dict[str, Kind]:
    return {name: _kind(shape.schema[name]) for name in shape.released}


def _kind(dtype: pl.DataType | type[pl.DataType]) -> Kind:
    if dtype == pl.String:
        return "text"
    if dtype == TIME:
        return "time"
    return "number" if dtype == pl.Float64 else "whole"


def _as_released(file: Path, shape: Shape, place: Place) -> pl.LazyFrame:
    """The rows of a table with the types of their shape, in the order of a release."""
    raw = pl.read_parquet(file)
    if raw.columns != list(shape.released):
        raise InputError(f"{place.label}: a release of this shape has the columns {', '.join(shape.released)} alone.")
    wanted: dict[Kind, Any] = {"text": pl.String, "whole": pl.Int64, "number": pl.Float64, "time": TIME}
    if place.scheme == "sqlite":  # which has no type for times
        wanted["time"] = pl.String
    for name, kind in _columns(shape).items():
        if raw[name].dtype != wanted[kind] and raw[name].count():
            raise InputError(f"{place.label}: the column {name!r} has another type than it was written with.")
    try:
        rows = raw.select(
            pl.col(name).str.to_datetime(_SECONDS, time_unit="us")
            if raw[name].dtype == pl.String and kind == "time"
            else pl.col(name).cast(shape.schema[name])
            for name, kind in _columns(shape).items()
        )
    except pl.exceptions.PolarsError:
        raise InputError(f"{place.label}: a column holds values that no release has.") from None
    for name, kind in _columns(shape).items():  # a text can spell a time in several ways, and only one of them is ours
        spelled = rows[name].dt.strftime(_SECONDS) if kind == "time" and raw[name].dtype == pl.String else raw[name]
        if kind == "time" and not spelled.equals(raw[name], null_equal=True):
            raise InputError(f"{place.label}: a column holds times that are spelled otherwise than they were written.")
    return rows.sort(shape.order).lazy()
