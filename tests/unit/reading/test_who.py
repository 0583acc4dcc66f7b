"""Who is counted in formats of their own: people before browsers, told on the screen and in the sidecar."""

import json

import pytest

import coterie
from coterie import api
from coterie.errors import InputError
from coterie.methods.private_counts import PrivateCounts

TIME = "2020-02-03T09:00:00Z"
ROWS = {
    "ubi": ({"query_id": "q{n}", "client_id": "c{n}", "user_id": "{who}", "user_query": "tea", "timestamp": TIME},
            "user_id", "client_id"),
    "algolia": ({"query": "tea", "queryID": "q{n}", "userToken": "c{n}", "authenticatedUserToken": "{who}",
                 "timestamp": TIME}, "authenticatedUserToken", "userToken"),
    "matomo": ({"idvisitor": "c{n}", "user_id": "{who}", "server_time": TIME, "keyword": "tea"},
               "user_id", "idvisitor"),
    "elastic": ({"@timestamp": TIME, "event": {"action": "search"}, "user.id": "{who}", "labels.user_uuid": "c{n}",
                 "search": {"query": "tea"}}, "user.id", "labels.user_uuid"),
}  # fmt: skip


def log_of(write, name, keep=lambda n: True, people=30):
    """A log whose rows have a browser each, and of those to `keep` one of four people."""
    row, best, _ = ROWS[name]
    rows = []
    for n in range(people):
        text = json.dumps(row).replace("{n}", str(n)).replace("{who}", f"u{n % 4}")
        rows.append({key: value for key, value in json.loads(text).items() if keep(n) or key != best})
    return write("log.json", "".join(json.dumps(each) + "\n" for each in rows))


@pytest.mark.parametrize("name", ROWS)
def test_people_come_first_and_are_told(write, name):
    log = coterie.read(log_of(write, name), format=name)
    assert log.to_polars()["user"].n_unique() == 4
    assert log.settings["counted"] == ROWS[name][1]
    assert f"Users are told apart by {ROWS[name][1]}." in log.notes[0]
    assert log.warnings == ()


@pytest.mark.parametrize("name", ROWS)
def test_browsers_beside_people_are_a_warning(write, name):
    best, other = ROWS[name][1:]
    log = coterie.read(log_of(write, name, keep=lambda n: n % 5), format=name)
    assert log.settings["counted"] == f"{best},{other}"
    assert log.warnings[0].startswith(f"some searches have no {best}, and were counted by {other}.")


@pytest.mark.parametrize("name", ROWS)
def test_what_hardly_comes_again_is_a_question_unless_it_is_named(write, name):
    path, field = log_of(write, name, keep=lambda _: False), ROWS[name][2]
    with pytest.raises(InputError, match=r"30 different values in 30 rows.*user_field=NAME"):
        coterie.read(path, format=name)
    log = coterie.read(path, format=name, user_field=field)
    assert "more than half as many users as rows" in log.warnings[0]


@pytest.mark.parametrize("mark", [",", "\t"])
def test_rows_of_matomo(write, mark):
    lines = ["idvisitor,user_id,server_time,search_keyword,type", *(
        f"c{n},{f'u{n % 4}' if n % 5 else ''},2020-02-03 09:00:00,tea,{8 if n < 30 else 1}" for n in range(40)
    )]  # fmt: skip
    log = coterie.read(write("rows.csv", "\n".join(lines).replace(",", mark) + "\n"))
    users = log.to_polars()["user"].to_list()
    assert users == [f"u{n % 4}" if n % 5 else f"c{n}" for n in range(30)]
    assert log.settings["counted"] == "user_id,idvisitor"
    assert log.warnings[0].startswith("some searches have no user_id")


def test_sessions_that_were_named(write):
    rows = [{"query": "tea", "userToken": f"c{n}", "sid": f"s{n % 4}", "queryID": "q"} for n in range(8)]
    log = coterie.read(write("log.json", json.dumps(rows)), format="algolia", user_field="sid")
    assert log.warnings[0].startswith("k counts sessions, not people")


def test_beside_a_budget_one_person_does_not_show_in_how_the_log_was_read(tmp_path):
    """Without an account, and the only one of that kind: what goes with a release must not tell that she was there."""
    told = []
    for other in ({"user_id": "u7"}, {"client_id": "hers"}):
        people = [{"user_id": f"u{n % 40}"} for n in range(400)] + [other]
        (tmp_path / "ubi.ndjson").write_text(
            "".join(json.dumps({"query_id": f"{n}", **who, "user_query": "tea"}) + "\n" for n, who in enumerate(people))
        )
        log = coterie.read(tmp_path / "ubi.ndjson")
        release = api.anonymize_prepared(log, PrivateCounts(population=1000))
        told.append((release.log.settings, release.warnings))
        assert bool(log.warnings) == ("client_id" in other), "whoever holds the log is told"
    assert told[0] == told[1]
