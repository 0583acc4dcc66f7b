from datetime import datetime

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie.errors import InputError
from coterie.reading.formats import clf
from tests.helpers.examples import examples

TIME = "[10/Oct/2000:13:55:36 -0700]"
UTC = datetime(2000, 10, 10, 20, 55, 36)
COMMON = f'10.0.0.1 - - {TIME} "GET /a?q=1 HTTP/1.0" 200 2326'
COMBINED = COMMON + ' "http://from.example/?q=x" "Agent/1.0 (a; b)"'
COLUMNS = ("user", "address", "time", "method", "path", "status", "bytes", "referrer", "agent")
PLAIN = ("10.0.0.1", "10.0.0.1", UTC, "GET", "/a?q=1", 200, 2326, None, None)
FULL = (
    "10.0.0.1 Agent/1.0 (a; b)", "10.0.0.1", UTC, "GET", "/a?q=1", 200, 2326,
    "http://from.example/?q=x", "Agent/1.0 (a; b)",
)  # fmt: skip


def one(write, rows, line, *columns):
    log = coterie.read(write("a.log", line + "\n"))
    assert log.shape.name == "VISITS"
    (row,) = rows(log, *(columns or COLUMNS))
    return row


def test_common(write, rows):
    assert one(write, rows, COMMON) == PLAIN


def test_combined(write, rows):
    assert one(write, rows, COMBINED) == FULL


@pytest.mark.parametrize("host", ["www.example.org:80", "www.example.org", "[2001:db8::9]:443"])
def test_virtual_hosts(write, rows, host):
    assert one(write, rows, f"{host} {COMBINED}") == FULL
    named = f"{host} {COMMON}".replace("- -", "- John Q. Public")
    assert one(write, rows, named, "user", "address") == ("John Q. Public", "10.0.0.1")


@pytest.mark.parametrize("more", [" 120 4500", ' "-"', ' "10.1.1.1, 10.2.2.2" 0.005', ' "cookie=a; b=\\"c\\"" rt=0.1'])
def test_trailing_fields(write, rows, more):
    assert one(write, rows, COMBINED + more) == FULL


@pytest.mark.parametrize(
    "address",
    ["2001:db8::1", "::1", "[2001:db8::1]", "host.example.net", "123.213.122.x", "10.0.0.0", "unknown"],
)
@pytest.mark.parametrize("name", ["-", "frank", "John Q. Public"])
def test_addresses_and_names(write, rows, address, name):
    line = COMBINED.replace("10.0.0.1 - -", f"{address} - {name}")
    user = f"{address} Agent/1.0 (a; b)" if name == "-" else name
    assert one(write, rows, line, "user", "address", "path") == (user, address, "/a?q=1")


@pytest.mark.parametrize("addresses", ["10.0.0.1, 10.9.9.9", "10.0.0.1,10.9.9.9", "10.0.0.1, unknown, -, ::1"])
@pytest.mark.parametrize("host", ["", "www.example.org:80 "])
@pytest.mark.parametrize("name", ["-", "John Q. Public"])
def test_the_first_of_several_addresses_is_taken(write, rows, addresses, host, name):
    line = host + COMBINED.replace("10.0.0.1 - -", f"{addresses} - {name}")
    user = "10.0.0.1 Agent/1.0 (a; b)" if name == "-" else name
    assert one(write, rows, line, "user", "address", "path") == (user, "10.0.0.1", "/a?q=1")


@pytest.mark.parametrize("host", ["", "www.example.org:80 "])
def test_without_an_address_nobody_is_counted(write, rows, host):
    line = host + COMBINED.replace("10.0.0.1 - -", "- - -")
    assert one(write, rows, line, "user", "address", "agent") == (None, None, "Agent/1.0 (a; b)")
    named = host + COMBINED.replace("10.0.0.1 - -", "- - kim")
    assert one(write, rows, named, "user", "address") == ("kim", None)


def test_identity_and_name(write, rows):
    line = COMMON.replace("- -", "user-identifier frank")
    assert one(write, rows, line, "user", "address") == ("frank", "10.0.0.1")
    line = COMMON.replace("- -", "user-identifier -")
    assert one(write, rows, line, "user", "address") == ("10.0.0.1", "10.0.0.1")


@pytest.mark.parametrize(
    ("request_", "method", "path"),
    [
        ("GET /a HTTP/1.1", "GET", "/a"),
        ("GET /a", "GET", "/a"),
        ("GET /a b c HTTP/1.1", "GET", "/a b c"),
        (r"GET /a?q=\"x\" HTTP/1.1", "GET", r"/a?q=\"x\""),
        (r"GET /a\\ HTTP/1.1", "GET", r"/a\\"),
        ("M-SEARCH * HTTP/1.1", "M-SEARCH", "*"),
        ("CONNECT x.example:443 HTTP/2.0", "CONNECT", "x.example:443"),
        ("-", None, ""),
        ("", None, ""),
        (r"\x16\x03\x01\x02\x00\x01", None, ""),
        ("get /a HTTP/1.1", None, ""),
    ],
)
def test_requests(write, rows, request_, method, path):
    line = COMBINED.replace("GET /a?q=1 HTTP/1.0", request_)
    assert one(write, rows, line, "method", "path", "agent") == (method, path, "Agent/1.0 (a; b)")


def test_escaped_quotes_in_the_agent(write, rows):
    line = COMBINED.replace("Agent/1.0 (a; b)", r"Agent \"7\" x\\")
    assert one(write, rows, line, "agent", "referrer") == (
        r"Agent \"7\" x\\",
        "http://from.example/?q=x",
    )


def test_dashes_are_missing_values(write, rows):
    line = f'10.0.0.1 - - {TIME} "GET / HTTP/1.0" - - "-" "-"'
    assert one(write, rows, line, "user", "status", "bytes", "referrer", "agent") == (
        "10.0.0.1", None, 0, None, None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("time", "utc"),
    [
        ("01/Jan/2024:00:30:00 +0100", datetime(2023, 12, 31, 23, 30)),
        ("29/Feb/2024:12:00:00 +0000", datetime(2024, 2, 29, 12)),
        ("29/Feb/2024:12:00:00 +0530", datetime(2024, 2, 29, 6, 30)),
        ("29/Feb/2024:12:00:00 -0330", datetime(2024, 2, 29, 15, 30)),
        ("1/Mar/2024:00:30:00 +0100", datetime(2024, 2, 29, 23, 30)),
        ("10/Oct/2000:13:55:36 -0700", UTC),
    ],
)
def test_zones(write, rows, time, utc):
    assert one(write, rows, COMMON.replace(TIME, f"[{time}]"), "time") == (utc,)


@pytest.mark.parametrize("name", ["a.log", "a.log.gz", "a.zst"])
def test_files(write, rows, name):
    text = "\ufeff" + COMMON + "\r\n\r\n" + COMBINED
    assert rows(coterie.read(write(name, text))) == [PLAIN, FULL]


def test_a_tab_is_a_space(write, rows):
    assert one(write, rows, COMBINED.replace("Agent/1.0", "Agent\t1.0"), "agent") == ("Agent 1.0 (a; b)",)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("no access log", "columns"),
        (COMMON.replace(' "GET', " GET"), "columns"),
        (COMMON.replace("200", "twohundred"), "columns"),
        (COMMON.replace("Oct", "Okt"), "time"),
        (COMMON.replace(" -0700", ""), "time"),
        (COMMON.replace("-0700", "-07"), "time"),
        (COMMON.replace("10/Oct", "31/Feb"), "time"),
    ],
)
def test_bad_lines(write, line, reason):
    with pytest.raises(InputError, match=rf"a\.log line 3, {reason} \("):
        coterie.read(write("a.log", COMMON + "\n\n" + line + "\n"))


def notes_of(write, *lines):
    data = b"".join(line if isinstance(line, bytes) else line.encode() + b"\n" for line in lines)
    log = coterie.read(write("a.log", data), format="clf", allow_bad=True)
    return {note.partition(": ")[0]: note.partition(": ")[2] for note in log.history[0].notes}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("GET /a?q=1 HTTP/1.0", "-", "no request"),
        ("GET /a?q=1 HTTP/1.0", "", "no request"),
        ("GET /a?q=1 HTTP/1.0", r"\x16\x03\x01\x02\x00\x01\"", "no words in place of a request"),
        ("10.0.0.1 ", "10.0.0.1, 10.0.0.2 ", "a list of addresses, of which the first was taken"),
        ("10.0.0.1 ", "10.0.0.0 ", "an address that looks masked"),
        ("10.0.0.1 ", "10.0.x.x ", "an address that looks masked"),
        ("10.0.0.1 ", "2001:db8:: ", "an address that looks masked"),
        ("10.0.0.1 ", "- ", "neither an address nor a name"),
        (' "http://from.example/?q=x" "Agent/1.0 (a; b)"', "", "no referrer and no agent"),
    ],
)
def test_unusual_lines_are_told(write, old, new, said):
    assert not notes_of(write, COMBINED, COMBINED)
    notes = notes_of(write, COMBINED, COMBINED.replace(old, new), COMBINED)
    assert list(notes) == ["1 of 3 lines"]
    assert notes["1 of 3 lines"].startswith(said)


def test_a_line_can_be_unusual_in_several_ways(write):
    line = COMMON.replace("10.0.0.1 ", "10.0.0.0, 10.0.0.2 ").replace("GET /a?q=1 HTTP/1.0", "-")
    log = coterie.read(write("a.log", f"{line}\n{COMBINED}\n"))
    assert len(log.history[0].notes) == 4
    assert log.to_polars().columns == list(log.shape.released)


@pytest.mark.parametrize("host", [b"", b"www.example.org:80 "])
def test_bytes_of_an_encrypted_connection_are_no_bad_line(write, rows, host):
    start, end = COMBINED.encode().split(b"GET /a?q=1 HTTP/1.0")
    line = host + start + b"\x16\x03\x01\x02\x00\x01\xfc\x80\xff" + end + b"\n"
    log = coterie.read(write("a.log", line + COMBINED.encode()))
    assert log.history[0].counts == {"lines": 2, "bad": 0}
    assert rows(log, "path", "method", "agent") == [("", None, FULL[-1]), ("/a?q=1", "GET", FULL[-1])]
    (note,) = log.history[0].notes
    assert note.startswith("1 of 2 lines: no words in place of a request")


@pytest.mark.parametrize("part", [b"10.0.0.1", b"/a?q=1", b"from.example", b"Agent", b" 200 "])
def test_other_bytes_that_are_no_text_are(write, part):
    line = COMBINED.encode().replace(part, part + b"\xff")
    with pytest.raises(InputError, match=r"a\.log line 1, (?:encoding|columns) \("):
        coterie.read(write("a.log", line + b"\n" + COMBINED.encode()), format="clf")


TOKENS = st.sampled_from(
    ["-", "10.0.0.1", "kim", "host.example:80", "10.0.0.1,", TIME, "[", "]", '"', '""', "200", "2326", '"-"', '"a b"',
     r'"a\"b"', '"GET / HTTP/1.1"', '"GET /a b HTTP/1.1"', '"GET /"', '"get / HTTP/1.1"', '"A"', "é", "", COMMON]
)  # fmt: skip
USUAL = [
    ["10.0.0.1", "-", "-", TIME, '"GET / HTTP/1.1"', "200", "-"],
    ["h", "10.0.0.1", "-", "kim", TIME, '"GET / HTTP/1.1"', "200", "7", '"-"', '"b"'],
]


@st.composite
def strange_lines(draw):
    tokens = list(draw(st.sampled_from(USUAL)))
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(tokens)))
        tokens[place : place + draw(st.integers(0, 2))] = [draw(TOKENS)]
    return " ".join(tokens)


@settings(max_examples=examples(40))
@given(st.lists(strange_lines(), min_size=1, max_size=20))
def test_usual_lines_are_read_as_all_others_are(lines):
    frame = pl.LazyFrame({"row": range(len(lines)), "line": lines}, schema={"row": pl.UInt64, "line": pl.String})
    quick = clf._parts(frame).drop("request").collect()
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(clf, "_NUMBERS", "^(?P<status>)(?P<bytes>)$a")
        slow = clf._parts(frame).drop("request").collect()
    assert slow.with_columns(pl.col("_list").fill_null(False)).equals(
        quick.with_columns(pl.col("_list").fill_null(False))
    )


def test_usual_lines_take_the_quick_way(monkeypatch):
    monkeypatch.setattr(clf, "_ANY", f"{clf._ANY}a")  # behind the end: it fits no line
    lines = [" ".join(tokens) for tokens in USUAL] + [COMMON, COMBINED, f"h {COMBINED} 0.5"]
    frame = pl.LazyFrame({"row": range(len(lines)), "line": lines}, schema={"row": pl.UInt64, "line": pl.String})
    assert clf._parts(frame).collect()["time"].null_count() == 0


def test_sniffing_a_long_line_is_quick(write):
    with pytest.raises(InputError, match="none of the known formats"):
        coterie.read(write("a.log", "a, " * 400_000 + "[" * 100_000))
