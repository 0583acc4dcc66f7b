import json
from datetime import datetime

import pytest

import coterie

NINE = datetime(2020, 2, 3, 9)


def line(uri="/a", name="", **request):
    headers = {"User-Agent": ["Browser/1"], "Referer": ["https://r.example/"]}
    asked = {"remote_ip": "192.0.2.7", "method": "GET", "host": "h", "uri": uri, "headers": headers, **request}
    entry = {"level": "info", "ts": 1580720400, "logger": "http.log.access.log0", "request": asked, "user_id": name,
             "status": 200, "size": 512}  # fmt: skip
    return json.dumps(entry) + "\n"


def test_lines(write, rows):
    log = coterie.read(write("access.log", line() + line("/b", "kim")))
    assert log.shape.name == "VISITS"
    assert rows(log) == [
        ("192.0.2.7 Browser/1", "192.0.2.7", NINE, "GET", "/a", 200, 512, "https://r.example/", "Browser/1"),
        ("kim", "192.0.2.7", NINE, "GET", "/b", 200, 512, "https://r.example/", "Browser/1"),
    ]


def test_addresses(write, rows):
    text = line(client_ip="203.0.113.1") + line(remote_ip=None, remote_addr="192.0.2.9:4711")
    text += line(remote_ip=None, remote_addr="[2001:db8::1]:80", headers={}) + line(remote_ip="", headers={})
    log = coterie.read(write("access.log", text))
    assert rows(log, "address") == [("203.0.113.1",), ("192.0.2.9",), ("2001:db8::1",), (None,)]
    assert rows(log, "user")[2:] == [("2001:db8::1",), (None,)]


def test_other_loggers_are_left_out_and_times_may_be_text(write, rows):
    other = json.dumps({"level": "info", "ts": 1, "logger": "tls", "msg": "renewed"}) + "\n"
    text = other + line().replace("1580720400", '"2020-02-03T09:00:00Z"')
    assert rows(coterie.read(write("access.log", text)), "time") == [(NINE,)]


def test_searches_are_reached(write, rows):
    log = coterie.read(write("access.log", line("/s?q=red+shoes&page=1") + line("/")), query_param="q")
    assert rows(log, "query") == [("red shoes",)]


@pytest.mark.parametrize(("broken", "why"), [
    ("{\n", "columns"), (line().replace("200", '"abc"'), "status"), (line().replace("1580720400", '"noon"'), "time"),
])  # fmt: skip
def test_bad_lines(write, broken, why):
    log = coterie.read(write("access.log", line() * 120 + broken))
    assert f"access.log line 121, {why}" in log.notes[0]
