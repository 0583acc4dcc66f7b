"""Where documents are: files, folders, tar and zip archives; each file comes with its name, its bytes and its text.

Nothing is unpacked to disk, so names with `..` and links in an archive lead nowhere. An archive inside another one, a
link, a hidden file and what is no document by its name are not opened, only counted. What an archive may unpack to is
limited as for logs; so is what may stand between its members.

Text is UTF-8 (or UTF-16 where a mark says so), else Latin-1, in which every byte is a letter; so what is no text has to
be told by its bytes. Of HTML what a reader sees is kept: no scripts, no styles, no comments.
"""

from __future__ import annotations

import codecs
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
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

from coterie.core import files
from coterie.core.files import HIDDEN, LINKS, Opening, first_bytes, open_bytes, walk
from coterie.errors import InputError, MissingError

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
    elif first_bytes(path) in _ZIP:
        yield from _of_zip(path, name, tally)
    elif is_archive(Opening(path)):
        yield from _of_tar(path, name, tally)
    else:
        with open_bytes(path) as stream:
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
    for path, why in walk(folder):
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
    with open_bytes(path) as stream:
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
        return _Metered(self, stream)

    def read(self, stream: IO[bytes], size: int) -> bytes:
        """Read from a stream and count."""
        data = stream.read(size)
        self._total += len(data)
        if self._total > self._most:
            raise files.unpacks_too_much(self._label)
        if self._total > self._until + tarfile.RECORDSIZE:
            raise _damaged(self._label)
        return data


class _Metered:
    def __init__(self, meter: _Meter, stream: IO[bytes]) -> None:
        self._meter, self._stream = meter, stream

    def read(self, size: int = -1) -> bytes:
        return self._meter.read(self._stream, size)


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
    """What a reader of the document sees; `kind` as in `_entries.KINDS`."""
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
