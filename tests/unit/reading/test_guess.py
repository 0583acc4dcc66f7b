"""Columns that nobody named: guessed where they can be told, asked for where they cannot, and never a value shown."""

import json

import polars as pl
import pytest

import coterie
from coterie import jobs
from coterie.cli.console import print_summaries
from coterie.errors import InputError, ParameterError
from coterie.methods.private_counts import PrivateCounts
from coterie.methods.suppress_rare import SuppressRare
from coterie.writing.target import Target
from tests.helpers.tasks import how

PEOPLE = 12


def table(header, row, mark=",", people=PEOPLE):
    """A table with several rows for each of some people."""
    lines = [mark.join(header)]
    lines += [mark.join(str(value).format(n=n, who=n % 4) for value in row) for n in range(people)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        (["cookie", "q", "ts"], ["c{who}", "tea", "15807204{n:02}"], {"user": "cookie", "query": "q", "time": "ts"}),
        (["visitorId", "Search Term", "created_at"], ["v{who}", "tea", "2020-02-03T09:00:00Z"],
         {"user": "visitorId", "query": "Search Term", "time": "created_at"}),
        (["client_id", "keywords", "timestamp_ms", "position", "clicked_url"],
         ["{who}", "tea", "1580720400000", "{n}", "http://a.example"],
         {"user": "client_id", "query": "keywords", "time": "timestamp_ms", "rank": "position", "url": "clicked_url"}),
        (["session_id", "user_query"], ["s{who}", "tea"], {"user": "session_id", "query": "user_query"}),
        (["User", "Query", "Time"], ["{who}", "tea", "2020-02-03"], {"user": "User", "query": "Query", "time": "Time"}),
        (["user", "query", "date"], ["{who}", "tea", "2020-02-03"], {"time": "date"}),
        (["uid", "request_uri", "status_code"], ["{who}", "/tea", "200"],
         {"path": "request_uri", "user": "uid", "status": "status_code"}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("mark", [",", ";", "|", "\t"])
def test_columns_are_guessed_whatever_stands_between_them(write, header, row, expected, mark):
    log = coterie.read(write("own.csv", table(header, row, mark)))
    assert log.settings["columns"] == expected
    assert log.to_polars().height == PEOPLE
    assert log.to_polars()["user"].n_unique() == 4
    assert log.notes[0].startswith("Columns were guessed: ")
    assert all(f"{ours} = {theirs}" in log.notes[0] for ours, theirs in expected.items())
    said = coterie.read(write("said.csv", table(header, row, mark)), columns=expected)
    assert said.digest == log.digest, "the same reading, whoever named the columns"
    assert said.to_polars().equals(log.to_polars())


def test_names_of_the_shape_are_read_as_ever(write):
    log = coterie.read(write("t.csv", "user,time,query,rank,url,cookie\nu,2020-02-03,tea,1,a,c\n"))
    assert (log.settings, log.reading, log.guessed, log.notes) == ({}, "", False, ())


@pytest.mark.parametrize(
    ("header", "named", "option"),
    [
        (["user_id", "login", "q"], "'user_id' and 'login'", 'columns={"user": "user_id"'),
        (["visitor", "client_id", "q"], "'visitor' and 'client_id'", 'columns={"user": "visitor"'),
        (["search", "keywords", "uid"], "'search' and 'keywords'", 'columns={"query": "search", "user": "NAME"}'),
    ],
)
def test_two_columns_that_fit_equally_well_are_a_question(write, header, named, option):
    with pytest.raises(InputError, match="columns that may") as raised:
        coterie.read(write("t.csv", table(header, ["x{who}"] * len(header))))
    assert named in str(raised.value)
    assert option in str(raised.value)


def test_what_is_said_is_not_guessed_and_the_rest_is(write):
    path = write("t.csv", table(["user_id", "cookie", "q", "ts"], ["u{who}", "c{who}", "tea", "1580720400"]))
    log = coterie.read(path, columns={"user": "cookie"})
    assert log.settings["columns"] == {"user": "cookie", "query": "q", "time": "ts"}
    only = coterie.read(path, columns={"query": "q", "user": "user_id"})
    assert not only.guessed
    assert only.to_polars()["time"].null_count() == PEOPLE, "once the query is named, nothing is guessed"


OWN = (["Zeitpunkt", "Kunde", "Suchwort", "Treffer_Nr", "Ziel"], ["2026-01-1{n}", "{who}", "tee", "{n}", "a.example"])


def test_columns_that_are_not_guessed_because_the_query_is_named_are_told(write, tmp_path):
    path = write("own.csv", table(*OWN, people=9))
    log = coterie.read(path, columns={"user": "Kunde", "query": "Suchwort"})
    assert log.notes == ("Not read: Zeitpunkt, Treffer_Nr, Ziel. Once --columns names the query, nothing else is "
                         "guessed: name there what you need.",)  # fmt: skip
    rest = {"time": "Zeitpunkt", "rank": "Treffer_Nr"}
    rest |= {"user": "Kunde", "query": "Suchwort"}
    assert coterie.read(path, columns=rest, details={"at": "Ziel"}).notes == ()
    frame = pl.read_csv(path)
    assert coterie.log(frame, columns={"query": "Suchwort"}).notes[0].startswith("Not read: Zeitpunkt, Kunde, ")
    frame.rename({"Ziel": "url"}).write_ndjson(tmp_path / "own.jsonl")
    assert "Ziel" not in coterie.read(tmp_path / "own.jsonl", columns={"query": "Suchwort"}).notes[0]


def test_a_first_line_of_values_is_counted_and_not_shown(write):
    log = coterie.read(write("own.csv", "kim,tea,home\nlee,tea,work\nkim,pot,home\n"), columns={"query": "tea"})
    assert log.notes[0].startswith("Not read: 2 columns. ")


def test_values_speak_against_a_name(write):
    """A number of searches is no search, a word is no time, and numbers of rows are no people."""
    log = coterie.read(
        write("t.csv", table(["uid", "q", "search", "ts", "position"], ["{who}", "tea", "{n}", "noon", "top"]))
    )
    assert log.settings["columns"] == {"query": "q", "user": "uid"}
    assert "Left out: time ('ts' holds other values); rank ('position'" in log.notes[1]
    many = coterie.read(write("many.csv", table(["uid", "q"], ["{n}", "tea"], people=200)))
    assert many.settings["columns"] == {"query": "q"}
    assert "No column is known to name users" in many.notes[-1]
    assert "uid, q" in many.notes[-1]


def test_sessions_and_addresses_count_as_people_only_where_nothing_else_does(write):
    log = coterie.read(write("a.csv", table(["session", "cookie", "q"], ["s{n}", "c{who}", "tea"])))
    assert log.settings["columns"]["user"] == "cookie"
    log = coterie.read(write("b.csv", table(["session", "ip", "q"], ["s{who}", "192.0.2.{who}", "tea"])))
    assert log.settings["columns"]["user"] == "session"
    assert log.warnings[0].startswith("k counts sessions, not people")
    log = coterie.read(write("c.csv", table(["ip", "q"], ["192.0.2.{who}", "tea"])))
    assert log.warnings[0].startswith("k counts addresses, not people")


HEADERS = [
    (["email", "session_id", "q"], "email"), (["user_email", "sid", "q"], "user_email"),
    (["distinct_id", "session_id", "q"], "distinct_id"), (["q", "user_pseudo_id", "ga_session_id"], "user_pseudo_id"),
    (["session_id", "patron", "q"], "patron"), (["cookie", "employee_id", "q"], "employee_id"),
    (["user_id", "cookie", "email", "q"], "user_id"), (["uuid", "username_hash", "q"], "username_hash"),
    (["session_id", "visitor", "q", "guid"], "visitor"), (["session", "q", "user_agent", "user_type"], "session"),
]  # fmt: skip


@pytest.mark.parametrize(("header", "user"), HEADERS, ids=[" ".join(header) for header, _ in HEADERS])
def test_people_come_before_browsers_and_these_before_sessions(write, header, user):
    log = coterie.read(write("t.csv", table(header, ["x{who}"] * len(header))))
    assert log.settings["columns"]["user"] == user


@pytest.mark.parametrize("header", [["session_id", "subscriber_ref", "q"], ["cookie", "kundennummer", "q"]])
def test_another_column_that_may_name_people_is_a_question(write, header):
    with pytest.raises(InputError, match="may name people") as raised:
        coterie.read(write("t.csv", table(header, ["x{who}"] * 3)))
    assert f'columns={{"user": "{header[1]}"}}, or user={header[0]}' in str(raised.value)
    assert f"Its columns are: {', '.join(header)}." in str(raised.value)


@pytest.mark.parametrize("people", [30, 412])
@pytest.mark.parametrize("name", ["uuid", "guid", "id", "request_id", "event_id", "trace"])
def test_numbers_of_rows_are_never_people(write, name, people):
    for row in ("r{n}", "r{who}"):  # also where several rows have one
        log = coterie.read(write("t.csv", table([name, "q"], [row, "tea"], people=people)))
        assert log.settings["columns"] == {"query": "q"}


def test_a_number_of_a_request_inside_another_field_is_nobody(write):
    rows = [{"request": {"uuid": f"r{n // 2}"}, "actor": {"id": f"u{n % 4}"}, "query": "tea"} for n in range(40)]
    deep = [{"meta": {"uuid": r["request"]["uuid"]}, "context": {"user": r["actor"]}, "q": "tea"} for r in rows]
    for given, user in ((rows, "actor.id"), (deep, "context.user.id")):
        log = coterie.read(write("t.jsonl", "".join(json.dumps(row) + "\n" for row in given)))
        assert log.settings["columns"]["user"] == user


def test_a_guessed_column_that_is_nearly_unique_is_a_question_and_a_named_one_a_warning(write):
    """Also where the first rows, by which columns are guessed, look otherwise."""
    lines = [f"c{n % 5 if n < 1000 else n},tea" for n in range(3000)]
    path = write("late.csv", "\n".join(["cookie,q", *lines]) + "\n")
    with pytest.raises(InputError, match=r'2,005 different values in 3,000 rows.*columns={"user": "NAME"}'):
        coterie.read(path)
    log = coterie.read(path, columns={"user": "cookie", "query": "q"})
    assert "more than half as many users as rows" in log.warnings[0]
    assert coterie.read(write("few.csv", table(["user", "q"], ["{n}", "tea"], people=15))).warnings == ()


def test_sessions_are_told_wherever_the_release_goes(write, tmp_path, capsys):
    path = write("own.csv", table(["session_id", "q"], ["s{n}", "tea"]))
    out = tmp_path / "safe.tsv"
    done = jobs.anonymize_files([str(path)], [SuppressRare(k=3)], Target(path=str(out)).for_each([3]))
    print_summaries(done, quiet=True)
    assert "Warning: k counts sessions, not people" in capsys.readouterr().err.replace("\n", " ")
    assert "3 different sessions" in done[0].sentence
    side = json.loads((tmp_path / "safe.tsv.json").read_text())
    assert "k counts sessions, not people" in side["warnings"][0]
    assert "3 different sessions" in side["promises"][0]["sentence"]
    verdict = jobs.verify_file(str(out), [str(path)])
    assert verdict.exit_code == 0
    assert "3 different sessions" in verdict.sentence
    assert verdict.subjects == "sessions"
    frame = pl.read_csv(path)
    release = coterie.anonymize(coterie.prepare(coterie.log(frame)), "suppress_rare", k=3)
    assert "k counts sessions, not people" in release.warnings[0]
    assert "sessions" in repr(release)
    assert "sessions" in release._repr_html_()
    said = coterie.log(frame, columns={"query": "q", "user": "session_id"})
    assert said.warnings == release.log.warnings, "whoever said it, sessions are no people"


@pytest.mark.parametrize("format", [None, "table"])
def test_where_nothing_can_be_told_the_columns_are_listed(write, format):
    path = write("t.csv", table(["who", "what", "number"], ["a{who}", "tea", "{n}"]))
    with pytest.raises(InputError, match="Its columns are: who, what, number") as raised:
        coterie.read(path, format=format)
    assert "columns=" in str(raised.value)


@pytest.mark.parametrize("text", [
    "qzann,blue qzpot\nqzbob,tea\n", "qzann\tblue qzpot\nqzbob\ttea\n", "17,qzpot\n18,tea\n",
    "qzann,qzpot\nqzbob,tea\n", "qzann,http://qzpot.example,3\nqzbob,http://b.example,4\n",
    '{"qzann": 3, "qzpot": 4}\n', '[{"qzann": {"qzpot": 1}}]\n', "cookie,ts,qzann\nqzann,1580720400,2\n",
])  # fmt: skip
def test_a_first_line_that_may_hold_values_is_not_shown(write, text):
    for format in (None, "table"):
        with pytest.raises(InputError) as raised:
            coterie.read(write("t.csv", text), format=format)
        assert "qz" not in str(raised.value)


DOCUMENTS = [
    {"search": {"query": f"tea {n}"}, "user": {"id": f"u{n % 4}"}, "@timestamp": "2020-02-03T09:00:00Z"}
    for n in range(8)
]
HITS = {"took": 3, "hits": {"total": {"value": 8}, "hits": [{"_index": "a", "_source": d} for d in DOCUMENTS]}}


@pytest.mark.parametrize("text", [
    "".join(json.dumps(document) + "\n" for document in DOCUMENTS), json.dumps(DOCUMENTS),
    json.dumps(DOCUMENTS, indent=1),
    json.dumps(HITS), json.dumps(HITS, indent=2),
    "".join(json.dumps(hit) + "\n" for hit in HITS["hits"]["hits"]),
], ids=["lines", "array", "indented", "hits", "indented-hits", "lines-of-hits"])  # fmt: skip
@pytest.mark.parametrize("columns", [None, {"query": "search.query", "user": "user.id", "time": "@timestamp"}])
def test_json_however_it_is_laid_out(write, text, columns):
    log = coterie.read(write("log.ndjson", text), columns=columns)
    assert log.to_polars().select("user", "query").rows() == [(f"u{n % 4}", f"tea {n}") for n in range(8)]
    assert log.to_polars()["time"].null_count() == 0


def test_a_bad_item_of_an_array_is_told_by_its_number(write):
    with pytest.raises(
        InputError, match=r"1 of 9 lines could not be read as table\. The first: t\.json item 9, columns"
    ):
        coterie.read(write("t.json", json.dumps([*DOCUMENTS, 7], indent=1)), format="table")


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("31.12.2025 10:00", "2025-12-31 10:00:00"), ("1.2.2026 10:00:30", "2026-02-01 10:00:30"),
        ("2026/02/01 10:00", "2026-02-01 10:00:00"), ("12/31/2025", "2025-12-31 00:00:00"),
        ("31/12/2025 10:00", "2025-12-31 10:00:00"),
    ],
)  # fmt: skip
def test_usual_dates(write, written, day):
    for columns in (None, {"query": "q", "user": "cookie", "time": "created_at"}):
        log = coterie.read(
            write("t.csv", table(["cookie", "q", "created_at"], ["{who}", "tea", written])), columns=columns
        )
        assert {str(time) for time in log.to_polars()["time"]} == {day}


def test_dates_that_can_be_read_in_two_ways_are_not(write):
    path = write("t.csv", table(["cookie", "q", "created_at"], ["{who}", "tea", "02/01/2026 10:00"]))
    assert "Left out: time ('created_at' holds other values)" in coterie.read(path).notes[1]
    with pytest.raises(InputError, match="a day above 12 shows which part it is"):
        coterie.read(path, columns={"query": "q", "time": "created_at"})


def test_a_duration_is_no_time(write):
    row = ["{who}", "tea", "{n}", "2020-02-03 09:00:00"]
    log = coterie.read(write("t.csv", table(["user", "query", "time", "timestamp"], row)))
    assert log.settings["columns"] == {"time": "timestamp"}
    assert {time.year for time in log.to_polars()["time"]} == {2020}
    with pytest.raises(InputError, match="seconds since 1970, from 1990 on"):
        coterie.read(write("u.csv", table(["user", "query", "time"], row[:3])))


def test_columns_in_another_language_are_listed(write):
    path = write("t.csv", table(["Klient", "Zapytanie", "Data"], ["a{who}", "tea", "01.02.2026 10:00"], ";"))
    with pytest.raises(InputError, match="Its columns are: Klient, Zapytanie, Data"):
        coterie.read(path)


@pytest.mark.parametrize(
    ("user", "query", "time"),
    [
        ("Benutzer", "Suchanfrage", "Zeitstempel"),
        ("gebruiker", "zoekopdracht", "tijdstip"),
        ("id_usuario", "Búsqueda", "fecha"),
        ("utilisateur", "requête", "horodatage"),
        ("utente", "ricerca", "data_ora"),
    ],
)
def test_usual_names_of_other_languages_are_known(write, user, query, time):
    path = write("t.csv", table([user, query, time], ["a{who}", "tea", "2026-02-01 10:00:00"], ";"))
    assert coterie.read(path).settings["columns"] == {"user": user, "query": query, "time": time}


@pytest.mark.parametrize("session", ["Sitzung", "Sitzungs-ID", "sessie", "sesión", "séance", "id_session", "sessione"])
def test_sessions_of_other_languages_are_no_people(write, session):
    log = coterie.read(write("t.csv", table([session, "query"], ["a{who}", "tea"])))
    assert log.settings["columns"] == {"user": session}
    assert any("session" in warning for warning in log.warnings)


def test_latin_1_is_told_by_its_lines_and_how_to_convert_it(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(table(["user", "query"], ["{who}", "zürich canary"]).encode("latin-1"))
    with pytest.raises(InputError, match=r"t\.csv line 2, encoding .* iconv -f latin1 -t utf-8") as raised:
        coterie.read(path)
    assert "canary" not in str(raised.value)
    assert "rich" not in str(raised.value)


def test_latin_1_in_a_first_line_that_no_format_knows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("Schlüssel\nzürich\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"not UTF-8 \(line 1.* iconv -f latin1 -t utf-8"):
        coterie.read(path)


@pytest.mark.parametrize("begin", [b"", b"\x89PNG\r\n\x1a\n", b"SQLite format 3\x00"])
def test_what_is_no_text_is_called_so(tmp_path, begin):
    path = tmp_path / "t.csv"
    path.write_bytes(begin + bytes(range(256)) * 20)
    with pytest.raises(InputError, match=r"t\.csv is no text"):
        coterie.read(path)


def test_utf_16_is_refused(tmp_path):
    path = tmp_path / "excel.csv"
    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        path.write_bytes(table(["user", "query"], ["{who}", "tea"]).encode(encoding))
        for format in (None, "table"):
            with pytest.raises(InputError, match="iconv -f UTF-16 -t UTF-8"):
                coterie.read(path, format=format)


def test_pandas_indexes_and_columns_of_one_name():
    frame = pl.DataFrame({"user_id": ["a", "b"] * 6, "q": ["tea"] * 12}).to_pandas()
    assert coterie.log(frame.set_index("user_id")).settings["columns"]["user"] == "user_id"
    frame.columns = ["q", "q"]
    with pytest.raises(InputError, match="two columns of one name"):
        coterie.log(frame)


def test_frames_and_parquet_are_guessed_too(tmp_path):
    frame = pl.DataFrame({"cookie": ["a", "b"] * 6, "q": ["tea", None] * 6, "when": pl.Series([1580720400] * 12)})
    frame.write_parquet(tmp_path / "own.parquet")
    for log in (coterie.log(frame), coterie.log(frame.to_pandas()), coterie.read(tmp_path / "own.parquet")):
        assert log.settings["columns"] == {"user": "cookie", "query": "q", "time": "when"}
        assert log.guessed


def test_the_sidecar_says_it_and_the_original_is_read_by_it(write, tmp_path):
    path = write("own.csv", table(["cookie", "q", "ts"], ["c{n}", "tea", "15807204{n:02}"]))
    out, record, heard = tmp_path / "safe.tsv", tmp_path / "record", []
    jobs.anonymize_files(
        [str(path)], [SuppressRare(k=3)], Target(path=str(out), record=record).for_each([3]), **how(note=heard.append)
    )
    assert any("Columns were guessed: query = q, user = cookie, time = ts" in text for text in heard)
    reading = json.loads((tmp_path / "safe.tsv.json").read_text())["reading"]
    assert reading == {"columns": {"query": "q", "user": "cookie", "time": "ts"}}
    assert jobs.verify_file(str(out), [str(path)], record=record).exit_code == 0
    heard.clear()
    jobs.measure_file(str(out), [str(path)], **how(names=["mass"], note=heard.append))
    assert not any("guessed" in text for text in heard), "it is known by now"


def test_an_original_whose_sidecar_knows_no_columns_is_read_without_a_guess(write, tmp_path):
    path = write("own.csv", table(["user", "query", "ts"], ["c{n}", "tea", "15807204{n:02}"]))
    release = coterie.anonymize(coterie.prepare(coterie.read(path, guess=False)), SuppressRare(k=3, attrs="keep"))
    coterie.write(release, tmp_path / "safe.parquet", record=tmp_path / "record")
    verdict = jobs.verify_file(str(tmp_path / "safe.parquet"), [str(path)], record=tmp_path / "record")
    assert verdict.exit_code == 0, "the digest in the record is that of the log as it was read"


def test_no_epsilon_covers_a_guess(write):
    path = write("own.csv", table(["cookie", "q", "ts"], ["c{who}", "tea", "15807204{n:02}"]))
    method = PrivateCounts(epsilon=1, population=1000)
    with pytest.raises(ParameterError, match=r"guessed by looking at rows.*--columns query=q,user=cookie,time=ts"):
        method.refuse(coterie.read(path))
    method.refuse(coterie.read(path, columns={"query": "q", "user": "cookie", "time": "ts"}))


@pytest.mark.parametrize(
    ("session", "person"),
    [("sesion", "cliente"), ("sessie", "klant"), ("Sitzung", "Mitglied"), ("sessione", "codice_fiscale"),
     ("sessão", "cpf"), ("sesión", "dni"), ("id_session", "abonné"), ("sitzung", "kundennummer")],
)  # fmt: skip
def test_a_session_is_not_taken_for_a_person_where_one_is_named(tmp_path, session, person):
    (tmp_path / "log.csv").write_text(table([session, person, "query"], ["s{n}", "p{who}", "tea"]), encoding="utf-8")
    with pytest.raises(InputError, match="columns="):
        coterie.read(tmp_path / "log.csv")


@pytest.mark.parametrize("answer", ["ja", "Nein", "sí", "CONS/{n}", "oui"])
def test_answers_and_codes_are_no_searches(tmp_path, answer):
    (tmp_path / "log.csv").write_text(table(["user", "consulta"], ["u{who}", answer]), encoding="utf-8")
    with pytest.raises(InputError):
        coterie.read(tmp_path / "log.csv")
