"""Spark: rows live on a cluster, and polars works on them there.

Rows cross the border as Arrow batches (`mapInArrow`), and work inside of a task is that of every engine. Spark's own
part is to move rows: by key, by range, in joins and in counts. It parses and casts nothing, because its errors show
the value; and only the DataFrame API is used, so that a cluster, Spark Connect and managed services are one path.

A block has to fit into the memory of a task: about 0.4 KB for each row. Tables that are needed several times are kept
on the disks of executors. Whatever is lost with one is computed again, and work is pure, so nothing changes.
"""

from __future__ import annotations

import io
import os
import shutil
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from coterie.core.run import SMALL, How
from coterie.engines.arrow import physical, to_arrow, to_polars, typed
from coterie.engines.remote import Piece, Remote, Schema, Table, refuse_versions, said, versions
from coterie.errors import CoterieError, InputError, InternalError, MissingError, ParameterError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

_ROWS_AT_ONCE = 100_000
"""Rows that row-by-row work sees together, and that travel to this machine together."""
_ROWS_OF_A_BLOCK = 500_000
_PAYLOAD = "payload"
_CONNECT, _STANDALONE = "sc://", "spark://"
_SECONDS = 10  # that a cluster may take to answer at all
_ADDRESSES = "spark://HOST:PORT, sc://HOST:PORT, yarn, k8s://..., local[N], or spark for the session that is active"
_OURS = {  # of sessions that are made here
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    "spark.io.encryption.enabled": "true",  # shuffle files hold users and queries
    "spark.executorEnv.POLARS_MAX_THREADS": "1",  # a task has one processor
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(_ROWS_AT_ONCE),
}

_ADVICE = {
    "spark.io.encryption.enabled": "shuffle files hold users and queries; set it to true, or encrypt the disks",
    "spark.executorEnv.POLARS_MAX_THREADS": "set it to the processors of a task, else tasks compete for them",
    "spark.executorEnv.NUMBA_CACHE_DIR": "name a folder that workers can write to, else each compiles kernels anew",
}


# --- sessions --------------------------------------------------------------------------------------


def session_at(address: str) -> SparkSession:
    """The session of an address as `--engine` has it; a sentence where there is none."""
    if not address.startswith((_CONNECT, _STANDALONE, "k8s://", "local")) and address not in ("yarn", "spark"):
        raise ParameterError(f"--engine is one of: {_ADDRESSES}.")
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingError("Spark is not installed: pip install 'coterie[spark]'.") from None
    if address.startswith(_CONNECT):
        _refuse_silence(address, 15002)
        with _translated():
            return SparkSession.builder.remote(address).getOrCreate()
    if active := SparkSession.getActiveSession():
        return active
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        raise MissingError(
            "Spark needs Java 17 or newer on this machine: install it (on Debian default-jre-headless) and set "
            "JAVA_HOME where it is not on the path; or use Spark Connect (sc://HOST:PORT), which needs none here."
        )
    if address.startswith(_STANDALONE):
        _refuse_silence(address, 7077)
    builder = SparkSession.builder.appName("coterie")
    builder = builder if address == "spark" else builder.master(address)
    for name, value in _OURS.items():
        builder = builder.config(name, value)
    with _translated():
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
    return session


@contextmanager
def session_for(address: str | None) -> Iterator[SparkSession | None]:
    """The session of an address while it is needed; one that was made for this is stopped again. None: no cluster."""
    if address is None:
        yield None
        return
    session = session_at(address)
    try:
        yield session
    finally:
        if address != "spark":
            with suppress(Exception):  # nothing more is wanted of it
                session.stop()


def _refuse_silence(address: str, port: int) -> None:
    """Raise MissingError where nobody answers at an address."""
    place = address.partition("://")[2].partition("/")[0].partition(";")[0].split(",")[0]
    host, _, number = place.partition(":")
    try:
        socket.create_connection((host, int(number or port)), timeout=_SECONDS).close()
    except (OSError, ValueError):
        raise MissingError(
            f"No Spark cluster answers at {address}. Is it running, and can this machine reach it? Tried for up to "
            f"{_SECONDS} seconds."
        ) from None


@contextmanager
def _translated() -> Iterator[None]:
    """Errors of Spark as sentences, without what they quote."""
    from pyspark.errors import PySparkException

    try:
        yield
    except CoterieError:
        raise
    except (PySparkException, RuntimeError, OSError) as error:
        raise _sentence(str(error), type(error).__name__, error) from None
    except Exception as error:  # of py4j, or of the network
        if type(error).__module__.partition(".")[0] not in ("py4j", "grpc"):
            raise
        raise _sentence(str(error), type(error).__name__, error) from None


def _sentence(message: str, kind: str, error: BaseException) -> CoterieError:
    if ours := said(message):
        return ours
    for package in ("coterie", "polars", "numba", "pyarrow", "numpy"):
        if f"No module named '{package}" in message:
            return InputError(
                f"The workers of the cluster have no {package}. Install coterie with its dependencies on all nodes, or "
                f"send an environment along (see docs/spark.md, packaging)."
            )
    if "PYTHON_VERSION_MISMATCH" in message or "different minor version" in message:
        return InputError(
            "The workers of the cluster have another version of Python than this machine. Use the same minor version "
            "(set PYSPARK_PYTHON, or send an environment along: docs/spark.md, packaging)."
        )
    if "PATH_NOT_FOUND" in message or "FILE_NOT_EXIST" in message:
        return InputError("The cluster finds no file at the path of the log. It must be one that all nodes can read.")
    condition = getattr(error, "getCondition", lambda: None)() or kind
    return InternalError(
        f"Spark failed ({condition}). Its message may hold values of the log, so it is not shown; the logs of the "
        f"driver have it."
    )


# --- tables ----------------------------------------------------------------------------------------


class SparkTable(Table):
    """Rows of a DataFrame and what is still to be done to them, so that one task does several pieces of work."""

    def __init__(self, source: DataFrame, schema: Schema, frames: Frames | None = None) -> None:
        self.source, self.schema = source, schema
        self.frames = frames or _decoding(schema)
        self._rows = source if frames is None else None

    @property
    def rows(self) -> DataFrame:
        """The rows as a DataFrame, with all that is to be done to them."""
        if self._rows is None:
            self._rows = self.source.mapInArrow(_encoded(self.frames, self.schema), _spark(self.schema))
        return self._rows

    def then(self, piece: Piece) -> SparkTable:
        """The same rows with one more piece of work to be done."""
        return SparkTable(self.source, piece.schema, _then(self.frames, piece))

    def parts(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """The rows in chunks of compressed Arrow, partition by partition: Spark has no other way to stream them."""
        packed = self.source.mapInArrow(_packed(self.frames, columns), f"{_PAYLOAD} binary")
        with _translated():
            for row in packed.toLocalIterator():
                yield pl.read_ipc(io.BytesIO(bytes(row[0])))


class Spark(Remote):
    """Runs work on a cluster. `parts`: how many tasks rows are cut into; by their number unless said."""

    def __init__(self, session: SparkSession, parts: int | None = None, limit: int = SMALL) -> None:
        super().__init__(limit)
        self.session, self.number = session, parts
        self._kept: list[DataFrame] = []
        self._refuse_other_workers()

    def __repr__(self) -> str:
        return f"Spark(parts={self.number})"

    def expect(self, rows: int) -> None:
        """Choose the number of parts for so many rows, unless it was said."""
        self.number = self.number or max(2, -(-rows // _ROWS_OF_A_BLOCK))

    def close(self) -> None:
        """Forget the tables that were kept."""
        for rows in self._kept:
            rows.unpersist()
        self._kept.clear()

    def of(self, rows: DataFrame) -> pl.LazyFrame:
        """The frame that stands for a DataFrame as it is."""
        with _translated():
            schema = dict(to_polars(rows.limit(0).toArrow()).schema)
        return self.frame(SparkTable(rows, schema))

    def numbered_rows(self, rows: DataFrame, name: str) -> DataFrame:
        """Rows with a number of their own, in no order."""
        from pyspark.sql import functions

        return rows.withColumn(name, functions.monotonically_increasing_id())

    def lines(self, path: Sequence[str], name: str) -> DataFrame:
        """The lines of text files, as bytes."""
        from pyspark.sql import functions

        with _translated():
            lines = self.session.read.text(list(path), lineSep="\n")
        # What is no text stays as it is: parsers say so, line by line.
        return lines.select(functions.col("value").cast("binary").alias(name))

    def parquet(self, paths: Sequence[str]) -> DataFrame:
        """The rows of Parquet files."""
        with _translated():
            return self.session.read.parquet(*paths)

    def bring(self, rows: pl.LazyFrame, files: Sequence[Path], name: str) -> pl.LazyFrame:
        """Rows of files: nodes read those of Parquet themselves, others are sent from here."""
        if any(file.suffix != ".parquet" for file in files):
            return super().bring(rows, files, name)
        from pyspark.sql import functions

        wanted, names = dict(rows.collect_schema()), [file.name for file in files]
        place = [
            functions.col("_metadata.file_name").alias("_file"),
            functions.col("_metadata.row_index").alias("_row"),
        ]
        read = self.parquet([f"file:{file.absolute()}" for file in files])
        with _translated():
            given = self.of(read.select(*(_column(each) for each in read.columns if each in wanted), *place))

        def completed(some: pl.LazyFrame) -> pl.LazyFrame:
            have = some.collect_schema()
            columns = [(pl.col(n) if n in have else pl.lit(None)).cast(kind).alias(n) for n, kind in wanted.items()]
            number = pl.col("_file").replace_strict(names, range(len(names)), return_dtype=pl.Int64)
            return some.select(*columns, number.alias("_file"), "_row")

        placed = self.numbered(self.each(given, completed), ["_file", "_row"], name)
        return self.each(placed, lambda some: some.drop("_file", "_row"))

    def first(self, rows: DataFrame, count: int) -> list[bytes]:
        """The first values of a table of one column of bytes."""
        with _translated():
            return [bytes(row[0]) for row in rows.limit(count).collect()]

    def sample(self, rows: DataFrame, count: int) -> pl.DataFrame:
        """The first rows, here."""
        with _translated():
            return to_polars(rows.limit(count).toArrow())

    # --- what it can do ------------------------------------------------------------------------------

    def put(self, rows: pl.DataFrame) -> Table:
        """A table of rows that are here."""
        schema = dict(rows.schema)
        with _translated():
            return SparkTable(self.session.createDataFrame(to_arrow(rows, schema), _spark(schema)), schema)

    def run_each(self, table: Table, piece: Piece) -> Table:
        """A piece of work on rows as they come, some at a time."""
        return _of(table).then(piece)

    def run_blocks(self, tables: Sequence[Table], by: Sequence[str], piece: Piece) -> Table:
        """A piece of work on whole partitions, in which equal keys of all tables are together."""
        from pyspark.sql import functions

        given = [_of(table) for table in tables]
        if len(given) == 1:
            both = given[0].rows
        else:  # one table with the columns of all, those of the others empty
            sides = [_side(table, at, given, by) for at, table in enumerate(given)]
            both = sides[0]
            for side in sides[1:]:
                both = both.unionByName(side)
        keys = [functions.col(_quoted(name)) for name in by]
        cut = both.repartition(self.number or 2, *keys)
        return SparkTable(cut, piece.schema, _whole_blocks(piece, [table.schema for table in given], list(by)))

    def run_crowds(self, table: Table, by: Sequence[str], subject: str, name: str) -> Table:
        """Distinct subjects of each key, first within tasks and then over all: no key is too frequent."""
        from pyspark.sql import functions

        given = _of(table)
        keys = [_column(key) for key in by]
        pairs = given.rows.select(*keys, _column(subject)).dropna().distinct()
        counted = pairs.groupBy(*keys).agg(functions.count("*").alias(name))
        return SparkTable(counted, {**{key: given.schema[key] for key in by}, name: pl.UInt32()})

    def run_join(self, table: Table, other: Table, on: Sequence[str], how: How) -> Table:
        """Rows that are equal in `on`: Spark's own join, which splits what is too frequent."""
        left, right = _of(table), _of(other)
        kind = {"semi": "left_semi", "anti": "left_anti"}.get(how, how)
        joined = left.rows.join(right.rows, on=list(on), how=kind)
        schema = dict(left.schema)
        if how in ("inner", "left"):
            schema |= {name: dtype for name, dtype in right.schema.items() if name not in on}
        return SparkTable(joined.select(*map(_column, schema)), schema)

    def run_sort(self, table: Table, by: Sequence[str]) -> Table:
        """Ranges, each of them sorted. Spark orders text by its bytes and nulls first, as polars does."""
        given = _of(table)
        keys = [_column(name) for name in by]
        ranges = given.rows.repartitionByRange(self.number or 2, *keys).sortWithinPartitions(*keys)
        return self.run_keep(SparkTable(ranges, given.schema))

    def run_numbered(self, table: Table, name: str) -> Table:
        """Places: rows of the parts before, and those before it in its own."""
        from pyspark.sql import functions

        given = _of(table)
        cut = given.rows.withColumn("_part", functions.spark_partition_id())
        with _translated():
            sizes = {row[0]: row[1] for row in cut.groupBy("_part").count().collect()}
        starts, start = {}, 0
        for part in sorted(sizes):
            starts[part] = start
            start += sizes[part]
        schema: Schema = {name: pl.UInt32(), **given.schema}
        return self.run_keep(SparkTable(cut, schema, _placing(given.schema, starts, name)))

    def run_keep(self, table: Table) -> Table:
        """The rows on the disks of executors; encrypted there, where the cluster does so."""
        from pyspark import StorageLevel

        given = _of(table)
        with _translated():
            kept = given.rows.persist(StorageLevel.DISK_ONLY)
        self._kept.append(kept)
        return SparkTable(kept, given.schema)

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

        with _translated():
            self.session.range(2, numPartitions=2).mapInArrow(compare, "id long").count()


def _of(table: Table) -> SparkTable:
    if not isinstance(table, SparkTable):
        raise InternalError("A table of another engine came to Spark.")
    return table


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _column(name: str) -> Column:
    from pyspark.sql import functions

    return functions.col(_quoted(name))


def _side(table: SparkTable, at: int, tables: Sequence[SparkTable], by: Sequence[str]) -> DataFrame:
    """One of several tables, with empty columns for those of the others."""
    from pyspark.sql import functions

    columns = [functions.lit(at).alias("_of"), *map(_column, by)]
    for place, each in enumerate(tables):
        for name, dtype in each.schema.items():
            if name not in by:
                nothing = functions.lit(None).cast(_type(dtype))
                columns.append((_column(name) if place == at else nothing).alias(f"_{place}_{name}"))
    return table.rows.select(*columns)


# --- what runs in tasks ----------------------------------------------------------------------------

Frames = Callable[[Iterator["pa.RecordBatch"]], Iterator[pl.DataFrame]]
Batches = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]


def _decoding(schema: Schema) -> Frames:
    """Rows as they come, some at a time."""

    def frames(batches: Iterator[pa.RecordBatch]) -> Iterator[pl.DataFrame]:
        return _gathered(batches, schema, _ROWS_AT_ONCE)

    return frames


def _then(before: Frames, piece: Piece) -> Frames:
    """One more piece of work on each of the frames."""

    def frames(batches: Iterator[pa.RecordBatch]) -> Iterator[pl.DataFrame]:
        return (piece.elsewhere(rows) for rows in before(batches))

    return frames


def _whole_blocks(piece: Piece, given: Sequence[Schema], by: Sequence[str]) -> Frames:
    """A piece of work on all rows of a partition, and those of other tables beside them."""

    def frames(batches: Iterator[pa.RecordBatch]) -> Iterator[pl.DataFrame]:
        tables = list(_gathered(batches, given[0], None)) if len(given) == 1 else _sides(batches, given, by)
        if tables:  # a partition may have no rows
            yield piece.elsewhere(*tables)

    return frames


def _encoded(frames: Frames, schema: Schema) -> Batches:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in frames(batches):
            yield from to_arrow(rows, schema).to_batches()

    return run


def _packed(frames: Frames, columns: Sequence[str] | None) -> Batches:
    """Rows as a few values, each of which holds many: in this form they come to the driver."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for rows in frames(batches):
            for some in rows.iter_slices(_ROWS_AT_ONCE):
                target = io.BytesIO()
                (some if columns is None else some.select(columns)).write_ipc(target, compression="zstd")
                yield pa.RecordBatch.from_arrays([pa.array([target.getvalue()], pa.binary())], [_PAYLOAD])

    return run


def _sides(batches: Iterator[pa.RecordBatch], given: Sequence[Schema], by: Sequence[str]) -> list[pl.DataFrame]:
    """The tables that `_side` put into one."""
    whole = _concat(batches)
    if whole is None:
        return []
    tables = []
    for at, schema in enumerate(given):
        names = {name: name if name in by else f"_{at}_{name}" for name in schema}
        rows = whole.filter(pl.col("_of") == at).select(pl.col(there).alias(name) for name, there in names.items())
        tables.append(typed(rows, schema))
    return tables


def _placing(given: Schema, starts: dict[int, int], name: str) -> Frames:
    """Rows with their places in front."""

    def frames(batches: Iterator[pa.RecordBatch]) -> Iterator[pl.DataFrame]:
        done = 0
        for rows in _gathered(batches, {**given, "_part": pl.Int64()}, _ROWS_AT_ONCE):
            start = starts[rows["_part"][0]] + done
            done += rows.height
            yield rows.drop("_part").with_row_index(name, start)

    return frames


def _gathered(batches: Iterator[pa.RecordBatch], schema: Schema, about: int | None) -> Iterator[pl.DataFrame]:
    """Batches as frames of about so many rows, or all of them as one; none where there are no rows."""
    waiting, height = [], 0
    for batch in batches:
        if not batch.num_rows:
            continue
        waiting.append(batch)
        height += batch.num_rows
        if about is not None and height >= about:
            yield typed(to_polars(waiting), schema)
            waiting, height = [], 0
    if waiting:
        yield typed(to_polars(waiting), schema)


def _concat(batches: Iterator[pa.RecordBatch]) -> pl.DataFrame | None:
    some = [batch for batch in batches if batch.num_rows]
    return to_polars(some) if some else None


# --- types ------------------------------------------------------------------------------------------


def _spark(schema: Schema) -> Any:
    """The schema as Spark has it."""
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(name, _type(dtype)) for name, dtype in schema.items()])


def _type(dtype: pl.DataType) -> DataType:
    from pyspark.sql import types

    plain = physical(dtype)
    if isinstance(plain, pl.List):
        return cast("DataType", types.ArrayType(_type(cast(pl.DataType, plain.inner))))
    names = {
        pl.String: types.StringType, pl.Binary: types.BinaryType, pl.Boolean: types.BooleanType,
        pl.Int8: types.ByteType, pl.Int16: types.ShortType, pl.Int32: types.IntegerType, pl.Int64: types.LongType,
        pl.Float32: types.FloatType, pl.Float64: types.DoubleType, pl.Date: types.DateType,
        pl.Datetime: types.TimestampNTZType,
    }  # fmt: skip
    for kind, made in names.items():
        if isinstance(plain, kind):
            return cast("DataType", made())
    raise InternalError(f"Spark has no type for a column of {plain}.")
