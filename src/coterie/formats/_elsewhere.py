"""Reading where rows are on a cluster: a DataFrame, or files that all nodes can read.

Parsers are those of every log. Lines come in any order and cut anywhere, so a value of a csv file cannot hold a line
break, and bad lines are counted but not located. Whether names of people look alike is not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from coterie.core import registry
from coterie.core.log import Log, Step
from coterie.core.scratch import Scratch
from coterie.core.shapes import TERMS
from coterie.engines.spark import Spark
from coterie.errors import InputError, NoRowsError, ParameterError
from coterie.formats import table
from coterie.formats._options import Options
from coterie.formats._read import BAD_SHARE, _complete, _source_of
from coterie.formats._source import Loaded, Source

_LINE, _ROW = "line", "row"
_HEAD = 50  # lines that a format is known by
_ONLY_LINES = ("aol", "excite", "sogou", "clf", "table", "ubi")


def spark_log(rows: Any, options: Options, parts: int | None = None) -> Log:
    """A log of a Spark DataFrame; `options.columns` says which columns hold what."""
    _refuse_details(options)
    return _table_log(Spark(rows.sparkSession, parts), rows, options, ())


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
    _refuse_details(options)
    if options.query_param is not None:
        raise ParameterError("--query-param makes a search log of an access log on one machine; leave out --engine.")
    if any(place == "-" or place.startswith("synth:") for place in places):
        raise ParameterError("A cluster reads files: give paths that all of its nodes can read, or leave out --engine.")
    engine, sources = Spark(session, parts), _local_files(places)
    if all(place.rstrip("/*").endswith(".parquet") for place in places):
        return _table_log(engine, engine.parquet(places), options, sources)
    lines = engine.numbered_rows(engine.lines(places, _LINE), _ROW)
    head = b"\n".join(engine.first(lines.select(_LINE), _HEAD))
    if not head.strip():
        raise NoRowsError("The files are empty: there is no log to read.")
    with_head = Scratch()
    (with_head.path / "head").write_bytes(head + b"\n")
    name = _source_of([with_head.path / "head"], format, options)[1]
    if name not in _ONLY_LINES:
        raise ParameterError(f"The format {name} is read on one machine; leave out --engine.")
    header = head.split(b"\n")[0] if name == "table" and not head.lstrip().startswith(b"{") else b""
    parse = partial(_parsed, name, options, header)
    frame = engine.each(engine.of(lines), parse)
    loaded = _loaded(name, options, head)
    return _finished(engine, frame, loaded, options, sources, allow_bad=allow_bad)


def _refuse_details(options: Options) -> None:
    if options.details:
        raise ParameterError("Further details (--details) are read on one machine; leave out --engine, or --details.")


def _parsed(name: str, options: Options, header: bytes, lines: pl.LazyFrame) -> pl.LazyFrame:
    """What a format makes of some lines (row, line): the columns of its shape, `row` and `bad`."""
    given = lines.collect()
    texts = given[_LINE].to_list()
    folder = Scratch()
    path = folder.path / "lines"
    path.write_bytes(b"".join(line + b"\n" for line in [header, *texts] if line is not None))
    module = registry.module("formats", name)
    source = Source([path])
    if not source.head():  # no line at all: what a format makes of its own sample has the right columns
        path.write_bytes(module.sample.encode())
        return _one_by_one(module, Source([path]), options).clear().lazy()
    if header and source.head()[0].encode() != header:
        raise InputError("Files of a table must begin with the same header.")
    rows = _one_by_one(module, source, options)
    numbers = given[_ROW].head(rows.height).cast(pl.UInt64)
    return rows.with_columns(numbers.alias(_ROW)).lazy()


def _one_by_one(module: Any, source: Source, options: Options) -> pl.DataFrame:
    """Rows of lines, with the slower way where they are damaged."""
    try:
        return _complete(module.load(source, options)).drop("remark", strict=False).collect(engine="streaming")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        source.expect_damage()
        return _complete(module.load(source, options)).drop("remark", strict=False).collect(engine="streaming")


def _loaded(name: str, options: Options, head: bytes) -> Loaded:
    """What a format says of a log that begins so."""
    folder = Scratch()
    (folder.path / "head").write_bytes(head + b"\n")
    loaded: Loaded = registry.module("formats", name).load(Source([folder.path / "head"]), options)
    return loaded


def _table_log(engine: Spark, rows: Any, options: Options, sources: tuple[Path, ...]) -> Log:
    """A log of a table with named columns."""
    shape, columns = table.columns_of(list(rows.columns), options)
    if shape is TERMS:
        raise ParameterError("Documents are read on one machine; leave out --engine.")
    given = engine.of(engine.numbered_rows(rows.select(*dict.fromkeys(columns.values())), _ROW))

    def typed(batch: pl.LazyFrame) -> pl.LazyFrame:
        named = batch.select(
            *(pl.col(there).alias(name) for name, there in columns.items()), pl.col(_ROW).cast(pl.UInt64)
        )
        raw = named.with_columns(pl.lit(None, pl.String).alias("_bad"))
        return _complete(Loaded(frame=table.typed(raw, shape), shape=shape))

    frame = engine.each(given, typed)
    return _finished(engine, frame, Loaded(frame=frame, shape=shape), options, sources, allow_bad=False)


def _finished(
    engine: Spark, frame: pl.LazyFrame, loaded: Loaded, options: Options, sources: tuple[Path, ...], *, allow_bad: bool
) -> Log:
    """The log of parsed rows: bad ones are counted, then left out."""
    frame = engine.keep(frame)  # so that lines are parsed once
    counts = engine.total(frame, lambda rows: rows.select(pl.len().alias("lines"), pl.col("bad").count()))
    lines, bad = counts.row(0)
    if not lines:
        raise NoRowsError("There are no rows (at most a header), so there is no log to read.")
    message = f"{bad:,} of {lines:,} rows could not be read as a {loaded.shape.name} row."
    if (bad > BAD_SHARE * lines and not allow_bad) or bad == lines:
        raise InputError(
            f"{message} That is more than {BAD_SHARE:.0%}: check --format and --columns, or leave these rows out with "
            f"--allow-bad."
        )
    engine.expect(lines)
    columns = [name for name in loaded.shape.schema if name in frame.collect_schema()]
    good = engine.each(frame, lambda rows: rows.filter(pl.col("bad").is_null()).select(columns))
    step = Step(
        name="read", counts={"lines": lines, "bad": bad}, notes=(f"{message} They were left out.",) if bad else ()
    )
    return Log(
        frame=good,
        shape=loaded.shape,
        history=(step,),
        resources=(engine,),
        sources=sources,
        reading=options.said(loaded.settings) if sources else "",
        settings=loaded.settings,
        engine=engine,
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
