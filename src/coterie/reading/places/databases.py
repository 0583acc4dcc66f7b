"""Databases: a table, or what a query gives, as a Parquet file of this machine; and rows as a new table.

Each database has a module of its name with `connect(place, write)`, which gives a `Database`: one connection and, where
it writes, one transaction. What is not committed when it is closed never was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol, Self, TypeAlias

import polars as pl

from coterie.core.files import Place
from coterie.errors import InputError, MissingError, ParameterError

Kind: TypeAlias = Literal["text", "whole", "number", "time"]
"""What a column of a release holds."""


class Database(Protocol):
    """A connection to a database."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def has(self, table: str) -> bool:
        """Whether there is a table, or a view, of that name."""
        ...

    def read(self, query: str, to: Path) -> None:
        """Write what a query gives to a Parquet file; values that no column of a log has become text."""
        ...

    def create(self, table: str, columns: Mapping[str, Kind], rows: Path) -> None:
        """Make a table of these columns with the rows of a Parquet file, in their order."""
        ...

    def commit(self) -> None:
        """Let all of it be there."""
        ...


def connect(place: Place, write: bool = False) -> Database:
    """A connection to the database of a place."""
    database: Database = import_module(f"coterie.reading.places.{place.scheme}").connect(place, write)
    return database


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


@contextmanager
def in_sentences(place: Place, failures: tuple[type[Exception], ...], words: Mapping[str, str]) -> Iterator[None]:
    """Errors of a database as sentences, found by what their own words hold, which may show values and are not told."""
    try:
        yield
    except failures as error:
        said = str(error).lower()
        for mark, sentence in words.items():
            if mark in said:
                raise InputError(f"{place.label}: {sentence}") from None
        raise InputError(
            f"{place.label}: the database did not do what it was asked ({type(error).__name__}). Check the query, the "
            f"names in it and what you may do there."
        ) from None
