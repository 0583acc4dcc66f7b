import json
from datetime import datetime

import pytest

import coterie
from coterie.errors import InputError

QUERY = {"query_id": "q1", "client_id": "c1", "user_query": "red shoes",
         "timestamp": "2025-01-02T03:04:05.678Z"}  # fmt: skip
OTHER = {"query_id": "q2", "client_id": "c2", "user_query": "blue hats",
         "timestamp": "2025-01-02T03:04:06+0000"}  # fmt: skip
FIRST = datetime(2025, 1, 2, 3, 4, 5, 678000)
SECOND = datetime(2025, 1, 2, 3, 4, 6)


def event(query_id="q1", action="click", object_id="o1", position=None, **more):
    document = {"action_name": action, "query_id": query_id, "client_id": "c1", "message": None,
                "timestamp": "2025-01-02T03:05:00Z",
                "event_attributes": {"object": {"object_id": object_id}}}  # fmt: skip
    if position is not None:
        document["event_attributes"]["position"] = position
    return {**document, **more}


CLICK = event(position={"ordinal": 3})
DOCUMENTS = [QUERY, OTHER, CLICK]
EXPECTED = {
    ("c1", FIRST, "red shoes", 3, "o1"),
    ("c2", SECOND, "blue hats", None, None),
}


def ndjson(*documents):
    return "".join(json.dumps(document) + "\n" for document in documents)


def bulk(*documents):
    lines = []
    for document in documents:
        index = "ubi_events" if "action_name" in document else "ubi_queries"
        lines += [{"index": {"_index": index, "_id": "x"}}, document]
    return ndjson(*lines)


def hits(*documents):
    found = [{"_index": "ubi_queries", "_id": str(i), "_source": d} for i, d in enumerate(documents)]
    return {"took": 1, "timed_out": False, "hits": {"total": {"value": 3}, "hits": found}}


@pytest.mark.parametrize(
    "text",
    [
        ndjson(*DOCUMENTS),
        ndjson(CLICK, QUERY, OTHER),
        bulk(*DOCUMENTS),
        bulk(*DOCUMENTS).replace("\n", "\r\n") + "\r\n\r\n",
        json.dumps(DOCUMENTS),
        "\ufeff  \n " + json.dumps(DOCUMENTS, indent=2),
        "[\n" + ",\n".join(map(json.dumps, DOCUMENTS)) + "\n]\n",
        ndjson([QUERY, CLICK], [OTHER]),
        ndjson(hits(*DOCUMENTS)),
        ndjson(hits(*DOCUMENTS)["hits"]),
        json.dumps(hits(*DOCUMENTS), indent=4),
        "\n\n".join(json.dumps(d, indent=1) for d in DOCUMENTS),
        ndjson(*({"_index": "i", "_source": d} for d in DOCUMENTS)),
    ],
    ids=["ndjson", "events-first", "bulk", "bulk-crlf", "array", "array-indented", "array-lines",
         "line-arrays", "hits", "inner-hits", "hits-indented", "documents-indented", "sources"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["u.ndjson", "u.json.gz", "u.zst"])
def test_layouts(write, rows, name, text):
    log = coterie.read(write(name, text))
    assert set(rows(log)) == EXPECTED
    assert log.history[0].counts == {"lines": 2, "bad": 0}


def test_camel_case(write, rows):
    def camel(value):
        if isinstance(value, dict):
            return {k.split("_")[0] + "".join(w.title() for w in k.split("_")[1:]): camel(v)
                    for k, v in value.items()}  # fmt: skip
        return value

    text = json.dumps([camel(document) for document in DOCUMENTS])
    assert '"eventAttributes"' in text
    assert set(rows(coterie.read(write("u.json", text)))) == EXPECTED


def test_a_row_for_each_click(write, rows):
    clicks = [event(object_id="o1", position={"ordinal": 1}), event(object_id="o9"),
              event(action="purchase"), event(action="item_click", object_id="o1")]  # fmt: skip
    log = coterie.read(write("u.ndjson", ndjson(QUERY, *clicks, OTHER)))
    assert rows(log, "query", "rank", "url") == [
        ("red shoes", 1, "o1"),
        ("red shoes", None, "o9"),
        ("red shoes", None, "o1"),
        ("blue hats", None, None),
    ]


@pytest.mark.parametrize(
    ("attributes", "rank", "url"),
    [
        ({"object": {"object_id": 17}, "position": {"ordinal": 0}}, 0, "17"),
        ({"object": {"object_id": "o"}, "position": {"ordinal": "4"}}, 4, "o"),
        ({"object": {"object_id": "o"}, "position": {"xy": {"x": 1, "y": 2.5}}}, None, "o"),
        ({"object": {"object_id": "o"}, "position": {}}, None, "o"),
        ({"object": {"object_id": "o"}, "position": {"ordinal": 10**12}}, None, "o"),
        ({"object": {"object_id": ["o"]}}, None, None),
        ({"object": None, "position": 3}, None, None),
        ({}, None, None),
        (None, None, None),
    ],
)
def test_clicks(write, rows, attributes, rank, url):
    click = {**event(), "event_attributes": attributes}
    log = coterie.read(write("u.ndjson", ndjson(QUERY, click)))
    assert rows(log, "rank", "url") == [(rank, url)]


def test_events_without_a_known_query_are_left_out(write, rows):
    lonely = event()
    del lonely["query_id"]
    text = ndjson(QUERY, lonely, event("q99"), event(None), event(""), {**QUERY, "query_id": None})
    assert rows(coterie.read(write("u.ndjson", text)), "query", "url") == [("red shoes", None)] * 2


def test_an_event_with_a_query_text_is_not_a_query(write, rows):
    text = ndjson(OTHER, event("q99", user_query="elsewhere"))
    assert rows(coterie.read(write("u.ndjson", text)), "query") == [("blue hats",)]


def test_a_query_logged_twice_gets_its_clicks_once(write, rows):
    log = coterie.read(write("u.ndjson", ndjson(QUERY, QUERY, CLICK)))
    assert sorted(rows(log, "url"), key=str) == [("o1",), (None,)]


def test_several_files(write, rows):
    first, second = (
        write("a.ndjson", ndjson(QUERY)),
        write("b.json", json.dumps([OTHER, CLICK], indent=1)),
    )
    assert set(rows(coterie.read([first, second]))) == EXPECTED


@pytest.mark.parametrize(
    ("field", "user"),
    [
        (None, "u5"),
        ("client_id", "c1"),
        ("user_id", "u5"),
        ("session_id", "s6"),
        ("query_attributes.shopper.id", "8"),
        ("query_attributes.nothing", None),
        ("query_attributes", None),
        ("user_query.x", None),
    ],
)
def test_user_field(write, rows, field, user):
    query = {
        **QUERY,
        "user_id": "u5",
        "sessionId": "s6",
        "query_attributes": {"shopper": {"id": 8}},
    }
    log = coterie.read(write("u.ndjson", ndjson(query)), user_field=field)
    assert rows(log, "user") == [(user,)]


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2025-01-02T03:04:05Z", datetime(2025, 1, 2, 3, 4, 5)),
        ("2025-01-02T03:04:05.250Z", datetime(2025, 1, 2, 3, 4, 5, 250000)),
        ("2025-01-02T03:04:05.25+0000", datetime(2025, 1, 2, 3, 4, 5, 250000)),
        ("2025-01-02T03:04:05+01:00", datetime(2025, 1, 2, 2, 4, 5)),
        ("2025-01-02T03:04:05-0530", datetime(2025, 1, 2, 8, 34, 5)),
        ("2025-01-02T03:04:05", datetime(2025, 1, 2, 3, 4, 5)),
        ("2025-01-02T03:04:05.123456789", datetime(2025, 1, 2, 3, 4, 5, 123456)),
        ("2025-01-02 03:04:05", datetime(2025, 1, 2, 3, 4, 5)),
        ("2025-01-02", datetime(2025, 1, 2)),
        (1735787045, datetime(2025, 1, 2, 3, 4, 5)),
        (1735787045250, datetime(2025, 1, 2, 3, 4, 5, 250000)),
        (None, None),
        ("", None),
    ],
)
def test_times(write, rows, text, time):
    documents = [{**QUERY, "timestamp": text}, OTHER]
    log = coterie.read(write("u.ndjson", ndjson(*documents)))
    assert rows(log, "time") == [(time,), (SECOND,)]


def test_odd_documents(write, rows):
    odd = [{"query_id": "r1"}, {"user_query": None}, {"user_query": ""}, {"user_query": {"a": 1}},
           {"user_query": "a\tb\r\nc\u2028d\x85e", "client_id": ""}, {"user_query": 7, "client_id": 8}]  # fmt: skip
    log = coterie.read(write("u.ndjson", ndjson(*odd)), format="ubi")
    assert rows(log, "user", "query") == [
        (None, ""), (None, ""), (None, "a b c\u2028d\x85e"), ("8", "7"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"user_query": "x"', "columns"),
        ("null", "columns"),
        ("17", "columns"),
        ('"x"', "columns"),
        ('{"user_query": "\\ud800"}', "columns"),
        (b'{"user_query": "\xff"}', "columns"),
        ('{"user_query": "x", "timestamp": "noon"}', "time"),
    ],
)
def test_bad_lines(write, line, reason):
    raw = line if isinstance(line, bytes) else line.encode()
    first = write("a.ndjson", ndjson(QUERY) + "\n")
    second = write("b.ndjson", bulk(OTHER).encode() + b"\n" + raw + b"\n")
    with pytest.raises(InputError, match=rf"1 of 3 lines .* The first: b\.ndjson line 4, {reason} \("):
        coterie.read([first, second])


def test_a_bad_item_of_an_array(write):
    path = write("a.json", json.dumps([QUERY, 17, {**OTHER, "timestamp": "noon"}], indent=1))
    with pytest.raises(InputError, match=r"a\.json item 2, columns .*; a\.json item 3, time"):
        coterie.read(path)


@pytest.mark.parametrize("text", ["[\n" + json.dumps(QUERY), json.dumps(hits(QUERY), indent=1)[:-3]])
def test_a_cut_document(write, text):
    with pytest.raises(InputError):
        coterie.read(write("a.json", text), format="ubi")


def test_nothing_but_events(write):
    with pytest.raises(InputError, match="no log to read"):
        coterie.read(write("a.ndjson", ndjson(CLICK)))
