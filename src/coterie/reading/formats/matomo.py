"""Matomo: searches on a website -> QUERIES.

Read are visits with their actions as the API gives them (`Live.getLastVisitsDetails`, format=json: an array of visits
with `visitorId` and `actionDetails`, of which those of the type `search` are rows), and rows of the database as csv,
tsv or JSON: `idvisitor`, `server_time` and the words under `keyword`, `search_keyword`, `site_search_keyword` or
`name`. Where rows have a `type`, those of 8 (site search) are read. The user is `user_id` (`userId`), or else the
visitor, which is a browser; or the field named with `--user-field`. Which of them were used is told, and stands in the
sidecar of a release (`counted`). Pages that were opened after a search are not read as clicks, since nothing says that
they were among its results.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import polars as pl

from coterie.core.shapes import QUERIES
from coterie.reading.formats import table
from coterie.reading.formats._json import Document, documents, first_text, text
from coterie.reading.people import Who, counted_by
from coterie.reading.reading import Reading
from coterie.reading.sniff import kind_of, marks, named, names_of
from coterie.reading.source import Loaded, Section, Source, Spool, reason
from coterie.reading.values import as_time

shape = QUERIES
takes = ("user_field",)
expected = {**table.expected, "columns": "a visit with its actionDetails, or a row with idvisitor and server_time"}
sample = """\
[{"idVisit": "7", "visitorId": "a1b2", "userId": null, "actionDetails": [
 {"type": "action", "url": "https://shop.example/", "timestamp": 1580720390},
 {"type": "search", "siteSearchKeyword": "blue teapot", "timestamp": 1580720400}]},
 {"idVisit": "8", "visitorId": "c3d4", "userId": null, "actionDetails": [
 {"type": "search", "siteSearchKeyword": "quiet trains", "timestamp": 1580720401}]}]
"""
_WORDS = ("keyword", "search_keyword", "site_search_keyword", "siteSearchKeyword", "search_term", "name")
_TIMES = ("server_time", "serverTime", "timestamp")
_USERS = ("user_id", "userId")
_VISITORS = ("idvisitor", "visitorId", "visitor_id")
_SEARCH = ("8", "search")  # the type of an action: in the database, and in what the API gives
_ROW = {"row": pl.UInt64, "user": pl.String, "time": pl.String, "query": pl.String, "bad": pl.String}


# Visits with their actions; or rows with a visitor and the time of the server.
signature = (marks('"actionDetails"', '"siteSearchKeyword"'), named(["idvisitor"], _TIMES, _WORDS, sure=0.9))


def load(source: Source, options: Reading) -> Loaded:
    """Rows of visits, or of a table that has the names of the database."""
    head = source.head()
    if kind_of(head) not in ("json", "jsonl"):
        return _rows(source, options, names_of(head))
    spool = Spool(source.folder.path, _ROW)
    row, who = 0, Who((*_USERS, *_VISITORS), options.user_field)
    for _, document in documents(source):
        for time, query, bad in _searches(document):
            spool.add((row, who.of(document or {}), time, query, bad))
            row += 1
    when = as_time(pl.col("time"), pl.String())
    unread = reason(time=pl.col("time").is_not_null() & when.is_null())
    frame = spool.scan().with_columns(when.alias("time"), pl.coalesce("bad", unread).alias("bad"))
    return who.loaded(frame, _sections)


def _sections(source: Source) -> Iterator[Section]:
    return (section for section, document in documents(source) for _ in _searches(document))


def _searches(document: Document | None) -> Iterator[tuple[str | None, str, str | None]]:
    """Time and words of the searches of a visit, or of a row that is one; and why they cannot be read."""
    if document is None:
        yield None, "", "columns"
        return
    actions: Any = document.get("actionDetails", [document])
    for action in actions if isinstance(actions, list) else []:
        if not isinstance(action, dict) or str(action.get("type", "search")) not in _SEARCH:
            continue
        query = next((value for name in _WORDS if (value := action.get(name)) is not None), None)
        if query is not None:
            yield first_text(action, *_TIMES), text(query) or "", None


def _rows(source: Source, options: Reading, names: list[str]) -> Loaded:
    """A table, read under the names that the database has."""
    fields = [next((name for name in known if name in names), "") for known in (_USERS, _VISITORS)]
    fields = [options.user_field] if options.user_field else [field for field in fields if field]
    chosen = {
        "query": next((name for name in _WORDS if name in names), "query"),
        "user": fields[0] if fields else "user",
        "time": next((name for name in _TIMES if name in names), "time"),
    }
    # Needed to leave out other actions, and to say who it was where the first field does not; neither is released.
    further = {"action_type": "type"} if "type" in names else {}
    further |= {"visitor": fields[1]} if len(fields) > 1 else {}
    loaded = table.load(source, Reading(columns=chosen, details=further, guess=False))
    kept = loaded.frame
    if "type" in names:
        kept = kept.filter(pl.col("action_type").is_in(_SEARCH) | pl.col("bad").is_not_null())
    who = counted_by(kept, fields, options.user_field)
    if len(fields) > 1:
        kept = kept.with_columns(pl.coalesce("user", "visitor"))
    return replace(who.loaded(kept.drop(further), loaded.sections), columnar=loaded.columnar and not further)
