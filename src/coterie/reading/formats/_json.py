"""Documents of JSON files, however they are laid out: lines, an array, hits of a search, bulk actions.

Searches and clicks that were logged apart are joined: a search without a click is one row, else it is a row for each
click.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import orjson
import polars as pl

from coterie.core.files import byte_lines, open_bytes
from coterie.core.shapes import LEVEL
from coterie.errors import InputError
from coterie.reading.source import Section, Source, Spool, reason
from coterie.reading.values import as_time

Document: TypeAlias = dict[str, Any]
MOST_AT_ONCE = 1 << 28
"""Bytes of JSON over several lines, which has to be read at once."""
LISTS = ("logs", "events", "searches")
"""Fields that hold the documents of an answer which has nothing else in it."""
_ACTIONS = ({"index"}, {"create"}, {"update"}, {"delete"})
_ABSENT = object()
_SPACE = re.compile(r"\s*")
_DEEPEST = 4  # objects in objects whose fields have dotted names


def documents(source: Source) -> Iterator[tuple[Section, Document | None]]:
    """Where a document is, and the document; None for what is not one; bulk actions left out."""
    for path in source.paths:
        for unit, number, value in _values(source, path):
            for document in _inside(value):
                yield (source.names[path], unit, number, 1), document


def _inside(value: Any) -> Iterator[Document | None]:
    """The documents in a JSON value, and None for what is not one; a bulk action has none."""
    for item in () if isinstance(value, dict) and set(value) in _ACTIONS else _items(value):
        inner = item.get("_source", item) if isinstance(item, dict) else None
        yield inner if isinstance(inner, dict) else None


def sections(source: Source) -> Iterator[Section]:
    """Where the documents come from."""
    return (section for section, _ in documents(source))


def documents_in(head: list[str]) -> list[Document]:
    """The documents in the first lines of a file; of a last one that is cut off, nothing."""
    start = head[0].lstrip()[:1] if head else ""
    if start not in ("{", "["):
        return []
    values = [value for line in head if (value := parsed(line.encode(errors="replace"))) is not None]
    if not values or len(values) < len(head) // 2:
        values = _begun("\n".join(head))
    return [document for value in values for document in _inside(value) if document is not None]


def is_lines(head: list[str]) -> bool:
    """Whether these are JSON lines: each is an object of its own, and none a list of documents."""
    value = parsed(head[0].encode(errors="replace")) if head else None
    if isinstance(value, dict):
        return _inner_list(value) is None and "_source" not in value and set(value) not in _ACTIONS
    if value is not None or not head or not head[0].lstrip().startswith("{"):
        return False
    # A first line that is not whole JSON: a damaged one among good ones, or the first of an object over several lines.
    others = [parsed(line.encode(errors="replace")) for line in head[1:]]
    return any(isinstance(other, dict) and other for other in others) or head[0].strip() != "{"


def value_of(document: Mapping[str, Any], name: str, absent: Any = None) -> Any:
    """A field by its name; a dotted name goes into nested objects, unless a field is called just so."""
    if name in document:
        return document[name]
    value: Any = document
    for part in name.split("."):
        if not isinstance(value, dict) or part not in value:
            return absent
        value = value[part]
    return value


def fields_of(document: Mapping[str, Any], columns: Sequence[str], found: set[str]) -> list[str | None]:
    """The values of a document; fields inside of others that it has are added to those that were `found`."""
    missing = [name for name in columns if "." in name and name not in found]
    found.update(name for name in missing if value_of(document, name, _ABSENT) is not _ABSENT)
    return [text_of(value_of(document, name)) for name in columns]


def names_in(found: list[Document]) -> list[str]:
    """The fields that hold single values, those of nested objects with dotted names."""
    return list(dict.fromkeys(name for document in found for name in _flat(document)))


def _flat(document: Mapping[str, Any], before: str = "", depth: int = 1) -> Iterator[str]:
    for key, value in document.items():
        if isinstance(value, dict) and depth < _DEEPEST:
            yield from _flat(value, f"{before}{key}.", depth + 1)
        elif not isinstance(value, (dict, list)):
            yield before + key


def text(value: Any) -> str | None:
    """A scalar as text without tabs and line breaks; nothing for an empty one."""
    if value is None or isinstance(value, (dict, list)):
        return None
    return re.sub(r"[\t\r\n]+", " ", str(value)) or None


def first_text(document: Mapping[str, Any], *names: str) -> str | None:
    """The first of these fields that says anything."""
    return next(filter(None, (text(value_of(document, name)) for name in names)), None)


def parsed(data: str | bytes) -> Any:
    """The JSON value, or None where there is none."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return None


def _values(source: Source, path: Path) -> Iterator[tuple[str, int, Any]]:
    """The JSON values of a file: of its lines, or of the whole if they run over several lines."""
    lines = ((number, line) for number, line in byte_lines(path) if line.strip())
    name = source.names[path]
    _, first = next(lines, (0, b"null"))
    if parsed(first) is None and first.lstrip()[:1] in (b"[", b"{"):
        with open_bytes(path) as stream:
            data = stream.read(MOST_AT_ONCE + 1)
        if len(data) > MOST_AT_ONCE:
            raise InputError(
                f"{name} holds JSON over several lines, and more than {MOST_AT_ONCE >> 20} MB of it. Write it as JSON "
                f"lines, one document a line."
            )
        values = _whole(data)
        for number, value in enumerate(values, start=1):
            yield "item", number, value
        if values:
            return
    for number, line in source.byte_lines(path):
        if line.strip():
            yield "line", number, parsed(line)


def _whole(data: bytes) -> list[Any]:
    """All values of a text of JSON values, one after the other; nothing if it is not one."""
    try:
        content = data.decode("utf-8-sig")
        values = []
        at = _SPACE.match(content).end()  # type: ignore[union-attr]
        while at < len(content):
            start, (_, at) = at, json.JSONDecoder().raw_decode(content, at)
            values += _items(orjson.loads(content[start:at]))
            at = _SPACE.match(content, at).end()  # type: ignore[union-attr]
    except (ValueError, RecursionError):
        return []
    return values


def _begun(content: str) -> list[Any]:
    """The values in a text of JSON that may be cut off: of the list it begins with, or of the list inside it."""
    found: list[Any] = []
    decoder = json.JSONDecoder()
    whole = _whole(content.encode(errors="replace"))
    if whole:
        return whole
    inside = re.match(r'\s*\[|[^\[]*"(?:hits|' + "|".join(LISTS) + r')"\s*:\s*\[', content)
    at = inside.end() if inside else 0
    while at < len(content):
        at = re.compile(r"[\s,]*").match(content, at).end()  # type: ignore[union-attr]
        try:
            value, at = decoder.raw_decode(content, at)
        except (ValueError, RecursionError):
            break
        found.append(value)
    return found


def _items(value: Any) -> list[Any]:
    """The documents of an array or of the answer to a search; else the value itself."""
    inner = _inner_list(value)
    if inner is not None:
        return inner
    return value if isinstance(value, list) else [value]


def _inner_list(value: Any) -> list[Any] | None:
    """The documents inside an answer: hits of a search, or the one list it holds."""
    if not isinstance(value, dict):
        return None
    if "hits" in value and not isinstance(value["hits"], (int, float, str)):
        hits = value["hits"]
        hits = hits.get("hits") if isinstance(hits, dict) else hits
        return hits if isinstance(hits, list) else [None]
    only = next(iter(value)) if len(value) == 1 else None
    return value[only] if only in LISTS and isinstance(value[only], list) else None


def object_in(line: str | bytes) -> dict[str, Any] | None:
    """The object that a line holds, if it does."""
    record = parsed(line)
    return record if isinstance(record, dict) else None


def text_of(value: Any) -> str | None:
    """A value as Polars writes it: whole numbers without a fraction."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()  # halves of characters, which JSON can spell
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # a number of more than 64 bits
        return json.dumps(value)


_SEARCHES = {"row": pl.UInt64, "id": pl.String, "user": pl.String, "query": pl.String, "time": pl.String,
             LEVEL: pl.String, "bad": pl.String}  # fmt: skip
_CLICKS = {"click": pl.UInt64, "id": pl.String, "rank": pl.Int32, "url": pl.String}


class Search(NamedTuple):
    """A search as it was logged."""

    id: str | None
    """What its clicks call it."""
    user: str | None
    query: str
    time: str | None
    level: str | None = None
    """How exact the time is, which releases say."""


class Click(NamedTuple):
    """A click, which says whose search it belongs to."""

    id: str | None
    rank: int | None
    url: str | None


class Clicked:
    """Collects searches and clicks in the order of a log, and joins them."""

    def __init__(self, source: Source) -> None:
        self._searches, self._clicks = Spool(source.folder.path, _SEARCHES), Spool(source.folder.path, _CLICKS)

    def add(self, row: int, entry: Search | Click | None) -> None:
        """Add an entry, or None for what cannot be read."""
        if isinstance(entry, Click):
            self._clicks.add((row, *entry))
        else:
            self._searches.add((row, *(entry or Search(None, None, "", None)), None if entry else "columns"))

    def rows(self) -> pl.LazyFrame:
        """Rows of a search log."""
        # A query that was logged twice gets its clicks once.
        first = pl.when(pl.col("id").is_first_distinct()).then(pl.col("id"))
        time = as_time(pl.col("time"), pl.String())
        return (
            self._searches.scan()
            .with_columns(first.alias("id"))
            .join(self._clicks.scan(), on="id", how="left")
            .select(
                pl.coalesce("click", "row").alias("row"),
                "user",
                time.alias("time"),
                "query",
                "rank",
                "url",
                LEVEL,
                pl.coalesce("bad", reason(time=pl.col("time").is_not_null() & time.is_null())).alias("bad"),
            )
        )

    def lost(self) -> int:
        """How many clicks say a search that is not there."""
        clicks, searches = self._clicks.scan().drop_nulls("id"), self._searches.scan()
        return int(clicks.join(searches, on="id", how="anti").select(pl.len()).collect(engine="streaming").item())


def rank_of(value: Any) -> int | None:
    """A place in a list of results."""
    digits = str(value)
    return int(digits) if re.fullmatch(r"[0-9]{1,9}", digits) else None
