from datetime import datetime

import pytest

import coterie
from coterie.errors import InputError


def line(params, path="/select", second=0, hits=" hits=4"):
    return (
        f"2020-02-03 09:00:{second:02}.123 INFO  (qtp7-16) [ x:shop] o.a.s.c.S.Request webapp=/solr path={path} "
        f"params={{{params}}}{hits} status=0 QTime=1\n"
    )


OTHERS = "2020-02-03 09:00:00.000 INFO  (main) [   ] o.e.j.s.Server jetty-9.4\n2020-02-03 WARN at x.y.Z(Z.java:3)\n"


def test_searches_are_read_and_other_lines_left_out(write, rows):
    text = OTHERS + line("q=red+shoes&rows=10&uid=u1") + line("q=caf%C3%A9&uid=u2", second=1) + OTHERS
    text += line("q=*:*&uid=u1") + line("q=red+shoes&isShard=true") + line("q=tea&distrib=false&uid=u1")
    text += line("commit=true", "/update", hits="") + line("q=a%7Db%26c&uid=u%201", second=2)
    log = coterie.read(write("solr.log", text), user_field="uid")
    assert rows(log, "user", "time", "query") == [
        ("u1", datetime(2020, 2, 3, 9), "red shoes"),
        ("u2", datetime(2020, 2, 3, 9, 0, 1), "café"),
        ("u 1", datetime(2020, 2, 3, 9, 0, 2), "a}b&c"),
    ]
    assert log.settings["user_field"] == "uid"


def test_without_a_user_it_says_what_to_do(write):
    log = coterie.read(write("solr.log", line("q=tea&uid=u1") + line("q=pots&uid=u2")))
    assert log.to_polars()["user"].null_count() == 2
    assert "--user-field NAME. Most requests have uid." in log.notes[0]


def test_damaged_requests_are_bad_lines(write):
    log = coterie.read(write("solr.log", line("q=tea") * 150 + line("q=tea").replace("status=0", "")))
    assert "solr.log line 151, columns" in log.notes[0]
    with pytest.raises(InputError, match="could not be read as solr"):
        coterie.read(write("bad.log", line("q=tea") + line("q=tea").replace("2020-02-03 ", "")))


def test_bytes_that_are_no_text(write):
    data = line("q=tea").encode() * 150 + line("q=XX").encode().replace(b"XX", b"\xff\xfe")
    assert "line 151, encoding" in coterie.read(write("solr.log", data)).notes[0]
