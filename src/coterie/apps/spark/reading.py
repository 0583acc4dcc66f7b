"""Reading where rows are on a cluster: a DataFrame, or files that all nodes can read.

Parsers are those of every log. Which columns hold what is settled here, by the first rows; the cluster then counts
lines and what is unusual about them in one pass, and people in a second one, when it knows into how many parts to cut
them. Lines come in any order and cut anywhere, so a value of a csv file cannot hold a line break, and bad lines are
counted but not located.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from coterie.apps.spark.engine import Spark
from coterie.apps.spark.files import addresses
from coterie.core import registry
from coterie.core.files import Scratch, compression, disk_is_full, expand, first_bytes, in_memory
from coterie.core.files import head as head_of
from coterie.core.log import Log
from coterie.core.shapes import TERMS, Shape
from coterie.errors import InputError, MissingError, NoRowsError, ParameterError
from coterie.reading.formats import table
from coterie.reading.guess import LOOKED_AT
from coterie.reading.logs import BAD_SHARE, Parsed, complete, log_of
from coterie.reading.people import folded, told_alike, who_is_counted
from coterie.reading.reading import Reading
from coterie.reading.sniff import delimiter_of, kind_of, names_of, source_of
from coterie.reading.source import Loaded, Source
from coterie.reading.values import slashed

_LINE, _ROW = "line", "row"
_ONLY_LINES = ("aol", "excite", "sogou", "clf", "table")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_ENDINGS = {".gz": "gz", ".zst": "zst"}
_NOT_LISTED = (
    "Only the cluster lists the files of this log: there is no digest of it here, and Spark leaves out files whose "
    "names begin with _ or a dot.",
)
_BROKEN_LINES = (
    " A value of a csv file cannot hold a line break there: files with line breaks inside of quotes are read on one "
    "machine, without --engine."
)


class _Place(NamedTuple):
    """Where a log is: the engine, its files where this machine can read them too, and what messages say of it."""

    engine: Spark
    sources: tuple[Path, ...] = ()
    label: str = "The table"
    notes: tuple[str, ...] = ()
    advice: str = ""
    """What else may be wrong where many lines are bad."""


def spark_log(rows: Any, options: Reading, parts: int | None = None) -> Log:
    """A log of a Spark DataFrame; `options.columns` says which columns hold what."""
    return _table_log(_Place(Spark(rows.sparkSession, parts)), rows, options)


def read_on_spark(paths: Sequence[str | Path], options: Reading) -> Log:
    """A log from files that the nodes of a cluster can read: Parquet, or text in one of the formats of lines."""
    places = [str(path) for path in paths]
    if options.query_param is not None:
        raise ParameterError("--query-param makes a search log of an access log on one machine; leave out --engine.")
    if any(place == "-" or place.startswith("synth:") for place in places):
        raise ParameterError("A cluster reads files: give paths that all of its nodes can read, or leave out --engine.")
    log = read_there(Spark(options.session, options.parts), places, options)
    return replace(log, home=next((path.resolve() for path in map(Path, places) if path.is_file()), None))


def read_there(engine: Spark, places: Sequence[str], options: Reading) -> Log:
    """A log from files that an engine can read."""
    options = replace(options, session=None)  # what parses lines travels with them, and a session cannot
    is_parquet = all(place.rstrip("/*").endswith(".parquet") for place in places)
    sources = _local_files(places)
    paths = addresses(sources) or _addresses_there(places)
    names = [path.name for path in sources] or _names_there(engine, paths)
    notes = () if sources else _NOT_LISTED
    where = _Place(engine, sources, names[0] if len(names) == 1 else f"{len(names)} files", notes)
    if is_parquet:
        return _table_log(where, engine.parquet(paths), options)
    _refuse_other_endings(sources)
    lines = engine.numbered_rows(engine.lines(paths, _LINE), _ROW)
    first = next(filter(None, map(head_of, sources)), None) if sources else _first_lines(engine, lines)
    if not first:
        raise NoRowsError(f"{where.label}: there is no line, so there is no log to read.")
    folder = Scratch()
    path = folder.path / names[0]
    path.write_text("\n".join(first) + "\n", encoding="utf-8")
    source, name = source_of([path], options)
    if name not in _ONLY_LINES:
        raise ParameterError(f"The format {name} is read on one machine; leave out --engine.")
    options.refuse_unused(name, where.label)
    loaded: Loaded = registry.module("formats", name).load(source, options)
    header, settled = b"", options
    if name == "table":
        kind = kind_of(first)
        if sources:
            table.require_same_columns({file: file.name for file in sources}, kind)
        elif len(names) > 1:
            _require_same_header(engine.heads(paths), first[0], kind)
        header, settled = _as_settled(source, loaded, options)
        where = where._replace(advice=_BROKEN_LINES if kind == "csv" else "")
    parse = partial(_parsed, name, settled, header)
    frame = engine.each(engine.of(lines), parse)
    return _finished(where, frame, loaded, options)


def _first_lines(engine: Spark, lines: Any) -> list[str]:
    """The first lines that a cluster has, for files that it alone can read."""
    texts = (line.decode(errors="replace") for line in engine.first(lines.select(_LINE), LOOKED_AT))
    return [text.rstrip("\r") for text in texts if text.strip(" \r")]


def _require_same_header(heads: Sequence[tuple[str, bytes]], header: str, kind: str) -> None:
    """Files that only the cluster can read are one table only if their headers agree."""
    columns = names_of([header])
    for name, line in heads if kind in ("csv", "tsv") else ():
        first = [line.decode(errors="replace").rstrip("\r")]
        if kind_of(first) != kind or names_of(first) != columns:
            raise table.other_columns(name)


def _as_settled(source: Source, loaded: Loaded, options: Reading) -> tuple[bytes, Reading]:
    """The line that batches of a table begin with, and options that leave nothing to be found out by a batch."""
    kind = kind_of(source.head())
    if kind == "json":
        raise ParameterError("JSON with documents over several lines is read on one machine; leave out --engine.")
    first = source.head()[0]
    if kind == "csv" and not _is_one_record(first, delimiter_of(first)):
        raise ParameterError(f"{source.label}: a quote in the header is not closed.{_BROKEN_LINES}")
    settled = replace(options, columns=loaded.columns, guess=False)
    shape, columns = table.columns_of(table.column_names(source), settled, kind != "jsonl")
    _refuse_slashes(shape, columns, table.first_rows(source)[1])
    if kind != "jsonl":
        return first.encode(), settled
    # An object with all fields stands first, and is left out again: a batch may lack one of them.
    names: dict[str, Any] = dict.fromkeys(names_of(source.head()))
    for column in columns.values():
        *around, last = [column] if column in names else column.split(".")
        inside = names
        for part in around:
            inside[part] = inside.get(part) or {}
            inside = inside[part]
        inside.setdefault(last)
    return json.dumps(names).encode(), settled


def _refuse_slashes(shape: Shape, columns: Mapping[str, str], rows: pl.DataFrame) -> None:
    """Raise ParameterError where only the whole column shows which part of a date is the day."""
    time = columns.get(shape.time or "", "")
    if rows.schema.get(time) == pl.String and rows.select(slashed(pl.col(time)).any()).item():
        raise ParameterError(
            "Dates such as 31/12/2025 are read on one machine, which sees whether the day or the month comes first; "
            "leave out --engine, or write them as 2025-12-31."
        )


def _parsed(name: str, options: Reading, header: bytes, lines: pl.LazyFrame) -> pl.LazyFrame:
    """What a format makes of some lines (row, line): the columns of its shape, `row`, `bad`, and remarks."""
    given = lines.collect()
    texts = [line for line in given[_LINE] if line]
    pieces = 0
    if header and kind_of([header.decode()]) == "csv":
        whole = _records(texts, delimiter_of(header.decode()))
        texts, pieces = whole, len(texts) - len(whole)
    module = registry.module("formats", name)
    try:
        with in_memory():  # a worker that is killed leaves no line on a disk
            rows = _rows_of(module, [header, *texts] if header else texts, options)
    except OSError as error:
        if not disk_is_full(error):
            raise
        raise InputError(
            "A worker has too little room in /dev/shm for the lines of a task. Give containers more of it "
            "(docs/spark.md, memory)."
        ) from None
    if header.startswith(b"{"):
        rows = rows.filter(pl.col(_ROW) != 0)
    if pieces:
        rows = pl.concat([rows, rows.clear(pieces).with_columns(pl.lit("columns").alias("bad"))])
    numbers = given[_ROW].head(rows.height).cast(pl.UInt64)
    return rows.with_columns(numbers.alias(_ROW)).lazy()


def _records(lines: Sequence[bytes], mark: str) -> list[bytes]:
    """The lines of a csv file that are a record each; with a piece of one, a reader would take the lines behind it."""
    return [
        line for line in lines if b'"' not in line or _is_one_record(line.decode(errors="replace"), mark)
    ]  # fmt: skip


def _is_one_record(line: str, mark: str) -> bool:
    """Whether a line of a csv file is a record by itself, not a piece of one with a line break inside of quotes."""
    if '"' not in line:
        return True
    reader = csv.reader([line.replace("\r", " ") + "\n", "\n"], delimiter=mark)
    try:
        next(reader)
    except csv.Error:
        return False
    return line.count('"') % 2 == 0 and reader.line_num == 1


def _rows_of(module: Any, lines: Sequence[bytes], options: Reading) -> pl.DataFrame:
    """What a format makes of lines; of none, a table without rows."""
    folder = Scratch()
    path = folder.path / "lines"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    source = Source([path])
    if source.head():
        return _one_by_one(module, source, options)
    path.write_bytes(module.sample.encode())  # what a format makes of its own sample has the right columns
    return _one_by_one(module, Source([path]), options).clear()


def _one_by_one(module: Any, source: Source, options: Reading) -> pl.DataFrame:
    """Rows of lines, with the slower way where they are damaged."""
    try:
        return complete(module.load(source, options)).collect(engine="streaming")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        source.expect_damage()
        return complete(module.load(source, options)).collect(engine="streaming")


def _table_log(where: _Place, rows: Any, options: Reading) -> Log:
    """A log of a table with named columns."""
    options.refuse_unused("table", where.label)
    engine = where.engine
    if where.sources:
        table.require_same_columns({file: file.name for file in where.sources}, "parquet")
        first = table.first_rows(Source(where.sources[:1]))[1]
    else:
        first = engine.sample(rows, LOOKED_AT)
    loaded = table.from_frame(first, options, where.label)
    settled = replace(options, columns=loaded.columns, guess=False)
    shape, columns = table.columns_of(list(rows.columns), settled)
    if shape is TERMS:
        raise ParameterError("Documents are read on one machine; leave out --engine.")
    _refuse_slashes(shape, columns, first)
    given = engine.of(engine.numbered_rows(engine.columns(rows, list(columns.values())), _ROW))

    def typed(batch: pl.LazyFrame) -> pl.LazyFrame:
        named = batch.select(
            *(pl.col(f"_{at}").alias(name) for at, name in enumerate(columns)), pl.col(_ROW).cast(pl.UInt64)
        )
        raw = named.with_columns(pl.lit(None, pl.String).alias("_bad"))
        return complete(Loaded(frame=table.typed(raw, shape), shape=shape))

    return _finished(where, engine.each(given, typed), loaded, options)


def _finished(where: _Place, frame: pl.LazyFrame, loaded: Loaded, options: Reading) -> Log:
    """The log of parsed rows: bad ones are counted, then left out; and what is to be said about whom k counts."""
    engine, shape, subject = where.engine, loaded.shape, loaded.shape.subject
    remarks = [f"_{bit}" for bit in range(len(loaded.remarks))]
    frame = engine.keep(frame)  # so that lines are parsed once
    counts = engine.total(frame, partial(_lines_of, remarks)).row(0, named=True)
    lines, bad = counts["lines"], counts["bad"]
    if not lines:
        raise NoRowsError(f"{where.label}: there are no rows (at most a header), so there is no log to read.")
    message = f"{bad:,} of {lines:,} rows could not be read as a {shape.name} row."
    if (bad > BAD_SHARE * lines and not options.allow_bad) or bad == lines:
        raise InputError(
            f"{where.label}: {message} That is more than {BAD_SHARE:.0%}: check --format and --columns, or leave these "
            f"rows out with --allow-bad.{where.advice}"
        )
    engine.expect(lines)  # before anything is cut into parts
    names = engine.each(frame, partial(_names_of, subject))
    found = engine.total(engine.blocks(names, _people_of, ["folded"]), lambda rows: rows).row(0, named=True)
    alike = told_alike(found["alike"], found["different"], shape.subject_noun)
    people = who_is_counted(found["named"], found["different"], alike, loaded, options, where.label)
    columns = [name for name in shape.schema if name in frame.collect_schema()]
    good = engine.each(frame, lambda rows: rows.filter(pl.col("bad").is_null()).select(columns))
    parsed = Parsed(loaded, good, lines, bad, tuple(counts[name] for name in remarks))
    left_out = (f"{message} They were left out.",) if bad else ()
    notes = (*left_out, *where.notes)
    files = {"sources": where.sources} if where.sources else {}
    return log_of(parsed, options, people, notes, resources=(engine,), engine=engine, **files)


def _lines_of(remarks: Sequence[str], rows: pl.LazyFrame) -> pl.LazyFrame:
    """How many rows there are, how many of them are bad, and how many each remark is about."""
    good = pl.col("bad").is_null()
    bits = [
        (good & (pl.col("remark") // 2**bit % 2 == 1)).sum().cast(pl.Int64).alias(name)
        for bit, name in enumerate(remarks)
    ]
    return rows.select(pl.len().cast(pl.Int64).alias("lines"), pl.col("bad").count().cast(pl.Int64).alias("bad"), *bits)


def _names_of(subject: str, rows: pl.LazyFrame) -> pl.LazyFrame:
    """Who is in some rows, and how often."""
    names = rows.filter(pl.col("bad").is_null()).select(pl.col(subject).alias("name")).drop_nulls()
    counted = names.group_by("name").len("named")
    return counted.with_columns(folded(pl.col("name")).alias("folded"), pl.col("named").cast(pl.Int64))


def _people_of(rows: pl.LazyFrame) -> pl.LazyFrame:
    """How many people the names are, in how many rows, and how many of them look like another one."""
    people = rows.group_by("folded", "name").agg(pl.col("named").sum())
    alike = people.group_by("folded").agg(pl.len().cast(pl.Int64).alias("different"), pl.col("named").sum())
    several = pl.col("different").filter(pl.col("different") > 1)
    return alike.select(pl.col("different", "named").sum(), several.sum().alias("alike"))


def _local_files(places: Sequence[str]) -> tuple[Path, ...]:
    """The files as reading here finds them, each once; none where some are elsewhere, or in a folder."""
    here = [place.removeprefix("file://").removeprefix("file:") for place in places]
    if any(map(_SCHEME.match, here)):
        return ()
    try:
        found = expand(here, folders=True)
    except MissingError:
        return ()
    if any(path.is_dir() for path in found):
        return ()
    for path in found:
        if not path.is_file():
            raise InputError(f"{path} is no file that a cluster can read. Give a file, or leave out --engine.")
    files = list(dict.fromkeys(path.absolute() for path in found))
    return tuple([file for file in files if first_bytes(file)] or files)


def _addresses_there(places: Sequence[str]) -> list[str]:
    """Paths and patterns that only the cluster looks up; those of files and folders that are here mean just these."""
    here = {place: Path(place.removeprefix("file://").removeprefix("file:")) for place in places}
    return [addresses([path])[0] if path.exists() else place for place, path in here.items()]


def _names_there(engine: Spark, paths: Sequence[str]) -> list[str]:
    """The names of files that only the cluster can list; an error where it would read one of them twice."""
    files = engine.files(paths)
    if len(set(files)) < len(files):
        raise ParameterError("Two of the paths name the same file, whose rows would count twice. Name each file once.")
    return [file.rpartition("/")[2] for file in files or paths]


def _refuse_other_endings(sources: Sequence[Path]) -> None:
    """Raise InputError for a file that a cluster would unpack, or not, against what is in it."""
    for file in sources:
        if compression(file) != _ENDINGS.get(file.suffix):
            raise InputError(
                f"{file.name}: a cluster unpacks files whose names end in .gz or .zst, and no others, and this one has "
                f"something else in it. Rename it."
            )
