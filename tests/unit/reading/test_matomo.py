import json
from datetime import datetime

import pytest

import coterie

NINE = datetime(2020, 2, 3, 9)


def visit(visitor, *words, **more):
    actions = [{"type": "search", "siteSearchKeyword": word, "timestamp": 1580720400} for word in words]
    return {"idVisit": 1, "visitorId": visitor, "actionDetails": [{"type": "action", "url": "/"}, *actions], **more}


VISITS = [visit("a1", "red shoes", "tea"), visit("b2"), visit("c3", "tea", userId="kim")]
ROWS = [("a1", NINE, "red shoes"), ("a1", NINE, "tea"), ("c3", NINE, "tea")]


@pytest.mark.parametrize("text", [json.dumps(VISITS), json.dumps(VISITS, indent=1),
                                  "".join(json.dumps(v) + "\n" for v in VISITS)])  # fmt: skip
def test_visits_with_their_actions(write, rows, text):
    assert rows(coterie.read(write("visits.json", text)), "user", "time", "query") == [*ROWS[:2], ("kim", *ROWS[2][1:])]
    named = coterie.read(write("again.json", text), user_field="userId")
    assert rows(named, "user") == [(None,), (None,), ("kim",)]


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("words", ["keyword", "name", "search_term"])
def test_rows_of_the_database(write, rows, words, mark):
    lines = [["idvisitor", "server_time", words, "type"], ["a1", "2020-02-03 09:00:00", "red shoes", "8"],
             ["a1", "2020-02-03 09:00:00", "/page", "1"], ["c3", "2020-02-03 09:00:00", "tea", "8"]]  # fmt: skip
    text = "".join(mark.join(line) + "\n" for line in lines)
    log = coterie.read(write("rows.csv", text))
    assert rows(log, "user", "time", "query") == [("a1", NINE, "red shoes"), ("c3", NINE, "tea")]
    assert log.to_polars()["url"].null_count() == 2
    without = "".join(mark.join(line[:3]) + "\n" for line in (lines[0], lines[1], lines[3]))
    assert coterie.read(write("short.csv", without)).to_polars().equals(log.to_polars())


def test_rows_of_the_database_as_json(write, rows):
    documents = [
        {"idvisitor": "a1", "server_time": "2020-02-03 09:00:00", "name": "tea", "type": kind} for kind in (8, 1)
    ]
    assert rows(coterie.read(write("rows.json", json.dumps(documents))), "user", "query") == [("a1", "tea")]


def test_bad_lines_are_told_by_number(write):
    text = "".join(json.dumps(visit("a1", "tea", "pots")) + "\n" for _ in range(80)) + "7\n"
    log = coterie.read(write("visits.json", text))
    assert "visits.json line 81, columns" in log.notes[0]
    assert log.to_polars().height == 160
