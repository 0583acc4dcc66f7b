"""Write: a verified release -> file, public sidecar, private record.

Nothing half-written is ever left: rows go to a temporary name, are read back and compared with what was verified; the
sidecar is put in place first, the file last. A release whose checks did not all pass is refused.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import polars as pl

from coterie.core.log import Record, Release
from coterie.core.promise import to_dict
from coterie.core.scratch import Scratch
from coterie.errors import BrokenPromiseError, InputError, MissingError, ParameterError
from coterie.formats._read import read_release
from coterie.writing.targets import is_same_file, put_in_place, refuse_output, refuse_record, temporary

STDOUT = "-"
KINDS = ("tsv", "csv", "parquet", "jsonl")
_COMPRESSIONS = {"gz": "gzip", "zst": "zstd"}
_ROW_GROUP = 250_000  # fixed, so that the same rows give the same bytes
_CHUNK = 1 << 22
_SECONDS = "%Y-%m-%d %H:%M:%S"
_OR_STDOUT = "Choose another name, or write to standard output with -o - --to KIND (in Python: path '-' and a kind)."
REPRODUCIBLE = "reproducible: whoever guesses the seed can undo the pseudonyms"


def kind_of(path: str | Path, kind: str | None = None) -> tuple[str, str | None]:
    """File kind and compression from a name, or from `kind` such as `tsv.gz`."""
    text = kind or Path(path).name
    suffixes = text.split(".") if kind else text.split(".")[1:]
    *_, stem, suffix = "", "", *suffixes
    compression = None
    if suffix in _COMPRESSIONS:
        compression, suffix = suffix, stem
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
    try:
        return kind_of(path) != kind
    except ParameterError:  # a name that says nothing, or standard output
        return False


def write_release(
    release: Release,
    path: str | Path,
    *,
    kind: str | None = None,
    sidecar: str | Path | None = None,
    record: Path | None = None,
    force: bool = False,
) -> None:
    """Write a verified release, its sidecar and its record; to standard output if `path` is `-`."""
    if not release.checks or any(check.status != "passed" for check in release.checks):
        raise BrokenPromiseError("Only a release whose checks all passed can be written.")
    if not release.verified:
        raise BrokenPromiseError("This release was loaded, not verified here. Anonymize the log again to write it.")
    inputs = release.log.sources

    def refuse() -> None:
        refuse_targets(path, kind=kind, sidecar=sidecar, record=record, inputs=inputs, force=force)

    refuse()
    file_kind, compression = kind_of(path, kind)
    to_stdout, target, side = str(path) == STDOUT, Path(path), _sidecar_of(path, sidecar)
    scratch = Scratch()  # a pipe has no folder beside it for a temporary file
    rows_folder = scratch.path if to_stdout else target.parent
    sidecar_folder = scratch.path if side is None else side.parent
    with temporary(rows_folder, f"rows.{kind or target.name}") as rows, temporary(sidecar_folder, "sidecar") as meta:
        _sink(release.log.frame, rows, file_kind, compression)
        _compare(rows, release)
        digest = sha256(rows)
        meta.write_text(json.dumps(sidecar_data(release, digest), indent=2) + "\n")
        refuse()  # once more: the names may have been taken meanwhile
        with ExitStack() as undo:
            if record is not None and release.record is not None:
                write_record(release.record, record, digest, force)
                undo.callback(remove_record, record)
            if side is not None:
                refuse_output(side, force, inputs)
                undo.callback(side.unlink, missing_ok=True)  # before it is there: a signal may come in between
                meta.replace(side)
            if to_stdout:
                _pour(rows)
            else:
                put_in_place(rows, target, force, inputs)
            undo.pop_all()  # all of it is in place


def sidecar_path(path: Path) -> Path:
    """The public sidecar of a released file."""
    return path.with_name(path.name + ".json")


def sidecar_data(release: Release, digest: str) -> dict[str, Any]:
    """What everybody may know about a release: never the seed, never a value of the log."""
    from coterie import __version__

    chosen = release.record is not None and release.record.run.get("seed_chosen")
    return {
        "coterie": __version__,
        "method": release.method,
        "parameters": dict(release.params),
        "promises": [to_dict(promise) for promise in release.promises],
        "limits": [limit for promise in release.promises for limit in promise.limits],
        "warnings": [*release.warnings, *([REPRODUCIBLE] if chosen else [])],
        "checks": [check.as_dict() for check in release.checks],
        "shape": release.log.shape.name,
        "prepare": list(release.log.steps),
        "sha256": digest,
    }


def read_sidecar(path: Path) -> dict[str, Any] | None:
    """The sidecar beside a released file, or None."""
    side = sidecar_path(path)
    if not side.exists():
        return None
    try:
        data = json.loads(side.read_text())
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise InputError(f"{side.name} is not a sidecar of Coterie: it is not JSON.") from None
    if not isinstance(data, dict):
        raise InputError(f"{side.name} is not a sidecar of Coterie: it holds no object.")
    if "promise" in data:  # written before releases had several promises
        data["promises"] = [data.pop("promise")]
    kinds = {"promises": list, "sha256": str, "method": str, "parameters": dict, "checks": list, "prepare": list}
    wrong = [name for name, kind in {**kinds, "shape": str}.items() if not isinstance(data.get(name), kind)]
    if wrong:
        raise InputError(f"{side.name} is not a sidecar of Coterie: {', '.join(wrong)} missing or of another type.")
    return data


_EVIDENCE = ("certificate", "degrees", "function_words", "labels", "taxonomy", "topics")
RECORD_FILES = ("subjects.parquet", "rows.parquet", "run.json", *(f"{name}.parquet" for name in _EVIDENCE))


def write_record(record: Record, folder: Path, sha256: str = "", force: bool = False) -> None:
    """The private run record, readable by its owner only; `sha256` is that of the release it belongs to."""
    refuse_record(folder, RECORD_FILES, force)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        frames = {"subjects": record.subjects, "rows": record.rows}
        for name, frame in {**frames, **{name: record.tables.get(name) for name in _EVIDENCE}}.items():
            name = f"{name}.parquet"
            (folder / name).unlink(missing_ok=True)
            if frame is not None:
                with temporary(folder, name) as part:
                    part.touch(mode=0o600)  # before there is anything to read in it
                    frame.sink_parquet(part, engine="streaming", row_group_size=_ROW_GROUP)
                    part.replace(folder / name)
        with temporary(folder, "run.json") as part:
            part.touch(mode=0o600)
            part.write_text(json.dumps({**record.run, "released_sha256": sha256}, indent=2) + "\n")
            part.replace(folder / "run.json")
    except BaseException:
        remove_record(folder)
        raise


def remove_record(folder: Path) -> None:
    """Take back what `write_record` wrote."""
    for name in RECORD_FILES:
        (folder / name).unlink(missing_ok=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def read_record(folder: Path) -> Record:
    """The record that `write_record` wrote."""
    run, subjects, rows = (folder / n for n in ("run.json", "subjects.parquet", "rows.parquet"))
    if not run.exists() or not subjects.exists():
        raise MissingError(f"{folder} holds no run record. Give the folder of --record.")
    try:
        data = json.loads(run.read_text())
        rows_kept = pl.scan_parquet(subjects, glob=False).collect_schema().names()
    except (ValueError, OSError, pl.exceptions.PolarsError):
        raise InputError(f"The run record in {folder} is damaged.") from None
    if not isinstance(data, dict) or "original" not in rows_kept:
        raise InputError(f"The run record in {folder} is damaged.")
    return Record(
        run=data,
        subjects=pl.scan_parquet(subjects, glob=False),
        rows=pl.scan_parquet(rows, glob=False) if rows.exists() else None,
        tables={
            name: pl.scan_parquet(path, glob=False)
            for name in _EVIDENCE
            if (path := folder / f"{name}.parquet").exists()
        },
    )


def refuse_targets(
    target: str | Path,
    *,
    kind: str | None = None,
    sidecar: str | Path | None = None,
    record: Path | None = None,
    inputs: Sequence[Path] = (),
    force: bool = False,
) -> None:
    """Refuse before any work what would be refused when a release is written."""
    outputs: list[Path] = []
    if str(target) != STDOUT:
        refuse_output(Path(target), force, inputs, _OR_STDOUT)
        outputs.append(Path(target))
    elif kind is None:
        raise ParameterError("Say what to write to standard output: --to tsv, csv, parquet or jsonl.")
    kind_of(target, kind)
    side = _sidecar_of(target, sidecar)
    if side is not None:
        refuse_output(side, force, inputs)
        outputs.append(side)
    if record is not None:
        refuse_record(record, RECORD_FILES, force, inputs)
        outputs += [record / name for name in RECORD_FILES]
    for place, path in enumerate(outputs):
        if any(is_same_file(path, other) for other in outputs[:place]):
            raise ParameterError(f"{path} would be written twice. Choose another name for one of the two files.")


def _sidecar_of(target: str | Path, sidecar: str | Path | None) -> Path | None:
    """Where the sidecar goes; None where nobody asked for that of rows on standard output."""
    if sidecar is not None:
        return Path(sidecar)
    return None if str(target) == STDOUT else sidecar_path(Path(target))


def sha256(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _sink(frame: pl.LazyFrame, path: Path, kind: str, compression: str | None) -> None:
    if kind == "parquet":
        frame.sink_parquet(path, engine="streaming", row_group_size=_ROW_GROUP, maintain_order=True)
        return
    text = frame.with_columns(pl.col(pl.Datetime).dt.strftime(_SECONDS))
    with temporary(path.parent, "plain") if compression else nullcontext(path) as plain:
        if kind == "jsonl":
            text.sink_ndjson(plain, engine="streaming")
        elif kind == "tsv":
            text.sink_csv(plain, engine="streaming", separator="\t", quote_style="never")
        else:
            text.sink_csv(plain, engine="streaming", quote_style="necessary")
        if compression:
            _compress(plain, path, _COMPRESSIONS[compression])


def _compress(plain: Path, path: Path, codec: str) -> None:
    """One stream in one thread, without a date: the same rows give the same bytes."""
    import pyarrow as pa

    with plain.open("rb") as source, pa.output_stream(str(path), compression=codec) as target:
        while chunk := source.read(_CHUNK):
            target.write(chunk)


def _compare(path: Path, release: Release) -> None:
    """Read the file back: its rows must be those that were verified, in the same order."""
    frame, _, names, _resources = read_release(path, release.log.shape, thorough=False)
    columns = list(release.log.shape.released)
    if names != columns or fingerprint(frame.select(columns)) != release.verified:
        raise BrokenPromiseError("The rows to write are not the rows that were verified, so nothing was written.")


def fingerprint(rows: pl.LazyFrame) -> tuple[int, ...]:
    """Number of rows and sums over the hashes of numbered rows: differs when a value or the order does."""
    whole = pl.struct(pl.all()).hash(seed=0)
    sums = ((whole // 2**32).sum().alias("high"), (whole % 2**32).sum().alias("low"))
    return rows.with_row_index("_at").select(pl.len(), *sums).collect(engine="streaming").row(0)


def _pour(path: Path) -> None:
    with path.open("rb") as stream:
        shutil.copyfileobj(stream, sys.stdout.buffer)
    sys.stdout.buffer.flush()
