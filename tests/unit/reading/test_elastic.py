import json
from datetime import datetime

import pytest

import coterie
from coterie.errors import ParameterError

NINE = datetime(2020, 2, 3, 9)


def event(action="search", query="red shoes", user="u1", session="s1", **more):
    return {"@timestamp": "2020-02-03T09:00:00Z", "event": {"action": action}, "user": {"id": user},
            "session": {"id": session}, "search": {"query": query}, **more}  # fmt: skip


def lines(*documents):
    return "".join(json.dumps(document) + "\n" for document in documents)


FOUND = {"search": {"query": "red shoes", "results": {"items": [{"document": {"id": n}} for n in ("a", "b")]}}}
EVENTS = [
    event(**FOUND),
    event(query="blue hats", user="u2", session="s2"),
    event("page_view"),
    event("search_click", document={"id": "b"}),
    event("search_click", document={"id": "z"}),
    event("search_click", query="unseen", document={"id": "c"}),
]
EXPECTED = [
    ("u2", NINE, "blue hats", None, None),
    ("u1", NINE, "red shoes", 2, "b"),
    ("u1", NINE, "red shoes", None, "z"),
    ("u1", NINE, "unseen", None, "c"),
]
HITS = {"hits": {"hits": [{"_index": "events", "_source": document} for document in EVENTS]}}


@pytest.mark.parametrize("text", [lines(*EVENTS), json.dumps(EVENTS), json.dumps(HITS), json.dumps(HITS, indent=1)])
def test_searches_and_clicks(write, rows, text):
    assert sorted(rows(coterie.read(write("log.json", text))), key=str) == sorted(EXPECTED, key=str)


def test_dotted_names_and_the_layout_of_8_7(write, rows):
    flat = {"@timestamp": "2020-02-03T09:00:00Z", "event.action": "search", "user.id": "u1", "search.query": "tea"}
    old = {"@timestamp": "2020-02-03T09:00:00Z", "event": {"action": "search", "customer_data": {"query": "pots"}},
           "labels": {"user_uuid": "u2"}}  # fmt: skip
    log = coterie.read(write("log.json", lines(flat, old)))
    assert rows(log, "user", "query") == [("u1", "tea"), ("u2", "pots")]


def test_another_user_field(write, rows):
    log = coterie.read(write("log.json", lines(*EVENTS[:2])), user_field="session.id")
    assert rows(log, "user") == [("s1",), ("s2",)]
    assert log.settings["user_field"] == "session.id"


def test_hits_that_are_no_events_are_a_table(write, rows):
    hits = {"hits": {"hits": [{"_source": {"query": f"tea {n}", "user_id": f"u{n % 2}"}} for n in range(4)]}}
    log = coterie.read(write("log.json", json.dumps(hits)), format="elastic")
    assert rows(log, "user", "query") == [(f"u{n % 2}", f"tea {n}") for n in range(4)]
    assert coterie.read(write("again.json", json.dumps(hits))).to_polars().equals(log.to_polars())
    with pytest.raises(ParameterError, match="read as table, which makes no use of user_field"):
        coterie.read(write("field.json", json.dumps(hits)), user_field="user_id")


def test_bad_lines_are_told_by_number(write):
    log = coterie.read(write("log.json", lines(*EVENTS[:2]) * 60 + "7\n"))
    assert "log.json line 121, columns" in log.notes[0]
