"""Browsers, systems and bots are told from the text with which they name themselves."""

import subprocess
import sys

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.errors import MissingError
from coterie.text import agents
from coterie.text.agents import PARTS, parse_agents, parse_browsers
from tests.helpers.examples import examples

WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0"
KNOWN = {
    f"{WINDOWS} Safari/537.36": ("chrome", "120", "windows", "10", False),
    f"{WINDOWS} Safari/537.36 Edg/120.0.2210.91": ("edge", "120", "windows", "10", False),
    "Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0": (
        "firefox", "121", "ubuntu", "other", False,
    ),
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/17.2 Mobile/15E148 Safari/604.1": ("mobile safari", "17", "ios", "17.2", False),
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.1 "
    "Safari/605.1.15": ("safari", "17", "mac os x", "10.15", False),
    "Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1; SV1)": ("ie", "6", "windows", "xp", False),
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)": (
        "googlebot", "2", "other", "other", True,
    ),
    "curl/8.5.0": ("curl", "8", "other", "other", True),
    "nobody knows": ("other", "other", "other", "other", False),
    "": ("other", "other", "other", "other", False),
}  # fmt: skip
PROGRAMS = ["SomeBot", "a_bot/1", "python-requests/2.31", "Wget/1.21", "Tiny Feed Reader", "x (+https://x.example/)",
            f"{WINDOWS} HeadlessChrome/120.0.0.0 Safari/537.36"]  # fmt: skip
PEOPLE = ["Mozilla/5.0 (Linux; Android 13; CUBOT P80) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/119.0.0.0 Mobile",
          "Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0"]  # fmt: skip


@pytest.mark.parametrize("agent", KNOWN, ids=range(len(KNOWN)))
def test_known_agents(agent):
    assert parse_agents(pl.Series([agent])).row(0) == KNOWN[agent]


def test_programs_and_people():
    assert parse_agents(pl.Series(PROGRAMS))["bot"].all()
    assert not parse_agents(pl.Series(PEOPLE))["bot"].any()


def test_lines_stay_in_place_and_missing_agents_stay_missing():
    first, second, *_ = KNOWN
    parts = parse_agents(pl.Series([second, None, first, second]))
    assert parts.schema == PARTS
    assert parts.rows() == [KNOWN[second], (None,) * len(PARTS), KNOWN[first], KNOWN[second]]
    assert parse_agents(pl.Series([], dtype=pl.String)).schema == PARTS
    assert parse_agents(pl.Series([None])).rows() == [(None,) * len(PARTS)]


def test_browsers_alone_are_the_same():
    agents_of_all = pl.Series([*KNOWN, None, *PROGRAMS, *PEOPLE, *KNOWN])
    assert parse_browsers(agents_of_all).to_list() == parse_agents(agents_of_all)["browser"].to_list()
    assert parse_browsers(pl.Series([], dtype=pl.String)).dtype == pl.String
    assert parse_browsers(pl.Series([None])).to_list() == [None]


@settings(max_examples=examples(30))
@given(st.text(max_size=60))
def test_labels_are_in_lower_case_and_never_empty(agent):
    labels = parse_agents(pl.Series([agent])).row(0)[:-1]
    assert all(label and label == " ".join(label.lower().split()) for label in labels)


def test_distinct_agents_are_looked_at_once(monkeypatch):
    seen = []
    monkeypatch.setattr(agents, "_parts", lambda agent: seen.append(agent) or ("a", "b", "c", "d", False))
    assert parse_agents(pl.Series(["x", "y", "x", "x"])).height == 4
    assert seen == ["x", "y"]


def test_only_the_beginning_of_an_endless_agent_is_looked_at():
    assert parse_agents(pl.Series(["x" * 1_000 + " somebot"]))["bot"].to_list() == [False]


def test_without_the_library_it_says_so(monkeypatch):
    agents._reader.cache_clear()
    monkeypatch.setitem(sys.modules, "ua_parser.regex", None)
    with pytest.raises(MissingError, match=r"ua-parser\[regex\]"):
        parse_agents(pl.Series(["x"]))


def test_it_is_loaded_on_first_use():
    code = (
        "import sys, coterie.api, coterie.cli.main, coterie.text.agents as agents\n"
        "from click.testing import CliRunner\n"
        "assert CliRunner().invoke(coterie.cli.main.cli, ['--help']).exit_code == 0\n"
        "print('ua_parser' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
