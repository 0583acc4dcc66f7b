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

from coterie.core.files import COMPRESSIONS, compressed
from coterie.core.log import Log, Record, Release
from coterie.core.parts import Part, list_digest
from coterie.core.plan import Draft
from coterie.core.promise import NOTHING, promise_nothing
from coterie.core.row_digest import RowDigest, digest_of_rows
from coterie.core.run import Run
from coterie.core.scratch import Scratch, disk_is_full
from coterie.core.shapes import QUERIES, VISITS, Shape
from coterie.core.threads import Progress, Told
from coterie.errors import BrokenPromiseError, InputError, ParameterError
from coterie.reading.logs import read_release
from coterie.reading.values import with_apostrophe
from coterie.writing.parts import refuse_number_of_parts, write_parts
from coterie.writing.reading_back import in_pieces, is_large
from coterie.writing.record import is_of_record, record_files, remove_record, write_record
from coterie.writing.sidecar import sidecar_of, sidecar_path, write_sidecar
from coterie.writing.targets import (
    is_same_file,
    kept_aside,
    lies_in,
    moved_back,
    put_back,
    put_in_place,
    refuse_folder,
    refuse_output,
    refuse_record,
    removed_again,
    temporary,
)
from coterie.writing.ubi import ubi_lines

STDOUT = "-"
KINDS = ("tsv", "csv", "parquet", "jsonl", "ubi")
_SAME = {"ndjson": "jsonl"}
_FOR_SPREADSHEETS = ("tsv", "csv")
_ROW_GROUP = 250_000  # fixed, so that the same rows give the same bytes
_CHUNK = 1 << 22
_SECONDS = "%Y-%m-%d %H:%M:%S"
_OR_STDOUT = "Choose another name, or write to standard output with -o - --to KIND (in Python: path '-' and a kind)."


def kind_of(path: str | Path, kind: str | None = None) -> tuple[str, str | None]:
    """File kind and compression from a name, or from `kind` such as `tsv.gz`."""
    text = kind or Path(path).name
    suffixes = text.split(".") if kind else text.split(".")[1:]
    *_, stem, suffix = "", "", *suffixes
    compression = None
    if suffix in COMPRESSIONS:
        compression, suffix = suffix, stem
    suffix = _SAME.get(suffix, suffix)
    if suffix not in KINDS or (compression and suffix == "parquet"):
        raise ParameterError(
            f"{text!r} does not say what to write. Use one of {', '.join(KINDS)}, the text kinds also with "
            f".gz or .zst" + ("." if kind else ", as the end of the name or with --to.")
        )
    if kind and _says_another_kind(path, (suffix, compression)):
        raise ParameterError(f"{Path(path).name} is not the name of a file of kind {kind}. Change one of the two.")
    return suffix, compression


def _says_another_kind(path: str | Path, kind: tuple[str, str | None]) -> bool:
    """Whether the name of a file would mislead those who read it."""
    is_json = "jsonl" if kind[0] == "ubi" else kind[0]  # which says nothing about the fields
    try:
        return kind_of(path) not in (kind, (is_json, kind[1]))
    except ParameterError:  # a name that says nothing, or standard output
        return False


def refuse_promise(method: str, nothing: bool, promise: str | None) -> None:
    """ParameterError where a release that promises nothing is not asked for as such, or another one is."""
    if nothing and promise != NOTHING:
        raise ParameterError(
            f"{method} promises nothing about the people in a log. Its release is written only if you say so: "
            f"--promise {NOTHING} (in Python: promise={NOTHING!r})."
        )
    if not nothing and promise is not None:
        raise ParameterError(f"{method} says itself what it promises: leave out --promise.")


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


def write_release(
    release: Release,
    path: str | Path,
    *,
    kind: str | None = None,
    sidecar: str | Path | None = None,
    record: Path | None = None,
    force: bool = False,
    csv_safe: bool = False,
    promise: str | None = None,
    parts: int | None = None,
    progress: Progress = _unheard,
) -> str:
    """Write a verified release, its sidecar and its record; to standard output if `path` is `-`. Returns its digest.

    With `parts` it is a folder of so many files.
    """
    refuse_unverified(release, promise)
    inputs = release.log.sources

    def refuse() -> None:
        refuse_targets(
            path,
            kind=kind,
            sidecar=sidecar,
            record=record,
            inputs=inputs,
            force=force,
            csv_safe=csv_safe,
            parts=parts,
        )

    refuse()
    if parts is not None and kind_of(path, kind)[0] == "ubi":
        raise ParameterError("UBI is one file, because clicks refer to queries in it: leave out --parts.")
    file_kind, compression = kind_of(path, kind)
    refuse_kind(file_kind, release.log.shape)
    left_out = unnamed(release.log, file_kind)
    to_stdout, target, side = str(path) == STDOUT, Path(path), _sidecar_of(path, sidecar)
    replaces = force and not to_stdout
    scratch = Scratch()  # a pipe has no folder beside it for a temporary file
    rows_folder = scratch.path if to_stdout else target.parent
    sidecar_folder = scratch.path if side is None else side.parent
    with temporary(rows_folder, f"rows.{kind or target.name}") as rows, temporary(sidecar_folder, "sidecar") as meta:
        progress("write: rows")
        digest, written = _stage(release, rows, file_kind, compression, csv_safe, left_out, parts)
        progress("write: read back")
        back = partial(_as_part, progress, "write: read back")
        _compare(rows, release, file_kind, csv_safe, left_out, written, back)
        write_sidecar(sidecar_of(release, digest, csv_safe, written, left_out=left_out), meta)
        refuse()  # once more: the names may have been taken meanwhile
        with ExitStack() as former, ExitStack() as undo:
            make_way = partial(_make_way, target, bool(written), inputs, former, undo) if replaces else _nothing
            if record is not None and release.record is not None:
                for there in _replaced(release.record, record):
                    undo.callback(put_back, former.enter_context(kept_aside(there)), there)
                undo.callback(remove_record, write_record(release.record, record, digest, force, make_way))
            else:
                make_way()
            if written:  # the sidecar, which comes last, says that they are all there
                undo.callback(removed_again, target, rows.stat())
                put_in_place(rows, target, False, inputs)
            if side is not None:
                refuse_output(side, force, inputs)
                aside = former.enter_context(kept_aside(side))
                undo.callback(put_back, aside, side)  # before it is there: a signal may come in between
                meta.replace(side)
            if to_stdout:
                _pour(rows)
            elif not written:
                put_in_place(rows, target, force, inputs)
            undo.pop_all()  # all of it is in place
    return digest


def _stage(
    release: Release,
    rows: Path,
    kind: str,
    compression: str | None,
    csv_safe: bool,
    left_out: Sequence[str],
    parts: int | None,
) -> tuple[str, tuple[Part, ...]]:
    """Write rows under a temporary name: the digest of the file, or that of the list of parts and these."""
    if parts is None:
        _sink(release.log.frame.drop(left_out), rows, kind, compression, csv_safe)
        return sha256(rows), ()
    ending = ".".join(filter(None, (kind, compression)))
    sink = partial(_sink_part, kind=kind, compression=compression, csv_safe=csv_safe, left_out=left_out)
    written = write_parts(release, parts, rows, ending, sink)
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


def refuse_targets(
    target: str | Path,
    *,
    kind: str | None = None,
    sidecar: str | Path | None = None,
    record: Path | None = None,
    inputs: Sequence[Path] = (),
    force: bool = False,
    csv_safe: bool = False,
    parts: int | None = None,
) -> None:
    """Refuse before any work what would be refused when a release is written."""
    outputs: list[Path] = []
    side = _sidecar_of(target, sidecar)
    if parts is not None:
        refuse_number_of_parts(parts)
        if str(target) == STDOUT:
            raise ParameterError("--parts writes a folder of files, and standard output is none. Give a name with -o.")
        if sidecar is not None:
            raise ParameterError(
                "The sidecar of parts lies beside their folder, because it names them: leave out --sidecar."
            )
    if str(target) != STDOUT:
        if not refuse_folder(Path(target), force, inputs):
            refuse_output(Path(target), force, inputs, _OR_STDOUT)
        outputs.append(Path(target))
    elif kind is None:
        raise ParameterError("Say what to write to standard output: --to tsv, csv, parquet, jsonl or ubi.")
    if kind_of(target, kind)[0] not in _FOR_SPREADSHEETS and csv_safe:
        raise ParameterError(
            "--csv-safe is for csv and tsv, which spreadsheets open. Leave it out, or write one of them."
        )
    if side is not None:
        refuse_output(side, force, inputs)
        outputs.append(side)
    inside = [path for path in (side, record) if path is not None and lies_in(path, Path(target))]
    if inside and str(target) != STDOUT:
        raise ParameterError(f"{inside[0]} lies in the release itself. Choose a place outside of {target}.")
    if record is not None:
        refuse_record(record, record_files(record), force, inputs)
        for path in outputs:
            if is_of_record(path, record):
                raise ParameterError(
                    f"{path} would be written twice: the record may have a file of that name. Choose another."
                )
        outputs += [record / name for name in record_files(record)]
    for place, path in enumerate(outputs):
        if any(is_same_file(path, other) for other in outputs[:place]):
            raise ParameterError(f"{path} would be written twice. Choose another name for one of the two files.")


def refuse_kind(kind: str, shape: Shape) -> None:
    """Refuse a kind of file that cannot hold rows of a shape."""
    if kind == "ubi" and shape.of_log is not QUERIES:
        also = f" with {', '.join(shape.further)}" if shape.further else ""
        raise ParameterError(
            f"UBI holds queries and clicks, and this release is {shape.name}{also}. Write another kind."
        )


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


def _sidecar_of(target: str | Path, sidecar: str | Path | None) -> Path | None:
    """Where the sidecar goes; None where nobody asked for that of rows on standard output."""
    if sidecar is not None:
        return Path(sidecar)
    return None if str(target) == STDOUT else sidecar_path(Path(target))


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


def _sink_part(
    frame: pl.LazyFrame,
    path: Path,
    header: bool,
    *,
    kind: str,
    compression: str | None,
    csv_safe: bool,
    left_out: Sequence[str],
) -> None:
    _sink(frame.drop(left_out), path, kind, compression, csv_safe, header)


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
    kind: str,
    csv_safe: bool,
    left_out: Sequence[str] = (),
    parts: Sequence[Part] = (),
    progress: Progress | None = None,
) -> None:
    """Read the file, or the files of a folder, back: their rows must be those that were verified, in the same order."""
    shape = release.log.shape
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
            frame, _, names, _resources = read_release(piece, shape, thorough=False, csv_safe=csv_safe)
            same = same and names == written
            digest.add_all(frame.select(columns))
        found = digest.hexdigest()
    else:
        frame, _, names, _resources = read_release(
            path, shape, thorough=False, csv_safe=csv_safe, parts=parts, progress=progress
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
