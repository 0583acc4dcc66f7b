"""SQLite: a file of this machine, read and written with the standard library."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import polars as pl

from coterie.core.files import Place
from coterie.errors import InputError, MissingError
from coterie.reading.places.databases import Kind, in_schema, in_sentences, quoted, quoted_column, write_frames

_BATCH = 50_000
_TYPES: dict[Kind, str] = {"text": "TEXT", "whole": "INTEGER", "number": "REAL", "time": "TEXT"}
_SECONDS = "%Y-%m-%d %H:%M:%S"
_WORDS = {
    "not a database": "this file is not a database of SQLite.",
    "no such table": "the query names a table that is not there.",
    "no such column": "the query names a column that is not there.",
    "already exists": "there is a table of that name, and nothing is replaced. Choose another name.",
    "syntax error": "the query is not SQL that SQLite knows.",
    "locked": "another program is using the database. Try again when it is done.",
    "readonly": "nothing can be written there.",
    "unable to open": "the file cannot be opened.",
    "full": "the disk is full. Nothing was written.",
}


def connect(place: Place, write: bool) -> SQLite:
    """A connection to the file; only one that writes makes it."""
    return SQLite(place, write)


class SQLite:
    """One connection; where it writes, one transaction."""

    def __init__(self, place: Place, write: bool) -> None:
        path = Path(place.address.partition(":")[2].removeprefix("//"))
        self._place = place
        self._new = path if write and not path.exists() else None
        if not path.exists() and (not write or not path.parent.is_dir()):
            what = "folder" if write else "file"
            raise MissingError(f"{place.label}: there is no such {what}.")
        with self._said():
            address = f"file:{quote(str(path.absolute()))}?mode={'rwc' if write else 'ro'}"
            self._connection = sqlite3.connect(address, uri=True, isolation_level=None)
            if write:
                self._connection.execute("BEGIN IMMEDIATE")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()  # what was not committed never was
        if self._new is not None:
            self._new.unlink(missing_ok=True)

    def has(self, table: str) -> bool:
        """Whether there is a table, or a view, of that name."""
        schema, name = in_schema(table)
        with self._said():
            known = [row[1].lower() for row in self._connection.execute("PRAGMA database_list")]
            if schema is not None and schema.lower() not in known:
                return False
            found = self._connection.execute(
                f"SELECT 1 FROM {quoted_column(schema or 'main')}.sqlite_master "  # noqa: S608 (a name of letters)
                f"WHERE type IN ('table', 'view') AND lower(name) = lower(?)",
                [name],
            )
            return found.fetchone() is not None

    def read(self, query: str, to: Path) -> None:
        """Rows as a Parquet file. Columns of SQLite have no types, so each gets the one that all of its values have."""
        with self._said():
            query = query.strip().rstrip(";")
            names = [each[0] for each in self._connection.execute(f"SELECT * FROM ({query}) LIMIT 0").description]  # noqa: S608
            kinds = ", ".join(f"typeof({quoted_column(name)})" for name in names)
            seen = self._connection.execute(f"SELECT DISTINCT {kinds} FROM ({query})").fetchall()  # noqa: S608
            schema = {name: self._type(name, {row[at] for row in seen}) for at, name in enumerate(names)}
            write_frames(_frames(self._connection.execute(query), schema), to)

    def _type(self, name: str, kinds: set[str]) -> Any:
        kinds = kinds - {"null"}
        if "blob" in kinds:
            raise InputError(f"{self._place.label}: the column {name!r} holds bytes, and not text or numbers.")
        if kinds == {"integer"}:
            return pl.Int64
        if kinds and kinds <= {"integer", "real"}:
            return pl.Float64
        return pl.String

    def create(self, table: str, columns: Mapping[str, Kind], rows: Path) -> None:
        """Make a table with these rows; times are text, as SQLite has them."""
        times = pl.col(pl.Datetime).dt.strftime(_SECONDS)
        frame = pl.scan_parquet(rows, glob=False).select(list(columns)).with_columns(times)
        places = ", ".join("?" * len(columns))
        listed = ", ".join(f"{quoted_column(name)} {_TYPES[kind]}" for name, kind in columns.items())
        with self._said():
            self._connection.execute(f"CREATE TABLE {quoted(table)} ({listed})")
            for batch in frame.collect_batches(chunk_size=_BATCH, maintain_order=True, engine="streaming"):
                self._connection.executemany(f"INSERT INTO {quoted(table)} VALUES ({places})", batch.rows())  # noqa: S608

    def commit(self) -> None:
        """Let all of it be there."""
        with self._said():
            self._connection.execute("COMMIT")
        self._new = None

    def _said(self) -> AbstractContextManager[None]:
        return in_sentences(self._place, (sqlite3.Error, OverflowError), _WORDS)


def _frames(cursor: sqlite3.Cursor, schema: Mapping[str, Any]) -> Iterator[pl.DataFrame]:
    """The rows of a cursor, some at a time; a table without rows where there are none."""
    rows = cursor.fetchmany(_BATCH)
    while True:
        columns = list(zip(*rows, strict=True)) or [()] * len(schema)
        yield pl.DataFrame([
            pl.Series(name, [_as_text(v) for v in values] if kind == pl.String else values, dtype=kind)
            for (name, kind), values in zip(schema.items(), columns, strict=True)
        ])  # fmt: skip
        rows = cursor.fetchmany(_BATCH)
        if not rows:
            return


def _as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)
