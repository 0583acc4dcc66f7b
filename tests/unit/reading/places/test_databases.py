"""Tables of databases: read as logs, written in one transaction, verified by the digest of their rows.

Covers: reading/places/__init__.py, writing/files.py
"""

import json
import sqlite3
import sys
from datetime import datetime
from itertools import count

import polars as pl
import pytest

import coterie
from coterie.core.files import place_of
from coterie.errors import CoterieError, InputError, MissingError, ParameterError
from coterie.methods.microaggregate_documents import MicroaggregateDocuments
from coterie.methods.suppress_rare import SuppressRare
from coterie.reading import places
from coterie.reading.places.databases import CONNECTIONS
from coterie.testing import queries_log, terms_log, visits_log
from coterie.writing import files
from tests.helpers.servers import NOBODY, PASSWORD, USER

NUMBERS = count()


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def database(request, tmp_path):
    """An address of an empty database, or of one that others use under other names."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgresql")
    return f"{request.param}:{tmp_path / 'some file.db'}"


@pytest.fixture
def table(database):
    return f"{database}#safe_{next(NUMBERS)}"


@pytest.fixture(scope="module")
def release():
    return coterie.anonymize(queries_log(), SuppressRare(k=3), seed=1)


def _do(address, *statements):
    """Whatever somebody does to a database with other tools."""
    place = place_of(address)
    if place.scheme == "sqlite":
        connection = sqlite3.connect(place.address.partition(":")[2])
    elif place.scheme == "duckdb":
        import duckdb

        connection = duckdb.connect(place.address.partition(":")[2])
    else:
        from adbc_driver_postgresql import dbapi

        connection = dbapi.connect(place.address)
    cursor = connection.cursor()
    try:
        for statement in statements:
            cursor.execute(statement.replace("TABLE_", place.table or ""))
    finally:
        if place.scheme != "duckdb":
            connection.commit()
        cursor.close()
        connection.close()


LOGS = [
    (queries_log, SuppressRare(k=3)),
    (visits_log, SuppressRare(k=3, attrs="keep")),
    (terms_log, MicroaggregateDocuments(k=3)),
]


@pytest.mark.parametrize(("make", "method"), LOGS, ids=["queries", "visits", "terms"])
def test_a_table_is_written_and_verified(table, tmp_path, make, method):
    log = make()
    release = coterie.anonymize(log, method, seed=1)
    side, record = tmp_path / "safe.json", tmp_path / "record"
    digest = coterie.write(release, table, sidecar=side, record=record)
    data = json.loads(side.read_text())
    assert digest == release.verified == data["rows_sha256"] == data["sha256"]
    assert data["table"] is True
    verdict = coterie.verify(table, log, sidecar=side, record=record)
    assert [check.text for check in verdict.checks if check.status != "passed"] == []
    loaded = coterie.load_release(table, record, sidecar=side)
    assert loaded.to_polars().equals(release.to_polars())
    assert coterie.measure(loaded, ["release_share"], original=log).height
    for path in (side, record / "run.json"):
        assert PASSWORD not in path.read_text()
    with pytest.raises(ParameterError, match="exists, and a table is never replaced"):
        coterie.write(release, table, sidecar=tmp_path / "other.json")
    assert sorted(path.name for path in tmp_path.iterdir() if ".db" not in path.name) == ["record", "safe.json"]


def test_the_digest_is_that_of_a_file(table, release, tmp_path):
    coterie.write(release, table, sidecar=tmp_path / "safe.json")
    coterie.write(release, tmp_path / "safe.tsv")
    digests = [json.loads((tmp_path / name).read_text())["rows_sha256"] for name in ("safe.json", "safe.tsv.json")]
    assert digests[0] == digests[1]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE TABLE_ SET query = 'something rare' WHERE query = 'weather'",
        "DELETE FROM TABLE_ WHERE query = 'weather'",
        "INSERT INTO TABLE_ (query) VALUES ('weather')",
        "UPDATE TABLE_ SET rank = 7 WHERE rank = 1",
    ],
)
def test_changed_rows_are_noticed(table, release, tmp_path, statement):
    side = tmp_path / "safe.json"
    coterie.write(release, table, sidecar=side)
    _do(table, statement)
    assert coterie.verify(table, queries_log(), sidecar=side).exit_code == 1
    with pytest.raises(InputError, match="its rows are others"):
        coterie.load_release(table, sidecar=side)


def test_other_columns_are_refused(table, release, tmp_path):
    side = tmp_path / "safe.json"
    coterie.write(release, table, sidecar=side)
    _do(table, "ALTER TABLE TABLE_ ADD COLUMN who varchar")
    with pytest.raises(InputError, match="has the columns user, time, time_level, query, rank, url alone"):
        coterie.verify(table, sidecar=side)


def test_the_order_of_rows_means_nothing(table, release, tmp_path):
    side, name = tmp_path / "safe.json", place_of(table).table
    coterie.write(release, table, sidecar=side)
    _do(
        table,
        f"CREATE TABLE {name}_2 AS SELECT * FROM {name} ORDER BY query DESC",
        f"DELETE FROM {name}",
        f"INSERT INTO {name} SELECT * FROM {name}_2",
    )
    assert coterie.verify(table, queries_log(), sidecar=side).exit_code == 0


def test_sqlite_keeps_any_value_and_only_ours_are_taken(release, tmp_path):
    table, side = f"sqlite:{tmp_path / 'a.db'}#safe", tmp_path / "safe.json"
    coterie.write(release, table, sidecar=side)
    for statement in (
        "UPDATE safe SET time = replace(time, ' ', 'T') WHERE time IS NOT NULL",
        "UPDATE safe SET rank = 'x' || rank WHERE rank IS NOT NULL",
        "UPDATE safe SET query = CAST(query AS BLOB)",
    ):
        before = (tmp_path / "a.db").read_bytes()
        _do(table, statement)
        with pytest.raises(InputError, match=r"holds bytes|spelled otherwise|another type|no release has"):
            coterie.verify(table, sidecar=side)
        (tmp_path / "a.db").write_bytes(before)
    assert coterie.verify(table, queries_log(), sidecar=side).exit_code == 0


class _BoomError(Exception):
    pass


@pytest.mark.parametrize("where", ["sidecar_of", "write_record", "refuse_output", "digest_of_rows"])
def test_whatever_fails_leaves_nothing(table, release, tmp_path, monkeypatch, where):
    before = {path.name for path in tmp_path.iterdir()}
    seen = []

    def fail(*arguments, **_):
        seen.append(1)
        if where != "refuse_output" or len(seen) > 1:
            raise _BoomError

    monkeypatch.setattr(files, where, fail)
    with pytest.raises(_BoomError):
        coterie.write(release, table, sidecar=tmp_path / "safe.json", record=tmp_path / "record")
    assert {path.name for path in tmp_path.iterdir()} == before
    monkeypatch.undo()
    coterie.write(release, table, sidecar=tmp_path / "safe.json", record=tmp_path / "record")


def test_a_transaction_that_cannot_end_leaves_nothing(table, release, tmp_path, monkeypatch):
    place = place_of(table)

    class Broken(CONNECTIONS[place.scheme]):
        def commit(self):
            raise _BoomError

    monkeypatch.setitem(CONNECTIONS, place.scheme, Broken)
    with pytest.raises(_BoomError):
        coterie.write(release, table, sidecar=tmp_path / "safe.json", record=tmp_path / "record")
    assert list(tmp_path.iterdir()) == []


def test_rows_that_come_back_otherwise_are_not_written(table, release, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "digest_of_rows", lambda _: "0" * 64)
    with pytest.raises(CoterieError, match="does not hold the rows that were verified"):
        coterie.write(release, table, sidecar=tmp_path / "safe.json")
    assert list(tmp_path.iterdir()) == []


def test_a_log_is_a_table_or_a_query(database):
    name = f"log_{next(NUMBERS)}"
    _do(
        database,
        f'CREATE TABLE {name} ("who" varchar, "asked, so" varchar, "at" timestamp, place bigint)',
        f"INSERT INTO {name} VALUES ('ann', 'tea', '2020-02-03 09:00:00', 1), ('bob', 'tea', NULL, NULL)",
        f"INSERT INTO {name} VALUES (NULL, 'Müsli', '2020-02-03 09:00:01', 2)",
    )
    columns = {"user": "who", "query": "asked, so", "time": "at", "rank": "place"}
    log = coterie.read(f"{database}#{name}", columns=columns)
    rows = log.to_polars().sort("query", "user", nulls_last=True)
    assert rows["query"].to_list() == ["Müsli", "tea", "tea"]
    assert rows["user"].to_list() == [None, "ann", "bob"]
    assert rows["rank"].to_list() == [2, 1, None]
    assert rows["time"].to_list() == [datetime(2020, 2, 3, 9, 0, 1), datetime(2020, 2, 3, 9), None]
    assert log.sources == ()
    sql = f'SELECT who AS "user", "asked, so" AS query FROM {name} WHERE place = 1;'
    asked = coterie.read(database, sql=sql)
    assert asked.to_polars().select("user", "query").rows() == [("ann", "tea")]
    assert coterie.read(database, sql=sql).digest == asked.digest != log.digest


def test_types_that_only_postgresql_has(postgresql):
    name, who = f"log_{next(NUMBERS)}", "00000000-0000-0000-0000-000000000007"
    _do(
        postgresql,
        f'CREATE TABLE {name} ("user" uuid, query text, rank numeric, "time" timestamptz, url inet)',
        f"INSERT INTO {name} VALUES ('{who}', 'tea', 3, '2020-02-03 09:00:00+01', '192.0.2.0/24')",
    )
    rows = coterie.read(f"{postgresql}#{name}").to_polars().rows()
    assert rows == [(who, datetime(2020, 2, 3, 8), "tea", 3, "192.0.2.0/24")]


def _refused(work, kind=CoterieError):
    with pytest.raises(kind) as refused:
        work()
    said = str(refused.value)
    assert USER + ":" not in said
    assert PASSWORD not in said
    assert refused.value.exit_code == 2
    assert said.endswith((".", "'", ")", "}"))
    return said


def test_bad_questions(database):
    name = f"log_{next(NUMBERS)}"
    _do(database, f"CREATE TABLE {name} (x1 varchar)", f"INSERT INTO {name} VALUES ('qzqueryq')")
    read = coterie.read
    assert "there is no such table" in _refused(lambda: read(f"{database}#nowhere"), MissingError)
    assert "say which rows to read" in _refused(lambda: read(database), ParameterError)
    assert "say which rows to read" in _refused(lambda: read(f"{database}#{name}", sql="SELECT 1"), ParameterError)
    assert "is not there" in _refused(lambda: read(database, sql="SELECT * FROM nowhere"))
    assert "column that is not there" in _refused(lambda: read(database, sql=f"SELECT elsewhere FROM {name}"))
    assert "is not SQL" in _refused(lambda: read(database, sql="SELEKT 1"))
    assert "none of them called 'query'" in _refused(lambda: read(f"{database}#{name}"), InputError)
    assert "no column of that name" in _refused(lambda: read(f"{database}#{name}", columns={"query": "x"}), InputError)
    assert "give it alone" in _refused(lambda: read([f"{database}#{name}", "log.tsv"]), ParameterError)
    assert "qzqueryq" not in _refused(lambda: read(database, sql=f"SELECT CAST(x1 AS integer) + x FROM {name}"))
    for sql in (f"DROP TABLE {name}", f"DELETE FROM {name}"):
        _refused(lambda sql=sql: read(database, sql=sql))
    assert read(f"{database}#{name}", columns={"query": "x1"}).to_polars().height == 1


def test_bad_targets(database, release, tmp_path):
    def write(where, **given):
        return lambda: coterie.write(release, where, **given)

    side = tmp_path / "safe.json"
    assert "sidecar=FILE" in _refused(write(f"{database}#safe"))
    assert "say which table to write" in _refused(write(database, sidecar=side))
    assert "never a table" in _refused(write(f"{database}#safe", sidecar=side, force=True))
    for option, given in (("kind", {"kind": "tsv"}), ("csv_safe", {"csv_safe": True}), ("parts", {"parts": 2})):
        assert f"{option} is for files" in _refused(write(f"{database}#safe", sidecar=side, **given))
    assert "does not exist" in _refused(write(f"{database}#safe", sidecar=tmp_path / "no" / "safe.json"))
    coterie.write(release, tmp_path / "file.tsv")
    assert "describes a file" in _refused(
        lambda: coterie.verify(f"{database}#safe", sidecar=tmp_path / "file.tsv.json")
    )
    assert "sidecar=FILE" in _refused(lambda: coterie.verify(f"{database}#safe"))
    assert "is missing" in _refused(lambda: coterie.verify(f"{database}#safe", sidecar=tmp_path / "no.json"))
    assert "for tables of databases" in _refused(lambda: coterie.verify(tmp_path / "file.tsv", sidecar=side))
    assert not side.exists()


def test_databases_that_are_not_there(tmp_path, release):
    side = tmp_path / "safe.json"
    away = f"postgresql://{USER}:{PASSWORD}@127.0.0.1:{NOBODY}/db#t"
    assert "cannot be reached" in _refused(lambda: coterie.read(away))
    assert "cannot be reached" in _refused(lambda: coterie.write(release, away, sidecar=side))
    (tmp_path / "text.db").write_text("this is no database " * 100)
    for scheme in ("sqlite", "duckdb"):
        assert "no such file" in _refused(lambda scheme=scheme: coterie.read(f"{scheme}:{tmp_path}/no.db#t"))
        assert "is not a database" in _refused(lambda scheme=scheme: coterie.read(f"{scheme}:{tmp_path}/text.db#t"))
        address = f"{scheme}:{tmp_path}/no/no.db#t"
        assert "no such folder" in _refused(lambda address=address: coterie.write(release, address, sidecar=side))
    assert "asks a database" in _refused(lambda: coterie.read(tmp_path / "text.db", sql="SELECT 1"))
    assert not side.exists()


def test_a_wrong_password(postgresql):
    assert "does not let you in" in _refused(lambda: coterie.read(postgresql.replace(PASSWORD, PASSWORD[:-1]) + "#t"))


@pytest.mark.parametrize(
    ("package", "address", "extra"),
    [
        ("duckdb", "duckdb:some.db#t", "coterie[duckdb]"),
        ("adbc_driver_postgresql", "postgresql://127.0.0.1/db#t", "coterie[postgresql]"),
        ("obstore", "s3://bucket/log.tsv", "coterie[cloud]"),
    ],
)
def test_a_package_that_is_not_installed(monkeypatch, package, address, extra):
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    assert extra in _refused(lambda: coterie.read(address), MissingError)


def test_what_is_here_needs_no_place(tmp_path):
    assert places.bring([tmp_path / "log.tsv", "-"]) is None
    assert not places.is_elsewhere(["log.tsv"])
    with pytest.raises(ParameterError, match="cannot be read together"):
        places.bring(["log.tsv", "s3://bucket/log.tsv"])
    with pytest.raises(ParameterError, match="standard input"):
        places.bring(["-", "s3://bucket/log.tsv"])


def test_many_rows_of_mixed_kinds_in_sqlite(tmp_path):
    path = tmp_path / "log.db"
    rows = [(n if n % 2 else str(n), f"q{n % 7}", n / 2 if n % 3 else n) for n in range(120_001)]
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE log (user, query, weight)")
        connection.executemany("INSERT INTO log VALUES (?, ?, ?)", rows)
    connection.close()
    brought = places.bring([f"sqlite:{path}#log"])
    frame = pl.read_parquet(brought.files[0])
    assert frame.schema == {"user": pl.String, "query": pl.String, "weight": pl.Float64}
    assert frame.height == len(rows)
    assert frame["user"].to_list() == [str(row[0]) for row in rows]


def test_a_table_with_its_schema_in_sqlite(tmp_path):
    import sqlite3

    with sqlite3.connect(tmp_path / "log.db") as connection:
        connection.execute("CREATE TABLE t (user TEXT, query TEXT)")
        connection.execute("INSERT INTO t VALUES ('ann', 'tea')")
    connection.close()
    assert coterie.read(f"sqlite:{tmp_path}/log.db#main.t").to_polars().height == 1
    for name in ("main.u", "other.t"):
        with pytest.raises(MissingError, match="there is no such table"):
            coterie.read(f"sqlite:{tmp_path}/log.db#{name}")
