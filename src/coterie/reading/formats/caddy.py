"""Caddy: access logs as JSON lines (`http.log.access`) -> VISITS.

The visitor is the `user_id`, or else address and agent together; a line with neither name nor address is nobody's. The
address is `client_ip`, which Caddy takes from trusted proxies, or else `remote_ip` (`remote_addr` of old versions).
Times are seconds since 1970, as Caddy writes them, or text. Lines of other loggers are left out. With `--query-param`
searches are read from the addresses of requests, and the log is a search log.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from coterie.core.shapes import VISITS
from coterie.reading.formats._json import Document, documents, first_text, sections, text, value_of
from coterie.reading.people import ADDRESS_AND_AGENT
from coterie.reading.source import Loaded, Source, Spool, reason
from coterie.reading.values import as_integer, as_time

shape = VISITS
expected = {
    "encoding": "text must be UTF-8",
    "columns": "one JSON object with a request",
    "time": "seconds since 1970, or ISO 8601",
    "status": "three digits",
}
sample = """\
{"level":"info","ts":1580720400.5,"logger":"http.log.access","request":{"remote_ip":"192.0.2.7",\
"client_ip":"192.0.2.7","method":"GET","host":"shop.example","uri":"/tea","headers":{"User-Agent":["Browser/1"],\
"Referer":["https://ref.example/"]}},"user_id":"","size":512,"status":200}
{"level":"info","ts":1580720401.5,"logger":"http.log.access","request":{"remote_ip":"192.0.2.8",\
"method":"GET","host":"shop.example","uri":"/search?q=trains","headers":{"User-Agent":["Browser/2"]}},"user_id":"kim",\
"size":0,"status":304}
"""
_ROW = {"row": pl.UInt64, **dict.fromkeys((*VISITS.readable, "bad"), pl.String)}
_LOGGER = "http.log.access"


# The logger of accesses; or, under another name, a request as Caddy writes it.
signature = (
    lambda head: float(any(str(each.get("logger", "")).startswith(_LOGGER) for each in head.documents[:20])),
    lambda head: 0.8 * any(value_of(each, "request.uri") is not None and "ts" in each for each in head.documents[:20]),
)


def load(source: Source, options: object) -> Loaded:  # noqa: ARG001 (same for all formats)
    """Parse the requests."""
    spool = Spool(source.folder.path, _ROW)
    for row, (_, document) in enumerate(documents(source)):
        if document is not None and isinstance(document.get("request"), dict):
            spool.add((row, *_visit(document), None))
        elif document is None or str(document.get("logger", _LOGGER)).startswith(_LOGGER):
            spool.add((row, *([None] * 4), "", *([None] * 4), "columns"))
    time = as_time(pl.col("time"), pl.String())
    status = as_integer(pl.col("status"), pl.String(), pl.Int16)
    bad = reason(
        time=pl.col("time").is_not_null() & time.is_null(), status=pl.col("status").is_not_null() & status.is_null()
    )
    frame = spool.scan().with_columns(
        time.alias("time"),
        status.alias("status"),
        as_integer(pl.col("bytes"), pl.String(), pl.Int64).alias("bytes"),
        pl.coalesce("bad", bad).alias("bad"),
    )
    return Loaded(frame=frame, shape=shape, sections=sections, counted=ADDRESS_AND_AGENT)


def _visit(document: Document) -> tuple[str | None, ...]:
    request = document["request"]
    address = first_text(request, "client_ip", "remote_ip") or _without_port(text(request.get("remote_addr")))
    agent, referrer = _header(request, "user-agent"), _header(request, "referer")
    name = first_text(document, "user_id")
    user = name or (f"{address} {agent}" if address and agent else address)
    numbers = (text(document.get(each)) for each in ("status", "size"))
    return (user, address, text(document.get("ts")), text(request.get("method")), text(request.get("uri")) or "",
            *numbers, referrer, agent)  # fmt: skip


def _header(request: dict[str, Any], name: str) -> str | None:
    headers = request.get("headers")
    if not isinstance(headers, dict):
        return None
    value = next((values for each, values in headers.items() if str(each).lower() == name), None)
    return text(value[0] if isinstance(value, list) and value else value)


def _without_port(address: str | None) -> str | None:
    return address.rpartition(":")[0].strip("[]") or address if address else None
