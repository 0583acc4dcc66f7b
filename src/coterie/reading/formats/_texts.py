"""Bytes -> text: encodings, HTML, PDF, and files with many records.

Text is UTF-8 (or UTF-16 where a mark says so), else Latin-1, in which every byte is a letter; so what is no text has to
be told by its bytes. Of HTML what a reader sees is kept: no scripts, no styles, no comments.
"""

from __future__ import annotations

import codecs
import html
import io
import logging
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from coterie.errors import MissingError
from coterie.reading.formats._entries import HTML, PDF

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
