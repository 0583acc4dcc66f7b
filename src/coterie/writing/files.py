"""Files: a verified release -> its file or folder of parts, with the sidecar and the record beside it, or a place
elsewhere; listed and summed up in numbers, and brought back from there.

Nothing half-written is ever left: rows go to a temporary name, are read back and compared with what was verified. Then
a release that is to be replaced is removed; record and sidecar are put in place, and the file last. So whenever the
process is killed, a file that is there has its own sidecar and record. A folder of parts comes before its sidecar,
which says that all of it is there: a folder without one is no release. Where something fails, files that were replaced
come back. A release whose checks did not all pass is refused.

A release for an object store is written to a private folder first, as any release is, with all its checks; then its
files are uploaded and read back, and the sidecar comes last: without it there is no release. Where something fails,
what was uploaded is removed. Nothing that is there is ever replaced.

A table of a database is made in one transaction. It has rows and no bytes, and no order. So its sidecar, which lies
wherever `--sidecar` says, has the digest of the rows in place of that of a file, and the rows are put in the order of a
release before anybody looks at them. Columns must have exactly the names and types that are written here: what else
stands in a table could name people.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from coterie.core.digests import Part, digest_of_rows, list_digest, listed_parts, sidecar_path
from coterie.core.files import OBJECTS, Place, Scratch, disk_is_full, place_of
from coterie.core.log import Listing, Log, Record, Release
from coterie.core.plan import Draft
from coterie.core.promise import promise_nothing
from coterie.core.run import Run
from coterie.core.shapes import TIME, Shape
from coterie.core.threads import Progress, Told
from coterie.errors import BrokenPromiseError, CoterieError, InputError, MissingError, ParameterError
from coterie.reading.places import fetch
from coterie.reading.places.databases import Database, Kind, connect, quoted
from coterie.writing.canonical import _compare, _sink, write_parts
from coterie.writing.history import History
from coterie.writing.record import record_files, remove_record, warned, write_record
from coterie.writing.sidecar import Sidecar, read_sidecar, sidecar_of, write_sidecar
from coterie.writing.target import Target, kind_of, refuse_promise
from coterie.writing.targets import (
    kept_aside,
    moved_back,
    put_back,
    put_in_place,
    refuse_folder,
    refuse_output,
    refuse_record,
    removed_again,
    temporary,
)


def refuse_unverified(release: Release, promise: str | None) -> None:
    """Only what was judged here, and kept its promise, is written; what promises nothing only where that is said."""
    nothing = promise_nothing(release.promises)
    refuse_promise(release.method, nothing, promise)
    checks = [check for check in release.checks if not (nothing and check.status == "not checked")]
    if not checks or any(check.status != "passed" for check in checks):
        raise BrokenPromiseError("Only a release whose checks all passed can be written.")
    if not release.verified:
        raise BrokenPromiseError("This release was loaded, not verified here. Anonymize the log again to write it.")


def _unheard(_stage: str, _told: Told | None = None) -> None: ...


def write_release(release: Release, target: Target, progress: Progress = _unheard) -> str:
    """Write a verified release, its sidecar and its record; to standard output if that is its target.

    Returns the digest of the file, or that of the list of its parts.
    """
    refuse_unverified(release, target.promise)
    inputs = release.log.sources
    target.refuse(inputs)
    if target.parts is not None and target.file_kind[0] == "ubi":
        raise ParameterError("UBI is one file, because clicks refer to queries in it: leave out --parts.")
    target.refuse_shape(release.log.shape)
    left_out = unnamed(release.log, target.file_kind[0])
    path, side, record = target.file, target.side, target.record
    replaces = target.force and not target.is_stdout
    scratch = Scratch()  # a pipe has no folder beside it for a temporary file
    rows_folder = scratch.path if target.is_stdout else path.parent
    sidecar_folder = scratch.path if side is None else side.parent
    with (
        temporary(rows_folder, f"rows.{target.kind or path.name}") as rows,
        temporary(sidecar_folder, "sidecar") as meta,
    ):
        progress("write: rows")
        digest, written = _stage(release, rows, target, left_out)
        progress("write: read back")
        _compare(rows, release, target, left_out, written, lambda _, told=None: progress("write: read back", told))
        write_sidecar(sidecar_of(release, digest, target.csv_safe, written, left_out=left_out), meta)
        target.refuse(inputs)  # once more: the names may have been taken meanwhile
        with ExitStack() as former, ExitStack() as undo:
            make_way = partial(_make_way, path, bool(written), inputs, former, undo) if replaces else _nothing
            if record is not None and release.record is not None:
                for there in _replaced(release.record, record):
                    undo.callback(put_back, former.enter_context(kept_aside(there)), there)
                undo.callback(remove_record, write_record(release.record, record, digest, target.force, make_way))
            else:
                make_way()
            if written:  # the sidecar, which comes last, says that they are all there
                undo.callback(removed_again, path, rows.stat())
                put_in_place(rows, path, False, inputs)
            if side is not None:
                refuse_output(side, target.force, inputs)
                aside = former.enter_context(kept_aside(side))
                undo.callback(put_back, aside, side)  # before it is there: a signal may come in between
                meta.replace(side)
            if target.is_stdout:
                _pour(rows)
            elif not written:
                put_in_place(rows, path, target.force, inputs)
            undo.pop_all()  # all of it is in place
    return digest


def _stage(release: Release, rows: Path, target: Target, left_out: Sequence[str]) -> tuple[str, tuple[Part, ...]]:
    """Write rows under a temporary name: the digest of the file, or that of the list of parts and these."""
    kind, compression = target.file_kind
    if target.parts is None:
        _sink(release.log.frame.drop(left_out), rows, kind, compression, target.csv_safe)
        return sha256(rows), ()

    def sink(frame: pl.LazyFrame, path: Path, header: bool) -> None:
        _sink(frame.drop(left_out), path, kind, compression, target.csv_safe, header)

    written = write_parts(release, target.parts, rows, ".".join(filter(None, (kind, compression))), sink)
    return list_digest(written), written


def _make_way(target: Path, for_parts: bool, inputs: Sequence[Path], former: ExitStack, undo: ExitStack) -> None:
    """Remove a release that is to be replaced: no moment, after SIGKILL, may show it beside what is new."""
    folder, side = refuse_folder(target, True, inputs), sidecar_path(target)
    if (for_parts or folder) and side.is_file():  # without it, a folder is no release
        refuse_output(side, True, inputs)
        undo.callback(put_back, former.enter_context(kept_aside(side)), side)
        side.unlink()
    if folder:
        aside = former.enter_context(temporary(target.parent, target.name))
        undo.callback(moved_back, aside, target)
        target.rename(aside)
    elif target.is_file():
        refuse_output(target, True, inputs)
        undo.callback(put_back, former.enter_context(kept_aside(target)), target)
        target.unlink()


def _nothing() -> None: ...


def _replaced(record: Record, folder: Path) -> list[Path]:
    """The files in a folder that a record would replace or remove."""
    names = dict.fromkeys((*record_files(folder), *(f"{name}.parquet" for name in record.tables)))
    return [folder / name for name in names if (folder / name).is_file()]


def unnamed(log: Log, kind: str) -> tuple[str, ...]:
    """The column of names, where a text file has none of it because nobody is named in any row."""
    shape = log.shape
    subject = next((column for column in shape.columns if column.name == shape.subject and column.nullable), None)
    if kind in ("parquet", "ubi") or subject is None:
        return ()
    numbers = [pl.len().cast(pl.Int64).alias("rows"), pl.col(subject.name).count().cast(pl.Int64).alias("named")]
    count, named = log.counted(numbers).row(0)
    no_line = count == 0 and kind == "jsonl"  # and so no column at all
    return () if named or no_line else (subject.name,)


def sha256(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def in_order(draft: Draft, shape: Shape, run: Run, keep_rows: bool) -> tuple[pl.LazyFrame, pl.LazyFrame | None]:
    """Released rows in the order of their values, and which original row each one is."""
    given = draft.frame.collect_schema()
    has_rows = keep_rows and "row" in given
    columns = [*shape.released, *(["row"] if has_rows else [])]
    changed = [pl.col(pl.Datetime).dt.truncate("1s")]  # what text files can hold
    if shape.level and shape.level not in given:  # which the judge does not let pass where there is a time
        changed.append(pl.lit(None, shape.schema[shape.level]).alias(shape.level))
    frame = run.each(draft.frame, lambda rows: rows.with_columns(changed).select(columns))
    by = [*shape.order, *(["row"] if has_rows else [])]
    if not has_rows:
        return run.engine.sort(frame, by, done=draft.in_order), None
    released_columns, places = shape.released, ["released_row", "row"]
    placed = run.engine.numbered(frame, by, "released_row")
    released = run.each(placed, lambda rows: rows.select(released_columns))
    return released, run.each(placed, lambda rows: rows.select(places))


def _pour(path: Path) -> None:
    try:
        with path.open("rb") as stream:
            shutil.copyfileobj(stream, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    except OSError as error:
        if not disk_is_full(error):
            raise
        raise InputError(
            "The disk that standard output goes to is full, and what is there is not whole. Make room and try again."
        ) from None


# --- elsewhere: object stores and databases ------------------------------------------------------------------------


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


class Near(NamedTuple):
    """A released file that can be read here: itself, or a copy that goes with this object."""

    path: Path
    folder: Scratch | None = None


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
    file = Path(place.address.partition(":")[2].removeprefix("//"))
    if place.scheme == "postgresql" or file.exists():  # a file that is not there yet will be made
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


def _columns(shape: Shape) -> dict[str, Kind]:
    """The columns of a table of released rows, and what each of them holds."""
    kinds: tuple[tuple[Any, Kind], ...] = ((pl.String, "text"), (TIME, "time"), (pl.Float64, "number"))
    types = {name: shape.schema[name] for name in shape.released}
    return {name: next((kind for each, kind in kinds if dtype == each), "whole") for name, dtype in types.items()}


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


# --- written and listed, and in numbers ----------------------------------------------------------------------------


def write_and_list(
    release: Release, target: Target, listing: Listing | None, progress: Progress = _unheard
) -> tuple[str, str]:
    """Write a verified release; returns its digest, and a warning where it is not the first one of its log.

    The list is looked at before anything is written, and added to last: it names no release that is not there.
    """
    book, warning, digest_of_log = None, "", ""
    if listing is not None:
        book = History(path=listing.path, log_name=listing.log_name, beside=listing.beside)
        digest_of_log = listing.digest
        book.refuse([*release.log.sources, *target.files])
        warning = book.warning(release, digest_of_log)
    told = warned(release, warning)
    place = target.place
    digest = write_release(told, target, progress) if place is None else write_elsewhere(told, target, place)
    if book is not None:
        try:
            book.add(release, digest_of_log, digest)
        except CoterieError as error:
            raise InputError(f"{target.label} is written, and the list of releases lacks it. {error}") from None
    return digest, warning


@dataclass(frozen=True, kw_only=True)
class Summary:
    """One written release in numbers and sentences; no value of the log."""

    target: str
    headline: str
    sentence: str
    rows: int
    rows_read: int
    size: str
    """What stands in it, beside what was read."""
    checks: int
    largest_k: int | None
    subjects: str
    """What people call those among whom k hides somebody."""
    warnings: tuple[str, ...]
    cautions: tuple[str, ...] = ()
    """Those of them that are said even where nothing else is: k may not count people."""
    steps: tuple[str, ...]
    scrubbed: Mapping[str, int]
    """Rows that were left out because they look like personal data, by kind."""


def summary(release: Release, target: str) -> Summary:
    """A release in numbers."""
    history = release.log.history
    return Summary(
        target=target,
        headline=release.headline,
        sentence=release.verdict.sentence,
        rows=release.rows,
        rows_read=release.log.rows_read,
        size=release.size,
        checks=len(release.checks),
        largest_k=release.verdict.largest_k,
        subjects=release.verdict.subjects,
        warnings=release.warnings,
        cautions=release.log.warnings,
        steps=release.log.steps,
        scrubbed={kind: count for step in history if step.name == "scrub" for kind, count in step.counts.items()},
    )
