"""Elasticsearch: events of Behavioral Analytics, and hits of a `_search` with `_source` -> QUERIES.

Events are JSON lines, an array, a bulk file or hits; fields may be nested (`search.query` in `search`) or have dotted
names, also in the layout of version 8.7 (`event.customer_data.query`, `labels.user_uuid`). A search is an event whose
action is `search`. A click (`search_click`) joins the last search for the same in its session, and counts as a search
of its own where there is none; url is the id of the document, or else the address of the page, and rank its place
among the results of that search. Other events are left out. The user is `user.id`, or the field named with
`--user-field`, such as `session.id`; where nobody named it, the sidecar of a release says which it was (`counted`).

Hits with other documents are read as a table, whose columns are guessed or named with `--columns`.
"""

from __future__ import annotations

from typing import Any

from coterie.core.shapes import QUERIES
from coterie.reading.formats import _json, table
from coterie.reading.formats._json import Click, Clicked, Document, Search, documents, first_text, text, value_of
from coterie.reading.people import Who
from coterie.reading.reading import Reading
from coterie.reading.source import Loaded, Source

shape = QUERIES
takes = ("user_field",)
expected = {**table.expected, "columns": "a JSON object of an event, or a hit with its _source"}
sample = """\
{"@timestamp": "2020-02-03T09:00:00.000Z", "event": {"action": "search"}, "session": {"id": "s1"}, \
"user": {"id": "u1"}, "search": {"query": "blue teapot", "results": {"items": [{"document": {"id": "pot-3"}}, \
{"document": {"id": "pot-7"}}]}}}
{"@timestamp": "2020-02-03T09:00:05.000Z", "event": {"action": "search_click"}, "session": {"id": "s1"}, \
"user": {"id": "u1"}, "search": {"query": "blue teapot"}, "document": {"id": "pot-7", "index": "shop"}}
"""
_QUERY = ("search.query", "event.customer_data.query")
_USER = ("user.id", "labels.user_uuid")
_SESSION = ("session.id", "labels.session_uuid")
_CLICKED = ("document.id", "page.url.original", "page.url", "event.customer_data.document.id")
_CLICKS = ("search_click", "click")


# Events with an action and a search; or hits of an index.
signature = (
    lambda head: float(_has_events(head.documents) and any(map(_searched, head.documents))),
    lambda head: 0.7 * (head.kind == "json" and '"_source"' in head.json),
)


def load(source: Source, options: Reading) -> Loaded:
    """Parse the events, then join clicks to their searches; hits that are no events are a table."""
    if not _has_events(_json.documents_in(source.head())):
        options = options.fitting("table")
        options.refuse_unused("table", source.label)
        return table.load(source, options)
    entries, who = Clicked(source), Who(_USER, options.user_field)
    last: dict[tuple[str | None, str | None, str], tuple[int, list[str | None]]] = {}
    for row, (_, document) in enumerate(documents(source)):
        if document is None:
            entries.add(row, None)
            continue
        action, query = str(value_of(document, "event.action")).lower(), _searched(document)
        if query is None or (action != "search" and action not in _CLICKS):
            continue
        user = who.of(document)
        key = (user, first_text(document, *_SESSION), query)
        if action == "search" or key not in last:
            last[key] = row, _results(document)
            entries.add(row, Search(str(row), user, query, text(value_of(document, "@timestamp"))))
        if action in _CLICKS:
            search, results = last[key]
            url = first_text(document, *_CLICKED)
            rank = results.index(url) + 1 if url in results else None
            entries.add(row, Click(str(search), rank, url))
    return who.loaded(entries.rows(), _json.sections)


def _has_events(found: list[Document]) -> bool:
    return any(value_of(document, "event.action") is not None for document in found)


def _searched(document: Document) -> str | None:
    return first_text(document, *_QUERY)


def _results(document: Document) -> list[str | None]:
    """The ids of what a search found, in order."""
    items: Any = value_of(document, "search.results.items")
    return [first_text(item, *_CLICKED) for item in items if isinstance(item, dict)] if isinstance(items, list) else []
