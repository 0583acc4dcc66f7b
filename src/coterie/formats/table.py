"""Tables: csv, tsv, parquet and jsonl with named columns; also what Coterie itself writes.

`--columns user=cookie,query=q` says which column of the file holds what; without it the columns
must have the names of the shape. A table with `query` is a search log, one with `path` an access
log, one with `doc` and `term` holds documents as vectors of terms. tsv has no quoting; csv is RFC
4180. Tabs and line breaks inside a value become spaces. Times may be text (ISO 8601, with or
without a zone), dates, or seconds or milliseconds since 1970.
"""

from __future__ import annotations

import csv
import glob
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import orjson
import polars as pl

from coterie.core.files import byte_lines, head
from coterie.core.shapes import QUERIES, TERMS, TIME, VISITS, Shape
from coterie.errors import InputError
from coterie.formats._options import Options
from coterie.formats._pages import pages_agree
from coterie.formats._source import (
    DAMAGE,
    Loaded,
    Section,
    Sections,
    Source,
    Spool,
    line_sections,
    reason,
)
from coterie.formats._values import as_integer, as_text, as_time, as_weight, missing

shape = QUERIES
expected = {
    "encoding": "text must be UTF-8",
    "columns": "as many fields as the header has, or one JSON object",
    "time": "YYYY-MM-DD HH:MM:SS, ISO 8601, or seconds since 1970",
    "rank": "a whole number or nothing",
    "status": "a whole number or nothing",
    "bytes": "a whole number or nothing",
    "doc": "the name of a document",
    "weight": "a number above 0",
}
sample = """user,time,query,rank,url
17,2020-02-03 09:00:00,blue teapot,,
18,2020-02-03 09:01:00,"a, b",2,http://b.example
"""
MOST_COLUMNS = 10_000
"""A table with more of them is no log, and each would cost memory."""
Record: TypeAlias = tuple[int, Sequence[str | None], str | None]
"""Line, the values that are wanted, and why they could not be read."""
Records: TypeAlias = Callable[[Path], Iterator[Record]]


class Raw(NamedTuple):
    """Rows before they are typed, where they come from, and whether polars reads them again at no cost."""

    frame: pl.LazyFrame
    """Columns of the shape, `row`, and `_bad`: null, or why a line could not be read."""
    sections: Sections = line_sections
    columnar: bool = False


def sniff(head: list[str]) -> float:
    """A parquet file, JSON lines or a header line with `query` or `path`: names that other formats may have too."""
    return 0.5 if {"query", "path"} & set(names_of(head)) or kind_of(head) == "parquet" else 0.0


def load(source: Source, options: Options) -> Loaded:
    """Rows of the files, typed, with their shape."""
    first = source.head()
    kind = kind_of(first)
    names = column_names(source)
    shape, picked = _picked(names, options, complete=kind != "jsonl")
    _require_same_columns(source, kind)
    if kind == "parquet":
        raw = _load_parquet(source, picked)
    elif kind == "jsonl":
        raw = _load_jsonl(source, picked)
    else:
        raw = (_load_tsv if kind == "tsv" else _load_csv)(source, names, picked)
    return Loaded(
        frame=typed(raw.frame, shape), shape=shape, sections=raw.sections, columnar=raw.columnar
    )  # fmt: skip


def typed(raw: pl.LazyFrame, shape: Shape) -> pl.LazyFrame:
    """Columns of the shape with their types, from columns of any sensible type, and `bad`.

    `raw` has columns of the shape, `row`, and `_bad`: null, or why a line could not be read.
    """
    schema = raw.collect_schema()
    columns: dict[str, pl.Expr] = {}
    failures: dict[str, pl.Expr] = {}
    required = {column.name for column in shape.columns if not column.nullable}
    for name in (name for name in shape.readable if name in schema):
        value, dtype, target = pl.col(name), schema[name], shape.schema[name]
        if dtype.is_nested() or dtype == pl.Object:
            raise InputError(f"The column for {name!r} holds {dtype.base_type()}, not single values.")
        if isinstance(dtype, (pl.Categorical, pl.Enum)):
            value, dtype = value.cast(pl.String), pl.String()
        if target == pl.String:
            text = as_text(value, dtype)
            columns[name] = text.fill_null("") if name == shape.item else pl.when(text != "").then(text)
            if name in required and name != shape.item:
                failures[name] = text.str.strip_chars().fill_null("") == ""
            continue
        if target == TIME:
            columns[name] = as_time(value, dtype)
        elif target == pl.Float64:
            columns[name] = as_weight(value, dtype)
        else:
            columns[name] = as_integer(value, dtype, target)
        failures[name] = columns[name].is_null() & (name in required or ~missing(value, dtype))
    return raw.select(
        "row",
        *(value.alias(name) for name, value in columns.items()),
        pl.coalesce("_bad", reason(**failures or {"columns": pl.lit(False)})).alias("bad"),
    )


def from_frame(data: pl.DataFrame, options: Options) -> Loaded:
    """Rows of a table in memory, typed, with their shape."""
    shape, picked = _picked(data.columns, options)
    return Loaded(frame=typed(_numbered(data.lazy(), picked), shape), shape=shape)


def column_names(source: Source, thorough: bool = True) -> list[str]:
    """The columns that a file really has, also those that no shape knows.

    A field of JSON lines may first appear in the last line; looking there takes time.
    """
    first = source.head()
    if kind_of(first) == "parquet":
        return _parquet_names(source)
    names = names_of(first)
    _refuse_wide(len(names), source)
    if not thorough or kind_of(first) != "jsonl":
        return names
    fields = dict.fromkeys(names)
    for name in _json_fields(source):
        fields[name] = None
        _refuse_wide(len(fields), source)
    return list(fields)


def _parquet_names(source: Source) -> list[str]:
    for path in source.paths:
        if kind_of(head(path)) == "parquet" and not pages_agree(path):
            raise InputError(f"{source.names[path]} is not a whole parquet file.")
    try:
        names = pl.scan_parquet(str(source.paths[0]), glob=False).collect_schema().names()
    except (pl.exceptions.PolarsError, OSError):
        raise InputError(f"{source.label} is not a whole parquet file.") from None
    _refuse_wide(len(names), source)
    return names


def _refuse_wide(columns: int, source: Source) -> None:
    if columns > MOST_COLUMNS:
        raise InputError(
            f"{source.label} has more than {MOST_COLUMNS:,} columns, so it is not a log. Write those that a log has "
            f"(user, time, query, rank, url) to a file of their own."
        )


def _json_fields(source: Source) -> Iterator[str]:
    """The fields of all objects, in the order of their appearance; lines that are not objects have none."""
    for path in source.paths:
        for _, line in byte_lines(path):
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue
            yield from record if isinstance(record, dict) else ()


def kind_of(head: list[str]) -> str:
    """What kind of file begins with these lines."""
    line = head[0] if head else ""
    if line.startswith("PAR1"):
        return "parquet"
    if line.lstrip().startswith("{"):
        return "jsonl"
    return "tsv" if "\t" in line else "csv"


def names_of(head: list[str]) -> list[str]:
    """The columns of a text file by its first lines; in JSON lines a field may be absent."""
    kind = kind_of(head)
    if not head or kind == "parquet":
        return []
    if kind == "tsv":
        return head[0].split("\t")
    if kind == "csv":
        try:
            return next(_csv_reader(head[:1]), [])
        except csv.Error:
            return []
    names: dict[str, None] = {}
    for line in head:
        record = _json_object(line)
        names.update(dict.fromkeys(record or ()))
    return list(names)


def columns_of(names: list[str], options: Options) -> tuple[Shape, dict[str, str]]:
    """The shape of a table with columns of these names, and for each column of the shape the table's name for it."""
    return _picked(names, options)


def _picked(names: list[str], options: Options, complete: bool = True) -> tuple[Shape, dict[str, str]]:
    """The shape, and for each of its columns that the file has the file's name for it.

    Where the names may be not `complete`, other columns of the shape are looked for as well.
    """
    _check_columns(names, options.columns)
    mapped = {**{name: name for name in names}, **options.columns}
    shape = options.shape or _shape_of(options.columns) or _shape_of(mapped) or QUERIES
    if options.shape is not None and shape.item not in mapped:
        raise InputError(
            f"A release of the shape {shape.name} has a column {shape.item!r}, and this file has none. "
            f"Is it the file that the sidecar describes?"
        )
    if shape.item not in mapped:
        raise InputError(
            f"The table has {len(names)} columns, none of them called 'query' (or 'path' for an access log, 'doc' and "
            f"'term' for documents). Say which one it is: --columns query=NAME,user=NAME,time=NAME (in Python: "
            f"columns={{...}})"
        )
    if not complete:
        mapped = {**{name: name for name in shape.released}, **mapped}
    picked = {name: mapped[name] for name in shape.readable if name in mapped}
    for column in shape.columns:
        if not column.nullable and column.name in shape.released and column.name not in picked:
            raise InputError(
                f"A {shape.name} table needs the column {column.name!r} ({column.doc}). Say which one it is: "
                f"--columns {column.name}=NAME (in Python: columns={{...}})"
            )
    if any(names.count(column) > 1 for column in picked.values()):
        raise InputError("The header names a column twice. Give each column a name of its own.")
    return shape, picked


def _shape_of(columns: Mapping[str, str]) -> Shape | None:
    """The shape of a table with these columns, by what only rows of that shape have; None where none does."""
    if QUERIES.item in columns:
        return QUERIES
    if VISITS.item in columns:
        return VISITS
    return TERMS if {TERMS.subject, TERMS.item} <= set(columns) else None


def _check_columns(names: list[str], columns: Mapping[str, str]) -> None:
    for name, column in columns.items():
        if not any(name in shape.readable for shape in (QUERIES, VISITS, TERMS)):
            raise InputError(
                f"--columns {name}=...: a log has no column {name!r}. Search logs have "
                f"{', '.join(QUERIES.readable)}; access logs {', '.join(VISITS.readable)}; documents "
                f"{', '.join(TERMS.readable)}."
            )
        if column not in names:
            raise InputError(f"--columns {name}={column}: the table has no column of that name.")


def _require_same_columns(source: Source, kind: str) -> None:
    """Several files are one table only if their columns agree, in the same order."""
    if kind == "jsonl" or len(source.paths) == 1:
        return
    first: Any = None
    for path in source.paths:
        lines = head(path)
        if not lines:
            continue
        same_kind = kind_of(lines) == kind
        columns: Any = names_of(lines)
        if kind == "parquet" and same_kind:
            columns = pl.scan_parquet(str(path), glob=False).collect_schema()
        first = columns if first is None else first
        if columns != first or not same_kind:
            raise InputError(
                f"{source.names[path]} has other columns than the files before it. Every file of a "
                f"table needs the same header; read files that differ one by one."
            )


def _numbered(frame: pl.LazyFrame, picked: Mapping[str, str], first: int = 0) -> pl.LazyFrame:
    """The picked columns under the names of the shape, with running numbers."""
    columns = frame.select(pl.col(column).alias(name) for name, column in picked.items())
    return columns.with_row_index("row", first).with_columns(
        pl.col("row").cast(pl.UInt64), pl.lit(None, dtype=pl.String).alias("_bad")
    )


def _load_parquet(source: Source, picked: dict[str, str]) -> Raw:
    rows = pl.scan_parquet(list(map(str, source.paths)), glob=False)
    return Raw(_numbered(rows, picked), _row_sections, columnar=True)


def _row_sections(source: Source) -> Iterator[Section]:
    for path in source.paths:
        rows = pl.scan_parquet(str(path), glob=False).select(pl.len()).collect().item()
        yield source.names[path], "row", 1, rows


def _load_tsv(source: Source, names: list[str], picked: dict[str, str]) -> Raw:
    line = pl.col("line")
    rows = source.lines().filter(line != source.head()[0])
    inner = [f"_{i}" for i in range(len(names))]
    parts = line.str.split_exact("\t", len(names)).struct.rename_fields([*inner, "_extra"])
    frame = rows.with_columns(parts.alias("_parts")).unnest("_parts")
    wrong = pl.col("_extra").is_not_null() | pl.col(inner[-1]).is_null()
    columns = [pl.col(inner[names.index(column)]).alias(name) for name, column in picked.items()]
    bad = reason(encoding=source.damage(line), columns=wrong).alias("_bad")
    return Raw(frame.select("row", *columns, bad))


def _load_csv(source: Source, names: list[str], picked: dict[str, str]) -> Raw:
    """Polars reads a tidy file; one with ragged, damaged or longer records goes through Python."""
    at = [names.index(column) for column in picked.values()]
    records = partial(csv_records, names=names, at=at)
    if source.damaged or not _is_tidy(source, len(names)):
        return _by_record(source, picked, records)
    inner = [f"_{i}" for i in range(len(names))]
    columns = {name: inner[i] for name, i in zip(picked, at, strict=True)}
    frames = []
    for path, start in source.starts():
        raw = pl.scan_csv(str(path), has_header=False, skip_rows=1, schema=dict.fromkeys(inner, pl.String), glob=False)
        frames.append(_numbered(raw, columns, start + 1))
    rows = pl.concat(frames)
    header = pl.all_horizontal(pl.col(name) == column for name, column in picked.items())
    blank = pl.all_horizontal(pl.col(*picked).is_null())
    return Raw(rows.filter(~header.fill_null(False), ~blank))


def _is_tidy(source: Source, width: int) -> bool:
    """Whether each line is a record with the right number of fields, which Polars does not say."""
    line = pl.col("line")
    quoted = pl.when(line.str.contains('"', literal=True)).then(line)
    bare = pl.coalesce(quoted.str.replace_all(r'"[^"]*"', ""), line)
    commas = bare.str.count_matches(",", literal=True)
    tidy = (line == "") | ((commas == width - 1) & ~bare.str.contains('"', literal=True))
    lines = pl.scan_lines(list(map(str, source.paths)), name="line", glob=False)
    return bool(lines.select(tidy.all()).collect(engine="streaming").item())


def _load_jsonl(source: Source, picked: dict[str, str]) -> Raw:
    """Polars reads a clean file; one with lines that are not objects goes through Python."""
    columns = list(picked.values())
    records = partial(_json_records, columns=columns)
    if source.damaged:
        return _by_record(source, picked, records)
    paths = [glob.escape(str(path)) for path in source.paths]  # this scan always looks for patterns
    rows = _numbered(pl.scan_ndjson(paths, schema=dict.fromkeys(columns, pl.String)), picked)
    return Raw(rows, _filled_lines)


def _filled_lines(source: Source) -> Iterator[Section]:
    for path in source.paths:
        for number, line in byte_lines(path):
            if line.strip():
                yield source.names[path], "line", number, 1


def _by_record(source: Source, picked: Mapping[str, str], records: Records) -> Raw:
    """Rows through Python, spooled; a record that cannot be read says why in `_bad`."""
    schema = {"row": pl.UInt64, **dict.fromkeys(picked, pl.String), "_bad": pl.String}
    spool = Spool(source, schema)
    nothing = [None] * len(picked)
    for path, start in source.starts():
        for number, values, bad in records(path):
            spool.add((start + number - 1, *(values or nothing), bad))
    return Raw(spool.scan())


def csv_records(path: Path, names: list[str], at: list[int]) -> Iterator[Record]:
    """The records of a file below its header, each with the line where it starts."""
    reader = _csv_reader(line.decode(errors="coterie-damage") for _, line in byte_lines(path))
    header, end = True, 0
    while True:
        start, bad = end + 1, None
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error:  # a field without an end
            fields, bad = [], "columns"
        end = reader.line_num
        if header:
            header = not fields and not bad
            continue
        text = "".join(fields)
        if not bad and (fields == names or (not text.strip(" ") and (len(names) > 1 or not fields))):
            continue
        if DAMAGE in text:
            bad = "encoding"
        elif len(fields) != len(names):
            bad = "columns"
        yield start, [] if bad else [fields[i] for i in at], bad


def _csv_reader(lines: Iterable[str]) -> Any:
    # A break inside a value becomes a space anyway, and the reader refuses lone ones.
    return csv.reader(line.replace("\r\n", "\n").replace("\r", " ") for line in lines)


def _json_records(path: Path, columns: list[str]) -> Iterator[Record]:
    """One record for each line that is not blank."""
    for number, line in byte_lines(path):
        if not line.strip():
            continue
        record = _json_object(line)
        if record is None:
            yield number, [], "columns"
        else:
            yield number, [_json_text(record.get(name)) for name in columns], None


def _json_object(line: str | bytes) -> dict[str, Any] | None:
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return record if isinstance(record, dict) else None


def _json_text(value: Any) -> str | None:
    """A value as Polars writes it: whole numbers without a fraction."""
    if value is None or isinstance(value, str):
        return value
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else orjson.dumps(value).decode()
