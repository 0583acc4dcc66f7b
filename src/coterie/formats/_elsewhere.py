"""Reading where rows are on a cluster: a DataFrame, or files that all nodes can read.

Parsers are those of every log. Which columns hold what is settled here, by the first rows; the cluster then counts
lines, people and what is unusual about them in one pass. Lines come in any order and cut anywhere, so a value of a csv
file cannot hold a line break, and bad lines are counted but not located.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from coterie.core import registry
from coterie.core.files import BOM, compression
from coterie.core.files import head as head_of
from coterie.core.log import Log, Step
from coterie.core.scratch import Scratch
from coterie.core.shapes import TERMS, Shape
from coterie.engines.spark import Spark
from coterie.errors import InputError, NoRowsError, ParameterError
from coterie.formats import table
from coterie.formats._guess import LOOKED_AT
from coterie.formats._options import Options
from coterie.formats._read import (
    BAD_SHARE,
    Parsed,
    _complete,
    _source_of,
    folded,
    remarks_of,
    settings_of,
    told_alike,
    who_is_counted,
)
from coterie.formats._source import Loaded, Source
from coterie.formats._values import slashed

_LINE, _ROW = "line", "row"
_ONLY_LINES = ("aol", "excite", "sogou", "clf", "table")


class _Place(NamedTuple):
    """Where a log is: the engine, its files where this machine can read them too, and what messages call it."""

    engine: Spark
    sources: tuple[Path, ...] = ()
    label: str = "The table"


def spark_log(rows: Any, options: Options, parts: int | None = None) -> Log:
    """A log of a Spark DataFrame; `options.columns` says which columns hold what."""
    return _table_log(_Place(Spark(rows.sparkSession, parts)), rows, options)


def read_on_spark(
    paths: Sequence[str | Path],
    session: Any,
    *,
    format: str | None = None,
    options: Options | None = None,
    allow_bad: bool = False,
    parts: int | None = None,
) -> Log:
    """A log from files that the nodes of a cluster can read: Parquet, or text in one of the formats of lines."""
    options, places = options or Options(), [str(path) for path in paths]
    if options.query_param is not None:
        raise ParameterError("--query-param makes a search log of an access log on one machine; leave out --engine.")
    if any(place == "-" or place.startswith("synth:") for place in places):
        raise ParameterError("A cluster reads files: give paths that all of its nodes can read, or leave out --engine.")
    return read_there(Spark(session, parts), places, format, options, allow_bad=allow_bad)


def read_there(engine: Spark, places: Sequence[str], format: str | None, options: Options, *, allow_bad: bool) -> Log:
    """A log from files that an engine can read."""
    sources = _local_files(places)
    names = [path.name for path in sources] or [place.rstrip("/").rpartition("/")[2] for place in places]
    where = _Place(engine, sources, names[0] if len(names) == 1 else f"{len(names)} files")
    if all(place.rstrip("/*").endswith(".parquet") for place in places):
        return _table_log(where, engine.parquet(places), options)
    lines = engine.numbered_rows(engine.lines(places, _LINE), _ROW)
    first = next(filter(None, map(head_of, sources)), None) if sources else _first_lines(engine, lines)
    if not first:
        raise NoRowsError(f"{where.label}: there is no line, so there is no log to read.")
    folder = Scratch()
    path = folder.path / names[0]
    path.write_text("\n".join(first) + "\n", encoding="utf-8")
    source, name = _source_of([path], format, options)
    if name not in _ONLY_LINES:
        raise ParameterError(f"The format {name} is read on one machine; leave out --engine.")
    if options.details and name != "table":
        raise ParameterError(f"--details names columns of a table, and {where.label} is read as {name}. Leave it out.")
    loaded: Loaded = registry.module("formats", name).load(source, options)
    header, settled = b"", options
    if name == "table":
        header, settled = _as_settled(source, loaded, options, sources)
    parse = partial(_parsed, name, settled, header)
    frame = engine.each(engine.of(lines), parse)
    return _finished(where, frame, loaded, options, allow_bad=allow_bad)


def _first_lines(engine: Spark, lines: Any) -> list[str]:
    """The first lines that a cluster has, for files that it alone can read."""
    texts = (line.decode(errors="replace") for line in engine.first(lines.select(_LINE), LOOKED_AT))
    return [text.removeprefix(BOM).rstrip("\r") for text in texts if text.strip(" \r")]


def _as_settled(
    source: Source, loaded: Loaded, options: Options, sources: Sequence[Path]
) -> tuple[bytes, Options]:  # fmt: skip
    """The line that batches of a table begin with, and options that leave nothing to be found out by a batch."""
    kind = table.kind_of(source.head())
    if kind == "json":
        raise ParameterError("JSON with documents over several lines is read on one machine; leave out --engine.")
    _require_same_columns(sources, kind)
    settled = replace(options, columns=loaded.columns, guess=False)
    shape, columns = table.columns_of(table.column_names(source), settled, kind != "jsonl")
    _refuse_slashes(shape, columns, table.first_rows(source)[1])
    if kind != "jsonl":
        return source.head()[0].encode(), settled
    # An object with all fields stands first, and is left out again: a batch may lack one of them.
    names = dict.fromkeys(name.split(".")[0] for name in [*columns.values(), *table.names_of(source.head())])
    return json.dumps(dict.fromkeys(names)).encode(), settled


def _require_same_columns(sources: Sequence[Path], kind: str) -> None:
    """Files that this machine can read as they are must be one table."""
    if len(sources) > 1 and not any(map(compression, sources)):
        table.require_same_columns(Source(sources), kind)


def _refuse_slashes(shape: Shape, columns: Mapping[str, str], rows: pl.DataFrame) -> None:
    """Raise ParameterError where only the whole column shows which part of a date is the day."""
    time = columns.get(shape.time or "", "")
    if rows.schema.get(time) == pl.String and rows.select(slashed(pl.col(time)).any()).item():
        raise ParameterError(
            "Dates such as 31/12/2025 are read on one machine, which sees whether the day or the month comes first; "
            "leave out --engine, or write them as 2025-12-31."
        )


def _parsed(name: str, options: Options, header: bytes, lines: pl.LazyFrame) -> pl.LazyFrame:
    """What a format makes of some lines (row, line): the columns of its shape, `row`, `bad`, and remarks."""
    given = lines.collect()
    if given[_LINE].bin.starts_with(BOM.encode()).any():  # the first line of a file
        given = given.with_columns(pl.Series(_LINE, [_without_mark(line) for line in given[_LINE]], dtype=pl.Binary))
    texts = given[_LINE].to_list()
    folder = Scratch()
    path = folder.path / "lines"
    path.write_bytes(b"".join(line + b"\n" for line in [header, *texts] if line))
    module = registry.module("formats", name)
    source = Source([path])
    if not source.head():  # no line at all: what a format makes of its own sample has the right columns
        path.write_bytes(module.sample.encode())
        return _one_by_one(module, Source([path]), options).clear().lazy()
    rows = _one_by_one(module, source, options)
    if header.startswith(b"{"):
        rows = rows.filter(pl.col(_ROW) != 0)
    numbers = given[_ROW].head(rows.height).cast(pl.UInt64)
    return rows.with_columns(numbers.alias(_ROW)).lazy()


def _without_mark(line: bytes | None) -> bytes | None:
    return None if line is None else line.removeprefix(BOM.encode())


def _one_by_one(module: Any, source: Source, options: Options) -> pl.DataFrame:
    """Rows of lines, with the slower way where they are damaged."""
    try:
        return _complete(module.load(source, options)).collect(engine="streaming")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        source.expect_damage()
        return _complete(module.load(source, options)).collect(engine="streaming")


def _table_log(where: _Place, rows: Any, options: Options) -> Log:
    """A log of a table with named columns."""
    engine = where.engine
    if where.sources:
        _require_same_columns(where.sources, "parquet")
        first = table.first_rows(Source(where.sources[:1]))[1]
    else:
        first = engine.sample(rows, LOOKED_AT)
    loaded = table.from_frame(first, options, where.label)
    settled = replace(options, columns=loaded.columns, guess=False)
    shape, columns = table.columns_of(list(rows.columns), settled)
    if shape is TERMS:
        raise ParameterError("Documents are read on one machine; leave out --engine.")
    _refuse_slashes(shape, columns, first)
    given = engine.of(engine.numbered_rows(rows.select(*dict.fromkeys(columns.values())), _ROW))

    def typed(batch: pl.LazyFrame) -> pl.LazyFrame:
        named = batch.select(
            *(pl.col(there).alias(name) for name, there in columns.items()), pl.col(_ROW).cast(pl.UInt64)
        )
        raw = named.with_columns(pl.lit(None, pl.String).alias("_bad"))
        return _complete(Loaded(frame=table.typed(raw, shape), shape=shape))

    return _finished(where, engine.each(given, typed), loaded, options, allow_bad=False)


def _finished(where: _Place, frame: pl.LazyFrame, loaded: Loaded, options: Options, *, allow_bad: bool) -> Log:
    """The log of parsed rows: bad ones are counted, then left out; and what is to be said about whom k counts."""
    engine, shape, subject = where.engine, loaded.shape, loaded.shape.subject
    remarks = [f"_{bit}" for bit in range(len(loaded.remarks))]
    frame = engine.keep(frame)  # so that lines are parsed once
    names = engine.each(frame, partial(_names_of, subject, remarks))
    counts = engine.total(engine.blocks(names, _counts_of, ["folded"]), lambda rows: rows).row(0, named=True)
    lines, bad = counts["lines"], counts["bad"]
    if not lines:
        raise NoRowsError(f"{where.label}: there are no rows (at most a header), so there is no log to read.")
    message = f"{bad:,} of {lines:,} rows could not be read as a {shape.name} row."
    if (bad > BAD_SHARE * lines and not allow_bad) or bad == lines:
        raise InputError(
            f"{where.label}: {message} That is more than {BAD_SHARE:.0%}: check --format and --columns, or leave these "
            f"rows out with --allow-bad."
        )
    engine.expect(lines)
    alike = told_alike(counts["alike"], counts["different"], shape.subject_noun)
    people = who_is_counted(counts["named"], counts["different"], alike, loaded, options, where.label)
    columns = [name for name in shape.schema if name in frame.collect_schema()]
    good = engine.each(frame, lambda rows: rows.filter(pl.col("bad").is_null()).select(columns))
    parsed = Parsed(loaded, good, lines, bad, tuple(counts[name] for name in remarks))
    left_out = (f"{message} They were left out.",) if bad else ()
    notes = (*left_out, *loaded.notes, *remarks_of(parsed), *people.notes)
    reading = replace(options, columns=loaded.columns or options.columns).said(loaded.settings)
    return Log(
        frame=good,
        shape=shape,
        history=(Step(name="read", counts={"lines": lines, "bad": bad}, notes=notes),),
        resources=(engine,),
        sources=where.sources,
        reading=reading if where.sources else "",
        settings=settings_of(loaded, options),
        guessed=loaded.guessed,
        warnings=people.warnings,
        may_count=loaded.may_count,
        engine=engine,
    )


def _names_of(subject: str, remarks: Sequence[str], rows: pl.LazyFrame) -> pl.LazyFrame:
    """Who is in some rows, and how often; and a line without a name that counts the rows."""
    good = pl.col("bad").is_null()
    named = rows.filter(good).select(pl.col(subject).alias("name")).drop_nulls().group_by("name").len("named")
    people = named.with_columns(folded(pl.col("name")).alias("folded"), pl.col("named").cast(pl.Int64))
    bits = [
        (good & (pl.col("remark") // 2**bit % 2 == 1)).sum().cast(pl.Int64).alias(name)
        for bit, name in enumerate(remarks)
    ]
    counts = rows.select(
        pl.len().cast(pl.Int64).alias("lines"), pl.col("bad").count().cast(pl.Int64).alias("bad"), *bits
    )
    return pl.concat([people, counts], how="diagonal")


def _counts_of(rows: pl.LazyFrame) -> pl.LazyFrame:
    """How many people the names are, in how many rows, how many of them look like another one; and the other counts."""
    people = rows.drop_nulls("name").group_by("folded", "name").agg(pl.col("named").sum())
    alike = people.group_by("folded").agg(pl.len().cast(pl.Int64).alias("different"), pl.col("named").sum())
    several = pl.col("different").filter(pl.col("different") > 1)
    return pl.concat(
        [
            alike.select(pl.col("different", "named").sum(), several.sum().alias("alike")),
            rows.select(pl.all().exclude("name", "folded", "named").sum()),
        ],
        how="horizontal",
    )


def _local_files(places: Sequence[str]) -> tuple[Path, ...]:
    """The files themselves where this machine can read them, for their digest; none where it cannot."""
    found: list[Path] = []
    for place in places:
        path = Path(place.removeprefix("file://").removeprefix("file:"))
        matches = sorted(path.parent.glob(path.name)) if "*" in path.name else [path]
        if not matches or not all(match.is_file() for match in matches):
            return ()
        found += (match.absolute() for match in matches)
    return tuple(found)
