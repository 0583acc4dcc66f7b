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

import codecs
import csv
import hashlib
import html
import io
import logging
import lzma
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import IO, Any, NamedTuple, TypeAlias

import polars as pl

from coterie import taxonomies
from coterie.core import files
from coterie.core.files import HIDDEN, LINKS, LONGEST_LINE, OTHER, Opening, byte_lines, files_in, head
from coterie.core.shapes import TERMS
from coterie.errors import InputError, MissingError, ParameterError
from coterie.reading.formats import table
from coterie.reading.formats._json import object_in
from coterie.reading.reading import Reading
from coterie.reading.sniff import delimiter_of, kind_of, named, names_of
from coterie.reading.source import Loaded, Section, Sections, Source, Spool
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
    kind, places = kind_of(lines), [names.index(column) for column in at.values()]
    if kind == "jsonl":
        records = _json_records(path, list(at.values()))
    elif kind == "tsv":
        records = _tsv_records(path, len(names), places)
    else:
        records = table.csv_records(path, names, places, delimiter_of(lines[0]))
    with _long_fields():
        for number, values, bad in records:
            if bad:
                vectors.add_bad(bad)
            else:
                _add_row(vectors, dict(zip(at, values, strict=True)), f"{path.name}#{number}")


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


def _json_records(path: Path, columns: list[str]) -> Iterator[table.Record]:
    for number, line in byte_lines(path):
        if line.strip():
            record = object_in(line)
            values = [] if record is None else [_scalar(record.get(column)) for column in columns]
            yield number, values, "columns" if record is None else None


def _scalar(value: Any) -> str | None:
    """A text, or a number as text; nothing else is a name or a text."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _tsv_records(path: Path, width: int, places: list[int]) -> Iterator[table.Record]:
    for number, line in byte_lines(path):
        fields = line.decode(errors="replace").rstrip("\r\n").split("\t")
        if number > 1 and line.strip():
            fits = len(fields) == width
            yield number, [fields[i] for i in places] if fits else [], None if fits else "columns"


@contextmanager
def _long_fields() -> Iterator[None]:
    """A document may be longer than what `csv` takes for a field that was never closed."""
    before = csv.field_size_limit(LONGEST_LINE)
    try:
        yield
    finally:
        csv.field_size_limit(before)


# --- where documents are: files, folders, archives ----------------------------------------------------------------
# Nothing is unpacked to disk, so names with `..` and links in an archive lead nowhere. An archive inside another one, a
# link, a hidden file and what is no document by its name are not opened, only counted. What an archive may unpack to is
# limited as for logs; so is what may stand between its members.

TEXT, HTML, PDF = "text", "html", "pdf"
KINDS = {
    ".txt": TEXT, ".text": TEXT, ".md": TEXT, ".markdown": TEXT, ".html": HTML, ".htm": HTML, ".xhtml": HTML,
    ".pdf": PDF,
}  # fmt: skip
"""What a file is by the end of its name."""
_ARCHIVES = (".zip", ".tar", ".tgz", ".gz", ".zst", ".bz2", ".xz", ".7z", ".rar")
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")  # with members, and without
_TAR_MARK, _TAR_MARK_AT = b"ustar", 257
_BETWEEN = 1 << 20  # bytes that may stand between two members of a tar archive
_DAMAGED = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError, EOFError,
    struct.error, ValueError, OSError,
)  # fmt: skip
NESTED = "nested"
"""Why a file is not read: it is an archive itself."""


class UnreadableError(Exception):
    """The bytes of a file cannot be read."""


class Entry:
    """A file that may hold documents."""

    def __init__(self, name: str, stream: IO[bytes], explicit: bool = False) -> None:
        self.name = name
        """Its path in the folder or the archive."""
        self.explicit = explicit
        """Whether it was named by the user, and not found in a folder or in an archive."""
        self._stream = stream
        self._ahead = b""

    @property
    def kind(self) -> str | None:
        """text, html or pdf, by its name; None where that tells nothing."""
        return KINDS.get(PurePosixPath(self.name).suffix.lower())

    def peek(self, size: int) -> bytes:
        """The first bytes, which will be read again."""
        self._ahead += self._read(max(0, size - len(self._ahead)))
        return self._ahead[:size]

    def read(self, most: int) -> bytes:
        """At most so many bytes, and one more where there are more."""
        data = self._ahead
        while len(data) <= most and (more := self._read(most + 1 - len(data))):
            data += more
        self._ahead = b""
        return data

    def lines(self, longest: int) -> Iterator[bytes]:
        """Lines, those that are too long in parts."""
        rest = self._ahead
        self._ahead = b""
        while more := self._read(files.CHUNK):
            *whole, rest = (rest + more).split(b"\n")
            yield from whole
            if len(rest) > longest:
                yield rest
                rest = b""
        if rest:
            yield from rest.split(b"\n")

    def _read(self, size: int) -> bytes:
        try:
            return self._stream.read(size) if size else b""
        except InputError:
            raise
        except _DAMAGED:
            raise UnreadableError from None


class Unreadable(NamedTuple):
    """A member that could not be opened."""

    name: str
    reason: str


def is_archive(file: Opening) -> bool:
    """Whether a file is a zip archive, or a tar archive, also a compressed one."""
    if file.packed.startswith(_ZIP):
        return True
    try:
        return file.data.startswith(_TAR_MARK, _TAR_MARK_AT)
    except (InputError, OSError):
        return False


def entries(path: Path, name: str, given: str, tally: Counter[str]) -> Iterator[Entry | Unreadable]:
    """The files of a folder or an archive, or the file itself; `tally` counts what was not opened, and why."""
    if path.is_dir():
        yield from _of_folder(path, tally)
    elif files.first_bytes(path) in _ZIP:
        yield from _of_zip(path, name, tally)
    elif is_archive(Opening(path)):
        yield from _of_tar(path, name, tally)
    else:
        with files.open_bytes(path) as stream:
            yield Entry(given, stream, explicit=True)


def _wanted(name: str, tally: Counter[str]) -> bool:
    """Whether a name is not that of a hidden file or of an archive."""
    path = PurePosixPath(name)
    if path.suffix.lower() in _ARCHIVES:
        tally[NESTED] += 1
        return False
    if any(part.startswith(".") and part not in (".", "..") for part in path.parts) or "__MACOSX" in path.parts:
        tally[HIDDEN] += 1
        return False
    return True


def _of_folder(folder: Path, tally: Counter[str]) -> Iterator[Entry | Unreadable]:
    for path, why in files.walk(folder):
        if why is not None:
            tally[why] += 1
            continue
        name = path.relative_to(folder).as_posix()
        if not _wanted(name, tally):
            continue
        try:
            stream = path.open("rb")
        except OSError:
            yield Unreadable(name, "damaged")
            continue
        with stream:
            yield Entry(name, stream)


def _of_zip(path: Path, label: str, tally: Counter[str]) -> Iterator[Entry | Unreadable]:
    try:
        archive = zipfile.ZipFile(path)
    except _DAMAGED:
        raise _damaged(label) from None
    most = max(files.MOST_UNPACKED, files.MOST_TIMES * path.stat().st_size)
    meter = _Meter(most, label)
    with archive:
        for member in archive.infolist():
            if member.filename.endswith("/"):
                continue
            if stat.S_ISLNK(member.external_attr >> 16):
                tally[LINKS] += 1
                continue
            if not _wanted(member.filename, tally):
                continue
            if member.flag_bits & 1:
                yield Unreadable(member.filename, "encrypted")
                continue
            try:
                stream = archive.open(member)
            except _DAMAGED:
                yield Unreadable(member.filename, "damaged")
                continue
            with stream:
                yield Entry(_tidy(member.filename), meter.on(stream))


def _of_tar(path: Path, label: str, tally: Counter[str]) -> Iterator[Entry | Unreadable]:
    meter = _Meter(files.most_unpacked(path), label)
    with files.open_bytes(path) as stream:
        metered: Any = meter.on(stream)
        try:
            meter.allow(_BETWEEN)
            with tarfile.open(fileobj=metered, mode="r|") as archive:
                while (member := archive.next()) is not None:
                    if member.issym() or member.islnk():
                        tally[LINKS] += 1
                    elif member.isreg() and _wanted(member.name, tally):
                        content = archive.extractfile(member)
                        if content is not None:
                            meter.allow(None)
                            yield Entry(_tidy(member.name), content)
                    archive.members = []  # type: ignore[attr-defined]  # it would keep all of them
                    meter.allow(member.size + _BETWEEN)
        except _DAMAGED:
            raise _damaged(label) from None


def _tidy(name: str) -> str:
    return name.removeprefix("./")


def _damaged(label: str) -> InputError:
    return InputError(f"{label}: the archive is damaged or cut off. Pack its files again, or give them in a folder.")


class _Meter:
    """Counts the bytes of an archive that were unpacked, and stops where they are too many."""

    def __init__(self, most: float, label: str) -> None:
        self._most, self._label = most, label
        self._total = 0
        self._until: float = most

    def allow(self, size: int | None) -> None:
        """From here on at most so many bytes; None: as many as an archive may have."""
        self._until = self._most if size is None else self._total + size

    def on(self, stream: IO[bytes]) -> Any:
        """A stream that is counted."""
        return SimpleNamespace(read=partial(self._read, stream))

    def _read(self, stream: IO[bytes], size: int) -> bytes:
        data = stream.read(size)
        self._total += len(data)
        if self._total > self._most:
            raise files.unpacks_too_much(self._label)
        if self._total > self._until + tarfile.RECORDSIZE:
            raise _damaged(self._label)
        return data


def first_lines(paths: Sequence[Path]) -> list[str]:
    """The first lines of the first text in folders and archives, to see whether they hold logs rather than documents.

    Nothing for files that stand by themselves, and for what cannot be read: others will say so.
    """
    for path in paths:
        if not (path.is_dir() or (path.is_file() and is_archive(Opening(path)))):
            continue
        try:
            for entry in entries(path, path.name, str(path), Counter()):
                if isinstance(entry, Entry) and entry.kind == TEXT:
                    text = entry.peek(files.HEAD_BYTES).decode(errors="replace").removeprefix(files.BOM)
                    return [line.rstrip("\r") for line in text.split("\n") if line.strip(" \r")]
        except (InputError, UnreadableError):
            continue
    return []


# --- their text ----------------------------------------------------------------------------------------------------
# Text is UTF-8 (or UTF-16 where a mark says so), else Latin-1, in which every byte is a letter; so what is no text has
# to be told by its bytes. Of HTML what a reader sees is kept: no scripts, no styles, no comments.

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_LOOKED_AT = 1 << 16
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x1b"))
_MOST_CONTROLS = 0.02  # share of bytes that no text has
_TAG = re.compile(r"<[/!?]?([A-Za-z][A-Za-z0-9]*|(?<=[!?]))")
_UNSEEN = {
    name: re.compile(rf"</{name}\b", re.I) for name in ("script", "style", "template", "noscript", "svg", "iframe")
}
_SMART = re.compile(rb"\s*\.I[ \t]+[0-9]+[ \t]*\r?\n\.[A-Z][ \t]*\r?\n")
_SMART_RECORD = re.compile(rb"\.I[ \t]+([0-9]+)\s*")
_SMART_FIELD = re.compile(rb"\.([A-Z])\s*")
_SMART_READ = (b"T", b"W")  # title and text


class Text(NamedTuple):
    """The text of a document, or why there is none."""

    text: str
    latin_1: bool = False
    """Whether it was no valid UTF-8."""
    bad: str | None = None


def decoded(data: bytes) -> Text:
    """Bytes as text."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                return Text(data.decode(encoding))
            except UnicodeDecodeError:
                return Text("", bad="binary")
    start = data[:_LOOKED_AT]
    controls = len(start) - len(start.translate(None, _CONTROLS))
    if b"\0" in start or controls > _MOST_CONTROLS * len(start):
        return Text("", bad="binary")
    try:
        return Text(data.decode())
    except UnicodeDecodeError:
        return Text(data.decode("latin-1"), latin_1=True)


def text_of(data: bytes, kind: str | None) -> Text:
    """What a reader of the document sees; `kind` as in `KINDS`."""
    if kind == PDF:
        return _pdf_text(data)
    text = decoded(data)
    return text._replace(text=_html_text(text.text)) if kind == HTML and text.bad is None else text


def is_smart(start: bytes) -> bool:
    """Whether a file begins as those of the SMART system do: `.I 1`, then a field such as `.T` or `.W`."""
    return _SMART.match(start) is not None


def smart_records(lines: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
    """Number and text (title and abstract) of each record of a SMART file."""
    number, text, read = None, b"", False
    for line in lines:
        if record := _SMART_RECORD.fullmatch(line):
            if number is not None:
                yield number, text
            number, text, read = record[1].decode(), b"", False
        elif field := _SMART_FIELD.fullmatch(line):
            read = field[1] in _SMART_READ
        elif read:
            text += line + b"\n"
    if number is not None:
        yield number, text


def _html_text(page: str) -> str:
    """What is seen of a page, in one pass: the parser of Python gives up on some pages and is slow on others."""
    parts: list[str] = []
    at = 0
    while (tag := page.find("<", at)) >= 0:
        parts.append(page[at:tag])
        at = _end_of_tag(page, tag)
        parts.append("<" if at == tag + 1 else " ")
    return html.unescape("".join([*parts, page[at:]]))


def _end_of_tag(page: str, at: int) -> int:
    """Where a tag, a comment or an element that is not seen ends; behind the `<` where none begins there."""
    if page.startswith("<!--", at):
        end = page.find("-->", at + 4)
        return len(page) if end < 0 else end + 3
    name = _TAG.match(page, at)
    if name is None:
        return at + 1
    end = page.find(">", at)
    if end < 0:
        return len(page)
    if name[1].lower() not in _UNSEEN or "/" in (page[at + 1], page[end - 1]):
        return end + 1
    closing = _UNSEEN[name[1].lower()].search(page, end)
    return len(page) if closing is None else closing.start()


def _pdf_text(data: bytes) -> Text:
    try:
        import pypdf
    except ImportError:
        raise MissingError(
            "Some documents are PDF, and what reads them is not installed. Install coterie[documents], or give the "
            "other documents alone."
        ) from None
    logger = logging.getLogger("pypdf")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)  # its messages hold pieces of documents
    try:
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        if reader.is_encrypted:
            return Text("", bad="encrypted")
        return Text("\n".join(page.extract_text() for page in reader.pages))
    except Exception:  # a damaged file can break it in any way
        return Text("", bad="damaged")
    finally:
        logger.setLevel(level)


# --- their vectors -------------------------------------------------------------------------------------------------

LEAST_KNOWN = 0.5
"""The share of known words (nouns of WordNet, stop words) below which a text looks like another language: 2 of 5,737
English abstracts are below it (their mean is 0.82), sentences in six other languages had 0.07 to 0.41."""
_TELLING = 10  # words without which nothing can be said about a language
"""Which words are terms."""
_LETTERS = 1 << 23  # of texts whose words are counted at once
_DOCUMENTS = 20_000
_SCHEMA = {"row": pl.UInt64, **TERMS.schema, "bad": pl.String}


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
        self._terms, self._min_length, self._all = terms, min_length, words == "all"
        self.settings: dict[str, int | str] = {"terms": terms, "min_length": min_length, "words": words}
        self._names: set[str] = set()
        self._texts: set[bytes] = set()
        self._waiting: list[tuple[int, str, str, str | None]] = []
        self._letters = 0
        self._spool = Spool(folder, _SCHEMA)
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
        self._spool.add_all(bad.with_columns(pl.lit(None, TERMS.schema[name]).alias(name) for name in TERMS.schema))
        rows = self._spool.scan()
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
        self._spool.add_all(named.with_columns(bad=pl.lit(None, pl.String)))

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
