"""Tables: csv, tsv, parquet and jsonl with named columns; also what Coterie itself writes.

`--columns user=cookie,query=q` says which column of the file holds what; without it the columns must have the
names of the shape. A table with `query` is a search log, one with `path` an access log. tsv has no quoting;
csv is RFC 4180. Tabs and line breaks inside a value become spaces. Times may be text (ISO 8601, with or
without a zone), dates, or seconds or milliseconds since 1970.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from coterie.errors import InputError
from coterie.formats._options import Options
from coterie.formats._source import Source, Spool, open_bytes, reason
from coterie.shapes import QUERIES, VISITS, Shape

shape = QUERIES
expected = {
    "encoding": "text must be UTF-8",
    "columns": "as many fields as the header has",
    "time": "YYYY-MM-DD HH:MM:SS, ISO 8601, or seconds since 1970",
    "rank": "a whole number or nothing",
    "status": "a whole number or nothing",
    "bytes": "a whole number or nothing",
}
_TIME_FORMATS = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d")
_ZONED_FORMATS = ("%Y-%m-%d %H:%M:%S%.f%#z", "%Y-%m-%dT%H:%M:%S%.f%#z")
_MILLISECONDS_FROM = 100_000_000_000  # as seconds that would be the year 5138


def sniff(head: list[str]) -> bool:
    """A parquet file, JSON lines or a header line with `query` or `path`."""
    if not head:
        return False
    if head[0].startswith("PAR1"):
        return True
    if head[0].startswith("{"):
        return '"query"' in head[0] or '"path"' in head[0]
    return bool({"query", "path"} & set(_header(head[0])))


def load(source: Source, options: Options) -> tuple[pl.LazyFrame, Shape]:
    """Rows of the files, typed, with their shape."""
    head = source.head()
    kind = _kind(head)
    if kind == "parquet":
        paths = [str(path) for path in source.paths]
        raw = pl.scan_parquet(paths, row_index_name="row", glob=False)
        return typed(raw.with_columns(pl.col("row").cast(pl.UInt64)), options)
    if kind == "jsonl":
        return _load_jsonl(source, options, head)
    names = _header(head[0])
    if len(set(names)) < len(names):
        raise InputError("The header names a column twice. Give each column a name of its own.")
    picked = _picked(names, options)  # fails early, before any row is parsed
    if kind == "tsv":
        return _load_tsv(source, options, head[0], names)
    return _load_csv(source, options, names, picked)


def typed(raw: pl.LazyFrame, options: Options) -> tuple[pl.LazyFrame, Shape]:
    """Columns of the shape with their types, from columns of any sensible type, and `bad`."""
    schema = raw.collect_schema()
    shape, picked = _picked([n for n in schema if n not in ("row", "_bad")], options)
    columns: dict[str, pl.Expr] = {}
    failures: dict[str, pl.Expr] = {}
    if "_bad" in schema:
        failures["columns"] = pl.col("_bad")
    for name, column in picked.items():
        target, found = shape.schema[name], schema[column]
        if target == pl.String:
            columns[name] = _text(column, found, nullable=name not in (shape.item,))
            continue
        value = _time(column, found) if name == "time" else _integer(column, found, target)
        given = pl.col(column).is_not_null()
        if found == pl.String:
            given &= pl.col(column).str.strip_chars() != ""
        failures[name] = given & value.is_null()
        columns[name] = value
    frame = raw.select(
        "row", *(e.alias(n) for n, e in columns.items()), reason(**failures or {"columns": pl.lit(False)})
    )
    return frame, shape


def column_names(source: Source) -> list[str]:
    """The columns that a file really has, also those that no shape knows."""
    head = source.head()
    kind = _kind(head)
    if kind == "parquet":
        return pl.scan_parquet(str(source.paths[0]), glob=False).collect_schema().names()
    if kind == "jsonl":
        return _json_names(head)
    return _header(head[0]) if head else []


def _json_names(head: list[str]) -> list[str]:
    """The fields of the first lines; a field may be absent from some of them."""
    import orjson

    names: dict[str, None] = {}
    for line in head:
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        names.update(dict.fromkeys(record) if isinstance(record, dict) else {})
    return list(names)


def _kind(head: list[str]) -> str:
    if not head:
        return "csv"
    if head[0].startswith("PAR1"):
        return "parquet"
    if head[0].startswith("{"):
        return "jsonl"
    return "tsv" if "\t" in head[0] else "csv"


def _header(line: str) -> list[str]:
    return line.split("\t") if "\t" in line else next(csv.reader([line]), [])


def _picked(names: list[str], options: Options) -> tuple[Shape, dict[str, str]]:
    """The shape, and for each of its columns that the file has the file's name for it."""
    for name, column in options.columns.items():
        if column not in names:
            raise InputError(f"--columns {name}={column}: the table has no column of that name.")
        if name not in QUERIES.schema and name not in VISITS.schema:
            raise InputError(
                f"--columns {name}=...: a log has no column {name!r}. Search logs have "
                f"{', '.join(QUERIES.released)}; access logs {', '.join(VISITS.released)}."
            )
    mapped = {**{name: name for name in names}, **options.columns}
    shape = VISITS if "path" in mapped and "query" not in mapped else QUERIES
    if shape.item not in mapped:
        raise InputError(
            f"The table has {len(names)} columns, none of them called 'query' (or 'path' for an access "
            f"log). Say which one it is: --columns query=NAME,user=NAME,time=NAME"
        )
    return shape, {name: mapped[name] for name in shape.released if name in mapped}


def _load_tsv(
    source: Source, options: Options, header: str, names: list[str]
) -> tuple[pl.LazyFrame, Shape]:
    lines = source.lines().filter(pl.col("line") != header)
    parts = pl.col("line").str.split_exact("\t", len(names)) if len(names) > 1 else None
    inner = [f"_{i}" for i in range(len(names))]
    if parts is None:
        frame = lines.with_columns(pl.col("line").alias("_0"), pl.lit(None).alias("_extra"))
    else:
        frame = lines.with_columns(parts.struct.rename_fields([*inner, "_extra"]).alias("_p")).unnest("_p")
    wrong = pl.col("_extra").is_not_null() | pl.col(inner[-1]).is_null()
    raw = frame.select(
        "row",
        *(pl.col(i).alias(name) for i, name in zip(inner, names, strict=True)),
        (wrong | source.damage(pl.col("line"))).alias("_bad"),
    )
    return typed(raw, options)


def _load_csv(
    source: Source, options: Options, names: list[str], picked: tuple[Shape, dict[str, str]]
) -> tuple[pl.LazyFrame, Shape]:
    """Polars reads a clean file; one with ragged or damaged lines is read line by line."""
    try:
        raw = pl.scan_csv(
            [str(path) for path in source.paths],
            schema=dict.fromkeys(names, pl.String),
            row_index_name="row",
            row_index_offset=1,
            glob=False,
        ).with_columns(pl.col("row").cast(pl.UInt64))
        raw.select(*picked[1].values()).select(pl.len()).collect(engine="streaming")
        return typed(raw, options)
    except pl.exceptions.PolarsError:
        return typed(_slow(source, names, _csv_records(len(names))), options)


def _load_jsonl(source: Source, options: Options, head: list[str]) -> tuple[pl.LazyFrame, Shape]:
    """Polars reads a clean file; one with lines that are not JSON is read line by line."""
    names = _json_names(head)
    wanted = list(_picked(names, options)[1].values())
    dtype = pl.Struct(dict.fromkeys(wanted, pl.String))
    try:
        lines = source.lines()
        raw = lines.select("row", pl.col("line").str.json_decode(dtype).alias("_r")).unnest("_r")
        raw.select(wanted).select(pl.all().is_null().sum()).collect(engine="streaming")
        return typed(raw, options)
    except pl.exceptions.PolarsError:
        return typed(_slow(source, wanted, _json_records(wanted)), options)


Records = Callable[[io.TextIOBase], Iterator[tuple[int, list[str | None] | None]]]


def _slow(source: Source, names: list[str], records: Records) -> pl.LazyFrame:
    """Rows through Python, spooled; a record that cannot be read is marked `_bad`."""
    source.rereadable = False
    schema = {"row": pl.UInt64, **dict.fromkeys(names, pl.String), "_bad": pl.Boolean}
    spool = Spool(source, "slow", schema)
    offset = 0
    for path in source.paths:
        last = 0
        for number, record in _numbered(path, records):
            last = number
            values = record if record is not None else [None] * len(names)
            spool.add((offset + number - 1, *values, record is None))
        offset += last
    return spool.scan()


def _numbered(path: Path, records: Records) -> Iterator[tuple[int, list[str | None] | None]]:
    with open_bytes(path) as stream:
        data = io.BufferedReader(stream)  # type: ignore[arg-type]
        text = io.TextIOWrapper(data, encoding="utf-8", errors="replace", newline="")
        yield from records(text)


def _csv_records(width: int) -> Records:
    def records(text: io.TextIOBase) -> Iterator[tuple[int, list[str | None] | None]]:
        reader = csv.reader(text)
        first = True
        while True:
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error:  # a NUL byte or an endless field
                yield reader.line_num, None
                continue
            if first:
                first = False  # the header
            elif fields:
                damaged = len(fields) != width or any("\ufffd" in field for field in fields)
                yield reader.line_num, None if damaged else list(fields)

    return records


def _json_records(names: list[str]) -> Records:
    import orjson

    def records(text: io.TextIOBase) -> Iterator[tuple[int, list[str | None] | None]]:
        for number, line in enumerate(text, start=1):
            if not line.strip():
                continue
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError:
                record = None
            if not isinstance(record, dict) or "\ufffd" in line:
                yield number, None
                continue
            values = (record.get(name) for name in names)
            yield number, [v if v is None or isinstance(v, str) else orjson.dumps(v).decode() for v in values]

    return records


def _text(column: str, found: pl.DataType, nullable: bool) -> pl.Expr:
    value = pl.col(column)
    if found.is_float():  # pandas turns whole numbers with gaps into floats
        whole = value.cast(pl.Int64, strict=False)
        value = pl.when(whole == value).then(whole.cast(pl.String)).otherwise(value.cast(pl.String))
    elif found != pl.String:
        value = value.cast(pl.String)
    value = value.str.replace_all(r"[\t\r\n]+", " ")
    if nullable:
        return pl.when(value != "").then(value)
    return value.fill_null("")


def _integer(column: str, found: pl.DataType, target: Any) -> pl.Expr:
    value = pl.col(column)
    if found == pl.String:
        return value.str.strip_chars().cast(target, strict=False)
    whole = value.cast(target, strict=False)
    return pl.when(whole == value).then(whole) if found.is_float() else whole


def _time(column: str, found: pl.DataType) -> pl.Expr:
    value = pl.col(column)
    if isinstance(found, pl.Datetime):
        zoned = value.dt.convert_time_zone("UTC") if found.time_zone else value
        return zoned.dt.replace_time_zone(None).cast(pl.Datetime("us"))
    if found == pl.Date:
        return value.cast(pl.Datetime("us"))
    if found == pl.String:
        stripped = value.str.strip_chars()
        plain = [stripped.str.to_datetime(f, time_unit="us", strict=False) for f in _TIME_FORMATS]
        zoned_texts = [
            stripped.str.to_datetime(f, time_unit="us", strict=False, time_zone="UTC")
            .dt.replace_time_zone(None)
            for f in _ZONED_FORMATS
        ]  # fmt: skip
        return pl.coalesce(*plain, *zoned_texts)
    if found.is_numeric():
        number = value.cast(pl.Float64)
        seconds = pl.when(number.abs() < _MILLISECONDS_FROM).then(number).otherwise(number / 1000)
        return (seconds * 1_000_000).cast(pl.Int64, strict=False).cast(pl.Datetime("us"))
    return pl.lit(None, dtype=pl.Datetime("us"))
