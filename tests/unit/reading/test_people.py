"""Who is one person: names are trimmed in every format, and names that look like another one are told."""

import json

import polars as pl
import pytest

import coterie
from coterie.core import registry
from coterie.methods.suppress_rare import SuppressRare

LINES = {
    "aol": "{user}\tblue teapot\t2020-02-03 09:00:00\t\t\n",
    "excite": "{user}\t970916105432\tblue teapot\n",
    "sogou": "00:00:01\t{user}\t[blue teapot]\t8 3\twww.tea.example/a\n",
    "clf": '192.0.2.7 - {user} [03/Feb/2020:09:00:00 +0100] "GET /tea HTTP/1.1" 200 512\n',
    "table": '"{user}",2020-02-03 09:00:00,blue teapot\n',
    "ubi": '{{"query_id": "q{n}", "client_id": "{user}", "user_query": "blue teapot"}}\n',
    "elastic": '{{"@timestamp": "2020-02-03T09:00:00Z", "event": {{"action": "search"}}, "user": {{"id": "{user}"}}, '
    '"search": {{"query": "blue teapot"}}}}\n',
    "algolia": '{{"query": "blue teapot", "userToken": "{user}", "queryID": "q{n}", "timestamp": 1580720400000}}\n',
    "matomo": '{{"idVisit": {n}, "visitorId": "{user}", "actionDetails": [{{"type": "search", '
    '"siteSearchKeyword": "blue teapot", "timestamp": 1580720400}}]}}\n',
    "solr": "2020-02-03 09:00:00.123 INFO  (qtp7-16) [ x:shop] o.a.s.c.S.Request webapp=/solr path=/select "
    "params={{q=blue+teapot&uid={user}}} hits=4 status=0 QTime=1\n",
    "w3c": "2020-02-03\t09:00:00\tGET\t/tea\t{user}\t192.0.2.7\tBrowser/1\t200\n",
    "caddy": '{{"level": "info", "ts": 1580720400, "logger": "http.log.access.log0", "request": {{"remote_ip": '
    '"192.0.2.7", "method": "GET", "host": "h", "uri": "/tea", "headers": {{"User-Agent": ["B"]}}}}, '
    '"user_id": "{user}", "status": 200, "size": 5}}\n',
}
HEADS = {
    "table": "user,time,query\n",
    "w3c": "#Fields: date time cs-method cs-uri-stem cs-username c-ip cs(User-Agent) sc-status\n",
}
READING = {"solr": {"user_field": "uid"}}
PADDED = ["7", "7 ", " 7", "  7  ", "7\u00a0", "\u30007"]


def _log(name, users):
    return HEADS.get(name, "") + "".join(LINES[name].format(user=user, n=n) for n, user in enumerate(users))


OF_USERS = [name for name in registry.names("formats") if registry.module("formats", name).shape.subject == "user"]


@pytest.mark.parametrize("name", OF_USERS)
def test_names_are_trimmed_in_every_format(write, name):
    log = coterie.read(write("log.txt", _log(name, [*PADDED, "8"])), format=name, **READING.get(name, {}))
    assert sorted(log.to_polars()["user"].unique().to_list()) == ["7", "8"]
    assert not any("look like another" in note for note in log.notes)


# In the others a name has a character at least, or there is an address in its place.
@pytest.mark.parametrize("name", sorted(set(LINES) - {"sogou", "clf", "w3c", "caddy"}))
def test_a_name_of_spaces_is_none(write, name):
    log = coterie.read(write("log.txt", _log(name, [" ", "\u00a0", "8"])), format=name, **READING.get(name, {}))
    users = log.to_polars()["user"].to_list()  # in no order, where clicks were joined to searches
    assert sorted(users, key=str) == ["8", None, None]


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl", "parquet"])
def test_names_are_trimmed_in_every_kind_of_table(tmp_path, kind):
    table = pl.DataFrame({"user": [*PADDED, "  "], "query": "blue teapot"})
    path = tmp_path / f"log.{kind}"
    match kind:
        case "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in table.iter_rows(named=True)))
        case "parquet":
            table.write_parquet(path)
        case _:
            table.write_csv(path, separator="\t" if kind == "tsv" else ",")
    for log in (coterie.read(path), coterie.log(table)):
        assert log.to_polars()["user"].to_list() == ["7"] * len(PADDED) + [None]


def test_one_person_with_spaces_is_not_two(write):
    """`7` and `7 ` typed the same: at k = 2 nobody else did, so it is not released."""
    log = coterie.read(write("log.tsv", _log("aol", ["7", "7 "])))
    with pytest.raises(coterie.errors.CoterieError):
        coterie.anonymize(log, SuppressRare(k=2))


@pytest.mark.parametrize(
    "users",
    [
        ["kim", "Kim"],
        ["kim", "ki\u200bm"],
        ["kim", "\ufeffkim\u00ad"],
        ["kim", "\uff4bim"],  # full width
        ["\u00e9ric", "e\u0301ric"],
        ["7", "07"],
        ["7", "007"],
        ["7", "7.0"],
        ["0", "00"],
    ],
)
def test_names_that_look_alike_are_told_in_numbers(write, users):
    log = coterie.read(write("log.tsv", _log("aol", [*users, "9", "70"])), format="aol")
    (note,) = log.history[0].notes
    assert note.startswith("2 of 4 user names look like another one")
    assert not any(user in note for user in users if len(user) > 2)
    assert log.to_polars()["user"].n_unique() == 4  # they are told, not merged
    (note,) = coterie.log(pl.DataFrame({"user": users, "query": "tea"})).history[0].notes
    assert note.startswith("2 of 2 ")


@pytest.mark.parametrize("users", [["7", "70"], ["7", "7.5"], ["a7", "a07"], ["0.0.0", "00"], [None, "7"]])
def test_names_that_differ_for_the_eye_are_not(users):
    assert coterie.log(pl.DataFrame({"user": users, "query": "tea"})).history[0].notes == ()


def test_the_command_line_tells_it(write, capsys, monkeypatch):
    import sys

    from coterie.cli.main import run

    path = write("log.tsv", _log("aol", ["Kim", "kim"]))
    monkeypatch.setattr(sys, "argv", ["coterie", "inspect", str(path)])
    assert run() == 0
    assert "2 of 2 user names look like" in " ".join(capsys.readouterr().err.split())
