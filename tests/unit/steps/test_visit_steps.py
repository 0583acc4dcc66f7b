"""Steps for access logs: what follows the page is cut, assets and bots are left out, visitors are told by browser.

Covers: steps/default.py, steps/drop_assets.py, steps/drop_bots.py, steps/strip_query.py, steps/visitors.py
"""

import gzip
import json
import os
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie import jobs
from coterie.core.shapes import VISITS
from coterie.errors import InputError, ParameterError
from coterie.methods.suppress_rare import SuppressRare
from coterie.steps import parse_steps, spelled, step_of
from coterie.steps.default import Default, default_steps
from coterie.steps.drop_assets import ENDINGS
from coterie.steps.drop_bots import DropBots
from coterie.steps.strip_query import StripQuery
from coterie.testing import queries_log, visits_log
from coterie.writing.target import Target
from tests.helpers.examples import examples
from tests.helpers.tasks import how

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:{0}.0) Gecko/20100101 Firefox/{0}.{1}"
BOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
START = datetime(2020, 2, 3, 9)


def _log(**columns):
    """An access log with some columns given."""
    rows = len(next(iter(columns.values())))
    given = {
        name: columns.get(name, [None] * rows) for name in ("user", "address", "time", "path", "referrer", "agent")
    }
    given["path"] = columns.get("path", ["/"] * rows)
    types = {name: VISITS.schema[name] for name in given}
    return coterie.log(pl.DataFrame(given, schema=types))


def _prepared(steps, **columns):
    return coterie.prepare(_log(**columns), steps)


def _column(name, steps, values):
    return _prepared(steps, **{name: values}).to_polars()[name].to_list()


@pytest.mark.parametrize(
    ("address", "page"),
    [
        ("/a/b", "/a/b"),
        ("/a?x=1", "/a"),
        ("/a?", "/a"),
        ("/a#part", "/a"),
        ("/a#part?x=1", "/a"),
        ("/a?x=1#part?y", "/a"),
        ("/a;jsessionid=F00", "/a"),
        ("/a;JSESSIONID=F00?x=1", "/a"),
        ("/a%3Bjsessionid=F00/b", "/a/b"),
        ("/a;v=1/b;w=2/c?x", "/a/b/c"),
        ("/what%3F", "/what%3F"),
        ("/Ünï cøde?x", "/Ünï cøde"),
        ("/a?x=1\n2", "/a"),
        ("?x=1", ""),
        ("*", "*"),
        ("http://host.example:80/a?b=http://c.example/?d", "http://host.example:80/a"),
    ],
)
def test_what_follows_the_page_is_cut(address, page):
    assert _column("path", "strip_query", [address]) == [page]
    assert _column("referrer", "strip_query", [address]) == [page or None]


@pytest.mark.parametrize(
    ("address", "page"),
    [
        ("/a?id=5", "/a?id=5"),
        ("/a?page=2&token=F00&id=5", "/a?id=5&page=2"),
        ("/a?id=5;sid=F00", "/a?id=5"),
        ("/a?id=5&amp;page=2", "/a?id=5&page=2"),
        ("/a?ID=5&idx=5&xid=5", "/a"),
        ("/a?id=%20%C3%A9+x", "/a?id=%20%C3%A9+x"),
        ("/a?id=2&id=1&id", "/a?id&id=1&id=2"),
        ("/a?id=x=y", "/a?id=x=y"),
        ("/a?x#?id=5", "/a"),
        ("/a;id=4?id=5#id", "/a?id=5"),
        ("/a", "/a"),
    ],
)
def test_parameters_that_stay_stand_in_one_order(address, page):
    for names in ("id,page", "page,id"):
        assert _column("path", [StripQuery(keep_params=names)], [address]) == [page]


@settings(max_examples=examples(50))
@given(st.text("/ab?&;=#%3é ", max_size=12))
def test_cutting_twice_is_cutting_once(address):
    for step in ("strip_query", "strip_query(keep_params=a)"):
        once = _column("path", step, [address])
        assert _column("path", step, once) == once
        assert all(mark not in once[0].partition("?")[0] for mark in "#;")


def test_cuts_are_counted_without_values():
    log = _prepared("strip_query", path=["/a?token=F00", "/b", "/c;x"], referrer=[None, "/d#e", "/f"])
    assert log.history[-1].counts == {"path": 2, "referrer": 1}
    assert log.history[-1].notes == ("strip_query: 2 paths and 1 referrers were cut to their page.",)
    assert _prepared("strip_query", path=["/a"]).history[-1].notes == ()


@pytest.mark.parametrize("names", ["a b", ",", "a,,b", "a=1", "a&b", "a?", 5])
def test_names_of_parameters(names):
    with pytest.raises(ParameterError, match="separated by commas"):
        StripQuery(keep_params=names)


def test_its_spelling_is_read_back():
    step = StripQuery(keep_params="id,page")
    assert spelled(step) == 'strip_query(keep_params="id,page")'
    assert step_of(spelled(step)) == step
    assert parse_steps(f"normalize,{spelled(step)}")[-1] == step


def test_assets_are_left_out():
    assets = [f"/x.{ending}" for ending in ENDINGS.split()]
    assets += ["/a.CSS?v=3", "/a.js;x=1", "/A.Png#x", "/robots.txt", "/ROBOTS.TXT?x", "/favicon.ico", "/favicon.png"]
    assets += ["/favicon", "/sub/favicon.gif", "/browserconfig.xml", "http://host.example/a.gif"]
    pages = ["/", "/css", "/a.css/b", "/a.html", "/a.pdf", "/a.mp4", "/a.json", "/page?x=a.css", "/a.jsp", "/mapless",
             "/robots", "/favicons", "/a#.js", ""]  # fmt: skip
    log = _prepared("drop_assets", path=assets + pages)
    assert log.to_polars()["path"].to_list() == pages
    assert log.history[-1].counts == {"assets": len(assets)}
    assert f"{len(assets)} of {len(assets + pages)} rows" in log.history[-1].notes[0]


def test_the_list_of_assets_is_documented():
    text = (Path(__file__).parents[3] / "docs" / "prepare.md").read_text(encoding="utf-8")
    assert all(f" .{ending}" in text or f", .{ending}" in text for ending in ENDINGS.split())


def test_bots_are_left_out_and_rows_without_an_agent_stay():
    browser = FIREFOX.format(121, 0)
    log = _prepared(
        "drop_bots",
        user=["a", "b", "c", "d", "d", None],
        agent=[browser, BOT, None, browser, browser, browser],
        path=["/", "/", "/", "/robots.txt", "/later", "/robots.txt"],
    )
    assert log.to_polars()["user"].to_list() == ["a", "c", None]
    assert log.history[-1].counts == {"by_agent": 1, "by_robots_txt": 2}
    assert log.history[-1].notes == (
        "drop_bots: 3 of 6 rows are those of programs and were left out.",
        "drop_bots: 1 rows have no agent and stay.",
    )


def test_visitors_who_ask_for_robots_txt_may_stay():
    columns = {"user": ["a", "a"], "agent": [FIREFOX.format(121, 0)] * 2, "path": ["/robots.txt", "/b"]}
    assert _prepared([DropBots(robots_txt=False)], **columns).to_polars().height == 2
    assert _prepared("drop_bots(robots_txt=no)", **columns).steps == ("drop_bots(robots_txt=false)",)
    assert _prepared("drop_bots", **columns).to_polars().height == 0
    assert _prepared("drop_bots", **{**columns, "path": ["/x/robots.txt", "/robots.txt.html"]}).to_polars().height == 2


def test_a_visitor_is_address_browser_and_system():
    old, new, other = FIREFOX.format(121, 0), FIREFOX.format(121, 1), FIREFOX.format(122, 0)
    agents = [old, new, other, old, old, None, None]
    addresses = ["192.0.2.7", "192.0.2.7", "192.0.2.7", "192.0.2.7", "2001:db8::1", "192.0.2.7", None]
    written = [f"{a} {b}" if b else a for a, b in zip(addresses, agents, strict=True)]
    users = [*written[:3], "kim", *written[4:6], "nobody"]
    log = _prepared("visitors", user=users, address=addresses, agent=agents)
    assert log.frame.sort("row").collect()["user"].to_list() == [
        "192.0.2.7 firefox 121 linux other",
        "192.0.2.7 firefox 121 linux other",
        "192.0.2.7 firefox 122 linux other",
        "kim",
        "2001:db8::1 firefox 121 linux other",
        "192.0.2.7",
        "nobody",
    ]
    assert log.history[-1].counts == {"before": 7, "after": 6}
    others = [name for name in VISITS.released if name != "user"]
    before = _log(user=users, address=addresses, agent=agents).frame
    assert log.frame.sort("row").select(others).collect().equals(before.select(others).collect())


def test_sessions_of_visitors_are_those_of_the_paper():
    """One address and browser whose build number changes within half an hour: one session; another browser: its own."""
    agents = [FIREFOX.format(121, 0), FIREFOX.format(121, 1), FIREFOX.format(122, 0), FIREFOX.format(121, 0)]
    times = [START + timedelta(minutes=minutes) for minutes in (0, 30, 31, 61)]
    log = _log(user=[f"192.0.2.7 {agent}" for agent in agents], address=["192.0.2.7"] * 4, agent=agents, time=times)
    keys = ("user", "session")
    assert coterie.prepare(log, "sessions").frame.select(keys).unique().collect().height == 4
    assert coterie.prepare(log, "visitors,sessions").frame.select(keys).unique().collect().height == 3


@pytest.mark.parametrize("name", ["strip_query", "drop_assets", "drop_bots", "visitors"])
def test_other_logs_are_refused(name):
    with pytest.raises(InputError, match=f"The step {name} is for access logs"):
        coterie.prepare(queries_log(), name)


@pytest.mark.parametrize("name", ["strip_query", "drop_assets", "drop_bots", "visitors"])
def test_an_empty_log_stays_empty(name):
    log = visits_log()
    empty = replace(log, frame=log.frame.clear())
    assert coterie.prepare(empty, name).to_polars().is_empty()


def test_default_steps_follow_the_shape():
    assert coterie.prepare(queries_log()).steps == ("normalize", "drop_empty")
    assert coterie.prepare(visits_log()).steps == ("strip_query", "normalize", "drop_empty")
    assert coterie.prepare(visits_log(), "default,drop_assets").steps[-1] == "drop_assets"
    assert coterie.prepare(visits_log(), [Default()]).steps == default_steps(VISITS)
    assert _column("path", "default", ["?x=1", "-", "/a ?x=1", "/A"]) == ["/a", "/A"]


def test_a_release_of_an_access_log_has_no_query_strings(tmp_path):
    lines = "".join(
        f'192.0.2.{n} - - [03/Feb/2020:09:00:0{n} +0000] "GET /a?token={n}F00 HTTP/1.1" 200 1 "-" "Browser/1"\n'
        for n in range(5)
    )
    (tmp_path / "access.log").write_text(lines)
    told = []
    jobs.anonymize_files(
        [str(tmp_path / "access.log")],
        [SuppressRare(k=5)],
        Target(path=str(tmp_path / "out.tsv")).for_each([5]),
        **how(steps=parse_steps("default"), seed=1, note=told.append),
    )
    rows = pl.read_csv(tmp_path / "out.tsv", separator="\t")
    assert rows["path"].to_list() == ["/a"] * 5
    assert json.loads((tmp_path / "out.tsv.json").read_text())["prepare"] == ["strip_query", "normalize", "drop_empty"]
    assert "strip_query: 5 paths and 0 referrers were cut to their page." in told
    assert coterie.verify(tmp_path / "out.tsv", coterie.read(tmp_path / "access.log")).exit_code == 0


def test_real_access_logs():
    folder = Path(os.environ.get("COTERIE_DATA", ""))
    if not (folder / "access_semicomplete_2015.log.gz").is_file():
        pytest.skip("needs the access logs in COTERIE_DATA")
    log = coterie.read(folder / "access_semicomplete_2015.log.gz")
    with gzip.open(folder / "access_semicomplete_2015.log.gz") as lines:
        rows = sum(1 for _ in lines)
    done = coterie.prepare(log, "default,drop_bots,drop_assets,visitors,sessions")
    left = done.frame.select(pl.len()).collect().item()
    lost = sum(sum(step.counts.values()) for step in done.history if step.name in ("drop_bots", "drop_assets"))
    assert left + lost == rows
    assert 0 < left < rows
    assert not done.to_polars()["path"].str.contains("[?;#]").any()
