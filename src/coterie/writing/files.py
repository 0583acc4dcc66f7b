"""Files: a verified release -> its file or folder of parts, with the sidecar and the record beside it.

Nothing half-written is ever left: rows go to a temporary name, are read back and compared with what was verified. Then
a release that is to be replaced is removed; record and sidecar are put in place, and the file last. So whenever the
process is killed, a file that is there has its own sidecar and record. A folder of parts comes before its sidecar,
which says that all of it is there: a folder without one is no release. Where something fails, files that were replaced
come back. A release whose checks did not all pass is refused.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path

import polars as pl

from coterie.core.files import compressed
from coterie.core.log import Log, Record, Release
from coterie.core.parts import Part, list_digest
from coterie.core.plan import Draft
from coterie.core.promise import promise_nothing
from coterie.core.row_digest import RowDigest, digest_of_rows
from coterie.core.run import Run
from coterie.core.scratch import Scratch, disk_is_full
from coterie.core.shapes import VISITS, Shape
from coterie.core.threads import Progress, Told
from coterie.errors import BrokenPromiseError, InputError, ParameterError
from coterie.reading.logs import read_release
from coterie.reading.values import with_apostrophe
from coterie.writing.parts import write_parts
from coterie.writing.reading_back import in_pieces, is_large
from coterie.writing.record import record_files, remove_record, write_record
from coterie.writing.sidecar import sidecar_of, sidecar_path, write_sidecar
from coterie.writing.target import Target, refuse_promise
from coterie.writing.targets import (
    kept_aside,
    moved_back,
    put_back,
    put_in_place,
    refuse_folder,
    refuse_output,
    removed_again,
    temporary,
)
from coterie.writing.ubi import ubi_lines

_ROW_GROUP = 250_000  # fixed, so that the same rows give the same bytes
_CHUNK = 1 << 22
_SECONDS = "%Y-%m-%d %H:%M:%S"


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


def _as_part(progress: Progress, stage: str, _of_reading: str, told: Told | None = None) -> None:
    """Hand on what reading tells, as a part of another stage."""
    progress(stage, told)


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
        back = partial(_as_part, progress, "write: read back")
        _compare(rows, release, target, left_out, written, back)
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


def refuse_other_shape(shape: Shape, original: Log | None) -> None:
    """Refuse to compare a release of some shape with a log that it cannot come from."""
    if original is not None and not shape.may_come_from(original.shape):
        if shape.plain is original.shape.plain:
            raise InputError(
                f"The release has the further details {', '.join(shape.further) or 'none'}, the original "
                f"{', '.join(original.shape.further) or 'none'}. Read the original with the same ones: --details "
                f"{','.join(shape.further) or 'left out'} (in Python: details=...)."
            )
        searches = ", or are its searches meant (--query-param NAME)" if original.shape is VISITS else ""
        raise InputError(
            f"The release has the shape {shape.name}, the original {original.shape.name}: is it another log{searches}?"
        )


def refuse_other_input(original: Log, record: Record) -> None:
    """Refuse to compare a release with a log that its run record does not come from: all figures would be wrong.

    An original that is no file, or a record that names none, cannot be compared.
    """
    expected = record.run.get("input_sha256")
    if expected and original.sources and list(expected) != [sha256(path) for path in original.sources]:
        raise InputError(
            "The run record was made from other input files than the original that was given. Give the files that were "
            "anonymized, in the same order."
        )


def refuse_other_digest(original: Log, record: Record) -> None:
    """Refuse an original that the record's digest, which names depend on, is not of."""
    expected = record.run.get("input_digest")
    if expected and original.digest != expected:
        raise InputError(
            "The run record was made from another log than the original that was given, or from one that was read "
            "otherwise (--columns, --user-field, --date, --query-param, --terms, --min-length)."
        )


def _sink(
    frame: pl.LazyFrame,
    path: Path,
    kind: str,
    compression: str | None,
    csv_safe: bool = False,
    header: bool = True,
) -> None:
    """Write rows: the only way that rows are written, so that the same rows give the same bytes."""
    if kind == "parquet":
        frame.sink_parquet(path, engine="streaming", row_group_size=_ROW_GROUP, maintain_order=True)
        return
    if kind == "ubi":
        frame = ubi_lines(frame)
    safe = [with_apostrophe(pl.col(pl.String))] if csv_safe else []
    text = frame.with_columns(pl.col(pl.Datetime).dt.strftime(_SECONDS), *safe)
    with temporary(path.parent, "plain") if compression else nullcontext(path) as plain:
        if kind == "jsonl":
            text.sink_ndjson(plain, engine="streaming")
        elif kind == "ubi":
            text.sink_csv(plain, engine="streaming", include_header=False, separator="\x1f", quote_style="never")
        elif kind == "tsv":
            text.sink_csv(plain, engine="streaming", separator="\t", quote_style="never", include_header=header)
        else:
            text.sink_csv(plain, engine="streaming", quote_style="necessary", include_header=header)
        if compression:
            _compress(plain, path, compression)


def _compress(plain: Path, path: Path, compression: str) -> None:
    """One stream in one thread, without a name or a date: the same rows give the same bytes."""
    with plain.open("rb") as source, path.open("wb") as file, compressed(file, compression) as target:
        shutil.copyfileobj(source, target, _CHUNK)


def _compare(
    path: Path,
    release: Release,
    target: Target,
    left_out: Sequence[str] = (),
    parts: Sequence[Part] = (),
    progress: Progress | None = None,
) -> None:
    """Read the file, or the files of a folder, back: their rows must be those that were verified, in the same order."""
    shape, (kind, _) = release.log.shape, target.file_kind
    columns = list(shape.released)
    written = [name for name in columns if name not in left_out]
    files = [path / part.name for part in parts] or [path]
    if kind == "parquet":  # which says itself what its columns are
        frame = pl.scan_parquet(files, glob=False)
        same = dict(frame.collect_schema()) == {name: shape.schema[name] for name in columns}
        found = digest_of_rows(frame.select(columns))
    elif is_large(files, kind):
        digest, same, folder = RowDigest({name: shape.schema[name] for name in columns}), True, Scratch()
        for piece in in_pieces(files, kind, folder.path):
            frame, _, names, _resources = read_release(piece, shape, thorough=False, csv_safe=target.csv_safe)
            same = same and names == written
            digest.add_all(frame.select(columns))
        found = digest.hexdigest()
    else:
        frame, _, names, _resources = read_release(
            path, shape, thorough=False, csv_safe=target.csv_safe, parts=parts, progress=progress
        )
        same = not names or names == written  # jsonl may have no line
        found = digest_of_rows(frame.select(columns))
    if not same or found != release.verified:
        raise BrokenPromiseError("The rows to write are not the rows that were verified, so nothing was written.")


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
