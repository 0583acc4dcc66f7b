"""The digest of rows: one SHA-256 for a table, whatever file, folder of files or database its rows lie in.

Rows are numbered from 0 in their order and cut into blocks of `BLOCK` rows by these numbers, so that the files they lie
in make no difference. Each block has a digest of its own, which whoever has its rows can compute; the digest of the
table is that of its columns, its number of rows and the digests of its blocks. Nothing here depends on how a library
hashes, writes or packs values, so the same rows have the same digest in every version and on every machine.

A block is hashed column by column. A column of text is the lengths of its values in bytes (-1 where there is none),
then the values one after the other, in UTF-8. Any other column is one byte for each row, 1 where there is no value,
then the values (0 where there is none) in 8 bytes each, the lowest first: whole numbers, times in microseconds since
1970, and numbers with a fraction as IEEE 754 has them. Columns are in the order of the table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from coterie.core.shapes import TIME
from coterie.errors import InternalError

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
