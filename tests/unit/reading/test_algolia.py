import json
from datetime import datetime

import pytest

import coterie

NINE = datetime(2020, 2, 3, 9)
SEARCH = {"query": "red shoes", "userToken": "u1", "queryID": "q1", "timestamp": 1580720400000, "index": "shop"}
OTHER = {"query": "blue hats", "userToken": "u2", "queryID": "q2", "timestamp": 1580720400000, "index": "shop"}
CLICK = {"eventType": "click", "eventName": "Clicked", "userToken": "u1", "queryID": "q1", "objectIDs": ["a", "b"],
         "positions": [3, 1], "timestamp": 1580720405000}  # fmt: skip
VIEW = {"eventType": "view", "eventName": "Seen", "userToken": "u1", "objectIDs": ["a"], "timestamp": 1580720405000}
EXPECTED = [("u1", NINE, "red shoes", 3, "a"), ("u1", NINE, "red shoes", 1, "b"), ("u2", NINE, "blue hats", None, None)]
ENTRIES = [SEARCH, OTHER, CLICK, VIEW]


def logged(*requests, answers=(), **more):
    body = {"requests": [{"indexName": "shop", "params": params} for params in requests]}
    return {"timestamp": "2020-02-03T09:00:00Z", "method": "POST", "url": "/1/indexes/*/queries", "ip": "192.0.2.7",
            "query_body": json.dumps(body), "answer": json.dumps({"results": [{"queryID": a} for a in answers]}),
            **more}  # fmt: skip


@pytest.mark.parametrize("text", [
    "".join(json.dumps(each) + "\n" for each in ENTRIES), json.dumps(ENTRIES),
    json.dumps({"events": ENTRIES}, indent=1),
])  # fmt: skip
def test_searches_and_events(write, rows, text):
    assert sorted(rows(coterie.read(write("log.json", text))), key=str) == sorted(EXPECTED, key=str)


def test_lines_of_the_logs_api(write, rows):
    several = logged("query=red+shoes&userToken=u1", "query=caf%C3%A9&userToken=u1", answers=["q1", "q9"])
    one = {**logged(), "query_body": json.dumps({"params": "query=tea"})}
    settings = {**logged(), "query_body": "", "url": "/1/keys"}
    log = coterie.read(write("log.json", json.dumps({"logs": [several, one, settings]}, indent=1)))
    assert rows(log, "user", "query") == [("u1", "red shoes"), ("u1", "café"), ("192.0.2.7", "tea")]
    with_click = coterie.read(write("both.json", json.dumps([several, CLICK])))
    assert (1, "b") in rows(with_click, "rank", "url")


def test_clicks_without_their_search_are_counted(write):
    log = coterie.read(write("log.json", json.dumps([OTHER, CLICK])))
    assert log.to_polars().height == 1
    assert log.notes[1] == "Clicks whose search is not in the files, and which were left out: 2."


def test_bad_lines_are_told_by_number(write):
    several = json.dumps(logged("query=a", "query=b")) + "\n"
    log = coterie.read(write("log.json", several * 60 + "7\n"))
    assert "log.json line 61, columns" in log.notes[0]
    assert log.to_polars().height == 120


def test_another_user_field(write, rows):
    log = coterie.read(write("log.json", json.dumps([{**SEARCH, "authenticatedUserToken": "kim"}])),
                       user_field="authenticatedUserToken")  # fmt: skip
    assert rows(log, "user") == [("kim",)]
