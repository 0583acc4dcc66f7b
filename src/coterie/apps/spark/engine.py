"""Spark: rows live on a cluster, and polars works on them there.

Rows cross the border as Arrow batches (`mapInArrow`), and work inside of a task is that of every engine. Spark's own
part is to read rows, and to move them as parcels (see parcels.py), which it does not look into. It parses and casts
nothing, because its errors show the value; and only the DataFrame API is used, so that a cluster, Spark Connect and
managed services are one path.

A block has to fit into the memory of a task: about 0.4 KB for each row. Tables that are needed several times are kept
on the disks of executors. Whatever is lost with one is computed again, and work is pure, so nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import polars as pl

from coterie.apps.spark.arrow import to_polars
from coterie.apps.spark.files import addresses
from coterie.apps.spark.parcels import (
    PARCEL,
    Batches,
    Frames,
    blocking,
    blocking_in_place,
    bounds_of,
    cutting,
    in_parcels,
    joining,
    packing,
    placed,
    plain,
    ranging,
    sampling,
    sorting,
    then,
    unpacked,
    unpacking,
)
from coterie.apps.spark.sessions import session_for, translated
from coterie.core.run import SMALL, How
from coterie.engines.remote import Piece, Remote, Schema, Table, empty, refuse_versions, too_large, versions
from coterie.errors import InternalError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

_ROWS_OF_A_BLOCK = 500_000

_ADVICE = {
    "spark.io.encryption.enabled": "shuffle files hold users and queries; set it to true, or encrypt the disks",
    "spark.network.crypto.enabled": "rows and keys cross the network in the clear; set it, and spark.authenticate",
    "spark.executorEnv.POLARS_MAX_THREADS": "set it to the processors of a task, else tasks compete for them",
    "spark.executorEnv.NUMBA_CACHE_DIR": "name a folder that is the workers' own, else each may compile kernels anew",
}


def examine(address: str) -> Iterator[str]:
    """What a cluster is, and whether its workers can do what Coterie needs; an error where it cannot be used."""
    with session_for(address) as session:
        yield f"spark {session.version} at {address}"
        yield from Spark(session).examine()


# --- tables ----------------------------------------------------------------------------------------


class SparkTable(Table):
    """Rows of a DataFrame and what is still to be done to them, so that one task does several pieces of work."""

    def __init__(
        self, engine: Spark, source: DataFrame | Callable[[], DataFrame], schema: Schema, frames: Frames
    ) -> None:  # fmt: skip
        self.engine, self._source, self.schema, self.frames = engine, source, schema, frames
        self.kept = False
        """Whether the source is computed once and for all."""
        self.cut_by: tuple[str, ...] | None = None
        """Columns whose equal values are together in one partition."""

    @property
    def source(self) -> DataFrame:
        """What is read; it may have been put off until now."""
        if callable(self._source):
            self._source = self._source()
        return self._source

    @property
    def parcels(self) -> DataFrame:
        """All that is to be done, as parcels that stay where they are."""
        return self._moved(packing(self.frames))

    def cut(self, by: Sequence[str], of: int = 0) -> DataFrame:
        """The same, as parcels on their way to the parts that their keys name."""
        return self._moved(cutting(self.frames, by, self.engine.cuts, of))

    def ranged(self, by: Sequence[str], bounds: pl.DataFrame) -> DataFrame:
        """The same, as parcels on their way to ranges."""
        return self._moved(ranging(self.frames, by, bounds))

    def _moved(self, batches: Batches) -> DataFrame:
        return self.source.mapInArrow(batches, PARCEL)

    def then(self, piece: Piece) -> SparkTable:
        """The same rows with one more piece of work to be done."""
        done = SparkTable(self.engine, lambda: self.source, piece.schema, then(self.frames, piece))
        done.kept = self.kept
        return done

    def parts(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """The rows here: all at once, or partition by partition where there may be more than one machine holds."""
        as_they_are = self.kept and self.frames is unpacking and columns is None
        parcels = self.source if as_they_are else self._moved(packing(self.frames, columns))
        with translated():
            if self.streamed:
                for row in parcels.select("payload").toLocalIterator():
                    yield unpacked(bytes(row[0]))
                return
            for payload in self.engine.all_of(parcels, kept=as_they_are):
                yield unpacked(payload)


class Spark(Remote):
    """Runs work on a cluster. `parts`: how many tasks rows are cut into; by their number unless said."""

    def __init__(self, session: SparkSession, parts: int | None = None, limit: int = SMALL) -> None:
        super().__init__(limit)
        self.session, self.number = session, parts
        self._expected: int | None = None
        self._kept: list[DataFrame] = []
        self._refuse_other_workers()

    def __repr__(self) -> str:
        return f"Spark(parts={self.number})"

    def expect(self, rows: int) -> None:
        """Choose the number of parts for so many rows, unless it was said."""
        self._expected = max(rows, self._expected or 0)
        self.number = self.number or max(2, -(-rows // _ROWS_OF_A_BLOCK))

    def close(self) -> None:
        """Forget the tables that were kept."""
        for rows in self._kept:
            rows.unpersist()
        self._kept.clear()

    def of(self, rows: DataFrame) -> pl.LazyFrame:
        """The frame that stands for a DataFrame as it is."""
        with translated():
            schema = dict(to_polars(rows.limit(0).toArrow()).schema)
        return self.frame(SparkTable(self, rows, schema, plain(schema)))

    def numbered_rows(self, rows: DataFrame, name: str) -> DataFrame:
        """Rows with a number of their own, in no order."""
        from pyspark.sql import functions

        return rows.withColumn(name, functions.monotonically_increasing_id())

    def lines(self, path: Sequence[str], name: str) -> DataFrame:
        """The lines of text files, as bytes."""
        from pyspark.sql import functions

        with translated():
            lines = self.session.read.text(list(path), lineSep="\n")
        # What is no text stays as it is: parsers say so, line by line.
        return lines.select(functions.col("value").cast("binary").alias(name))

    def files(self, paths: Sequence[str]) -> list[str]:
        """The files that paths and patterns stand for; one is named as often as it would be read."""
        with translated():
            return [unquote(file) for path in paths for file in self.session.read.text(path).inputFiles()]

    def heads(self, paths: Sequence[str]) -> list[tuple[str, bytes]]:
        """The name of each text file, and its first line that is not blank."""
        from pyspark.sql import functions

        with translated():
            lines = self.session.read.text(list(paths), lineSep="\n").select(
                "value",
                functions.col("_metadata.file_path").alias("file"),
                functions.col("_metadata.file_block_start").alias("start"),
                functions.monotonically_increasing_id().alias("number"),
            )
            starts = lines.where((functions.col("start") == 0) & functions.col("value").rlike(r"[^ \r]"))
            found = starts.groupBy("file").agg(functions.min_by(functions.col("value").cast("binary"), "number"))
            return sorted((unquote(row[0]).rpartition("/")[2], bytes(row[1])) for row in found.collect())

    def columns(self, rows: DataFrame, names: Sequence[str]) -> DataFrame:
        """Some columns of a table as `_0`, `_1` ...: Spark hands over no name with a dot in it."""
        with translated():
            return rows.select(*_renamed(names))

    def parquet(self, paths: Sequence[str]) -> DataFrame:
        """The rows of Parquet files."""
        with translated():
            return self.session.read.parquet(*paths)

    def placed(self, rows: pl.LazyFrame, files: Sequence[Path], name: str) -> pl.LazyFrame:
        """Rows of files: nodes read those of Parquet themselves, others are sent from here."""
        if any(file.suffix != ".parquet" for file in files):
            return super().placed(rows, files, name)
        from pyspark.sql import functions

        wanted, numbers = dict(rows.collect_schema()), {file.name: number for number, file in enumerate(files)}
        place = [
            functions.col("_metadata.file_name").alias("_file"),
            functions.col("_metadata.row_index").alias("_row"),
        ]
        read = self.parquet(addresses(files))
        with translated():
            written = [file.rpartition("/")[2] for file in read.inputFiles()]  # with %20 for a space, as in _metadata
            places = {name: numbers[unquote(name)] for name in written}
            have = [each for each in read.columns if each in wanted]
            given = self.of(read.select(*_renamed(have), *place))

        def completed(some: pl.LazyFrame) -> pl.LazyFrame:
            found = {each: pl.col(f"_{at}") for at, each in enumerate(have)}
            columns = [found.get(n, pl.lit(None)).cast(kind).alias(n) for n, kind in wanted.items()]
            number = pl.col("_file").replace_strict(places, return_dtype=pl.Int64)
            return some.select(*columns, number.alias("_file"), "_row")

        placed = self.numbered(self.each(given, completed), ["_file", "_row"], name)
        return self.each(placed, lambda some: some.drop("_file", "_row"))

    def first(self, rows: DataFrame, count: int) -> list[bytes]:
        """The first values of a table of one column of bytes."""
        with translated():
            return [bytes(row[0]) for row in rows.limit(count).collect()]

    def sample(self, rows: DataFrame, count: int) -> pl.DataFrame:
        """The first rows, here."""
        with translated():
            return to_polars(rows.limit(count).toArrow())

    # --- what it can do ------------------------------------------------------------------------------

    def put(self, rows: pl.DataFrame) -> Table:
        """A table of rows that are here."""
        with translated():
            there = self.session.createDataFrame(in_parcels(rows), PARCEL)
        return self._kept_table(there, dict(rows.schema))

    def all_of(self, parcels: DataFrame, *, kept: bool) -> Iterator[bytes]:
        """What parcels hold, in order; their rows are counted first where they may be too many for this machine.

        `kept`: they are computed once and for all, and stay.
        """
        from pyspark import StorageLevel
        from pyspark.sql import functions

        if self._expected is not None and self._expected <= self.limit:  # no table here has many more than the log
            yield from _payloads(parcels)
            return
        computed = parcels if kept else parcels.persist(StorageLevel.DISK_ONLY)
        try:
            if (computed.agg(functions.sum("rows")).collect()[0][0] or 0) > self.limit:
                raise too_large(self.limit)
            yield from _payloads(computed)
        finally:
            if not kept:
                computed.unpersist()

    def run_each(self, table: Table, piece: Piece) -> Table:
        """A piece of work on rows as they come, some at a time."""
        return _of(table).then(piece)

    def run_blocks(self, tables: Sequence[Table], by: Sequence[str], piece: Piece) -> Table:
        """A piece of work on whole partitions, in which equal keys of all tables are together."""
        given = [_of(table) for table in tables]
        first = given[0]
        if len(given) == 1 and first.cut_by is not None and set(first.cut_by) <= set(by):
            return SparkTable(self, first.source, piece.schema, blocking_in_place(first.frames, piece))
        schemas = [table.schema for table in given]
        return SparkTable(self, self._together(given, by), piece.schema, blocking(piece, schemas))

    def run_crowds(self, table: Table, by: Sequence[str], subject: str, name: str) -> Table:
        """Distinct subjects of each key, first by key and subject and then over all: no key is too frequent."""
        given, keys = _of(table), list(by)
        both = [*keys, subject]
        pairs = Piece(lambda rows: rows.select(both).drop_nulls().unique(), (given.schema,))
        some = Piece(lambda rows: rows.unique().group_by(keys).len(name), (pairs.schema,))
        all_of_them = Piece(lambda rows: rows.group_by(keys).agg(pl.col(name).sum().cast(pl.UInt32)), (some.schema,))
        parts = self.run_blocks([given.then(pairs)], both, some)
        return self._known(self.run_blocks([parts], keys, all_of_them), keys)

    def run_join(self, table: Table, other: Table, on: Sequence[str], how: How) -> Table:
        """Rows that are equal in `on`."""
        left, right, keys = _of(table), _of(other), list(on)
        schema = dict(left.schema)
        if how in ("inner", "left"):
            schema |= {name: dtype for name, dtype in right.schema.items() if name not in keys}
        needed = right
        if how in ("semi", "anti"):  # whether a key is there is all that matters
            needed = right.then(Piece(lambda rows: rows.select(keys).unique(), (right.schema,)))
        joined = joining((left.schema, needed.schema), keys, how)
        return self._known(SparkTable(self, self._together([left, needed], keys), schema, joined), keys)

    def run_sort(self, table: Table, by: Sequence[str]) -> Table:
        """Ranges, each of them sorted by polars; found when somebody reads the rows."""
        given, keys = _of(table), list(by)

        def ordered() -> DataFrame:
            rows = given if given.kept else _of(self.run_keep(given))
            sample = pl.concat([empty(rows.schema).select(keys), *rows.then(_sampler(rows.schema, keys)).parts()])
            ranges = rows.ranged(keys, bounds_of(sample, keys, self.cuts)).repartition(self.cuts, "to")
            return self._persisted(ranges.mapInArrow(sorting(rows.schema, keys), PARCEL))

        return self._kept_table(ordered, given.schema)

    def run_numbered(self, table: Table, name: str) -> Table:
        """Places: rows of the parts before, and those before it in its own."""
        from pyspark.sql import functions

        given = _of(table)
        with translated():
            found = given.source.groupBy("of").agg(functions.sum("rows")).collect()
        starts, start = {}, 0
        for part, rows in sorted((row[0], row[1]) for row in found):
            starts[part] = start
            start += rows
        schema: Schema = {name: pl.UInt32(), **given.schema}
        return self._kept_table(given.source, schema, placed(starts, name))

    def run_keep(self, table: Table) -> Table:
        """The rows on the disks of executors; encrypted there, where the cluster does so."""
        given = _of(table)
        if given.kept and given.frames is unpacking:
            return given
        kept = self._kept_table(self._persisted(given.parcels), given.schema)
        return kept if given.cut_by is None else self._known(kept, given.cut_by)

    @property
    def cuts(self) -> int:
        """How many parts rows are cut into."""
        return self.number or 2

    def _persisted(self, parcels: DataFrame) -> DataFrame:
        from pyspark import StorageLevel

        with translated():
            kept = parcels.persist(StorageLevel.DISK_ONLY)
        self._kept.append(kept)
        return kept

    def _kept_table(
        self, source: DataFrame | Callable[[], DataFrame], schema: Schema, frames: Frames = unpacking
    ) -> SparkTable:  # fmt: skip
        table = SparkTable(self, source, schema, frames)
        table.kept = True
        return table

    def _together(self, tables: Sequence[SparkTable], by: Sequence[str]) -> DataFrame:
        """Parcels of all tables, those with equal keys in one partition."""
        both, *others = (table.cut(by, at) for at, table in enumerate(tables))
        for other in others:
            both = both.union(other)
        return both.repartition(self.cuts, "to")

    def _known(self, table: Table, cut_by: Sequence[str]) -> SparkTable:
        """A table of which we know that rows that are equal in some columns are in one partition."""
        known = _of(table)
        known.cut_by = tuple(cut_by)
        return known

    def examine(self) -> Iterator[str]:
        """What people should know about the cluster, in sentences; an error where it cannot be used."""
        yield f"workers have the same versions as this machine: {', '.join(' '.join(v) for v in versions().items())}"
        sample = pl.DataFrame({"key": ["a", "b", "a", None], "value": pl.Series([1, 2, 3, 4], dtype=pl.UInt64)})
        counted = self.blocks(sample.lazy(), lambda rows: rows.group_by("key").len(), ["key"])
        if sorted(self.small(counted).rows(), key=str) != [("a", 2), ("b", 1), (None, 1)]:
            raise InternalError("The cluster gives other answers than this machine. Please report it.")
        yield "work on rows gives the same answer as here"
        for setting, advice in _ADVICE.items():
            value = self.session.conf.get(setting, None)
            yield f"{setting} = {value}" + ("" if value else f": {advice}")

    def _refuse_other_workers(self) -> None:
        """The first task compares versions: hashes and rounding must be the same on all nodes."""
        expected = versions()

        def compare(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            refuse_versions(expected)
            yield from batches

        with translated():
            self.session.range(2, numPartitions=2).mapInArrow(compare, "id long").count()


def _of(table: Table) -> SparkTable:
    if not isinstance(table, SparkTable):
        raise InternalError("A table of another engine came to Spark.")
    return table


def _sampler(schema: Schema, by: Sequence[str]) -> Piece:
    return Piece(sampling(by), (schema,))


def _payloads(parcels: DataFrame) -> Iterator[bytes]:
    """What parcels hold, in order, by one job."""
    return (value.as_py() for value in parcels.select("payload").toArrow().column(0))


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _column(name: str) -> Column:
    from pyspark.sql import functions

    return functions.col(_quoted(name))


def _renamed(names: Sequence[str]) -> list[Column]:
    return [_column(name).alias(f"_{at}") for at, name in enumerate(names)]
