from datetime import datetime

import pytest

import coterie

FIELDS = (
    "#Fields: date time cs-method cs-uri-stem cs-uri-query cs-username c-ip cs(User-Agent) cs(Referer) sc-status "
    "sc-bytes\n"
)
NINE = datetime(2020, 2, 3, 9)


def line(stem="/a", asked="-", name="-", ip="192.0.2.7", agent="Browser/1+(X11)", status="200"):
    return f"2020-02-03 09:00:00 GET {stem} {asked} {name} {ip} {agent} https://r.example/?q=a {status} 512\n"


def test_lines(write, rows):
    log = coterie.read(
        write("u_ex.log", "#Software: IIS\n#Version: 1.0\n" + FIELDS + line() + line("/s", "q=tea", "kim"))
    )
    assert log.shape.name == "VISITS"
    agent, referrer = "Browser/1 (X11)", "https://r.example/?q=a"
    assert rows(log) == [
        (f"192.0.2.7 {agent}", "192.0.2.7", NINE, "GET", "/a", 200, 512, referrer, agent),
        ("kim", "192.0.2.7", NINE, "GET", "/s?q=tea", 200, 512, referrer, agent),
    ]


def test_fields_may_come_again_with_others(write, rows):
    other = "#Fields: time date c-ip cs-uri-stem\n09:00:01 2020-02-03 192.0.2.8 /b\n"
    log = coterie.read(write("u_ex.log", FIELDS + line() + other + FIELDS + line("/c")))
    assert rows(log, "path") == [("/a",), ("/b",), ("/c",)]
    assert rows(log, "user")[1] == ("192.0.2.8",)
    assert "1 of 3 lines: no agent" in log.notes[0]


def test_tabs_separate_fields_of_cloudfront(write, rows):
    text = FIELDS + line(agent="Browser%201").replace(" ", "\t")
    assert rows(coterie.read(write("e.log", text)), "path", "agent") == [("/a", "Browser 1")]


def test_searches_are_reached(write, rows):
    text = FIELDS + line("/s", "q=red+shoes") + line("/s", "q=caf%C3%A9", ip="192.0.2.8")
    log = coterie.read(write("u_ex.log", text), query_param="q")
    assert rows(log, "query") == [("red shoes",), ("café",)]


@pytest.mark.parametrize(("broken", "why"), [
    (line(stem="/a b"), "columns"), (line(status="abc"), "status"), (line().replace("2020-02-03", "today"), "time"),
])  # fmt: skip
def test_bad_lines(write, broken, why):
    log = coterie.read(write("u_ex.log", FIELDS + line() * 120 + broken))
    assert f"u_ex.log line 122, {why}" in log.notes[0]


def test_a_line_before_any_field_is_bad(write):
    log = coterie.read(write("u_ex.log", line() + FIELDS + line() * 120), format="w3c")
    assert "line 1, columns" in log.notes[0]
