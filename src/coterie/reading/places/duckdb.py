"""DuckDB: a file of this machine, through its own package (extra `duckdb`)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from coterie.core.files import Place
from coterie.errors import MissingError
from coterie.reading.places import needs_extra
from coterie.reading.places.databases import (
    Kind,
    arrow_rows,
    in_schema,
    in_sentences,
    quoted,
    quoted_column,
    write_batches,
)

_TYPES: dict[Kind, str] = {"text": "VARCHAR", "whole": "BIGINT", "number": "DOUBLE", "time": "TIMESTAMP"}
_WORDS = {
    "not a valid duckdb": "this file is not a database of DuckDB.",
    "table with name": "the query names a table that is not there, or one that is there already.",
    "referenced column": "the query names a column that is not there.",
    "already exists": "there is a table of that name, and nothing is replaced. Choose another name.",
    "syntax error": "the query is not SQL that DuckDB knows.",
    "lock": "another program is using the database. Try again when it is done.",
}


def connect(place: Place, write: bool) -> DuckDB:
    """A connection to the file; only one that writes makes it."""
    return DuckDB(place, write)


class DuckDB:
    """One connection; where it writes, one transaction."""

    def __init__(self, place: Place, write: bool) -> None:
        try:
            import duckdb
        except ImportError:
            raise needs_extra("duckdb", "duckdb", place.label) from None
        path = Path(place.address.partition(":")[2].removeprefix("//"))
        self._place, self._failures = place, (duckdb.Error,)
        self._new = path if write and not path.exists() else None
        if not path.exists() and (not write or not path.parent.is_dir()):
            what = "folder" if write else "file"
            raise MissingError(f"{place.label}: there is no such {what}.")
        with self._said():
            self._connection: Any = duckdb.connect(str(path), read_only=not write)
            if write:
                self._connection.execute("BEGIN TRANSACTION")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()  # what was not committed never was
        if self._new is not None:
            for path in (self._new, self._new.with_name(self._new.name + ".wal")):
                path.unlink(missing_ok=True)

    def has(self, table: str) -> bool:
        """Whether there is a table, or a view, of that name."""
        schema, name = in_schema(table)
        with self._said():
            found = self._connection.execute(
                "SELECT 1 FROM information_schema.tables WHERE lower(table_name) = lower(?) AND "
                "table_schema = coalesce(?, current_schema())",
                [name, schema],
            )
            return bool(found.fetchall())

    def read(self, query: str, to: Path) -> None:
        """Rows as a Parquet file."""
        with self._said():
            batches = self._connection.sql(query).to_arrow_reader()
            try:
                write_batches(batches, to)
            finally:
                batches.close()  # while it is open, so is the file, for everybody

    def create(self, table: str, columns: Mapping[str, Kind], rows: Path) -> None:
        """Make a table with these rows."""
        listed = ", ".join(f"{quoted_column(name)} {_TYPES[kind]}" for name, kind in columns.items())
        with self._said():
            self._connection.execute(f"CREATE TABLE {quoted(table)} ({listed})")
            self._connection.register("_coterie_rows", arrow_rows(rows, columns))
            self._connection.execute(f"INSERT INTO {quoted(table)} SELECT * FROM _coterie_rows")  # noqa: S608
            self._connection.unregister("_coterie_rows")

    def commit(self) -> None:
        """Let all of it be there."""
        with self._said():
            self._connection.execute("COMMIT")
        self._new = None

    def _said(self) -> AbstractContextManager[None]:
        return in_sentences(self._place, self._failures, _WORDS)
