"""The digest of rows: one SHA-256 for a table, whatever file, folder of files or database its rows lie in.

Rows are numbered from 0 in their order and cut into blocks of `BLOCK` rows by these numbers, so that the files they lie
in make no difference. Each block has a digest of its own, which whoever has its rows can compute; the digest of the
table is that of its columns, its number of rows and the digests of its blocks. Nothing here depends on how a library
hashes, writes or packs values, so the same rows have the same digest in every version and on every machine.

A block is hashed column by column. A column of text is the lengths of its values in bytes (-1 where there is none),
then the values one after the other, in UTF-8. Any other column is one byte for each row, 1 where there is no value,
then the values (0 where there is none) in 8 bytes each, the lowest first: whole numbers, times in microseconds since
1970, and numbers with a fraction as IEEE 754 has them. Columns are in the order of the table.

Parts: a release as a folder of files, which its sidecar names one by one.

    safe.parquet/part-00000.parquet
    safe.parquet/part-00001.parquet
    safe.parquet.json                   the sidecar, written last: without it there is no release

The rows are cut evenly, so that rows and the number of parts say what stands where. In text the header stands in the
first part alone: `cat safe.tsv/part-*` is what one file would be. Nothing else may lie in the folder.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
from msgspec import Meta

from coterie.core.declared import Declared, DeclaredFile, as_declared, json_object
from coterie.core.shapes import TIME
from coterie.errors import InputError, InternalError

BLOCK = 1 << 16
"""Rows of a block; part of the definition."""
_TITLE = b"coterie rows 1\n"


def digest_of_rows(frame: pl.LazyFrame) -> str:
    """The digest of the rows of a lazy frame, in their order; they are never all in memory."""
    digest = RowDigest(frame.collect_schema())
    digest.add_all(frame)
    return digest.hexdigest()


class RowDigest:
    """The digest of rows that come piece by piece, in order, in pieces of any size."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.rows = 0
        """How many have come."""
        self._columns = {name: _kind(name, dtype) for name, dtype in schema.items()}
        self._waiting: list[pl.DataFrame] = []
        self._blocks: list[bytes] = []

    def add(self, rows: pl.DataFrame) -> None:
        """The next rows."""
        waiting = sum(each.height for each in self._waiting) + rows.height
        self.rows += rows.height
        self._waiting.append(rows)
        if waiting < BLOCK:
            return
        have = pl.concat(self._waiting)
        whole = waiting - waiting % BLOCK
        self._blocks += [block_digest(have.slice(start, BLOCK)) for start in range(0, whole, BLOCK)]
        self._waiting = [have.slice(whole)]

    def add_all(self, frame: pl.LazyFrame) -> None:
        """The next rows, of a lazy frame."""
        for rows in frame.collect_batches(chunk_size=BLOCK, maintain_order=True, engine="streaming"):
            self.add(rows)

    def hexdigest(self) -> str:
        """The digest of all rows that have come."""
        rest = [block_digest(pl.concat(self._waiting))] if self.rows % BLOCK else []
        return digest_of_blocks([*self._blocks, *rest], self.rows, self._columns)


def block_digest(rows: pl.DataFrame) -> bytes:
    """The digest of the rows of one block, in order: those from a multiple of `BLOCK` to the next, or to the end."""
    digest = hashlib.sha256()
    for column in rows:
        for data in _bytes_of(column):
            digest.update(data)
    return digest.digest()


def digest_of_blocks(blocks: Iterable[bytes], rows: int, columns: Mapping[str, Any]) -> str:
    """The digest of a table from those of its blocks, in order; `columns` are its names with their types."""
    digest = hashlib.sha256(_TITLE)
    for name, dtype in columns.items():
        kind = dtype if isinstance(dtype, str) else _kind(name, dtype)
        digest.update(f"{name} {kind}\n".encode())
    digest.update(f"{rows}\n".encode())
    for block in blocks:
        digest.update(block)
    return digest.hexdigest()


def _kind(name: str, dtype: Any) -> str:
    if dtype == pl.String:
        return "text"
    if dtype == TIME:
        return "time"
    if dtype.is_integer() and dtype != pl.UInt64:
        return "whole"
    if dtype.is_float():
        return "number"
    raise InternalError(f"The column {name!r} has the type {dtype}, and released rows have none such.")


def _bytes_of(column: pl.Series) -> Iterator[bytes]:
    if column.dtype == pl.String:
        yield _little(column.str.len_bytes().cast(pl.Int64).fill_null(-1), "<i8")
        yield column.str.join("").cast(pl.Binary).item()
        return
    yield _little(column.is_null().cast(pl.UInt8), "u1")
    if column.dtype.is_float():
        yield _little(column.cast(pl.Float64).fill_null(0), "<f8")
    else:
        yield _little(column.to_physical().cast(pl.Int64).fill_null(0), "<i8")


def _little(column: pl.Series, kind: str) -> bytes:
    return np.ascontiguousarray(column.to_numpy(), dtype=kind).tobytes()


# --- files and parts --------------------------------------------------------------------------------


MOST_PARTS = 100_000
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
_AS_A_WHOLE = "A release of parts is read as a whole: use its folder as it was written."


class Part(Declared, frozen=True, kw_only=True):
    """One file of a release of parts."""

    name: Annotated[str, Meta(pattern=r"^part-[0-9]{5}\.[a-z]{3,7}(?:\.(?:gz|zst))?\Z")]
    rows: Annotated[int, Meta(ge=0)]
    sha256: Sha256


class _Listed(Declared, frozen=True, kw_only=True):
    """What of a sidecar is needed to read the files that it names."""

    parts: tuple[Part, ...] = ()


def sha256_of(files: Iterable[Path]) -> tuple[str, ...]:
    """The SHA-256 of each file."""

    def digest(path: Path) -> str:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()

    return tuple(map(digest, files))


def part_name(number: int, ending: str) -> str:
    """The name of a part; byte order is the order of parts."""
    return f"part-{number:05}.{ending}"


def even_sizes(rows: int, parts: int) -> list[int]:
    """How many rows each part has: the same number or one more, the larger ones first; none is empty but the only."""
    parts = max(1, min(parts, rows))
    least, more = divmod(rows, parts)
    return [least + 1] * more + [least] * (parts - more)


def list_digest(parts: Sequence[Part]) -> str:
    """The digest of the list of parts: what `sha256sum part-* | sha256sum` prints in their folder."""
    lines = "".join(f"{part.sha256}  {part.name}\n" for part in parts)
    return hashlib.sha256(lines.encode()).hexdigest()


def sidecar_path(path: Path) -> Path:
    """The public sidecar of a released file or folder, also of the current one."""
    path = path if path.name else path.resolve()
    return path.parent / f"{path.name}.json"


def listed_parts(folder: Path) -> tuple[Part, ...]:
    """The parts that a sidecar beside a folder names; none where there is no sidecar, or it names none."""
    if not sidecar_path(folder).is_file():  # to read a pipe would last for ever
        return ()
    unknown = DeclaredFile(name=sidecar_path(folder).name)
    file = DeclaredFile(name=sidecar_path(folder).name, verdict="is not a sidecar of Coterie", end=_AS_A_WHOLE)
    try:
        data = json_object(sidecar_path(folder).read_bytes(), unknown)
    except (OSError, InputError):  # it may be anybody's
        return ()
    if "coterie" not in data:
        return ()
    return as_declared({key: data[key] for key in ("parts",) if key in data}, _Listed, file).parts


def refuse_other_files(folder: Path, parts: Sequence[Part]) -> None:
    """Raise InputError where a folder does not hold the files that its sidecar names, and nothing else."""
    begin = f"{folder.name} is not the release that {sidecar_path(folder).name} describes:"
    if not folder.is_dir():
        raise InputError(f"{begin} it is one file, and the sidecar names parts. {_AS_A_WHOLE}")
    if not parts:
        raise InputError(f"{begin} it is a folder, and the sidecar names no parts. {_AS_A_WHOLE}")
    ending = parts[0].name.partition(".")[2]
    if [part.name for part in parts] != [part_name(number, ending) for number in range(len(parts))]:
        raise InputError(f"{begin} its parts are not named part-00000 and so on, in this order. {_AS_A_WHOLE}")
    named = {part.name for part in parts}
    with os.scandir(folder) as entries:
        there = {entry.name: stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode) for entry in entries}
    if missing := sorted(named - set(there)):
        raise InputError(f"{begin} {_counted(len(missing), 'part')} missing ({missing[0]}). {_AS_A_WHOLE}")
    if extra := sorted(set(there) - named):
        raise InputError(
            f"{begin} {_counted(len(extra), 'file')} in the folder and not in the sidecar ({extra[0]!a}). {_AS_A_WHOLE}"
        )
    if other := sum(not is_file for is_file in there.values()):
        raise InputError(f"{begin} {_counted(other, 'part')} no regular file. {_AS_A_WHOLE}")


def changed_parts(folder: Path, parts: Sequence[Part]) -> list[str]:
    """The names of the parts whose bytes are not those that the sidecar describes."""
    digests = sha256_of(folder / part.name for part in parts)
    return [part.name for part, digest in zip(parts, digests, strict=True) if digest != part.sha256]


def refuse_other_parts(folder: Path, parts: Sequence[Part]) -> None:
    """Raise InputError where a folder is not, to the byte, what its sidecar describes."""
    refuse_other_files(folder, parts)
    if changed := changed_parts(folder, parts):
        raise InputError(
            f"{folder.name} is not the release that {sidecar_path(folder).name} describes: "
            f"{_counted(len(changed), 'part')} not as written ({changed[0]}). {_AS_A_WHOLE}"
        )


def is_release_of_parts(folder: Path) -> bool:
    """Whether a folder is clearly a release of parts: a sidecar beside it names what lies in it, and nothing else does.

    What somebody changed inside a part makes no difference.
    """
    try:
        if folder.is_symlink() or not folder.is_dir() or not (parts := listed_parts(folder)):
            return False
        refuse_other_files(folder, parts)
    except (InputError, OSError):
        return False
    return True


def _counted(number: int, noun: str) -> str:
    return f"1 {noun} is" if number == 1 else f"{number:,} {noun}s are"
