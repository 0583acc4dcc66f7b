"""Algolia: searches, events of the Insights API and answers of the Logs API as JSON -> QUERIES.

Read are JSON lines, an array, or `{"events": [...]}` and `{"logs": [...]}` as the service takes and gives them. A
search is an object with `query`, or a line of the Logs API whose `query_body` holds the parameters of one or several
searches. Clicks (`eventType` is `click`) join their search by `queryID`, which a line of the Logs API tells in its
`answer`: url is the `objectID`, and rank its position. A click whose search is not in the files is left out and
counted, because events do not say what was searched. The user is the `authenticatedUserToken`, or else the `userToken`,
which names a browser, or else the address (`ip`); or the field named with `--user-field`. Which of them were used is
told, and stands in the sidecar of a release (`counted`). Searches while somebody types are rows of their own, as
Algolia logs them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import polars as pl

from coterie.core.shapes import QUERIES
from coterie.reading.formats import table
from coterie.reading.formats._clicks import CLICK, QUERY, rank_of, with_clicks
from coterie.reading.formats._json import Document, documents, parsed, text, value_of
from coterie.reading.people import Who
from coterie.reading.reading import Reading
from coterie.reading.sniff import fields
from coterie.reading.source import Loaded, Section, Source, Spool

shape = QUERIES
takes = ("user_field",)
expected = {**table.expected, "columns": "a JSON object of a search, an event or a line of the Logs API"}
sample = """\
{"timestamp": "2020-02-03T09:00:00Z", "method": "POST", "url": "/1/indexes/*/queries", "ip": "192.0.2.7", \
"query_body": "{\\"requests\\":[{\\"indexName\\":\\"shop\\",\\"params\\":\\"query=blue+teapot&userToken=u1\\"}]}", \
"answer": "{\\"results\\":[{\\"queryID\\":\\"q1\\"}]}"}
{"eventType": "click", "eventName": "Clicked", "index": "shop", "userToken": "u1", "timestamp": 1580720405000, \
"objectIDs": ["pot-7"], "positions": [3], "queryID": "q1"}
"""
_USER = ("authenticatedUserToken", "userToken", "ip")


class _Search(NamedTuple):
    query: str
    query_id: str | None
    given: Mapping[str, Any]
    """The parameters of the search, which may say who it was."""
    time: str | None


class _Click(NamedTuple):
    query_id: str | None
    rank: int | None
    url: str | None


signature = (
    fields(["query_body"]),
    fields(["userToken"], ["objectIDs", "queryID"]),
    fields(["userToken"], ["query"], sure=0.6),
)


def load(source: Source, options: Reading) -> Loaded:
    """Parse the objects, then join clicks to their searches."""
    queries, clicks = Spool(source, QUERY), Spool(source, CLICK)
    known: set[str] = set()
    who = Who(_USER, options.user_field)
    row = 0
    for _, document in documents(source):
        for entry in _entries(document):
            if entry is None:
                queries.add((row, None, None, "", None, "columns"))
            elif isinstance(entry, _Click):
                clicks.add((row, entry.query_id, entry.rank, entry.url))
            else:
                user = who.of(entry.given, document or {})
                queries.add((row, entry.query_id, user, entry.query, entry.time, None))
                known.update(filter(None, [entry.query_id]))
            row += 1
    lost = clicks.scan().filter(~pl.col("query_id").is_in(sorted(known))).select(pl.len()).collect().item()
    notes = (f"Clicks whose search is not in the files, and which were left out: {lost:,}.",) if lost else ()
    return who.loaded(with_clicks(queries, clicks), _sections, *notes)


def _sections(source: Source) -> Iterator[Section]:
    return (section for section, document in documents(source) for _ in _entries(document))


def _entries(document: Document | None) -> list[_Search | _Click | None]:
    """The searches or clicks of one object; None in place of what is no object."""
    if document is None:
        return [None]
    return [*(_clicks(document) if document.get("eventType") == "click" else _searches(document))]


def _searches(document: Document) -> Iterator[_Search]:
    """The searches of one object: one, or those in the body of a request."""
    time = text(value_of(document, "timestamp"))
    if "query" in document:
        yield _Search(text(document["query"]) or "", text(document.get("queryID")), {}, time)
    body, answer = _inner(document.get("query_body")), _inner(document.get("answer"))
    if not isinstance(body, dict):
        return
    requests = body["requests"] if isinstance(body.get("requests"), list) else [body]
    results = answer.get("results", [answer]) if isinstance(answer, dict) else []
    for place, request in enumerate(requests):
        if not isinstance(request, dict):
            continue
        given = {**request, **_params(request.get("params"))}
        if "query" not in given:
            continue
        result = results[place] if isinstance(results, list) and place < len(results) else None
        query_id = text(result.get("queryID")) if isinstance(result, dict) else None
        yield _Search(text(given["query"]) or "", query_id, given, time)


def _inner(value: Any) -> Any:
    """JSON inside a text; answers may be cut off, and then say nothing."""
    return parsed(value.encode(errors="replace")) if isinstance(value, str) else value


def _params(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    try:
        pairs = parse_qs(value, keep_blank_values=True, max_num_fields=1000) if isinstance(value, str) else {}
    except ValueError:  # too many fields for a search
        return {}
    return {name: values[0] for name, values in pairs.items()}


def _clicks(document: Document) -> Iterator[_Click]:
    ids, places = document.get("objectIDs"), document.get("positions")
    clicked = ids if isinstance(ids, list) else [ids]
    ranks = places if isinstance(places, list) else []
    for place, each in enumerate(clicked):
        rank = rank_of(ranks[place]) if place < len(ranks) else None
        yield _Click(text(document.get("queryID")), rank, text(each))
