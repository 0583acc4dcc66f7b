"""Who is counted when a release is verified: the original says it, and a sidecar that says something else fails."""

import json

import polars as pl
import pytest

import coterie
from coterie import api
from coterie.cli.console import print_verdict, who_is_counted
from coterie.methods.private_counts import PrivateCounts

SUPPRESS = {"k": 5, "seed": 1}


@pytest.fixture
def sessions(tmp_path):
    """A release of a log that has sessions alone, its log, and what its sidecar says."""
    rows = [(f"s{n % 40}", ("tea", "coffee", "red wine")[n % 3]) for n in range(300)]
    pl.DataFrame(rows, schema=["session_id", "q"], orient="row").write_csv(tmp_path / "log.csv")
    path = tmp_path / "safe.tsv"
    coterie.write(coterie.anonymize(coterie.read(tmp_path / "log.csv"), "suppress_rare", **SUPPRESS), path)
    return path, tmp_path / "log.csv", json.loads((tmp_path / "safe.tsv.json").read_text())


def _put(path, said):
    path.with_name(f"{path.name}.json").write_text(json.dumps(said))


def _sidecar(verdict):
    return next(check for check in verdict.checks if check.name == "sidecar").status


def _people(said):
    """The same sidecar as if people had been counted."""
    (promise,) = said["promises"]
    return {**said, "promises": [{**promise, "sentence": promise["sentence"].replace("sessions", "users")}],
            "warnings": said["warnings"][1:]}  # fmt: skip


@pytest.mark.parametrize("reading", [
    {"columns": {"user": "session_id", "query": "q"}, "counted": "email"},
    {"columns": {"user": "session_id", "query": "q"}, "user_field": "email"},
    {"columns": {"query": "q"}, "counted": "email"},
    {"counted": "email"},
    {"columns": {"user": "email", "query": "q"}},
    {},
])  # fmt: skip
def test_sessions_are_not_made_people(sessions, reading):
    path, log, said = sessions
    original = coterie.read(log)
    assert said["reading"] == {"columns": {"user": "session_id", "query": "q"}}
    honest = coterie.verify(path, original)
    assert (honest.exit_code, honest.person, honest.counted) == (0, "session_id", "session")
    _put(path, {**_people(said), "reading": reading})
    verdict = coterie.verify(path, original)
    assert (verdict.exit_code, _sidecar(verdict)) == (1, "failed")
    assert "sessions" in verdict.sentence
    assert who_is_counted(verdict) == "Counted as one of the sessions: each value of 'session_id' in the log."


def test_who_is_counted_is_said_once(sessions):
    """Also without the original: a column that was named is not found out again."""
    path, _, said = sessions
    _put(path, {**_people(said), "reading": {**said["reading"], "counted": "email"}})
    assert _sidecar(coterie.verify(path)) == "failed"


def test_a_table_that_does_not_know_is_no_contradiction(sessions):
    path, log, _ = sessions
    renamed = coterie.log(pl.read_csv(log).rename({"session_id": "user", "q": "query"}))
    verdict = coterie.verify(path, renamed)
    assert (verdict.exit_code, verdict.counted) == (0, "session")


def test_what_a_reader_found_out_is_compared(tmp_path):
    """A field beside that of people is more than one name for some: it cannot be left out of a sidecar."""
    people = [{"user_id": f"u{n % 8}"} if n % 5 else {"client_id": f"c{n % 4}"} for n in range(80)]
    rows = [{"query_id": f"{n}", **who, "user_query": "tea"} for n, who in enumerate(people)]
    (tmp_path / "ubi.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    log, path = coterie.read(tmp_path / "ubi.ndjson"), tmp_path / "safe.tsv"
    coterie.write(coterie.anonymize(log, "suppress_rare", **SUPPRESS), path)
    said = json.loads((tmp_path / "safe.tsv.json").read_text())
    assert said["reading"] == {"counted": "user_id,client_id"}
    assert coterie.verify(path, log).exit_code == 0
    for counted in ("user_id", "email"):
        _put(path, {**said, "reading": {"counted": counted}})
        verdict = coterie.verify(path, log)
        assert (_sidecar(verdict), verdict.person) == ("failed", "user_id,client_id")


def test_a_release_in_memory_says_it_too(sessions):
    path, log, _ = sessions
    original = coterie.prepare(coterie.read(log))
    for release in (coterie.anonymize(original, "suppress_rare", **SUPPRESS), coterie.load_release(path)):
        for given in (original, None):
            verdict = coterie.verify(release, given)
            assert (verdict.person, verdict.counted, verdict.subjects) == ("session_id", "session", "sessions")
            assert "sessions" in verdict.sentence
        assert release.verdict.person == "session_id"


@pytest.mark.parametrize("columns", [{"user": "session_id", "query": "q"}, None])
def test_programs_find_the_column_as_a_value(sessions, columns, capsys):
    _, log, _ = sessions
    rows = pl.read_csv(log) if columns else pl.read_csv(log).rename({"session_id": "user", "q": "query"})
    original = coterie.prepare(coterie.log(rows, columns))
    print_verdict(coterie.verify(coterie.anonymize(original, "suppress_rare", **SUPPRESS), original), as_json=True)
    told = {row["key"]: row for row in json.loads(capsys.readouterr().out)}
    value = "session_id" if columns else None
    assert told["counted"] == {"name": "verify", "key": "counted", "value": value, "unit": "column"}
    assert isinstance(told["largest_k"]["value"], float)


def test_rows_of_others_say_it_too(sessions):
    _, log, _ = sessions
    foreign = coterie.log(pl.DataFrame({"query": ["tea"]}))
    verdict = coterie.verify(foreign, coterie.read(log), promise="query_k_anonymity", k=5)
    assert "5 different sessions" in verdict.sentence


def test_the_path_of_an_original_is_read_as_the_release_says(tmp_path):
    """Columns that nobody would guess: of a release in memory, one that was loaded, and a table of a database."""
    rows = [(f"p{n % 20}", ("tea", "Coffee ")[n % 2]) for n in range(100)]
    log = tmp_path / "log.csv"
    pl.DataFrame(rows, schema=["first", "second"], orient="row").write_csv(log)
    original = coterie.prepare(coterie.read(log, columns={"user": "first", "query": "second"}))
    made = coterie.anonymize(original, "suppress_rare", **SUPPRESS)
    coterie.write(made, tmp_path / "safe.tsv")
    for release in (made, coterie.load_release(tmp_path / "safe.tsv"), tmp_path / "safe.tsv"):
        verdict = coterie.verify(release, log)
        assert (verdict.exit_code, verdict.person) == (0, "first")
    table, sidecar = f"sqlite:{tmp_path}/safe.db#safe", tmp_path / "safe.json"
    coterie.write(made, table, sidecar=sidecar)
    verdict = coterie.verify(table, log, sidecar=sidecar)
    assert (verdict.exit_code, verdict.person) == (0, "first")


def test_beside_a_budget_the_fields_of_the_format_are_told(tmp_path):
    """An Algolia log that has addresses alone: the release says what may be counted, `verify` what was."""
    rows = [{"query": "tea", "queryID": f"q{n}", "ip": f"192.0.2.{n % 100}"} for n in range(400)]
    (tmp_path / "log.json").write_text(json.dumps(rows))
    log, path = coterie.read(tmp_path / "log.json", format="algolia"), tmp_path / "safe.tsv"
    release = api.anonymize_prepared(log, PrivateCounts(population=1000))
    fields = "authenticatedUserToken,userToken,ip"
    assert release.log.settings == {"told_apart_by": fields}
    assert release.warnings[0].startswith("users are told apart by authenticatedUserToken, or else by userToken or ip")
    coterie.write(release, path)
    verdict = coterie.verify(path, log)
    assert (verdict.person, verdict.counted, _sidecar(verdict)) == ("ip", "address", "passed")
    assert coterie.verify(path).person == fields
    said = json.loads((tmp_path / "safe.tsv.json").read_text())
    _put(path, {**said, "reading": {"told_apart_by": "authenticatedUserToken"}})
    assert _sidecar(coterie.verify(path, log)) == "failed"
    named = coterie.read(tmp_path / "log.json", format="algolia", user_field="ip")
    assert api.anonymize_prepared(named, PrivateCounts(population=1000)).log.settings == {"user_field": "ip"}
