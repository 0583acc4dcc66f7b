"""Documents -> vectors of terms: folders, tar and zip archives, texts, web pages, PDF, tables with a text.

Read are a folder with all below it, a glob, a .tar (.gz, .zst) or a .zip of .txt, .md, .html and .pdf (which needs
`coterie[documents]`); csv and JSON lines with `id` and `text`, or columns named with `--columns doc=NAME,text=NAME`;
and files of the SMART system, which hold many records (`.I 1`, `.T`, `.W`; titles and texts are read), by themselves or
among others. `owner`, a column or a field, says whom a document belongs to.

A document becomes its `--terms` (100) most frequent nouns of WordNet in their base form, each with its share of the
words that were kept; `--min-length` (3) letters make a word. `--words all` keeps the other words as well, as they are:
for texts in other languages, and where names are wanted. Documents are called by their path, by `id`, or by file
and number (`cacm.all#7`): these names are never released.

Text is UTF-8, else Latin-1, which is counted. Documents that are binary, damaged, encrypted, larger than 32 MB or named
as another one are bad lines. Counted as well: those without any term, those that look like another language than
English, copies of others, and files that are not read: other kinds, archives in archives, links, hidden files. Nothing
is unpacked to disk, and an archive may unpack to 1 GB or 300 times its size, whichever is more.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

import orjson
import polars as pl

from coterie.core.files import HIDDEN, LINKS, LONGEST_LINE, OTHER, Opening, byte_lines, files_in, head
from coterie.core.shapes import TERMS
from coterie.errors import InputError, ParameterError
from coterie.reading.formats import table
from coterie.reading.formats._entries import (
    KINDS,
    NESTED,
    PDF,
    TEXT,
    Entry,
    Unreadable,
    UnreadableError,
    entries,
    is_archive,
)
from coterie.reading.formats._entries import first_lines as first_lines
from coterie.reading.formats._texts import Text, decoded, is_smart, smart_records, text_of
from coterie.reading.formats._vectors import LEAST_KNOWN, Vectors
from coterie.reading.reading import Reading
from coterie.reading.sniff import kind_of, named, names_of
from coterie.reading.source import Loaded, Section, Sections, Source

shape = TERMS
takes = ("columns", "terms", "min_length", "words")
any_text = True  # whatever can be read as text is a document
expected = {
    "binary": "text",
    "damaged": "a file that can be read",
    "encrypted": "a file without a password",
    "large": "at most 32 MB",
    "id": "a name of its own for each document",
    "text": "a text",
    "columns": "as many fields as the header has, or one JSON object",
}
sample = """\
{"id": "1", "text": "The blue teapot stands on the table, beside two cups of tea and a cake."}
{"id": "2", "text": "A train leaves the station at night; the passengers sleep in their seats."}
"""
MOST_BYTES = 1 << 25
"""Of a document; a long book has three million."""
_IDS = ("doc", "id")
_TEXT, _OWNER = "text", "owner"
_PEEKED = 1 << 12
_SURE, _PERHAPS = 1.0, 0.3
_Values: TypeAlias = dict[str, str | None]


signature = (
    lambda head: float(is_smart("\n".join(head.lines).encode() + b"\n")),
    lambda head: 0.0 if "query" in head.names else named([_TEXT], _IDS, sure=0.7)(head),
)


def sniff_files(files: Sequence[Opening]) -> float:
    """Folders with documents, archives and PDF for sure; several texts and web pages if nobody else knows them."""
    if all(map(_holds_documents, files)):
        return _SURE
    ends = {file.path.suffix.lower() for file in files}
    plain = all(KINDS.get(end) not in (None, PDF) for end in ends)
    return _PERHAPS if plain and (len(files) > 1 or KINDS.get(min(ends)) != TEXT) else 0.0


def _holds_documents(file: Opening) -> bool:
    if file.path.is_dir():
        return any(each.suffix.lower() in KINDS for each in files_in(file.path))
    return file.path.suffix.lower() == ".pdf" or is_archive(file)


def load(source: Source, options: Reading) -> Loaded:
    """The vectors of all documents, and notes about what was left out."""
    vectors = Vectors(source.folder.path, options)
    tally: Counter[str] = Counter()
    counts: list[Section] = []
    if options.columns and not any(map(_is_table, source.paths)):
        raise ParameterError(f"{source.label} is no table of texts, and makes no use of --columns. Leave it out.")
    for path in source.paths:
        before = vectors.documents
        if _is_table(path):
            _add_table(vectors, path, options)
        else:
            prefix = "" if len(source.paths) == 1 else f"{source.given_as(path)}/"
            for entry in entries(path, source.names[path], source.given_as(path), tally):
                _add(vectors, entry, prefix, tally)
        counts.append((source.names[path], "document", 1, vectors.documents - before))
    return _loaded(vectors, tally, source.label, lambda _: counts)


def _loaded(vectors: Vectors, tally: Counter[str], label: str, sections: Sections) -> Loaded:
    """The rows, and notes about what was left out; raises where nothing is left."""
    rows = vectors.scan()
    if not vectors.documents:
        raise InputError(f"{label}: there are no documents to read.{_not_read(tally)}")
    if not vectors.vectors and vectors.bad < vectors.documents:
        raise InputError(
            f"{label}: none of {vectors.documents:,} documents has a word that is a noun of WordNet. Documents must be "
            f"English texts."
        )
    empty = vectors.documents - vectors.bad - vectors.vectors
    told = {"empty": empty, "latin_1": tally["latin_1"], "other_language": vectors.foreign, "copies": vectors.copies}
    return Loaded(
        frame=rows,
        shape=shape,
        sections=sections,
        columnar=True,
        distinct=True,
        units=vectors.documents,
        unit="document",
        counts={"terms": vectors.rows, **{name: count for name, count in told.items() if count}},
        notes=tuple(_notes(told, tally)),
        settings=vectors.settings,
    )


def is_table_of_texts(columns: Sequence[str], options: Reading) -> bool:
    """Whether a table in memory holds documents."""
    found = set(columns)
    return _TEXT in options.columns or (_TEXT in found and bool(found & set(_IDS)) and "query" not in found)


def from_frame(data: pl.DataFrame, options: Reading, folder: Path) -> Loaded:
    """The vectors of the texts of a table in memory."""
    at = _places(data.columns, options)
    vectors = Vectors(folder, options)
    texts = data.select(pl.col(column).cast(pl.String, strict=False).alias(name) for name, column in at.items())
    for number, values in enumerate(texts.iter_rows(named=True)):
        _add_row(vectors, values, str(number))
    return _loaded(vectors, Counter(), "The table", lambda _: ())


def _notes(told: dict[str, int], tally: Counter[str]) -> Iterator[str]:
    sentences = {
        "empty": "Documents without any noun of WordNet, which were left out: {}.",
        "latin_1": "Documents that are no valid UTF-8 and were read as Latin-1: {}.",
        "other_language": f"Documents that look like another language than English, because fewer than "
        f"{LEAST_KNOWN:.0%} of their words are known, so that their vectors say little: {{}}.",
        "copies": "Documents that have the same text as another one: {}. Each counts as a document: where they are "
        "one, fewer than k may stand behind k names.",
    }
    for name, sentence in sentences.items():
        if told[name]:
            yield sentence.format(f"{told[name]:,}")
    if left := _not_read(tally).strip():
        yield left


def _not_read(tally: Counter[str]) -> str:
    words = {OTHER: "files of other kinds", NESTED: "archives within", LINKS: "links", HIDDEN: "hidden files"}
    counted = [f"{tally[name]:,} {word}" for name, word in words.items() if tally[name]]
    return f" Not read: {', '.join(counted)}." if counted else ""


def _add(vectors: Vectors, entry: Entry | Unreadable, prefix: str, tally: Counter[str]) -> None:
    """The document, or the documents, of a file."""
    if isinstance(entry, Unreadable):
        vectors.add_bad(entry.reason)
        return
    name = entry.name if entry.explicit else prefix + entry.name
    try:
        if entry.kind in (None, TEXT) and is_smart(entry.peek(_PEEKED)):
            for number, record in smart_records(entry.lines(LONGEST_LINE)):
                _add_text(vectors, f"{name}#{number}", decoded(record), tally)
        elif entry.kind is None and not entry.explicit:
            tally[OTHER] += 1
        else:
            data = entry.read(MOST_BYTES)
            read = Text("", bad="large") if len(data) > MOST_BYTES else text_of(data, entry.kind)
            _add_text(vectors, name, read, tally)
    except UnreadableError:
        vectors.add_bad("damaged")


def _add_text(vectors: Vectors, name: str, read: Text, tally: Counter[str]) -> None:
    if read.bad is not None:
        vectors.add_bad(read.bad)
        return
    tally["latin_1"] += read.latin_1
    vectors.add(name, read.text)


def _is_table(path: Path) -> bool:
    """Whether a file is a table of texts: by its first lines, since names may end in .gz."""
    if path.is_dir() or KINDS.get(PurePosixPath(path.name).suffix.lower()) is not None:
        return False
    if is_archive(file := Opening(path)):
        return False
    names = names_of(file.lines)
    return len(names) > 1 or _TEXT in names


def _add_table(vectors: Vectors, path: Path, options: Reading) -> None:
    """The documents of csv or JSON lines."""
    lines = head(path)
    names = names_of(lines)
    at = _places(names, options)
    kind = kind_of(lines)
    if kind == "jsonl":
        records = _json_records(path, at)
    else:
        records = (_tsv_records if kind == "tsv" else _csv_records)(path, names, at)
    for number, values in records:
        if isinstance(values, str):
            vectors.add_bad(values)
        else:
            _add_row(vectors, values, f"{path.name}#{number}")


def _add_row(vectors: Vectors, values: _Values, name: str) -> None:
    """The document of a row, under `name` where the table has no names."""
    text = values[_TEXT]
    if text is None:
        vectors.add_bad("text")
    else:
        vectors.add(values.get("doc", name) or "", text, values.get(_OWNER))


def _places(names: Sequence[str], options: Reading) -> dict[str, str]:
    """doc, text and owner -> the columns that hold them."""
    known = ("doc", _TEXT, _OWNER)
    for name, column in options.columns.items():
        if name not in known:
            raise InputError(f"--columns {name}=...: a table of documents has no column {name!r}, only {known}.")
        if column not in names:
            raise InputError(f"--columns {name}={column}: the table has no column of that name.")
    found = {"doc": next((name for name in _IDS if name in names), ""), _TEXT: _TEXT, _OWNER: _OWNER}
    at = {name: options.columns.get(name, column) for name, column in found.items()}
    if at[_TEXT] not in names:
        raise InputError("The table has no column 'text'. Say which one holds it: --columns text=NAME,doc=NAME")
    return {name: column for name, column in at.items() if column in names}


def _json_records(path: Path, at: dict[str, str]) -> Iterator[tuple[int, _Values | str]]:
    for number, line in byte_lines(path):
        if not line.strip():
            continue
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            record = None
        if not isinstance(record, dict):
            yield number, "columns"
            continue
        yield number, {name: _scalar(record.get(column)) for name, column in at.items()}


def _scalar(value: Any) -> str | None:
    """A text, or a number as text; nothing else is a name or a text."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _csv_records(path: Path, names: list[str], at: dict[str, str]) -> Iterator[tuple[int, _Values | str]]:
    place = [names.index(column) for column in at.values()]
    with _long_fields():
        for number, values, bad in table.csv_records(path, names, place):
            yield number, bad or dict(zip(at, values, strict=True))


def _tsv_records(path: Path, names: list[str], at: dict[str, str]) -> Iterator[tuple[int, _Values | str]]:
    place = {name: names.index(column) for name, column in at.items()}
    for number, line in byte_lines(path):
        fields = line.decode(errors="replace").rstrip("\r\n").split("\t")
        if number == 1 or not line.strip():
            continue
        if len(fields) == len(names):
            yield number, {name: fields[i] for name, i in place.items()}
        else:
            yield number, "columns"


@contextmanager
def _long_fields() -> Iterator[None]:
    """A document may be longer than what `csv` takes for a field that was never closed."""
    before = csv.field_size_limit(LONGEST_LINE)
    try:
        yield
    finally:
        csv.field_size_limit(before)
