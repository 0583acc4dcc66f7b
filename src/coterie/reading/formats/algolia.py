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

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs

from coterie.core.shapes import QUERIES
from coterie.reading.formats import table
from coterie.reading.formats._json import Click, Clicked, Document, Search, documents, parsed, rank_of, text, value_of
from coterie.reading.people import Who
from coterie.reading.reading import Reading
from coterie.reading.sniff import fields
from coterie.reading.source import Loaded, Section, Source

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


signature = (
    fields(["query_body"]),
    fields(["userToken"], ["objectIDs", "queryID"]),
    fields(["userToken"], ["query"], sure=0.6),
)


def load(source: Source, options: Reading) -> Loaded:
    """Parse the objects, then join clicks to their searches."""
    entries, who = Clicked(source), Who(_USER, options.user_field)
    for row, (_, entry) in enumerate(_entries(source, who)):
        entries.add(row, entry)
    lost = entries.lost()
    notes = (f"Clicks whose search is not in the files, and which were left out: {lost:,}.",) if lost else ()
    return who.loaded(entries.rows(), _sections, *notes)


def _sections(source: Source) -> Iterator[Section]:
    return (section for section, _ in _entries(source, Who(_USER, None)))


def _entries(source: Source, who: Who) -> Iterator[tuple[Section, Search | Click | None]]:
    """The searches and clicks of all objects; None in place of what is no object."""
    for section, document in documents(source):
        if document is None:
            yield section, None
        elif document.get("eventType") == "click":
            yield from ((section, click) for click in _clicks(document))
        else:
            yield from ((section, search) for search in _searches(document, who))


def _searches(document: Document, who: Who) -> Iterator[Search]:
    """The searches of one object: one, or those in the body of a request."""
    time = text(value_of(document, "timestamp"))
    if "query" in document:
        yield Search(text(document.get("queryID")), who.of(document), text(document["query"]) or "", time)
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
        yield Search(query_id, who.of(given, document), text(given["query"]) or "", time)


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


def _clicks(document: Document) -> Iterator[Click]:
    ids, places = document.get("objectIDs"), document.get("positions")
    clicked = ids if isinstance(ids, list) else [ids]
    ranks = places if isinstance(places, list) else []
    for place, each in enumerate(clicked):
        rank = rank_of(ranks[place]) if place < len(ranks) else None
        yield Click(text(document.get("queryID")), rank, text(each))
