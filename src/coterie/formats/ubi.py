"""User Behavior Insights (OpenSearch, Solr ...): queries and events as JSON -> QUERIES.

Read leniently, since real files follow the schema loosely: a bulk file with action lines and both
indexes mixed, plain JSON lines, a JSON array, or `_search` hits with `_source`, also printed over
several lines; snake_case and camelCase. Events join their query by `query_id`. A query without a
click is one row, else it is one row for each click, with url = the object's id and rank =
position.ordinal. The user is `client_id`, or the field named with `--user-field`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from coterie.core.files import byte_lines, open_bytes
from coterie.core.shapes import QUERIES
from coterie.errors import InputError
from coterie.formats._options import Options
from coterie.formats._source import Loaded, Section, Source, Spool, reason
from coterie.formats._values import as_time
from coterie.formats.table import expected as _expected

shape = QUERIES
expected = {**_expected, "columns": "a JSON object of a query, an event or a bulk action"}
sample = """\
{"index": {"_index": "ubi_queries", "_id": "1"}}
{"query_id": "q1", "client_id": "c1", "user_query": "blue teapot", "timestamp": "2020-02-03T09:00:00Z"}
{"index": {"_index": "ubi_events", "_id": "2"}}
{"action_name": "click", "query_id": "q1", "client_id": "c1", "timestamp": "2020-02-03T09:00:05.5Z", \
"event_attributes": {"position": {"ordinal": 3}, "object": {"object_id": "pot-7"}}}
"""
MOST_AT_ONCE = 1 << 28
"""Bytes of JSON over several lines, which has to be read at once."""
_MARKS = ('"user_query"', '"userQuery"', '"ubi_queries"', '"ubi_events"', '"action_name"')
_CLICKS = ("click", "item_click", "product_click", "result_click", "search_click")
_ACTIONS = ({"index"}, {"create"}, {"update"}, {"delete"})
_QUERY = {"row": pl.UInt64, "query_id": pl.String, "user": pl.String, "query": pl.String,
          "time": pl.String, "bad": pl.String}  # fmt: skip
_CLICK = {"click": pl.UInt64, "query_id": pl.String, "rank": pl.Int32, "url": pl.String}
_SPACE = re.compile(r"\s*")


def sniff(head: list[str]) -> float:
    """JSON with one of the fields that only this format has."""
    start = "".join(head)
    return 1.0 if start.lstrip()[:1] in ("{", "[") and any(mark in start for mark in _MARKS) else 0.0


def load(source: Source, options: Options) -> Loaded:
    """Parse the documents, then join clicks to their queries."""
    queries, clicks = Spool(source, _QUERY), Spool(source, _CLICK)
    for row, (_, document) in enumerate(_documents(source)):
        if document is None:
            queries.add((row, None, None, "", None, "columns"))
        elif "action_name" in document or "actionName" in document:
            if str(_get(document, "action_name")).lower() in _CLICKS:
                clicks.add((row, *_click(document)))
        elif (query := _get(document, "user_query")) is not None:
            user = _text(_get(document, options.user_field or "client_id"))
            queries.add((row, _text(_get(document, "query_id")), user, _text(query) or "",
                         _text(_get(document, "timestamp")), None))  # fmt: skip
    # A query that was logged twice gets its clicks once.
    first = pl.when(pl.col("query_id").is_first_distinct()).then(pl.col("query_id"))
    time = as_time(pl.col("time"), pl.String())
    frame = (
        queries.scan()
        .with_columns(first.alias("query_id"))
        .join(clicks.scan(), on="query_id", how="left")
        .select(
            pl.coalesce("click", "row").alias("row"),
            "user",
            time.alias("time"),
            "query",
            "rank",
            "url",
            pl.coalesce("bad", reason(time=pl.col("time").is_not_null() & time.is_null())).alias("bad"),
        )
    )
    return Loaded(frame=frame, shape=shape, sections=_sections)


def _sections(source: Source) -> Iterator[Section]:
    return (section for section, _ in _documents(source))


def _documents(source: Source) -> Iterator[tuple[Section, dict[str, Any] | None]]:
    """Where a document is, and the document; None for what is not one; bulk actions left out."""
    for path in source.paths:
        for unit, number, value in _values(path, source.names[path]):
            if isinstance(value, dict) and set(value) in _ACTIONS:
                continue
            for item in _items(value):
                inner = item.get("_source", item) if isinstance(item, dict) else None
                section = (source.names[path], unit, number, 1)
                yield section, inner if isinstance(inner, dict) else None


def _values(path: Path, name: str) -> Iterator[tuple[str, int, Any]]:
    """The JSON values of a file: of its lines, or of the whole if they run over several lines."""
    lines = ((number, line) for number, line in byte_lines(path) if line.strip())
    _, first = next(lines, (0, b"null"))
    if _parse(first) is None and first.lstrip()[:1] in (b"[", b"{"):
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
    for number, line in byte_lines(path):
        if line.strip():
            yield "line", number, _parse(line)


def _parse(data: bytes) -> Any:
    """The JSON value, or None where there is none."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return None


def _whole(data: bytes) -> list[Any]:
    """All values of a text of JSON values, one after the other; nothing if it is not one."""
    try:
        text = data.decode("utf-8-sig")
        values = []
        at = _SPACE.match(text).end()  # type: ignore[union-attr]
        while at < len(text):
            start, (_, at) = at, json.JSONDecoder().raw_decode(text, at)
            values += _items(orjson.loads(text[start:at]))
            at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
    except (ValueError, RecursionError):
        return []
    return values


def _items(value: Any) -> list[Any]:
    """The documents of an array or of a search result; else the value itself."""
    if isinstance(value, dict) and "hits" in value:
        hits = value["hits"]
        value = hits.get("hits") if isinstance(hits, dict) else hits
        return value if isinstance(value, list) else [None]
    return value if isinstance(value, list) else [value]


def _get(document: dict[str, Any], name: str) -> Any:
    """A field in snake_case or camelCase; a dotted name goes into nested objects."""
    value: Any = document
    for part in name.split("."):
        if not isinstance(value, dict):
            return None
        head, *tail = part.split("_")
        value = value.get(part, value.get(head + "".join(word.capitalize() for word in tail)))
    return value


def _click(document: dict[str, Any]) -> tuple[str | None, int | None, str | None]:
    ordinal = str(_get(document, "event_attributes.position.ordinal"))
    rank = int(ordinal) if re.fullmatch(r"[0-9]{1,9}", ordinal) else None
    url = _get(document, "event_attributes.object.object_id")
    return _text(_get(document, "query_id")), rank, _text(url)


def _text(value: Any) -> str | None:
    """A scalar as text without tabs and line breaks; nothing for an empty one."""
    if value is None or isinstance(value, (dict, list)):
        return None
    return re.sub(r"[\t\r\n]+", " ", str(value)) or None
