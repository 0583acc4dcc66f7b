"""User Behavior Insights (OpenSearch, Solr ...): queries and events as JSON -> QUERIES.

Read leniently, since real files follow the schema loosely: a bulk file with action lines and both indexes mixed,
plain JSON lines, a JSON array, or `_search` hits with `_source`; snake_case and camelCase. Events join their
query by `query_id`. A query without a click is one row, else it is one row for each click, with url = the
object's id and rank = position.ordinal. The user is `client_id`, or the field named with `--user-field`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import polars as pl

from coterie.formats._options import Options
from coterie.formats._source import Source, Spool, open_bytes, reason
from coterie.formats.table import expected as _expected
from coterie.shapes import QUERIES

shape = QUERIES
expected = {**_expected, "columns": "a JSON object of a query, an event or a bulk action"}
_CLICKS = ("click", "item_click", "product_click", "result_click", "search_click")
_ACTIONS = ({"index"}, {"create"}, {"update"}, {"delete"})
_QUERY = {"row": pl.UInt64, "query_id": pl.String, "user": pl.String, "query": pl.String,
          "time": pl.String, "bad": pl.String}  # fmt: skip
_CLICK = {"query_id": pl.String, "rank": pl.Int32, "url": pl.String}


def sniff(head: list[str]) -> bool:
    """JSON with one of the fields that only this format has."""
    start = "".join(head[:4])
    marks = ('"user_query"', '"userQuery"', '"ubi_queries"', '"ubi_events"', '"action_name"')
    return start.lstrip()[:1] in ("{", "[") and any(mark in start for mark in marks)


def load(source: Source, options: Options) -> pl.LazyFrame:
    """Parse the documents, then join clicks to their queries."""
    queries, clicks = Spool(source, "queries", _QUERY), Spool(source, "clicks", _CLICK)
    for number, document in _documents(source):
        if document is None:
            queries.add((number, None, None, "", None, "columns"))
        elif "action_name" in document or "actionName" in document:
            if str(_get(document, "action_name")).lower() in _CLICKS:
                clicks.add(_click(document))
        elif (query := _get(document, "user_query")) is not None:
            user = _get(document, options.user_field or "client_id")
            queries.add((number, _text(_get(document, "query_id")), _text(user), _text(query) or "",
                         _text(_get(document, "timestamp")), None))  # fmt: skip
    joined = queries.scan().join(clicks.scan(), on="query_id", how="left")
    time = _time(pl.col("time"))
    return joined.select(
        "row",
        "user",
        time.alias("time"),
        "query",
        "rank",
        "url",
        pl.coalesce(
            pl.col("bad"), reason(time=pl.col("time").is_not_null() & time.is_null())
        ).alias("bad"),
    )


def _documents(source: Source) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Line number and document; None for a line that is not one; bulk actions left out."""
    source.rereadable = False
    offset = 0
    for path in source.paths:
        number = 0
        with open_bytes(path) as stream:
            first = stream.read(1)
            if first == b"[":
                for number, item in enumerate(_array(first + stream.read())):
                    yield offset + number, _unwrap(item)
                offset += number + 1
                continue
            for number, line in enumerate(_lines(first, stream)):
                if not line.strip():
                    continue
                try:
                    item = orjson.loads(line)
                except orjson.JSONDecodeError:
                    item = None
                if isinstance(item, dict) and set(item) in _ACTIONS:
                    continue
                if isinstance(item, dict) and "hits" in item:
                    yield from ((offset + number, _unwrap(hit)) for hit in _hits(item))
                else:
                    yield offset + number, _unwrap(item)
        offset += number + 1


def _lines(first: bytes, stream: Any) -> Iterator[bytes]:
    rest = first
    while chunk := stream.read(1 << 22):
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole
    if rest:
        yield rest


def _array(data: bytes) -> list[Any]:
    try:
        items = orjson.loads(data)
    except orjson.JSONDecodeError:
        return [None]
    return items if isinstance(items, list) else [None]


def _hits(item: dict[str, Any]) -> list[Any]:
    hits = item["hits"]
    inner = hits.get("hits") if isinstance(hits, dict) else hits
    return inner if isinstance(inner, list) else [None]


def _unwrap(item: Any) -> dict[str, Any] | None:
    source = item.get("_source", item) if isinstance(item, dict) else None
    return source if isinstance(source, dict) else None


def _get(document: dict[str, Any], name: str) -> Any:
    """A field in snake_case or camelCase; a dotted name goes into nested objects."""
    value: Any = document
    for part in name.split("."):
        if not isinstance(value, dict):
            return None
        head, *tail = part.split("_")
        value = value.get(part, value.get(head + "".join(word.capitalize() for word in tail)))
    return value


def _click(document: dict[str, Any]) -> tuple[Any, ...]:
    ordinal = _get(document, "event_attributes.position.ordinal")
    rank = int(ordinal) if isinstance(ordinal, (int, float)) and -(2**31) <= ordinal < 2**31 else None
    url = _get(document, "event_attributes.object.object_id")
    return _text(_get(document, "query_id")), rank, _text(url)


def _text(value: Any) -> str | None:
    """A scalar as text without tabs and line breaks; nothing for an empty one."""
    if value is None or isinstance(value, (dict, list)):
        return None
    return " ".join(str(value).replace("\t", "\n").splitlines()) or None


def _time(text: pl.Expr) -> pl.Expr:
    """ISO 8601 with `Z`, `+00:00`, `+0000` or no zone."""
    body = text.str.replace(r" ", "T", literal=True)
    plain = body.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False)
    zoned = body.str.to_datetime(
        "%Y-%m-%dT%H:%M:%S%.f%#z", time_unit="us", strict=False, time_zone="UTC"
    )
    return pl.coalesce(plain, zoned.dt.replace_time_zone(None))
