"""Record: the private folder that says who became whom. It undoes the release, so nobody but its owner can read it.

`run.json` says what was run and lists the tables beside it, each a Parquet file with the columns that are named there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import polars as pl
from msgspec import Meta

from coterie.core.declared import Declared, DeclaredFile, Scalar, as_declared, json_bytes, json_file
from coterie.core.log import Record, Release, Step
from coterie.errors import CoterieError, InputError, InternalError, MissingError
from coterie.steps import digested_text, public_text
from coterie.writing.sidecar import Sidecar
from coterie.writing.targets import is_same_file, put_in_place, refuse_record, temporary

FORMAT = 1
RUN = "run.json"
_SUBJECTS, _ROWS = "subjects", "rows"
_NEEDED = {_SUBJECTS: {"original", "released"}, _ROWS: {"row", "released_row"}}
TableName = Annotated[str, Meta(pattern=r"^[a-z_]+\Z")]  # never a path that leaves the folder


class RunFile(Declared, frozen=True, kw_only=True):
    """What run.json holds."""

    coterie: str
    """The version that wrote it."""
    format: int
    method: str
    parameters: dict[str, Scalar | tuple[Scalar, ...]]
    seed: int
    seed_chosen: bool
    learning_seed: int | None
    """The seed of what was learnt for several k, where it is another one."""
    subjects: int
    rows: int
    history: tuple[Step, ...]
    prepare: tuple[str, ...]
    """The prepare steps, with the digests of the files that they read."""
    input_sha256: tuple[str, ...]
    input_digest: str
    """Of the log, whatever it was read from; names depend on it. Empty for a log on a cluster where nobody has one."""
    groups: str
    """Of who is in which group, where users are in groups."""
    groups_of: tuple[str, ...]
    """Of the earlier groups that these are unions of, the nearest first."""
    released_sha256: str
    warnings: tuple[str, ...] = ()
    """What the owner of the log should know and the public need not."""
    tables: dict[TableName, tuple[str, ...]]
    """The tables beside it, with their columns."""


def record_files(folder: Path) -> tuple[str, ...]:
    """The files that a record has: those that every one may have, and those of the record in the folder."""
    return tuple(dict.fromkeys((RUN, *(f"{name}.parquet" for name in (_SUBJECTS, _ROWS, *_listed(folder))))))


def is_of_record(path: Path, folder: Path) -> bool:
    """Whether a file lies in the folder of a record under a name that a file of the record could have."""
    named = path.name == RUN or re.fullmatch(r"[a-z_]+\.parquet", path.name)
    return bool(named) and is_same_file(path.parent, folder)


def write_record(
    record: Record,
    folder: Path,
    sha256: str = "",
    force: bool = False,
    when_complete: Callable[[], object] = lambda: None,
) -> list[Path]:
    """Write the record of the release with that digest; returns what `remove_record` takes back.

    All files are complete before the first one takes its place, which `when_complete` is told. Where a record is
    replaced, its `run.json` goes first and the new one comes last, so that what is found in between, after SIGKILL, is
    no record rather than half of two. Tables that only the former one has are removed.
    """
    tables = _tables(record)
    run = _run_file(record, tables, sha256)
    former = {folder / f"{name}.parquet" for name in _listed(folder)}
    refuse_record(folder, (*record_files(folder), *(f"{name}.parquet" for name in tables)), force)
    written = _private_folder(folder)
    try:
        with ExitStack() as parts:
            staged = {}
            for name in (*(f"{name}.parquet" for name in tables), RUN):
                staged[folder / name] = parts.enter_context(temporary(folder, name, private=True))
            for name, frame in tables.items():
                frame.sink_parquet(staged[folder / f"{name}.parquet"], engine="streaming")
            staged[folder / RUN].write_bytes(json_bytes(run))
            when_complete()
            for stale in (folder / RUN, *(former - set(staged))):
                stale.unlink(missing_ok=True)
            for target, part in staged.items():
                put_in_place(part, target, force)
                written.append(target)
    except BaseException:
        remove_record(written)
        raise
    return written


def remove_record(written: Sequence[Path]) -> None:
    """Take back exactly what `write_record` wrote: files, and folders that it made and nobody else has used."""
    for path in reversed(written):
        if not path.is_dir():
            path.unlink(missing_ok=True)
        elif not any(path.iterdir()):
            path.rmdir()


def read_record(folder: Path) -> Record:
    """The record that `write_record` wrote."""
    file = DeclaredFile(
        name=f"The run record in {folder}",
        verdict="is damaged",
        end="Use the folder as it was written with the release, or leave out --record.",
    )
    try:
        run = json_file((folder / RUN).read_bytes(), RunFile, FORMAT, file)
    except (FileNotFoundError, NotADirectoryError):
        raise MissingError(f"{folder} holds no run record. Give the folder of --record.") from None
    except OSError:
        raise file.error(f"{RUN} cannot be read") from None
    if _SUBJECTS not in run.tables:
        raise file.error(f"{RUN} lists no table of subjects")
    tables = {name: _table(folder, name, columns, file) for name, columns in run.tables.items()}
    return Record(
        run=json.loads(json_bytes(run)), subjects=tables.pop(_SUBJECTS), rows=tables.pop(_ROWS, None), tables=tables
    )


def is_record_of(sidecar: Sidecar, record: Record) -> bool:
    """Whether a record was made with the release that a sidecar describes: names are keyed by what both say.

    Of files that steps read a sidecar says nothing; of those that methods read, the last part of the name.
    """
    run = json.loads(json.dumps(record.run, default=list))  # numbers and texts, whether it was read or is at hand
    said = json.loads(json_bytes(sidecar))["parameters"]
    steps = [public_text(name) for name in record.steps]
    alike = all(said.get(name) in (value, Path(str(value)).name) for name, value in run["parameters"].items())
    digest = run.get("released_sha256", sidecar.sha256)
    same = (run["method"], steps, digest) == (sidecar.method, list(sidecar.prepare), sidecar.sha256)
    return same and alike and bool(run["input_digest"])


def _digested(name: str) -> str:
    try:
        return digested_text(name)
    except CoterieError:  # a step that is not known here reads no file that is known
        return name


def _tables(record: Record) -> dict[str, pl.LazyFrame]:
    if taken := {_SUBJECTS, _ROWS} & set(record.tables):
        raise InternalError(f"Evidence cannot be called {' or '.join(sorted(taken))}: every record has such a table.")
    rows = {} if record.rows is None else {_ROWS: record.rows}
    return {_SUBJECTS: record.subjects, **rows, **record.tables}


def _run_file(record: Record, tables: Mapping[str, pl.LazyFrame], sha256: str) -> RunFile:
    from coterie import __version__

    columns = {name: frame.collect_schema().names() for name, frame in tables.items()}
    data = {
        **record.run,
        "coterie": __version__,
        "format": FORMAT,
        "prepare": record.run.get("prepare") or [_digested(name) for name in record.steps],
        "released_sha256": sha256,
        "tables": columns,
    }
    try:
        return as_declared(data, RunFile, DeclaredFile(name="A run record"))
    except InputError as error:
        raise InternalError(f"{error} This record cannot be written.") from None


def _private_folder(folder: Path) -> list[Path]:
    """Make a folder that only its owner can enter, whatever it was before; returns the folders that are new."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)
    return new[::-1]


def _listed(folder: Path) -> tuple[str, ...]:
    """The tables that a record already in the folder has; those that every one may have where it does not say."""
    try:
        return tuple(read_record(folder).run["tables"])
    except (InputError, MissingError):
        return (_SUBJECTS, _ROWS) if (folder / RUN).is_file() else ()


def _table(folder: Path, name: str, columns: Sequence[str], file: DeclaredFile) -> pl.LazyFrame:
    path = folder / f"{name}.parquet"
    if not path.is_file():
        raise file.error(f"{RUN} lists {path.name}, which is missing")
    try:
        there = pl.scan_parquet(path, glob=False).collect_schema().names()
    except (OSError, pl.exceptions.PolarsError):
        raise file.error(f"{path.name} cannot be read") from None
    if there != list(columns) or not _NEEDED.get(name, set()) <= set(columns):
        raise file.error(f"{path.name} has other columns than it was written with")
    return pl.scan_parquet(path, glob=False)


def warned(release: Release, warning: str) -> Release:
    """The release with a warning in its private record, and not in its sidecar."""
    if not warning or release.record is None:
        return release
    record = replace(release.record, run={**release.record.run, "warnings": [warning]})
    return replace(release, record=record)
