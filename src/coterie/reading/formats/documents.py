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
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

import polars as pl

from coterie import taxonomies
from coterie.core.files import HIDDEN, LINKS, LONGEST_LINE, OTHER, Opening, byte_lines, files_in, head
from coterie.core.shapes import TERMS
from coterie.errors import InputError, ParameterError
from coterie.reading.formats import _entries, table
from coterie.reading.formats._entries import first_lines as first_lines
from coterie.reading.formats._json import object_in
from coterie.reading.reading import Reading
from coterie.reading.sniff import kind_of, named, names_of
from coterie.reading.source import Loaded, Section, Sections, Source
from coterie.taxonomies.lexicon import Lexicon
from coterie.text.language import ENGLISH, language
from coterie.text.words import pieces

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
    lambda head: float(_entries.is_smart("\n".join(head.lines).encode() + b"\n")),
    lambda head: 0.0 if "query" in head.names else named([_TEXT], _IDS, sure=0.7)(head),
)


def sniff_files(files: Sequence[Opening]) -> float:
    """Folders with documents, archives and PDF for sure; several texts and web pages if nobody else knows them."""
    if all(map(_holds_documents, files)):
        return _SURE
    ends = {file.path.suffix.lower() for file in files}
    plain = all(_entries.KINDS.get(end) not in (None, _entries.PDF) for end in ends)
    return _PERHAPS if plain and (len(files) > 1 or _entries.KINDS.get(min(ends)) != _entries.TEXT) else 0.0


def _holds_documents(file: Opening) -> bool:
    if file.path.is_dir():
        return any(each.suffix.lower() in _entries.KINDS for each in files_in(file.path))
    return file.path.suffix.lower() == ".pdf" or _entries.is_archive(file)


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
            for entry in _entries.entries(path, source.names[path], source.given_as(path), tally):
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
    words = {OTHER: "files of other kinds", _entries.NESTED: "archives within", LINKS: "links", HIDDEN: "hidden files"}
    counted = [f"{tally[name]:,} {word}" for name, word in words.items() if tally[name]]
    return f" Not read: {', '.join(counted)}." if counted else ""


def _add(vectors: Vectors, entry: _entries.Entry | _entries.Unreadable, prefix: str, tally: Counter[str]) -> None:
    """The document, or the documents, of a file."""
    if isinstance(entry, _entries.Unreadable):
        vectors.add_bad(entry.reason)
        return
    name = entry.name if entry.explicit else prefix + entry.name
    try:
        if entry.kind in (None, _entries.TEXT) and _entries.is_smart(entry.peek(_PEEKED)):
            for number, record in _entries.smart_records(entry.lines(LONGEST_LINE)):
                _add_text(vectors, f"{name}#{number}", _entries.decoded(record), tally)
        elif entry.kind is None and not entry.explicit:
            tally[OTHER] += 1
        else:
            data = entry.read(MOST_BYTES)
            read = _entries.Text("", bad="large") if len(data) > MOST_BYTES else _entries.text_of(data, entry.kind)
            _add_text(vectors, name, read, tally)
    except _entries.UnreadableError:
        vectors.add_bad("damaged")


def _add_text(vectors: Vectors, name: str, read: _entries.Text, tally: Counter[str]) -> None:
    if read.bad is not None:
        vectors.add_bad(read.bad)
        return
    tally["latin_1"] += read.latin_1
    vectors.add(name, read.text)


def _is_table(path: Path) -> bool:
    """Whether a file is a table of texts: by its first lines, since names may end in .gz."""
    if path.is_dir() or _entries.KINDS.get(PurePosixPath(path.name).suffix.lower()) is not None:
        return False
    if _entries.is_archive(file := Opening(path)):
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
        if line.strip():
            record = object_in(line)
            yield number, "columns" if record is None else {n: _scalar(record.get(column)) for n, column in at.items()}


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


LEAST_KNOWN = 0.5
"""The share of known words (nouns of WordNet, stop words) below which a text looks like another language: 2 of 5,737
English abstracts are below it (their mean is 0.82), sentences in six other languages had 0.07 to 0.41."""
_TELLING = 10  # words without which nothing can be said about a language
"""Which words are terms."""
_LETTERS = 1 << 23  # of texts whose words are counted at once
_DOCUMENTS = 20_000
_SCHEMA = {"row": pl.UInt64, **TERMS.schema, "bad": pl.String}
_COLUMNS = tuple(_SCHEMA)


class Vectors:
    """Texts -> vectors of terms, some million letters at a time; they go to files, so that memory does not grow.

    A term is a noun of WordNet in its base form, by the rules of the lexicon. Left out: English stop words, words of
    fewer letters than `min_length`, words with digits, words that are no noun. The weight of a term is its share of the
    words that were kept (Eq. 2.1); the `terms` most frequent ones make the vector, ties in alphabetical order. So
    weights of a vector sum to less than 1 where a document has more terms. With `words = all`, words that are no noun
    stay as they are.
    """

    def __init__(self, folder: Path, reading: Reading) -> None:
        terms, min_length, words = reading.terms or 100, reading.min_length or 3, reading.words or "nouns"
        self._folder, self._terms, self._min_length, self._all = folder, terms, min_length, words == "all"
        self.settings: dict[str, int | str] = {"terms": terms, "min_length": min_length, "words": words}
        self._names: set[str] = set()
        self._texts: set[bytes] = set()
        self._waiting: list[tuple[int, str, str, str | None]] = []
        self._letters = 0
        self._parts: list[str] = []
        self._bad: list[tuple[int, str]] = []
        self.documents = 0
        """How many were added, also those that could not be read."""
        self.vectors = 0
        """How many have a term."""
        self.rows = 0
        """How many terms these have together."""
        self.copies = 0
        """How many have the same text as an earlier one."""
        self.foreign = 0
        """How many look like another language."""
        self.owned = False

    def add(self, name: str, text: str, owner: str | None = None) -> None:
        """A document; its name must be its own."""
        if not name.strip() or name in self._names:
            self.add_bad("id")
            return
        self._names.add(name)
        digest = hashlib.blake2b(text.encode(errors="replace"), digest_size=16).digest()
        self.copies += digest in self._texts and bool(text.strip())
        self._texts.add(digest)
        self.owned |= owner is not None
        self._waiting.append((self.documents, name, text, owner))
        self.documents += 1
        self._letters += len(text)
        if self._letters >= _LETTERS or len(self._waiting) >= _DOCUMENTS:
            self._flush()

    def add_bad(self, reason: str) -> None:
        """A document that could not be read."""
        self._bad.append((self.documents, reason))
        self.documents += 1

    @property
    def bad(self) -> int:
        """How many could not be read."""
        return len(self._bad)

    def scan(self) -> pl.LazyFrame:
        """The rows of all vectors, and one with `bad` for each document that could not be read."""
        self._flush()
        bad = pl.DataFrame(self._bad, schema={"row": pl.UInt64, "bad": pl.String}, orient="row")
        self._write(bad.with_columns(pl.lit(None, TERMS.schema[name]).alias(name) for name in TERMS.schema))
        rows = pl.scan_parquet(self._parts, glob=False)
        return rows if self.owned else rows.drop(TERMS.owner)

    @cached_property
    def _lexicon(self) -> Lexicon:
        return taxonomies.load(taxonomies.WORDNET).lexicon

    def _flush(self) -> None:
        if not self._waiting:
            return
        schema = {"row": pl.UInt64, TERMS.subject: pl.String, "text": pl.String, TERMS.owner: pl.String}
        documents = pl.DataFrame(self._waiting, schema=schema, orient="row")
        self._waiting, self._letters = [], 0
        counted = self._counted(documents.select("row", "text"))
        known = counted.group_by("row").agg(known=pl.col("n").filter("known").sum(), words=pl.col("n").sum())
        strange = (pl.col("words") >= _TELLING) & (pl.col("known") < LEAST_KNOWN * pl.col("words"))
        self.foreign += 0 if self._all else known.filter(strange).height
        rows = self._weighted(counted)
        self.vectors += rows["row"].n_unique()
        self.rows += rows.height
        named = rows.join(documents.drop("text"), on="row", maintain_order="left")
        self._write(named.with_columns(bad=pl.lit(None, pl.String)))

    def _counted(self, texts: pl.DataFrame) -> pl.DataFrame:
        """row, piece, n, base (null where it is no term), and whether the piece is known, for all words of letters."""
        words = texts.lazy().select("row", pieces(pl.col("text")).alias("piece")).explode("piece").drop_nulls()
        counted = words.filter(~pl.col("piece").str.contains(r"\p{N}")).group_by("row", "piece").len("n").collect()
        distinct = counted.select(pl.col("piece").unique())
        stop = pl.col("piece").is_in(sorted(language(ENGLISH).stop_words))
        long = pl.min_horizontal(pl.col("piece", "base").str.len_chars()) >= self._min_length
        whole = pl.when(pl.col("piece").str.len_chars() >= self._min_length).then("piece")
        bases = distinct.with_columns(self._lexicon.bases(distinct["piece"]).alias("base"))
        bases = bases.with_columns(pl.when(long).then("base").alias("base")).select(
            "piece",
            pl.when(~stop).then(pl.coalesce("base", whole) if self._all else "base").alias("base"),
            (stop | pl.col("base").is_not_null()).alias("known"),
        )
        return counted.join(bases, on="piece")

    def _weighted(self, counted: pl.DataFrame) -> pl.DataFrame:
        """row, term and weight of the most frequent terms."""
        kept = counted.drop_nulls("base").group_by("row", pl.col("base").alias(TERMS.item)).agg(pl.col("n").sum())
        weights = kept.with_columns((pl.col("n") / pl.col("n").sum().over("row")).alias(TERMS.weight))
        ordered = weights.sort("row", "n", TERMS.item, descending=[False, True, False])
        return ordered.filter(pl.int_range(pl.len()).over("row") < self._terms).drop("n")

    def _write(self, rows: pl.DataFrame) -> None:
        path = self._folder / f"vectors-{len(self._parts):06}.parquet"
        rows.select(_COLUMNS).cast(_SCHEMA).write_parquet(path)  # type: ignore[arg-type]
        self._parts.append(str(path))
