"""Logs and releases that are elsewhere, on the command line: sentences, exit codes, and no secret anywhere."""

import json
import sqlite3
import sys

import polars as pl
import pytest

from tests.helpers import servers

SECRETS = (servers.PASSWORD, "qzkeyq", "qztokenq")


@pytest.fixture(scope="module")
def rows():
    """A small log; each of three queries is typed by many."""
    people = [(f"u{n}", f"common {q}") for n in range(9) for q in range(3)] + [("u1", "qzqueryq rare")]
    return pl.DataFrame(people, schema=["user", "query"], orient="row")


@pytest.fixture
def database(rows, tmp_path):
    path = tmp_path / "log.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE log (user TEXT, query TEXT)")
        connection.executemany("INSERT INTO log VALUES (?, ?)", rows.rows())
    connection.close()
    return f"sqlite:{path}"


def _clean(*texts):
    for text in texts:
        assert not [secret for secret in SECRETS if secret in text]


def test_from_a_table_to_a_table(coterie, database, tmp_path):
    history, side, record = tmp_path / "history.json", tmp_path / "side.{k}.json", tmp_path / "record.{k}"
    log, safe = f"{database}#log", f"{database}#safe_{{k}}"
    words = ("anonymize", "suppress_rare", log, "-o", safe, "--k", "3,5", "--sidecar", side, "--record", record)
    assert "--history FILE" in coterie(*words, code=2).err
    done = coterie(*words, "--history", history, "--log-name", "searches")
    assert "safe_5" in done.err
    assert [entry["log"] for entry in json.loads(history.read_text())["releases"]] == [
        "searches"
    ]  # the same rows twice
    side, table = tmp_path / "side.5.json", f"{database}#safe_5"
    checked = coterie("verify", table, "--sidecar", side, "-O", log, "--record", tmp_path / "record.5")
    assert "The promise holds." in checked.out
    assert "the table is the one the sidecar describes" in checked.out
    assert "the table has the columns and types that Coterie writes" in checked.out
    assert "byte" not in checked.out
    assert json.loads(coterie("measure", table, "--sidecar", side, "-O", log, "release_share", "--json").out)
    coterie("report", table, "--sidecar", side, "-O", log, "-o", tmp_path / "page.md")
    assert "Give one --sidecar" in coterie("report", table, "-O", log, "-o", tmp_path / "p.md", code=2).err
    coterie("inspect", database, "--sql", "SELECT * FROM log WHERE query LIKE 'common%'")
    with sqlite3.connect(tmp_path / "log.db") as connection:
        assert connection.execute("SELECT count(*), count(DISTINCT query) FROM safe_5").fetchone() == (27, 3)
        connection.execute("UPDATE safe_5 SET query = 'another'")
    connection.close()
    coterie("verify", table, "--sidecar", side, "-O", log, code=1)
    assert "its rows are others" in " ".join(
        coterie("measure", table, "--sidecar", side, "-O", log, code=2).err.split()
    )


def test_to_a_store(coterie, rows, tmp_path, monkeypatch):
    rows.write_csv(tmp_path / "log.csv")
    with servers.s3() as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        words = ("anonymize", "suppress_rare", tmp_path / "log.csv", "-o", "s3://logs/safe.parquet", "--k", "3")
        done = coterie(*words, "--parts", "2", "--record", tmp_path / "record")
        checked = coterie("verify", "s3://logs/safe.parquet", "-O", tmp_path / "log.csv")
        again = coterie(*words, code=2)
        assert "s3://logs/safe.parquet exists" in " ".join(again.err.split())
        gone = coterie("inspect", "s3://nowhere/log.tsv", code=2)
        _clean(done.err, checked.out, again.err, gone.err, (tmp_path / "log.csv.history.json").read_text())
        _clean((tmp_path / "record" / "run.json").read_text())


BAD = {
    "ftp://u:qzpasswordq@host/log": "ftp:// is no place that Coterie knows",
    "http://u:qzpasswordq@host/log?x=qztokenq": "Give https://",
    "s3://bucket": "names no file",
    "sqlite:nowhere.db#log": "there is no such file",
    "sqlite:nowhere.db": "say which rows to read",
    "postgresql://u:qzpasswordq@127.0.0.1:1/db#log": "cannot be reached",
    "https://u:qzpasswordq@127.0.0.1:1/log?x=qztokenq": "cannot be reached",
}


@pytest.mark.parametrize("text", BAD)
def test_bad_places(coterie, tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    safe = ("-o", "safe.tsv", "--history", "none")
    for words in (("inspect", text), ("anonymize", "suppress_rare", text, *safe), ("verify", "x.tsv", "-O", text)):
        if words[0] == "verify":
            (tmp_path / "x.tsv").write_text("user\tquery\n1\ttea\n")
            words = (*words, "--promise", "query_k_anonymity", "--k", "2")
        done = coterie(*words, code=2)
        said = " ".join(done.err.split())
        assert BAD[text] in said
        assert "Internal" not in said
        _clean(done.out, done.err)
    assert not (tmp_path / "safe.tsv").exists()


def test_where_only_files_will_do(coterie, tmp_path):
    text = "postgresql://u:qzpasswordq@127.0.0.1:1/db#log"
    for words in (
        ("gate", "run", text, "-o", tmp_path / "out", "--state", tmp_path / "state"),
        ("taxonomy", "build", text, "-o", tmp_path / "t.npz"),
        ("ledger", "show", text),
    ):
        done = coterie(*words, code=2)
        _clean(done.out, done.err)


def test_bad_targets(coterie, rows, tmp_path):
    rows.write_csv(tmp_path / "log.csv")
    start = ("anonymize", "suppress_rare", tmp_path / "log.csv", "--k", "3", "--history", "none")
    for target, message in {
        "https://u:qzpasswordq@host/safe.tsv": "nothing can be written to a web address",
        "postgresql://u:qzpasswordq@127.0.0.1:1/db#safe": "--sidecar FILE",
        f"sqlite:{tmp_path}/x.db": "say which table to write",
    }.items():
        done = coterie(*start, "-o", target, code=2)
        assert message in " ".join(done.err.split())
        _clean(done.out, done.err)
    done = coterie(
        *start, "-o", "postgresql://u:qzpasswordq@127.0.0.1:1/db#safe", "--sidecar", tmp_path / "s.json", code=2
    )
    assert "cannot be reached" in done.err
    _clean(done.err)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.csv"]


def test_extras_are_asked_for_only_where_they_are_needed(coterie, tmp_path, monkeypatch):
    for package in ("obstore", "duckdb", "adbc_driver_postgresql", "adbc_driver_manager"):
        monkeypatch.setitem(sys.modules, package, None)
    for text in ("s3://bucket/log.tsv", "duckdb:x.db#log", "postgresql://host/db#log"):
        assert "pip install 'coterie[" in " ".join(coterie("inspect", text, code=2).err.split())
