"""Databases: a table, or what a query gives, as a Parquet file of this machine; and rows as a new table.

    SQLite          a file of this machine, read and written with the standard library
    DuckDB          a file of this machine, through its own package (extra `duckdb`)
    PostgreSQL      a server, through ADBC (extra `postgresql`)

Each is a `Database`: one connection and, where it writes, one transaction. What is not committed when it is closed
never was.
"""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeAlias
from urllib.parse import quote

import polars as pl

from coterie.core.files import Place
from coterie.errors import InputError, MissingError, ParameterError
from coterie.reading.places import needs_extra

_BATCH = 50_000
_SECONDS = "%Y-%m-%d %H:%M:%S"
_PATIENCE = 10  # seconds until a host has answered
_NO_TABLE, _EXISTS = "42P01", "already exists"
_SENTENCES = (
    # the sentence; what stands in the words of SQLite and of DuckDB; the number that PostgreSQL has for it
    ("this file is not a database of {}.", "not a database", "not a valid duckdb", ""),
    ("the query names a table that is not there.", "no such table", "", _NO_TABLE),
    ("the query names a table that is not there, or one that is there already.", "", "table with name", ""),
    ("the query names a column that is not there.", "no such column", "referenced column", "42703"),
    ("there is a table of that name, and nothing is replaced. Choose another name.", _EXISTS, _EXISTS, "42P07"),
    ("the query is not SQL that {} knows.", "syntax error", "syntax error", "42601"),
    ("another program is using the database. Try again when it is done.", "locked", "lock", ""),
    ("nothing can be written there.", "readonly", "", ""),
    ("the file cannot be opened.", "unable to open", "", ""),
    ("the disk is full. Nothing was written.", "full", "", ""),
    ("you may not do this there.", "", "", "42501"),
    ("there is no such schema.", "", "", "3F000"),
    ("the database is read-only.", "", "", "25006"),
    ("the disk of the database is full. Nothing was written.", "", "", "53100"),
)

Kind: TypeAlias = Literal["text", "whole", "number", "time"]
"""What a column of a release holds."""


def _sentences(name: str) -> dict[str, str]:
    """The sentences that a database has, by what its own words for an error hold."""
    at = ("SQLite", "DuckDB", "PostgreSQL").index(name)
    return {marks[at]: sentence.format(name) for sentence, *marks in _SENTENCES if marks[at]}


class Database(ABC):
    """A connection to a database."""

    types: ClassVar[Mapping[Kind, str]]
    """What it calls the types of columns."""
    words: ClassVar[Mapping[str, str]]
    """What its own words for an error hold, or the number of it, and the sentence in their place."""
    _failures: tuple[type[Exception], ...]
    """The errors of its library."""
    _cursor: Any
    """What takes statements."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Leave it; what was not committed never was."""

    @abstractmethod
    def has(self, table: str) -> bool:
        """Whether there is a table, or a view, of that name."""

    @abstractmethod
    def read(self, query: str, to: Path) -> None:
        """Write what a query gives to a Parquet file; values that no column of a log has become text."""

    def create(self, table: str, columns: Mapping[str, Kind], rows: Path) -> None:
        """Make a table of these columns with the rows of a Parquet file, in their order."""
        listed = ", ".join(f"{quoted_column(name)} {self.types[kind]}" for name, kind in columns.items())
        with self._said():
            self._execute(f"CREATE TABLE {quoted(table)} ({listed})")
            self._fill(table, columns, rows)

    @abstractmethod
    def commit(self) -> None:
        """Let all of it be there."""

    def _execute(self, statement: str, *values: Any) -> Any:
        return self._cursor.execute(statement, *values)

    @abstractmethod
    def _fill(self, table: str, columns: Mapping[str, Kind], rows: Path) -> None:
        """Put the rows of a Parquet file into a table without rows."""

    @contextmanager
    def _said(self) -> Iterator[None]:
        """Errors as sentences; the database's own words for them may show values and are not told."""
        try:
            yield
        except self._failures as error:
            said, shown = self._signs(error)
            unknown = (
                f"the database did not do what it was asked{shown}. Check the query, the names in it and what you may "
                f"do there."
            )
            mark = next((mark for mark in self.words if mark in said), "")
            kind = MissingError if mark == _NO_TABLE else InputError
            raise kind(f"{self._place.label}: {self.words.get(mark, unknown)}") from None

    def _signs(self, error: Exception) -> tuple[str, str]:
        """Where the marks of `words` are looked for, and what is shown of an error without any."""
        return str(error).lower(), f" ({type(error).__name__})"


class _InAFile(Database):
    """A database that is a file of this machine; only a connection that writes makes it."""

    begin: ClassVar[str]
    """How a transaction begins."""
    endings: ClassVar[tuple[str, ...]] = ("",)
    """What stands behind the name of the file in those of its files."""

    def __init__(self, place: Place, write: bool) -> None:
        super().__init__(place)
        self._failures = self._errors()
        path = Path(place.address.partition(":")[2].removeprefix("//"))
        self._new = path if write and not path.exists() else None
        if not path.exists() and (not write or not path.parent.is_dir()):
            what = "folder" if write else "file"
            raise MissingError(f"{place.label}: there is no such {what}.")
        with self._said():
            self._cursor = self._open(path, write)
            if write:
                self._execute(self.begin)

    @abstractmethod
    def _errors(self) -> tuple[type[Exception], ...]:
        """The errors of its library; MissingError where that is not installed."""

    @abstractmethod
    def _open(self, path: Path, write: bool) -> Any:
        """A connection."""

    def close(self) -> None:
        """Leave it; a file that was made for nothing goes."""
        self._cursor.close()
        if self._new is not None:
            for ending in self.endings:
                self._new.with_name(self._new.name + ending).unlink(missing_ok=True)

    def commit(self) -> None:
        """Let all of it be there."""
        with self._said():
            self._execute("COMMIT")
        self._new = None


class SQLite(_InAFile):
    """A file of SQLite, whose columns have no types."""

    begin = "BEGIN IMMEDIATE"
    types: ClassVar[Mapping[Kind, str]] = {"text": "TEXT", "whole": "INTEGER", "number": "REAL", "time": "TEXT"}
    words = _sentences("SQLite")

    def _errors(self) -> tuple[type[Exception], ...]:
        return (sqlite3.Error, OverflowError)

    def _open(self, path: Path, write: bool) -> Any:
        address = f"file:{quote(str(path.absolute()))}?mode={'rwc' if write else 'ro'}"
        return sqlite3.connect(address, uri=True, isolation_level=None)

    def has(self, table: str) -> bool:
        """Whether there is a table, or a view, of that name."""
        schema, name = in_schema(table)
        with self._said():
            known = [row[1].lower() for row in self._execute("PRAGMA database_list")]
            if schema is not None and schema.lower() not in known:
                return False
            found = self._execute(
                f"SELECT 1 FROM {quoted_column(schema or 'main')}.sqlite_master "  # noqa: S608 (a name of letters)
                f"WHERE type IN ('table', 'view') AND lower(name) = lower(?)",
                [name],
            )
            return found.fetchone() is not None

    def read(self, query: str, to: Path) -> None:
        """Rows as a Parquet file. Columns of SQLite have no types, so each gets the one that all of its values have."""
        with self._said():
            query = query.strip().rstrip(";")
            names = [each[0] for each in self._execute(f"SELECT * FROM ({query}) LIMIT 0").description]  # noqa: S608
            kinds = ", ".join(f"typeof({quoted_column(name)})" for name in names)
            seen = self._execute(f"SELECT DISTINCT {kinds} FROM ({query})").fetchall()  # noqa: S608
            schema = {name: self._type(name, {row[at] for row in seen}) for at, name in enumerate(names)}
            write_frames(_frames(self._execute(query), schema), to)

    def _type(self, name: str, kinds: set[str]) -> Any:
        kinds = kinds - {"null"}
        if "blob" in kinds:
            raise InputError(f"{self._place.label}: the column {name!r} holds bytes, and not text or numbers.")
        if kinds == {"integer"}:
            return pl.Int64
        if kinds and kinds <= {"integer", "real"}:
            return pl.Float64
        return pl.String

    def _fill(self, table: str, columns: Mapping[str, Kind], rows: Path) -> None:
        """Times are text, as SQLite has them."""
        times = pl.col(pl.Datetime).dt.strftime(_SECONDS)
        frame = pl.scan_parquet(rows, glob=False).select(list(columns)).with_columns(times)
        places = ", ".join("?" * len(columns))
        for batch in frame.collect_batches(chunk_size=_BATCH, maintain_order=True, engine="streaming"):
            self._cursor.executemany(f"INSERT INTO {quoted(table)} VALUES ({places})", batch.rows())  # noqa: S608


class DuckDB(_InAFile):
    """A file of DuckDB."""

    begin, endings = "BEGIN TRANSACTION", ("", ".wal")
    types: ClassVar[Mapping[Kind, str]] = {
        "text": "VARCHAR", "whole": "BIGINT", "number": "DOUBLE", "time": "TIMESTAMP",
    }  # fmt: skip
    words = _sentences("DuckDB")

    def _errors(self) -> tuple[type[Exception], ...]:
        try:
            import duckdb
        except ImportError:
            raise needs_extra("duckdb", "duckdb", self._place.label) from None
        return (duckdb.Error,)

    def _open(self, path: Path, write: bool) -> Any:
        import duckdb

        return duckdb.connect(str(path), read_only=not write)

    def has(self, table: str) -> bool:
        """Whether there is a table, or a view, of that name."""
        schema, name = in_schema(table)
        with self._said():
            found = self._execute(
                "SELECT 1 FROM information_schema.tables WHERE lower(table_name) = lower(?) AND "
                "table_schema = coalesce(?, current_schema())",
                [name, schema],
            )
            return bool(found.fetchall())

    def read(self, query: str, to: Path) -> None:
        """Rows as a Parquet file."""
        with self._said():
            batches = self._cursor.sql(query).to_arrow_reader()
            try:
                write_batches(batches, to)
            finally:
                batches.close()  # while it is open, so is the file, for everybody

    def _fill(self, table: str, columns: Mapping[str, Kind], rows: Path) -> None:
        self._cursor.register("_coterie_rows", arrow_rows(rows, columns))
        self._execute(f"INSERT INTO {quoted(table)} SELECT * FROM _coterie_rows")  # noqa: S608
        self._cursor.unregister("_coterie_rows")


class PostgreSQL(Database):
    """A server of PostgreSQL; it makes no database."""

    types: ClassVar[Mapping[Kind, str]] = {
        "text": "text", "whole": "bigint", "number": "double precision", "time": "timestamp",
    }  # fmt: skip
    words = _sentences("PostgreSQL")

    def __init__(self, place: Place, write: bool) -> None:
        try:
            import adbc_driver_manager
            from adbc_driver_postgresql import dbapi
        except ImportError:
            raise needs_extra("postgresql", "adbc-driver-postgresql", place.label) from None
        super().__init__(place)
        self._failures = (adbc_driver_manager.Error,)
        address = place.address
        if "connect_timeout" not in address:
            address += ("&" if "?" in address else "?") + f"connect_timeout={_PATIENCE}"
        try:
            self._connection: Any = dbapi.connect(address)
        except adbc_driver_manager.Error:
            raise InputError(
                f"{place.label}: it cannot be reached, or it does not let you in. Check host, port, database, user and "
                f"password."
            ) from None
        self._cursor = self._connection.cursor()
        if not write:
            with self._said():
                self._execute("SET TRANSACTION READ ONLY")

    def close(self) -> None:
        """Leave it, and take back what was not committed."""
        try:
            self._cursor.close()
            self._connection.rollback()
        except self._failures:  # the server is gone, and the transaction with it
            pass
        finally:
            self._connection.close()

    def has(self, table: str) -> bool:
        """Whether there is a table, or a view, of that name."""
        with self._said():
            self._execute("SELECT to_regclass($1) IS NOT NULL", [quoted(table)])
            return bool(self._cursor.fetchone()[0])

    def read(self, query: str, to: Path) -> None:
        """Rows as a Parquet file; what Arrow does not know (uuid, inet, numeric) is read as PostgreSQL writes it."""
        from pyarrow import types as t

        query = query.strip().rstrip(";")
        plain = (t.is_integer, t.is_floating, t.is_string, t.is_timestamp, t.is_date, t.is_boolean)
        with self._said():
            schema = self._cursor.adbc_execute_schema(query)
            picked = ", ".join(
                quoted_column(field.name) + ("" if any(is_kind(field.type) for is_kind in plain) else "::text")
                for field in schema
            )
            self._execute(f"SELECT {picked} FROM ({query}) AS rows_of_query")  # noqa: S608
            write_batches(self._cursor.fetch_record_batch(), to)

    def _signs(self, error: Exception) -> tuple[str, str]:
        return getattr(error, "sqlstate", "") or "", ""

    def _fill(self, table: str, columns: Mapping[str, Kind], rows: Path) -> None:
        schema, name = in_schema(table)
        self._cursor.adbc_ingest(name, arrow_rows(rows, columns), mode="append", db_schema_name=schema)

    def commit(self) -> None:
        """Let all of it be there."""
        with self._said():
            self._connection.commit()


CONNECTIONS: dict[str, Callable[[Place, bool], Database]] = {
    "sqlite": SQLite,
    "duckdb": DuckDB,
    "postgresql": PostgreSQL,
}


def connect(place: Place, write: bool = False) -> Database:
    """A connection to the database of a place."""
    return CONNECTIONS[place.scheme](place, write)


def fetch(place: Place, sql: str | None, folder: Path) -> Path:
    """A table, or what a query gives, as a Parquet file."""
    if (sql is None) == (place.table is None):
        raise ParameterError(
            f"{place.label}: say which rows to read, either by the name of a table ({place.scheme}:...#TABLE) or by "
            f"--sql 'SELECT ...', and not by both."
        )
    target = folder / f"{place.table or 'query'}.parquet"
    with connect(place) as database:
        if place.table is not None and not database.has(place.table):
            raise MissingError(f"{place.label}: there is no such table.")
        database.read(sql or f"SELECT * FROM {quoted(place.table or '')}", target)  # noqa: S608 (a name of letters)
    return target


def quoted(name: str) -> str:
    """A name, with its schema, as SQL has it; places have names of letters, digits and _ alone."""
    return ".".join(map(quoted_column, name.split(".")))


def quoted_column(name: str) -> str:
    """The name of a column, which may hold anything, as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def in_schema(table: str) -> tuple[str | None, str]:
    """The schema and the name of a table."""
    schema, dot, name = table.rpartition(".")
    return (schema if dot else None), name


def write_batches(batches: Any, to: Path) -> None:
    """Arrow batches as a Parquet file."""
    import pyarrow.parquet as pq

    with pq.ParquetWriter(to, batches.schema, compression="lz4") as writer:
        for batch in batches:
            writer.write_batch(batch)


def write_frames(frames: Iterable[pl.DataFrame], to: Path) -> None:
    """Tables, of which there is at least one, as a Parquet file: one in memory at a time."""
    parts: list[Path] = []
    try:
        for number, frame in enumerate(frames):
            parts.append(to.with_name(f"{to.name}.{number}"))
            frame.write_parquet(parts[-1], compression="lz4")
        pl.scan_parquet(parts, glob=False).sink_parquet(to, compression="lz4")
    finally:
        for part in parts:
            part.unlink(missing_ok=True)


def arrow_rows(rows: Path, columns: Mapping[str, Kind]) -> Any:
    """The rows of a Parquet file as Arrow, in types that databases have."""
    wanted: dict[Kind, Any] = {"text": pl.String, "whole": pl.Int64, "number": pl.Float64, "time": pl.Datetime("us")}
    frame = pl.scan_parquet(rows, glob=False).select(pl.col(name).cast(wanted[kind]) for name, kind in columns.items())
    table: Any = frame.collect(engine="streaming").to_arrow(compat_level=pl.CompatLevel.oldest())
    return table


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
