"""Lines of text from files that may be compressed, with messages that say which line is not text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from coterie.core.files import byte_lines
from coterie.errors import InputError, ParameterError


def text_lines(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """Number (from 1) and text of each line, without its end."""
    check(encoding)
    for number, line in byte_lines(path):
        if b"\0" in line:
            raise InputError(f"{path.name} line {number} is not text. Save the table as UTF-8 text.")
        try:
            yield number, line.decode(encoding).rstrip("\r\n")
        except UnicodeError:
            raise InputError(
                f"{path.name} line {number} is not in the encoding {encoding}. Say which it is: --encoding latin-1"
            ) from None


def check(encoding: str) -> None:
    """Raise ParameterError for an unknown encoding."""
    try:
        "text".encode(encoding)
    except (LookupError, ValueError):  # also of codecs that are not encodings of text, such as hex
        raise ParameterError(
            "There is no such encoding. Known ones are utf-8, latin-1 and cp1252, for example."
        ) from None
