"""User Behavior Insights (OpenSearch, Solr ...): queries and events as JSON -> QUERIES.

Read leniently, since real files follow the schema loosely: a bulk file with action lines and both
indexes mixed, plain JSON lines, a JSON array, or `_search` hits with `_source`, also printed over
several lines; snake_case and camelCase. Events join their query by `query_id`. A query without a
click is one row, else it is one row for each click, with url = the object's id and rank =
position.ordinal. The user is `user_id`, or else `client_id`, which names a browser; or the field named with
`--user-field`. Which of them were used is told, and stands in the sidecar of a release (`counted`).

A release of a search log can be written as UBI, too: `--to ubi`, or a name that ends in `.ubi`. Each row is a query,
followed by its click where it has one. `query_id` is the number of the row, and `client_id` the released name, where
there is one; no id of the log is left, and fields with free text (`message`, names of objects) are not written. How
exact a time is stands in `query_attributes.time_level` and `event_attributes.time_level`. Clicks without a time have no
`timestamp`, which the schema asks for. `verify` reads the file back.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from coterie.core.shapes import LEVEL, QUERIES
from coterie.reading.formats._json import Click, Clicked, Search, documents, rank_of, sections, text
from coterie.reading.formats.table import expected as _expected
from coterie.reading.people import Who
from coterie.reading.reading import Reading
from coterie.reading.sniff import marks
from coterie.reading.source import Loaded, Source

shape = QUERIES
takes = ("user_field",)
expected = {**_expected, "columns": "a JSON object of a query, an event or a bulk action"}
sample = """\
{"index": {"_index": "ubi_queries", "_id": "1"}}
{"query_id": "q1", "client_id": "c1", "user_query": "blue teapot", "timestamp": "2020-02-03T09:00:00Z"}
{"index": {"_index": "ubi_events", "_id": "2"}}
{"action_name": "click", "query_id": "q1", "client_id": "c1", "timestamp": "2020-02-03T09:00:05.5Z", \
"event_attributes": {"position": {"ordinal": 3}, "object": {"object_id": "pot-7"}}}
"""
_MARKS = ('"user_query"', '"userQuery"', '"ubi_queries"', '"ubi_events"', '"action_name"')
_USER = ("user_id", "client_id")
_OF_QUERY = ("query_id", "timestamp", f"query_attributes.{LEVEL}")
_CLICKS = ("click", "item_click", "product_click", "result_click", "search_click")


signature = (marks(*_MARKS),)


def load(source: Source, options: Reading) -> Loaded:
    """Parse the documents, then join clicks to their queries."""
    entries = Clicked(source)
    who = Who(_USER, options.user_field, lambda document, name: text(_get(document, name)))
    for row, (_, document) in enumerate(documents(source)):
        if document is None:
            entries.add(row, None)
        elif "action_name" in document or "actionName" in document:
            if str(_get(document, "action_name")).lower() in _CLICKS:
                entries.add(row, _click(document))
        elif (query := _get(document, "user_query")) is not None:
            query_id, time, level = (text(_get(document, name)) for name in _OF_QUERY)
            entries.add(row, Search(query_id, who.of(document), text(query) or "", time, level))
    # A log is read without the level: only a release says how exact its times are.
    return replace(who.loaded(entries.rows(), sections), shape=options.shape or shape)


def _get(document: dict[str, Any], name: str) -> Any:
    """A field in snake_case or camelCase; a dotted name goes into nested objects."""
    value: Any = document
    for part in name.split("."):
        if not isinstance(value, dict):
            return None
        head, *tail = part.split("_")
        value = value.get(part, value.get(head + "".join(word.capitalize() for word in tail)))
    return value


def _click(document: dict[str, Any]) -> Click:
    rank = rank_of(_get(document, "event_attributes.position.ordinal"))
    url = _get(document, "event_attributes.object.object_id")
    return Click(text(_get(document, "query_id")), rank, text(url))
