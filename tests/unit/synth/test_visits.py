"""The synthetic access log: deterministic, read back as it was made, with the kinds of rows that real ones have.

Tolerances are wide enough for any seed.
"""

from __future__ import annotations

import ipaddress
from functools import cache
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import coterie
from coterie import jobs, synth
from coterie.core.shapes import VISITS
from coterie.errors import ParameterError
from coterie.synth import visits
from coterie.synth._kit import BOTS, BROWSERS, UPDATED
from coterie.text.agents import VISITOR_PARTS, parse_agents

DIGEST = "e562a6b52efcc488"


@cache
def log(users: int = 1_000, seed: int = 7) -> pl.DataFrame:
    return synth.synthesize(users, seed, "visits")


@cache
def pages() -> pl.DataFrame:
    """What people asked for, in sessions."""
    made = coterie.read("synth:users=1000,seed=7,kind=visits")
    return coterie.prepare(made, "default,drop_bots,drop_assets,sessions").frame.collect()


def share(column: str, pattern: str) -> float:
    return log().select(pl.col(column).str.contains(pattern).fill_null(False).mean()).item()


def test_the_bytes_are_held() -> None:
    assert sha256(log(100).write_csv().encode()).hexdigest()[:16] == DIGEST


def test_one_seed_one_log() -> None:
    assert_frame_equal(log(50, 3), synth.synthesize(50, 3, "visits"))
    assert not log(50, 3).equals(log(50, 4))


def test_columns_and_order() -> None:
    rows = log()
    assert list(rows.schema.items()) == [(name, VISITS.schema[name]) for name in VISITS.released]
    assert rows["time"].is_sorted()
    assert rows["time"].dt.truncate("1s").equals(rows["time"])
    assert rows["time"].dt.date().n_unique() == visits.DAYS
    assert rows.select("user", "address", "time", "path", "status", "bytes").null_count().row(0) == (0,) * 6
    assert pytest.approx(rows.height / 1_000, rel=0.2) == visits.LINES_MEAN


@pytest.mark.parametrize("users", [1, 2, 30])
def test_any_number_of_users(users: int) -> None:
    rows = synth.synthesize(users, 5, "visits")
    assert 1 <= rows.select("user").n_unique() <= 2 * users + 1, "some bring their browser up to date"


@pytest.mark.parametrize("name", ["log.log", "log.txt", "log.log.gz", "log.log.zst"])
def test_what_is_written_is_read_as_it_was_made(name: str, tmp_path: Path) -> None:
    rows = jobs.write_synthetic(tmp_path / name, 200, seed=7, kind="visits")
    read = coterie.read(tmp_path / name)
    assert read.history[0].counts == {"lines": rows, "bad": 0}
    assert_frame_equal(read.to_polars(), coterie.read("synth:users=200,kind=visits").to_polars())


def test_other_names_of_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"an access log: name it \.log"):
        jobs.write_synthetic(tmp_path / "log.tsv", 20, kind="visits")
    with pytest.raises(ParameterError, match=r"AOL's layout: name it \.tsv"):
        jobs.write_synthetic(tmp_path / "log.log", 20)


def test_lines_that_are_no_requests_are_written_as_servers_write_them(tmp_path: Path) -> None:
    synth.write(tmp_path / "log.log", 1_000, 7, "visits")
    lines = (tmp_path / "log.log").read_text(encoding="utf-8").splitlines()
    odd = [line for line in lines if ' "-" 400 ' in line or r' "\x16\x03\x01" 400 ' in line]
    assert len(odd) == log().filter(pl.col("path") == "").height > 0


def test_addresses_are_nobodys() -> None:
    four, six = ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("2001:db8::/32")
    addresses = [ipaddress.ip_address(text) for text in log()["address"].unique()]
    assert all(address in (four if address.version == 4 else six) for address in addresses)
    assert {address.version for address in addresses} == {4, 6}
    shared = log().group_by("address").agg(pl.col("user").n_unique())["user"]
    assert shared.max() > 2


def test_agents_are_known_to_those_who_read_them() -> None:
    people, programs = parse_agents(pl.Series(BROWSERS)), parse_agents(pl.Series(BOTS))
    assert not people["bot"].any()
    assert programs["bot"].to_list() == [True] * (len(BOTS) - visits.PRETENDERS) + [False] * visits.PRETENDERS
    assert (people["browser"] != "other").all()
    assert people["browser"].n_unique() > 15
    assert people["system"].n_unique() > 6
    assert len(set(BROWSERS + BOTS)) == len(BROWSERS + BOTS)
    assert all("{" not in agent and "  " not in agent for agent in BROWSERS + BOTS)


def test_an_updated_browser_is_the_same_browser() -> None:
    parts = parse_agents(pl.Series(BROWSERS))
    later = parts[UPDATED]
    assert (range(len(UPDATED)) <= UPDATED).all()
    assert parts.select("browser", "system").equals(later.select("browser", "system"))
    assert not parts.select(VISITOR_PARTS).equals(later.select(VISITOR_PARTS))


def test_there_are_programs_assets_and_names() -> None:
    made = coterie.prepare(coterie.read("synth:users=1000,seed=7,kind=visits"), "drop_bots,drop_assets")
    bots, assets = (step.counts for step in made.history[-2:])
    rows = log().height
    assert 0.15 < sum(bots.values()) / rows < 0.4
    assert bots["by_robots_txt"] > 0, "some pretend to be browsers"
    assert 0.4 < assets["assets"] / rows < 0.65
    named = log().filter(pl.col("user").str.contains("^[a-z]+$"))
    assert 2 < named["user"].n_unique() < 30


def test_sessions_are_short_and_some_visitors_return() -> None:
    sessions = pages().group_by("user", "session").len()
    assert 0.45 < (sessions["len"] == 1).mean() < 0.7
    assert 1.8 < sessions["len"].mean() < 3
    assert 0.08 < (sessions.group_by("user").len()["len"] > 1).mean() < 0.25


def test_pages_are_a_tree_with_popular_ones() -> None:
    popular = pages()["path"].value_counts(sort=True)
    assert popular["path"][0] == "/"
    assert 0.03 < popular["count"][0] / pages().height < 0.2
    crowds = pages().group_by("path").agg(pl.col("user").n_unique())
    assert 50 < (crowds["user"] >= 5).sum() < crowds.height, "some pages have five visitors, some have not"
    deep = pages().filter(pl.col("path").str.contains(r"\.html$") & ~pl.col("path").str.starts_with("/old/"))
    above = deep.select(pl.col("path").str.replace("[^/]+$", "")).to_series().unique()
    assert above.is_in(visits._site(1_000, 7).paths.to_list()).all()


def test_people_walk_along_the_tree() -> None:
    """Most pages after the first one lead on from the one before: below it, above it, beside it."""
    steps = pages().sort("user", "session", "time").with_columns(
        before=pl.col("path").shift(1).over("user", "session"),
        folder=pl.col("path").str.replace("[^/]*/?$", ""),
    ).drop_nulls("before")  # fmt: skip
    near = steps.select(
        (pl.col("folder") == pl.col("before"))
        | (pl.col("folder") == pl.col("before").str.replace("[^/]*/?$", ""))
        | pl.col("before").str.starts_with(pl.col("path"))
    ).to_series()
    assert near.mean() > 0.5


def test_referrers() -> None:
    landing = pages().sort("time").group_by("user", "session").first()
    inside = pl.col("referrer").str.starts_with(visits._site(1_000, 7).host)
    assert landing.select(inside.sum()).item() < 0.05 * landing.height
    assert 0.3 < landing["referrer"].is_null().mean() < 0.5
    assert pages().filter(pl.col("session").is_not_null()).select(inside.mean()).item() > 0.4
    assert share("referrer", r"(google|bing|duckduckgo|yahoo)\.com/.*[?&][qp]=.") > 0.005


def test_what_follows_pages() -> None:
    for pattern in (
        r"\?token=[0-9a-f]{32}$",
        r"\?sid=",
        ";jsessionid=",
        r"\?page=[2-5]$",
        "utm_campaign=",
        r"\?q=[a-z]",
    ):
        assert 0 < share("path", pattern) < 0.05, pattern
    assert share("referrer", "token=|sid=|jsessionid=") > 0, "referrers pass tokens on"
    assert set(log()["status"]) >= {200, 301, 302, 304, 400, 404}
    assert set(log()["method"].drop_nulls()) == {"GET", "POST", "HEAD"}
    assert (log().filter(pl.col("status") == 304)["bytes"] == 0).all()


def test_days_have_nights_and_weeks_have_weekends() -> None:
    hours = pages().group_by(pl.col("time").dt.hour()).len()
    by_hour = dict(hours.iter_rows())
    assert sum(by_hour.get(hour, 0) for hour in (2, 3, 4)) < 0.4 * sum(by_hour.get(hour, 0) for hour in (14, 15, 16))
    days = pages().group_by(weekend=pl.col("time").dt.weekday() > 5).len().sort("weekend")["len"]
    assert days[1] / 8 < 0.85 * days[0] / 20


def test_the_site_grows_with_its_visitors() -> None:
    assert visits._site(1_000, 7).pages < visits._site(10_000, 7).pages < 10 * visits._site(1_000, 7).pages
