"""Categories from a table: of paths, or of names and parents.

Paths: one per line, `Top/Arts/Movies` or `Media > Books`, then optionally the number of pages and titles, separated by
tabs (or commas in a .csv). A header may name the columns: path, count, title. Several lines may have one path: their
numbers are added. Lines that begin with # are left out, and so are numbers before a path (`784 - Media > Books`).

Parents: a header with id, parent and label, as in the IAB's tables; a root has no parent, or is its own (the IAB has
both in one table). Also count and title.

Lines of text from files that may be compressed, with messages that say which line is not text.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from coterie.core.files import byte_lines
from coterie.errors import InputError, ParameterError
from coterie.taxonomies.build import Categories, tidy
from coterie.taxonomies.tree import NO_ROOT, depths

_NAMES = {
    "path": ("path", "category", "topic"),
    "id": ("id", "uniqueid"),
    "parent": ("parent", "parentid"),
    "label": ("label", "name"),
    "pages": ("count", "pages", "n"),
    "title": ("title", "titles", "text"),
}
_HEADER_LINES = 5  # the IAB's tables have a line above the header
_SAMPLE = 1000  # lines that tell what separates the parts of a path
_NUMBER = re.compile(r"^\d+ - ")

Row = tuple[int, list[str]]


class _Columns(NamedTuple):
    """Where a table has what; None for what it lacks."""

    path: int | None = None
    id: int | None = None
    parent: int | None = None
    label: int | None = None
    pages: int | None = None
    title: int | None = None


def read(path: Path, categories: Categories, separator: str | None, encoding: str) -> list[str]:
    """Add the categories of a table; what there is to say about it."""
    rows = _rows(path, encoding)
    first = list(islice(rows, _HEADER_LINES))
    columns, header = _columns(first)
    rows = chain(first[header:], rows)
    if columns.path is None:
        return _read_parents(rows, columns, categories, path.name)
    sample = list(islice(rows, _SAMPLE))
    if separator is None:
        separator = " > " if any(" > " in _cell(row, columns.path) for _, row in sample) else "/"
    named = set()
    for line, row in chain(sample, rows):
        where = _cell(row, columns.path)
        if separator == " > ":
            where = _NUMBER.sub("", where, count=1)
        pages, title = _pages(row, columns, path.name, line), _cell(row, columns.title)
        named.add(categories.add_path(where.split(separator), pages, title))
    if not header and len(categories.labels) > 1 and all(parent < 0 for parent in categories.parent):
        return [f"No category is below another: no path has {separator!r} in it. Name what is there with --separator."]
    added = len(categories.labels) - len(named - {None})
    return [f"{added:,} categories are only named as a part of others; they were added."] if added else []


def _read_parents(rows: Iterable[Row], columns: _Columns, categories: Categories, name: str) -> list[str]:
    if categories.without:
        raise ParameterError(
            "Categories can be left out of paths and dumps only: take them out of the table of parents."
        )
    number: dict[str, int] = {}
    above: list[tuple[int, str]] = []
    for line, row in rows:
        own, label = _cell(row, columns.id), tidy(_cell(row, columns.label))
        if not own or not label:
            raise InputError(f"{name} line {line} has no {'label' if own else 'id'}: every category needs both.")
        if own in number:
            raise InputError(f"{name} line {line} has an id that another line has too: give each category its own.")
        number[own] = categories.add((label, own), label, _pages(row, columns, name, line))
        categories.add_title(number[own], _cell(row, columns.title))
        parent = _cell(row, columns.parent)
        above.append((line, "" if parent == own else parent))
    missing = [line for line, parent in above if parent and parent not in number]
    if missing:
        raise InputError(
            f"{name}: {len(missing):,} categories have a parent that is not in the table, the first in line "
            f"{missing[0]}. Add the parents, or leave the parent empty for a root."
        )
    categories.parent[:] = [number[parent] if parent else -1 for _, parent in above]
    circling = np.flatnonzero(depths(np.array(categories.parent, dtype=np.int64)) == NO_ROOT)
    if circling.size:
        raise InputError(
            f"{name}: the parents form a cycle, so that {circling.size:,} categories are not below any root, the first "
            f"in line {above[circling[0]][0]}. Leave the parent empty for a root."
        )
    return []


def _columns(rows: list[Row]) -> tuple[_Columns, int]:
    """What the columns are, and how many rows at the top are not categories."""
    for at, (_, row) in enumerate(rows):
        cells = [re.sub(r"[\s_]", "", cell).lower() for cell in row]
        places = {name: _place(cells, names) for name, names in _NAMES.items()}
        columns = _Columns(**places)
        if columns.id is not None and columns.parent is not None and columns.label is not None:
            return columns._replace(path=None), at + 1
        if at == 0 and columns.path is not None:
            return columns, 1
    # No header: a path, then a number, then titles.
    width = max((len(row) for _, row in rows), default=0)
    if width > 1 and not next(row[1] for _, row in rows if len(row) > 1).strip().isdigit():
        return _Columns(path=0, title=1), 0
    return _Columns(path=0, pages=1 if width > 1 else None, title=2 if width > 2 else None), 0


def _place(cells: list[str], names: tuple[str, ...]) -> int | None:
    return next((cells.index(name) for name in names if name in cells), None)


def _rows(path: Path, encoding: str) -> Iterator[Row]:
    """The cells of each line that is not blank."""
    lines = text_lines(path, encoding)
    if ".csv" not in path.suffixes:
        for number, line in lines:
            if line.strip() and not line.startswith("#"):
                yield number, [cell.strip() for cell in line.split("\t")]
        return
    reader = csv.reader(line + "\n" for _, line in lines)
    try:
        for row in reader:
            if any(row) and not row[0].startswith("#"):
                yield reader.line_num, [cell.strip() for cell in row]
    except csv.Error:
        raise InputError(f"{path.name} line {reader.line_num} is not csv: check its quotes.") from None


def _cell(row: list[str], column: int | None) -> str:
    return row[column] if column is not None and column < len(row) else ""


def _pages(row: list[str], columns: _Columns, name: str, line: int) -> int:
    """The number of pages of a row: its count, else one for each title."""
    text = _cell(row, columns.pages)
    if not text:
        return int(bool(_cell(row, columns.title)))
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise InputError(f"{name} line {line}: the number of pages is not a whole number: write digits only.")
    return int(text)


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
