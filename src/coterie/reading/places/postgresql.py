"""PostgreSQL: through ADBC, which reads and writes Arrow (extra `postgresql`).

Who logs in may stand in the address, and better in PGPASSWORD or ~/.pgpass, which the driver reads itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from coterie.core.files import Place
from coterie.errors import InputError, MissingError
from coterie.reading.places import needs_extra
from coterie.reading.places.databases import Kind, arrow_rows, in_schema, quoted, quoted_column, write_batches

_TYPES: dict[Kind, str] = {"text": "text", "whole": "bigint", "number": "double precision", "time": "timestamp"}
_PATIENCE = 10  # seconds until a host has answered
_STATES = {
    "42P01": "the query names a table that is not there.",
    "42703": "the query names a column that is not there.",
    "42P07": "there is a table of that name, and nothing is replaced. Choose another name.",
    "42601": "the query is not SQL that PostgreSQL knows.",
    "42501": "you may not do this there.",
    "3F000": "there is no such schema.",
    "25006": "the database is read-only.",
    "53100": "the disk of the database is full. Nothing was written.",
}
_NOT_IN = "it cannot be reached, or it does not let you in. Check host, port, database, user and password."


def connect(place: Place, write: bool) -> PostgreSQL:
    """A connection to the server; it makes no database."""
    return PostgreSQL(place, write)


class PostgreSQL:
    """One connection and one transaction."""

    def __init__(self, place: Place, write: bool) -> None:
        try:
            import adbc_driver_manager
            from adbc_driver_postgresql import dbapi
        except ImportError:
            raise needs_extra("postgresql", "adbc-driver-postgresql", place.label) from None
        self._place, self._failure = place, adbc_driver_manager.Error
        address = place.address
        if "connect_timeout" not in address:
            address += ("&" if "?" in address else "?") + f"connect_timeout={_PATIENCE}"
        try:
            self._connection: Any = dbapi.connect(address)
        except adbc_driver_manager.Error:
            raise InputError(f"{place.label}: {_NOT_IN}") from None
        self._cursor = self._connection.cursor()
        if not write:
            with self._said():
                self._cursor.execute("SET TRANSACTION READ ONLY")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._cursor.close()
            self._connection.rollback()  # what was not committed never was
        except self._failure:  # the server is gone, and the transaction with it
            pass
        finally:
            self._connection.close()

    def has(self, table: str) -> bool:
        """Whether there is a table, or a view, of that name."""
        with self._said():
            self._cursor.execute("SELECT to_regclass($1) IS NOT NULL", [quoted(table)])
            return bool(self._cursor.fetchone()[0])

    def read(self, query: str, to: Path) -> None:
        """Rows as a Parquet file; what Arrow does not know (uuid, inet, numeric) is read as PostgreSQL writes it."""
        query = query.strip().rstrip(";")
        with self._said():
            schema = self._cursor.adbc_execute_schema(query)
            picked = ", ".join(
                quoted_column(field.name) + ("" if _is_plain(field.type) else "::text") for field in schema
            )
            self._cursor.execute(f"SELECT {picked} FROM ({query}) AS rows_of_query")  # noqa: S608
            write_batches(self._cursor.fetch_record_batch(), to)

    def create(self, table: str, columns: Mapping[str, Kind], rows: Path) -> None:
        """Make a table with these rows."""
        listed = ", ".join(f"{quoted_column(name)} {_TYPES[kind]}" for name, kind in columns.items())
        schema, name = in_schema(table)
        with self._said():
            self._cursor.execute(f"CREATE TABLE {quoted(table)} ({listed})")
            self._cursor.adbc_ingest(name, arrow_rows(rows, columns), mode="append", db_schema_name=schema)

    def commit(self) -> None:
        """Let all of it be there."""
        with self._said():
            self._connection.commit()

    @contextmanager
    def _said(self) -> Iterator[None]:
        try:
            yield
        except self._failure as error:
            if sentence := _STATES.get(getattr(error, "sqlstate", "") or ""):
                kind = MissingError if error.sqlstate == "42P01" else InputError
                raise kind(f"{self._place.label}: {sentence}") from None
            raise InputError(
                f"{self._place.label}: the database did not do what it was asked. Check the query, the names in it and "
                f"what you may do there."
            ) from None


def _is_plain(kind: Any) -> bool:
    from pyarrow import types

    plain = (types.is_integer, types.is_floating, types.is_string, types.is_timestamp, types.is_date, types.is_boolean)
    return any(is_kind(kind) for is_kind in plain)
