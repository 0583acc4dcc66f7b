"""Tables: csv, tsv, parquet and jsonl with named columns; also what Coterie itself writes.

`--columns user=cookie,query=q` says which column of the file holds what. Columns that are not named
are guessed by their names (`cookie`, `client_id`, `search_term`, `created_at` ...) and their first
values, unless the query is named: then a note names those that are not read. What was guessed is told, and
stands in the sidecar of a release. `verify`,
`measure` and `report` read the log by that sidecar: a column that is named there again replaces that one only.
k has to count people: columns that name them (`user_id`, `login`, `email` ...) come before those of browsers (`cookie`,
`client_id` ...), these before sessions, and these before addresses. Numbers of rows, requests and events (`id`, `uuid`
...) are never taken, nor is a column whose values hardly come again. Where two columns may say who searched, or what
for, or only browsers, sessions or addresses are known and another column may name people (`subscriber_ref`), reading
stops and asks. Where sessions or addresses are counted, guessed or named, the release, its sentence and its sidecar
say so; named columns whose values hardly come again are a warning that goes there, too. A table with `query` is
a search log, one with `path` an access log, one with `doc` and `term` holds documents as vectors of
terms.

tsv has no quoting; csv is RFC 4180, with `,`, `;` or `|` between fields. JSON may be lines (`.jsonl`,
`.ndjson`), an array, or hits of a search with `_source`; `search.query` names a field inside another
one. Tabs and line breaks inside a value become spaces. Times may be text (ISO 8601, with or without
a zone), dates (also `31.12.2025 10:00`, `2025/12/31`, and `12/31/2025` or `31/12/2025` where a day above 12 in the
column shows which part it is), or seconds or milliseconds since 1970; a number before 1990 is a duration, and no time.

`--details device,country=geo.country` keeps further columns of a search log, as text: methods that release
single queries release them with a query as far as enough users share all that accompanies it. Other columns are
never read.
"""

from __future__ import annotations

import csv
import glob
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import polars as pl

from coterie.core.files import byte_lines, head
from coterie.core.shapes import LEVEL, QUERIES, TERMS, TIME, VISITS, Shape
from coterie.errors import InputError
from coterie.reading import guess
from coterie.reading.formats import _json
from coterie.reading.formats._pages import pages_agree
from coterie.reading.reading import Reading
from coterie.reading.sniff import csv_reader, delimiter_of, kind_of, named, names_of
from coterie.reading.source import DAMAGE, Loaded, Section, Sections, Source, Spool, line_sections, reason, split_tabs
from coterie.reading.values import as_integer, as_text, as_time, as_weight, missing

shape = QUERIES
takes = ("columns", "details")
expected = {
    "encoding": "text must be UTF-8",
    "columns": "as many fields as the header has, or one JSON object",
    "time": "YYYY-MM-DD HH:MM:SS, ISO 8601, DD.MM.YYYY HH:MM, or seconds since 1970, from 1990 on; 01/02/2026 is read "
    "only where a day above 12 shows which part it is",
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
_JSON = ("jsonl", "json")
Record: TypeAlias = tuple[int, Sequence[str | None], str | None]
"""Line, the values that are wanted, and why they could not be read."""
Records: TypeAlias = Callable[[Path], Iterator[Record]]


class Raw(NamedTuple):
    """Rows before they are typed, where they come from, and whether polars reads them again at no cost."""

    frame: pl.LazyFrame
    """Columns of the shape, `row`, and `_bad`: null, or why a line could not be read."""
    sections: Sections = line_sections
    columnar: bool = False


# A parquet file, JSON or a header with `query` or `path`, names that other formats may have too; or the like.
signature = (
    named(["query", "path"], sure=0.5),
    lambda head: 0.5 * (head.kind == "parquet"),
    lambda head: 0.4 * guess.may_be_log(head.names),
)


def load(source: Source, options: Reading) -> Loaded:
    """Rows of the files, typed, with their shape."""
    first = source.head()
    kind = kind_of(first)
    names = column_names(source)
    options, guessed = _guessed(names, options, source.label, partial(first_rows, source))
    shape, picked = columns_of(names, options, complete=kind not in _JSON)
    require_same_columns({path: source.names[path] for path in source.paths}, kind)
    if kind == "parquet":
        rows = pl.scan_parquet(list(map(str, source.paths)), glob=False)
        raw = Raw(_numbered(rows, picked), _row_sections, columnar=True)
    elif kind in _JSON:
        raw = _load_jsonl(source, picked, names) if kind == "jsonl" else _load_documents(source, picked)
    else:
        raw = (_load_tsv if kind == "tsv" else _load_csv)(source, names, picked)
    return _loaded(raw, shape, options, guessed)


def _loaded(raw: Raw, shape: Shape, options: Reading, guessed: guess.Guess) -> Loaded:
    return Loaded(
        frame=typed(raw.frame, shape),
        shape=shape,
        sections=raw.sections,
        columnar=raw.columnar,
        columns=options.columns,
        notes=guessed.notes,
        guessed=guessed.by_values,
        guessed_subject=guessed.subject,
    )


def _guessed(
    names: list[str], options: Reading, label: str, sample: Callable[[], tuple[list[str], pl.DataFrame]]
) -> tuple[Reading, guess.Guess]:
    """The options with the columns that nobody named, where these can be told."""
    given = options.columns
    said = _shape_of(given)
    if not options.guess or options.shape is not None:
        return options, guess.Guess({})
    guess.check_columns(names, given)
    if said is not None:
        named = {**given, **options.details}
        read = {named.get(name, name) for name in (*said.readable, *options.details)}
        return options, guess.Guess({}, tuple(filter(None, [guess.not_read(*sample(), said.item, read)])))
    if _shape_of({name: name for name in names} | dict(given)) is TERMS:
        return options, guess.Guess({})
    found = guess.guess(*sample(), given, label)
    return replace(options, columns={**given, **found.columns}), found


def first_rows(source: Source) -> tuple[list[str], pl.DataFrame]:
    """The columns that may be guessed, and the first rows, under the names of the file."""
    head = source.head()
    kind = kind_of(head)
    if kind == "parquet":
        rows = pl.scan_parquet(str(source.paths[0]), glob=False).head(guess.LOOKED_AT).collect()
        return rows.columns, rows
    if kind in _JSON:
        return _json_sample(_json.documents_in(head)[: guess.LOOKED_AT])
    names, mark = names_of(head), delimiter_of(head[0])
    records = [line.split("\t") for line in head[1:]] if kind == "tsv" else _csv_sample(head[1:], mark)
    good = [record for record in records if len(record) == len(names)][: guess.LOOKED_AT]
    unique = {name: at for at, name in reversed(list(enumerate(names)))}
    columns = {name: [record[at] for record in good] for name, at in unique.items()}
    return names, pl.DataFrame(columns, schema=dict.fromkeys(unique, pl.String))


def columns_listed(source: Source) -> str:
    """A sentence with the names of the columns, and a space; nothing where it may be no table."""
    names, rows = first_rows(source)
    return f"{guess.listed(names, rows)} " if len(names) > 1 and guess.are_names(names, rows) else ""


def _csv_sample(lines: list[str], mark: str) -> list[list[str]]:
    try:
        return list(csv_reader(lines, mark))
    except csv.Error:
        return []


def _json_sample(found: list[_json.Document]) -> tuple[list[str], pl.DataFrame]:
    """Keys that most documents have, or that are known: others may be values, as in `{"tea": 3}`.

    Inside of others, known ones need some documents too: `{"kim": {"query": "tea"}}` says who it was.
    """
    names = []
    for name in _json.names_in(found):
        having = sum(_json.value_of(document, name) is not None for document in found)
        least = 0.5 if not guess.is_known(name) else 0.1 if "." in name else 0
        if not least or (having > 1 and having >= least * len(found)):
            names.append(name)
    columns = {name: [_json.text_of(_json.value_of(document, name)) for document in found] for name in names}
    return names, pl.DataFrame(columns, schema=dict.fromkeys(names, pl.String))


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


def from_frame(data: pl.DataFrame, options: Reading, label: str = "The table") -> Loaded:
    """Rows of a table in memory, typed, with their shape."""
    options, guessed = _guessed(data.columns, options, label, lambda: (data.columns, data.head(guess.LOOKED_AT)))
    shape, picked = columns_of(data.columns, options)
    return _loaded(Raw(_numbered(data.lazy(), picked)), shape, options, guessed)


def column_names(source: Source, thorough: bool = True) -> list[str]:
    """The columns that a file really has, also those that no shape knows.

    A field of JSON lines may first appear in the last line; looking there takes time.
    """
    first = source.head()
    if kind_of(first) == "parquet":
        return _parquet_names(source)
    names = names_of(first)
    _refuse_wide(len(names), source)
    if not thorough or kind_of(first) not in _JSON:
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
    if kind_of(source.head()) == "json":
        for _, document in _json.documents(source):
            yield from document or ()
        return
    for path in source.paths:
        for _, line in byte_lines(path):
            yield from _json.object_in(line) or ()


def columns_of(names: list[str], options: Reading, complete: bool = True) -> tuple[Shape, dict[str, str]]:
    """The shape of a table with columns of these names, and for each column of the shape the table's name for it.

    Where the names may be not `complete`, other columns of the shape are looked for as well.
    """
    guess.check_columns(names, options.columns)
    mapped = {**{name: name for name in names}, **options.columns}
    shape = options.shape or _shape_of(options.columns) or _shape_of(mapped) or QUERIES
    if options.shape is not None and shape.item not in mapped:
        raise InputError(
            f"A release of the shape {shape.name} has a column {shape.item!r}, and this file has none. "
            f"Is it the file that the sidecar describes?"
        )
    if shape.item not in mapped:
        raise guess.cannot_tell(names, pl.DataFrame(), "The table")
    shape = shape.with_details(options.details) if options.details else shape
    mapped |= options.details
    if not complete:
        mapped = {**{name: name for name in shape.released}, **mapped}
    picked = {name: mapped[name] for name in shape.readable if name in mapped}
    for column in shape.columns:
        if not column.nullable and column.name in shape.released and column.name not in picked:
            raise InputError(
                f"A {shape.name} table needs the column {column.name!r} ({column.doc}). Say which one it is: "
                f"--columns {column.name}=NAME (in Python: columns={{...}})"
            )
    guess.check_details(names, options.details, picked)
    if LEVEL in names and shape.time in picked and shape.time not in options.columns:
        options.refuse_released("The table")
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


def require_same_columns(files: Mapping[Path, str], kind: str) -> None:
    """Several files, with what messages call them, are one table only if their columns agree, in the same order."""
    if kind in _JSON or len(files) == 1:
        return
    first: Any = None
    for path, name in files.items():
        lines = head(path)
        if not lines:
            continue
        same_kind = kind_of(lines) == kind
        columns: Any = names_of(lines)
        if kind == "parquet" and same_kind:
            columns = pl.scan_parquet(str(path), glob=False).collect_schema()
        first = columns if first is None else first
        if columns != first or not same_kind:
            raise other_columns(name)


def other_columns(name: str) -> InputError:
    """What to say of a file that is not of the same table as others."""
    return InputError(
        f"{name} has other columns than the files before it. Every file of a "
        f"table needs the same header; read files that differ one by one."
    )


def _numbered(frame: pl.LazyFrame, picked: Mapping[str, str], first: int = 0) -> pl.LazyFrame:
    """The picked columns under the names of the shape, with running numbers."""
    columns = frame.select(pl.col(column).alias(name) for name, column in picked.items())
    return columns.with_row_index("row", first).with_columns(
        pl.col("row").cast(pl.UInt64), pl.lit(None, dtype=pl.String).alias("_bad")
    )


def _row_sections(source: Source) -> Iterator[Section]:
    for path in source.paths:
        rows = pl.scan_parquet(str(path), glob=False).select(pl.len()).collect().item()
        yield source.names[path], "row", 1, rows


def _load_tsv(source: Source, names: list[str], picked: dict[str, str]) -> Raw:
    line = pl.col("line")
    rows = source.lines().filter(line != source.head()[0])
    inner = [f"_{i}" for i in range(len(names))]
    frame = split_tabs(rows, inner)
    wrong = pl.col("_extra").is_not_null() | pl.col(inner[-1]).is_null()
    columns = [pl.col(inner[names.index(column)]).alias(name) for name, column in picked.items()]
    bad = reason(encoding=source.damage(line), columns=wrong).alias("_bad")
    return Raw(frame.select("row", *columns, bad))


def _load_csv(source: Source, names: list[str], picked: dict[str, str]) -> Raw:
    """Polars reads a tidy file; one with ragged, damaged or longer records goes through Python."""
    at = [names.index(column) for column in picked.values()]
    mark = delimiter_of(source.head()[0])
    records = partial(csv_records, names=names, at=at, mark=mark)
    if source.damaged or not _is_tidy(source, len(names), mark):
        return _by_record(source, picked, records)
    inner = [f"_{i}" for i in range(len(names))]
    columns = {name: inner[i] for name, i in zip(picked, at, strict=True)}
    frames = []
    for path, start in source.starts():
        raw = pl.scan_csv(
            str(path),
            has_header=False,
            skip_rows=1,
            schema=dict.fromkeys(inner, pl.String),
            separator=mark,
            glob=False,
        )
        frames.append(_numbered(raw, columns, start + 1))
    rows = pl.concat(frames)
    header = pl.all_horizontal(pl.col(name) == column for name, column in picked.items())
    blank = pl.all_horizontal(pl.col(*picked).is_null())
    return Raw(rows.filter(~header.fill_null(False), ~blank))


def _is_tidy(source: Source, width: int, mark: str) -> bool:
    """Whether each line is a record with the right number of fields, which Polars does not say."""
    line = pl.col("line")
    quoted = pl.when(line.str.contains('"', literal=True)).then(line)
    bare = pl.coalesce(quoted.str.replace_all(r'"[^"]*"', ""), line)
    marks = bare.str.count_matches(mark, literal=True)
    tidy = (line == "") | ((marks == width - 1) & ~bare.str.contains('"', literal=True))
    lines = pl.scan_lines(list(map(str, source.paths)), name="line", glob=False)
    return bool(lines.select(tidy.all()).collect(engine="streaming").item())


def _load_jsonl(source: Source, picked: dict[str, str], names: list[str]) -> Raw:
    """Polars reads a clean file; one with lines that are not objects, or fields inside others, goes through Python."""
    columns, found = list(picked.values()), set(names)
    if source.damaged or not found.issuperset(column for column in columns if "." in column):
        raw = _by_record(source, picked, partial(_json_records, columns=columns, found=found))
        guess.refuse_absent(picked, found)
        return raw
    paths = [glob.escape(str(path)) for path in source.paths]  # this scan always looks for patterns
    rows = _numbered(pl.scan_ndjson(paths, schema=dict.fromkeys(columns, pl.String)), picked)
    return Raw(rows, _filled_lines)


def _load_documents(source: Source, picked: dict[str, str]) -> Raw:
    """Documents of an array, of the answer to a search, or over several lines."""
    found = set[str]()
    objects = (document for _, document in _json.documents(source))
    rows = _spooled(source, picked, _records_of(enumerate(objects), list(picked.values()), found))
    guess.refuse_absent(picked, found)
    return Raw(rows, _json.sections)


def _filled_lines(source: Source) -> Iterator[Section]:
    for path in source.paths:
        for number, line in byte_lines(path):
            if line.strip():
                yield source.names[path], "line", number, 1


def _by_record(source: Source, picked: Mapping[str, str], records: Records) -> Raw:
    """The records of all files, by the numbers of their lines."""
    numbered = (
        (start + number - 1, values, bad) for path, start in source.starts() for number, values, bad in records(path)
    )
    return Raw(_spooled(source, picked, numbered))


def _spooled(source: Source, picked: Mapping[str, str], records: Iterable[Record]) -> pl.LazyFrame:
    """Rows through Python; a record that cannot be read says why in `_bad`."""
    spool = Spool(source.folder.path, {"row": pl.UInt64, **dict.fromkeys(picked, pl.String), "_bad": pl.String})
    for row, values, bad in records:
        spool.add((row, *(values or [None] * len(picked)), bad))
    return spool.scan()


def csv_records(path: Path, names: list[str], at: list[int], mark: str = ",") -> Iterator[Record]:
    """The records of a file below its header, each with the line where it starts."""
    reader = csv_reader((line.decode(errors="coterie-damage") for _, line in byte_lines(path)), mark)
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


def _json_records(path: Path, columns: list[str], found: set[str]) -> Iterator[Record]:
    """One record for each line that is not blank."""
    lines = ((number, line) for number, line in byte_lines(path) if line.strip())
    return _records_of(((number, _json.object_in(line)) for number, line in lines), columns, found)


def _records_of(
    objects: Iterable[tuple[int, _json.Document | None]], columns: list[str], found: set[str]
) -> Iterator[Record]:
    """Records of objects with their numbers; None in place of what is no object."""
    for number, document in objects:
        if document is None:
            yield number, [], "columns"
        else:
            yield number, _json.fields_of(document, columns, found), None
