from datetime import datetime

import pytest

import coterie
from coterie.errors import InputError

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
    ["2001:db8::1", "::1", "host.example.net", "123.213.122.x", "10.0.0.1, 10.9.9.9", "unknown"],
)
@pytest.mark.parametrize("name", ["-", "frank", "John Q. Public"])
def test_addresses_and_names(write, rows, address, name):
    line = COMBINED.replace("10.0.0.1 - -", f"{address} - {name}")
    user = f"{address} Agent/1.0 (a; b)" if name == "-" else name
    assert one(write, rows, line, "user", "address", "path") == (user, address, "/a?q=1")


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
    ],
)
def test_bad_lines(write, line, reason):
    with pytest.raises(InputError, match=rf"a\.log line 3, {reason} \("):
        coterie.read(write("a.log", COMMON + "\n\n" + line + "\n"))


def test_sniffing_a_long_line_is_quick(write):
    with pytest.raises(InputError, match="none of the known formats"):
        coterie.read(write("a.log", "a, " * 400_000 + "[" * 100_000))
