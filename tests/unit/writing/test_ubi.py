"""Releases as User Behavior Insights: read back as they are, and nothing beside the rows can be in the file."""

import json

import polars as pl
import pytest

import coterie
from coterie import jobs
from coterie.errors import ParameterError
from coterie.methods.suppress_rare import SuppressRare
from coterie.reading.reading import Reading
from coterie.testing import queries_log, visits_log
from coterie.writing.target import Target
from tests.helpers.tasks import how

ODD = ['say "hi"', "back\\slash", "tab\u00a0and \u2028", "{}", "天气", "null"]


def _log():
    people = [f"person{n}" for n in range(4)]
    rows = [(who, query, "2020-02-03 09:00:00", 3, 'http://a.example/"x"') for query in ODD for who in people]
    rows += [(who, "tea", None, None, None) for who in people]
    return coterie.log(pl.DataFrame(rows, schema=["user", "query", "time", "rank", "url"], orient="row"))


@pytest.mark.parametrize("name", ["safe.ubi", "safe.ubi.gz", "safe.ubi.zst"])
@pytest.mark.parametrize("users", ["drop", "pseudonym"])
def test_it_is_read_back_as_it_is(tmp_path, name, users):
    log = coterie.prepare(_log())
    release = coterie.anonymize(log, SuppressRare(k=3, users=users), seed=1)
    path = tmp_path / name
    coterie.write(release, path, record=tmp_path / "record")
    assert coterie.load_release(path).to_polars().equals(release.to_polars())
    assert coterie.verify(path, log, record=tmp_path / "record").exit_code == 0
    again = coterie.read(path, Reading(as_published=True))
    released = release.to_polars().drop("time_level")  # which a log does not have
    assert again.to_polars().sort("query", "user").equals(released.sort("query", "user"))


def test_what_is_written(tmp_path):
    release = coterie.anonymize(queries_log(), SuppressRare(k=3), seed=1)
    coterie.write(release, tmp_path / "safe.ndjson", kind="ubi")
    documents = [json.loads(line) for line in (tmp_path / "safe.ndjson").read_text().splitlines()]
    queries = [document for document in documents if "user_query" in document]
    clicks = [document for document in documents if document.get("action_name") == "click"]
    assert [query["query_id"] for query in queries] == [str(n) for n in range(1, release.rows + 1)], "no id of the log"
    assert len(clicks) == release.to_polars()["url"].count() > 0
    assert len(documents) == len(queries) + len(clicks)
    assert {key for query in queries for key in query} == {"query_id", "user_query", "timestamp", "query_attributes"}
    assert {query["query_attributes"]["time_level"] for query in queries if "timestamp" in query} == {"day"}
    assert all(("timestamp" in query) == ("query_attributes" in query) for query in queries)
    assert clicks[-1] == {
        "action_name": "click", "query_id": queries[-1]["query_id"], "timestamp": "2020-02-03T00:00:00Z",
        "event_attributes": {
            "position": {"ordinal": 1}, "object": {"object_id": "http://sky.example"}, "time_level": "day",
        },
    }  # fmt: skip


@pytest.mark.parametrize("change", [
    lambda text: text.replace('"user_query"', '"message":"ann","user_query"', 1),
    lambda text: text.replace('{"query_id"', '{ "query_id"', 1),
    lambda text: text + '{"action_name":"view","query_id":"1","message":"ann"}\n',
    lambda text: text.replace('"query_id":"1"', '"query_id":"ann"'),
    lambda text: text.replace("weather", "rare weather", 1),
])  # fmt: skip
def test_whatever_else_is_in_it_is_found(tmp_path, change):
    path = tmp_path / "safe.ubi"
    coterie.write(coterie.anonymize(queries_log(), SuppressRare(k=3), seed=1), path)
    before = path.read_text()
    path.write_text(change(before))
    assert path.read_text() != before
    other_rows = "rare weather" in path.read_text()
    expected = {"digest", "crowd.query" if other_rows else "canonical"}
    assert expected <= {check.name for check in coterie.verify(path, queries_log()).broken}


def test_only_search_logs_are_ubi(tmp_path):
    release = coterie.anonymize(visits_log(), SuppressRare(k=3), seed=1)
    with pytest.raises(ParameterError, match="UBI holds queries and clicks, and this release is VISITS"):
        coterie.write(release, tmp_path / "safe.ubi")
    log = tmp_path / "visits.csv"
    log.write_text("user,path\n" + "".join(f"u{n},/a\n" for n in range(5)))
    heard = []
    with pytest.raises(ParameterError, match="UBI holds"):
        jobs.anonymize_files(
            [str(log)],
            [SuppressRare(k=3)],
            Target(path=str(tmp_path / "x.ubi")).for_each([3]),
            **how(progress=heard.append),
        )
    assert heard == ["read"], "refused before the work"
    with pytest.raises(ParameterError, match="not the name of a file of kind ubi"):
        coterie.write(release, tmp_path / "safe.tsv", kind="ubi")


def test_a_release_without_rows(tmp_path):
    log = coterie.log(pl.DataFrame({"user": list("abc"), "query": list("xyz")}))
    coterie.write(coterie.anonymize(log, SuppressRare(k=3), seed=1), tmp_path / "safe.ubi")
    assert (tmp_path / "safe.ubi").read_bytes() == b""
    assert coterie.verify(tmp_path / "safe.ubi", log).exit_code == 0
