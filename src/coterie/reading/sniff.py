"""Sniffing: the format of a log, by the first bytes of its files.

Each format of Coterie states its `signature`: clues, of which the first that is found says how sure it is. They are
compared here with what was seen of the file once (`Head`). Formats of other packages may say it by a function of their
own, `sniff(head: list[str])`; one that fails is left out, for it must not break those of others.
"""

from __future__ import annotations

import csv
import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import polars as pl

from coterie.core import registry
from coterie.core.digests import listed_parts, refuse_other_parts
from coterie.core.files import refuse_folders
from coterie.core.threads import Progress
from coterie.errors import InputError, NoRowsError
from coterie.reading.formats._json import Document, documents_in, is_lines, object_in
from coterie.reading.reading import Reading
from coterie.reading.source import Source

CONVERT = (
    "Where text is Latin-1 or Windows-1252, as spreadsheets and older programs write it, convert it first: "
    "iconv -f latin1 -t utf-8 FILE > NEW (or -f windows-1252)."
)
_LOGGER = logging.getLogger("coterie")
_LOOKED_AT = 20  # lines that tell how sure a format is
_DELIMITERS = (",", ";", "|")  # the first one where a header has none
_ZEROS = 3  # at least one character of so many is zero in UTF-16
_UNREADABLE = "\ufffd"  # stands for bytes that are no text, in lines that are looked at
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_MOST_CONTROLS = 0.02  # of the characters; one of nine where bytes are random


class Head:
    """The first lines of a file, and what they are as a table or as JSON, which is found out once."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    @cached_property
    def kind(self) -> str:
        """What kind of file it is: see `kind_of`."""
        return kind_of(self.lines)

    @cached_property
    def names(self) -> set[str]:
        """The columns of a table, or the fields of JSON."""
        return set(names_of(self.lines))

    @cached_property
    def documents(self) -> list[Document]:
        """The objects of JSON."""
        return documents_in(self.lines)

    @cached_property
    def json(self) -> str:
        """The text of JSON; nothing of other files."""
        text = "".join(self.lines)
        return text if text.lstrip()[:1] in ("{", "[") else ""


Clue: TypeAlias = Callable[[Head], float]
"""How sure a format is by one sign; 0 where it is not there."""


def first_line(text: str) -> Clue:
    """The first line is just this one."""
    return lambda head: float(head.lines[:1] == [text])


def lines_like(pattern: str) -> Clue:
    """The first line fits a pattern, and more or less of the next ones do."""
    return lambda head: sureness(pattern, head.lines)


def marks(*texts: str, sure: float = 1.0) -> Clue:
    """JSON with one of these texts in it."""
    return lambda head: sure * any(text in head.json for text in texts)


def named(*groups: Collection[str], sure: float = 1.0) -> Clue:
    """There are columns or fields of these names, one of each group."""
    return lambda head: sure * all(not head.names.isdisjoint(group) for group in groups)


def fields(*groups: Collection[str], sure: float = 1.0) -> Clue:
    """The same of JSON alone."""
    return lambda head: named(*groups, sure=sure)(head) if head.json else 0.0


def format_of(path: Path, options: Reading | None = None) -> str:
    """The name of the format of a file, as `read` finds it."""
    return source_of([path], replace(options or Reading(), format=None))[1]


def source_of(paths: Sequence[Path], options: Reading, progress: Progress | None = None) -> tuple[Source, str]:
    """The input, and the name of its format: some are known by their files, most by their first lines."""
    if len(paths) == 1 and paths[0].is_dir() and (parts := listed_parts(paths[0])):
        refuse_other_parts(paths[0], parts)
        source = Source.of_parts(paths[0], [part.name for part in parts])
        return source, _known_format(source, options, {})
    format = options.format
    source, sure = Source(paths, whole=True, progress=progress), dict[str, float]()
    if format is None and all(path.is_file() or path.is_dir() for path in paths):
        files = list(source.openings.values())
        sure = {name: _sure(name, lambda module: module.sniff_files(files)) for name in _that_look_at_files()}
    surest = max(sure, key=sure.__getitem__, default="")
    name = surest if sure.get(surest) == 1 else format
    if name is not None and hasattr(module := registry.module("formats", name), "sniff_files"):
        if format is None:
            _refuse_logs(module.first_lines(paths), paths, name)
        return source, name
    if len(paths) == 1 and paths[0].is_dir() and format is None:
        raise InputError(
            f"{paths[0]} is a folder, and no file in it is named as documents are (.txt, .md, .html, .pdf). Give the "
            f"files of a log themselves, for example '{paths[0]}/*'; or say --format documents."
        )
    refuse_folders(paths)
    source.unpack()
    return source, _known_format(source, options, sure)


def _known_format(source: Source, options: Reading, sure: Mapping[str, float]) -> str:
    """The format of lines, which somebody said, or which they show."""
    first = source.head()
    # One such byte may be part of a value; in UTF-16 nearly every other one is zero. Documents may be written so.
    full = bool(first) and first[0].count("\0") * _ZEROS > len(first[0])
    if full and not any(sure.values()) and kind_of(first) != "parquet":
        raise InputError(
            f"{source.label} is not UTF-8: its first line is full of bytes of zero, as in UTF-16 (what Excel calls "
            f"Unicode text). Write it as UTF-8, for example with iconv -f UTF-16 -t UTF-8."
        )
    if not first:
        verb = "is" if len(source.names) == 1 else "are"
        raise NoRowsError(f"{source.label} {verb} empty: there is no log to read.")
    return options.format or _sniffed(source, options, sure)


def _refuse_logs(lines: list[str], paths: Sequence[Path], format: str) -> None:
    """Raise InputError where a folder or an archive holds a log that another format knows."""
    head = Head(lines)
    others = _all_sure(lambda module: sure_of(module, head)) if lines else {}
    others.pop(format, None)
    name = max(others, key=others.__getitem__, default="")
    if others.get(name):
        where = f"{paths[0].name} holds" if len(paths) == 1 else "They hold"
        raise InputError(
            f"{where} what looks like logs ({name}). Give their files, for example 'FOLDER/*'; or say --format "
            f"{format} where they are documents."
        )


def _sniffed(source: Source, options: Reading, by_files: Mapping[str, float]) -> str:
    if options.columns or options.details:
        return "documents" if "text" in options.columns else "table"
    lines = source.head()
    head = Head(lines)
    sure = {name: max(value, by_files.get(name, 0)) for name, value in _all_sure(lambda m: sure_of(m, head)).items()}
    most = max(sure.values())
    surest = [name for name, value in sure.items() if value == most]
    if most > 0 and len(surest) == 1:
        return surest[0]
    if most > 0:
        raise InputError(
            f"{source.label} could be of the formats {' and '.join(surest)}. Say which one it is with --format."
        )
    # A damaged log has few characters without a meaning in text.
    if sum(len(_CONTROLS.findall(line)) for line in lines) > _MOST_CONTROLS * sum(map(len, lines)):
        raise InputError(f"{source.label} is no text: it holds bytes that no log has. Check that it is the right file.")
    if any(_UNREADABLE in line for line in lines):
        line = next(number for number, line in enumerate(lines, start=1) if _UNREADABLE in line)
        raise InputError(
            f"{source.label} is not UTF-8 (line {line}, blank ones not counted), and none of the known formats fits "
            f"its first line. {CONVERT}"
        )
    from coterie.reading.formats.table import columns_listed  # it states a signature, too

    raise InputError(
        f"{source.label}: none of the known formats fits its first line "
        f"({', '.join(registry.names('formats'))}). {columns_listed(source)}Name it with --format, or say which "
        f"columns of a table hold what with --columns user=NAME,query=NAME (of documents doc=NAME,text=NAME)."
    )


def _all_sure(ask: Callable[[ModuleType], Any]) -> dict[str, float]:
    """How sure each format is; 0 for one that fails."""
    return {name: _sure(name, ask) for name in registry.names("formats")}


def _that_look_at_files() -> Iterator[str]:
    for name in registry.names("formats"):
        with suppress(Exception):  # it is told of when lines are looked at
            if hasattr(registry.module("formats", name), "sniff_files"):
                yield name


def _sure(name: str, ask: Callable[[ModuleType], Any]) -> float:
    try:
        sure = ask(registry.module("formats", name))
    except Exception:  # whatever it says may hold a line of the log
        _LOGGER.warning("The format %s failed when it was asked about a file, and was left out.", name)
        return 0.0
    if isinstance(sure, (int, float)) and 0 <= sure <= 1:
        return float(sure)
    _LOGGER.warning("The format %s did not say how sure it is by a number from 0 to 1, and was left out.", name)
    return 0.0


def sure_of(module: ModuleType, head: Head) -> Any:
    """How sure a format is that these are its first lines."""
    if hasattr(module, "sniff"):
        return module.sniff(head.lines)
    return next(filter(None, (clue(head) for clue in module.signature)), 0.0)


def sureness(pattern: str, head: Sequence[str]) -> float:
    """How sure a format can be whose lines fit a pattern: 0 unless the first line does, then 0.6 to 0.9.

    It is 0.9 if all lines that are looked at fit. Patterns are matched in linear time, which `re` does not promise.
    """
    fitting = pl.Series(head[:_LOOKED_AT], dtype=pl.String).str.contains(pattern)
    if not len(fitting) or not fitting[0]:
        return 0.0
    return round(0.6 + 0.3 * int(fitting.sum()) / len(fitting), 6)


def kind_of(head: list[str]) -> str:
    """What kind of file begins with these lines; `json` where documents are not lines."""
    line = head[0] if head else ""
    if line.startswith("PAR1"):
        return "parquet"
    if line.lstrip()[:1] in ("{", "["):
        return "jsonl" if is_lines(head) else "json"
    return "tsv" if "\t" in line else "csv"


def names_of(head: list[str]) -> list[str]:
    """The columns of a text file by its first lines; in JSON a field may be absent."""
    kind = kind_of(head)
    if not head or kind == "parquet":
        return []
    if kind == "tsv":
        return head[0].split("\t")
    if kind == "csv":
        try:
            return next(csv_reader(head[:1], delimiter_of(head[0])), [])
        except csv.Error:
            return []
    records = documents_in(head) if kind == "json" else [object_in(line) or {} for line in head]
    return list(dict.fromkeys(name for record in records for name in record))


def delimiter_of(header: str) -> str:
    """What stands between the fields of a csv file: what its header has most of, outside of quotes."""
    bare = re.sub(r'"[^"]*"', "", header)
    return max(_DELIMITERS, key=bare.count)


def csv_reader(lines: Iterable[str], mark: str = ",") -> Any:
    """The records of csv."""
    # A break inside a value becomes a space anyway, and the reader refuses lone ones.
    return csv.reader((line.replace("\r\n", "\n").replace("\r", " ") for line in lines), delimiter=mark)
