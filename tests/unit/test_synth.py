"""The synthetic log: its shape, its determinism, and its calibration against the AOL log.

An event is a distinct (user, query, time). A query follows Q+R when a proper prefix of its words is
itself a query of two or more users; the share is taken over distinct queries of several words.

Covers: synth/topics.py
"""

import gzip
from datetime import datetime
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import zstandard
from polars.testing import assert_frame_equal

from coterie import synth
from coterie.synth import topics

SIZES = (1_000, 5_000, 20_000)

# Quantity, target, tolerance. From counts of the AOL log; lengths are percentages of paper 001, Table 1.
TARGETS = [
    ("lines per user, mean", 55.7, 3.0),
    ("lines per user, median", 20.0, 1.5),
    ("lines per event", 36.39 / 28.90, 0.02),  # rows and events of the whole AOL log
    ("single-user share", 0.90, 0.05),
    ("repeats by the user", 0.35, 0.05),
    ("events with a click", 0.47, 0.05),  # AOL: 41 % of events, 53 % of lines
    ("top query", 0.010, 0.002),
    # A Zipf head is a straight line of log frequency over log rank; query logs are flatter than words.
    ("Zipf head, slope", -0.65, 0.1),
    ("Zipf head, straightness", 1.0, 0.02),
    ("refinements", 0.40, 0.05),
    *[(f"distinct, {n} words", share, 2.5) for n, share in zip(
        "12345", (26.64, 20.22, 20.56, 14.56, 17.99), strict=True)],
    *[(f"events, {n} words", share, 1.5) for n, share in zip(
        "12345", (41.21, 24.53, 15.69, 8.88, 9.66), strict=True)],
]  # fmt: skip


@cache
def log(users: int) -> pl.DataFrame:
    return synth.synthesize(users)


@cache
def measured(users: int) -> dict[str, float]:
    lines = log(users)
    events = lines.group_by("user", "query", "time").agg(click=pl.col("url").is_not_null().any())
    queries = (
        events.group_by("query")
        .agg(users=pl.col("user").n_unique(), events=pl.len())
        .with_columns(words=pl.col("query").str.split(" "))
        .with_columns(length=pl.col("words").list.len().clip(1, 5))
    )
    per_user = lines.group_by("user").len().select(mean=pl.mean("len"), median=pl.median("len"))
    head = queries["events"].sort(descending=True)[9:300].log().to_numpy()
    ranks = np.log(np.arange(10, 10 + len(head)))
    slope, straightness = np.polyfit(ranks, head, 1)[0], np.corrcoef(ranks, head)[0, 1]
    numbers = {
        "lines per user, mean": per_user["mean"].item(),
        "lines per user, median": per_user["median"].item(),
        "lines per event": lines.height / events.height,
        "single-user share": queries.select((pl.col("users") == 1).mean()).item(),
        "repeats by the user": 1 - events.select("user", "query").n_unique() / events.height,
        "events with a click": events.select(pl.mean("click")).item(),
        "top query": queries.select(pl.max("events")).item() / events.height,
        "Zipf head, slope": slope,
        "Zipf head, straightness": -straightness,
        "refinements": refinements(queries),
    }
    for n in range(1, 6):
        some = queries.filter(pl.col("length") == n)
        numbers[f"distinct, {n} words"] = 100 * some.height / queries.height
        numbers[f"events, {n} words"] = 100 * some["events"].sum() / events.height
    return numbers


def refinements(queries: pl.DataFrame) -> float:
    """Share of Q+R among distinct queries of several words, as defined above."""
    shared = queries.filter(pl.col("users") > 1).select("query")
    several = queries.filter(pl.col("words").list.len() > 1).select(whole="query", words="words")
    prefixes = [
        several.filter(pl.col("words").list.len() > n).select(
            "whole", query=pl.col("words").list.head(n).list.join(" ")
        )
        for n in range(1, topics.PERSONAL_WIDTH)
    ]
    found = pl.concat(prefixes).join(shared, on="query", how="semi")
    return found["whole"].n_unique() / several.height


@pytest.mark.parametrize("users", SIZES)
@pytest.mark.parametrize(("quantity", "target", "tolerance"), TARGETS)
def test_calibration(users: int, quantity: str, target: float, tolerance: float) -> None:
    assert measured(users)[quantity] == pytest.approx(target, abs=tolerance)


def test_refinements_are_counted_as_defined() -> None:
    queries = pl.DataFrame(
        {"query": ["maps", "maps of a lake", "lake maps", "lake"], "users": [2, 1, 1, 1]}
    ).with_columns(words=pl.col("query").str.split(" "))
    assert refinements(queries) == 0.5  # "maps of a lake"; "lake" has a single user


def test_columns_and_types() -> None:
    assert log(1_000).schema == {
        "user": pl.String,
        "time": pl.Datetime("us"),
        "query": pl.String,
        "rank": pl.Int32,
        "url": pl.String,
    }


def test_the_bytes_are_held() -> None:
    """Benchmarks and figures in the docs are about this log."""
    assert sha256(synth.synthesize(300).write_csv().encode()).hexdigest()[:16] == "22ebe469112478ff"


def test_one_seed_one_log() -> None:
    assert_frame_equal(synth.synthesize(300, 11), synth.synthesize(300, 11))
    assert not synth.synthesize(300, 11).equals(synth.synthesize(300, 12))


@pytest.mark.parametrize("users_per_batch", [1, 2_000, 3_001, 100_000])
def test_batches_do_not_change_the_rows(users_per_batch: int) -> None:
    parts = list(synth.batches(5_000, 7, users_per_batch=users_per_batch))
    assert_frame_equal(pl.concat(parts), log(5_000))


def test_batches_hold_whole_users() -> None:
    parts = [set(part["user"]) for part in synth.batches(5_000, 7, users_per_batch=2_000)]
    assert [len(part) for part in parts] == [2_000, 2_000, 1_000]
    assert len(set.union(*parts)) == 5_000


@pytest.mark.parametrize("users", [1, 2, 1_999, 2_001])
def test_any_number_of_users(users: int) -> None:
    assert log(users)["user"].n_unique() == users


@pytest.mark.parametrize("users", [0, -1])
def test_no_users_are_refused(users: int, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        synth.batches(users, 7)
    with pytest.raises(ValueError, match="at least 1"):
        synth.write(tmp_path / "log.tsv", users, 7)
    assert not list(tmp_path.iterdir())


def test_sorted_by_user_then_time() -> None:
    keys = log(5_000).select(pl.col("user").cast(pl.Int64), "time")
    assert_frame_equal(keys, keys.sort("user", "time"))


def test_two_events_of_a_user_differ_in_time() -> None:
    per_moment = log(5_000).group_by("user", "time").agg(pl.col("query").n_unique())
    assert per_moment["query"].max() == 1


def test_rank_and_url_come_together() -> None:
    lines = log(5_000)
    assert (lines["rank"].is_null() == lines["url"].is_null()).all()
    clicks = lines.drop_nulls()
    assert clicks["rank"].min() == 1
    assert clicks["rank"].max() <= synth.RANK_MAX
    assert 0.3 < (clicks["rank"] == 1).mean() < 0.6
    assert clicks["url"].str.contains(r"^http://www\.[a-z]+\.com$").all()


def test_a_click_leads_where_the_query_and_the_rank_say() -> None:
    """Nearly always: the same words can be written in two topics."""
    hosts = log(5_000).drop_nulls().group_by("query", "rank").agg(pl.col("url").n_unique())
    assert (hosts["url"] == 1).mean() > 0.97


def test_users_share_pairs_of_query_and_url() -> None:
    users = log(5_000).drop_nulls().group_by("query", "url").agg(pl.col("user").n_unique())
    assert (users["user"] >= 5).sum() > 500


def test_times_fill_three_months_by_day_more_than_by_night() -> None:
    times = log(5_000)["time"]
    assert times.min() >= datetime(2006, 3, 1)
    assert times.max() < datetime(2006, 6, 1)
    assert times.dt.date().n_unique() == synth.DAYS
    hours = times.dt.hour().value_counts().sort("time")["count"]
    assert hours[20] > 5 * hours[4]


def test_most_gaps_are_minutes() -> None:
    """Sessions: within a user, events come minutes apart more often than not."""
    events = log(5_000).unique(["user", "time"], maintain_order=True)
    gaps = events.select(pl.col("time").diff().over("user").dt.total_seconds()).drop_nulls()
    assert (gaps["time"] < 1_800).mean() > 0.7


def test_interests_are_few() -> None:
    """A user meets the heads of few topics; shuffled among users they would be many."""
    themes = log(20_000).filter(pl.col("query").is_in(topics.THEMES)).select("user", "query")
    per_user = themes.group_by("user").agg(n=pl.len(), kinds=pl.col("query").n_unique())
    busy = per_user.filter(pl.col("n") >= 10)
    assert busy.height > 100
    assert busy["kinds"].mean() < 0.5 * busy["n"].mean()


@pytest.mark.parametrize("pattern", [r"^\d{3}-555-01\d\d$", r"^[a-z]+\.[a-z]+@example\.com$", r"^\d+ [a-z]+ street\b"])
def test_fake_personal_data_is_there_and_rare(pattern: str) -> None:
    share = log(20_000)["query"].str.contains(pattern).mean()
    assert 0.0001 < share < 0.01


def test_queries_are_normalised_and_some_are_not_ascii() -> None:
    queries = log(20_000)["query"].unique()
    assert_frame_equal(
        queries.to_frame(),
        queries.str.normalize("NFKC").str.to_lowercase().str.strip_chars().to_frame(),
    )
    assert not queries.str.contains(r"\s\s|\t|\"|^-?$").any()
    assert queries.str.contains(r"[^\x00-\x7f]").any()


def read_aol(data: bytes) -> pl.DataFrame:
    read = pl.read_csv(data, separator="\t", quote_char=None, infer_schema=False)
    assert read.columns == ["AnonID", "Query", "QueryTime", "ItemRank", "ClickURL"]
    return read.select(
        user="AnonID",
        time=pl.col("QueryTime").str.to_datetime("%Y-%m-%d %H:%M:%S", time_unit="us"),
        query="Query",
        rank=pl.col("ItemRank").cast(pl.Int32),
        url="ClickURL",
    )


def plain(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix == ".gz":
        return gzip.decompress(data)
    if path.suffix == ".zst":
        return zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return data


@pytest.mark.parametrize("name", ["log.tsv", "log.tsv.gz", "log.tsv.zst"])
def test_what_is_written_is_read_again(name: str, tmp_path: Path) -> None:
    told: list[float] = []
    rows = synth.write(tmp_path / name, 1_000, 7, progress=told.append)
    assert told == [min(1.0, rows / (1_000 * synth.LINES_MEAN))]
    assert_frame_equal(read_aol(plain(tmp_path / name)), log(1_000))


def test_lines_have_five_fields(tmp_path: Path) -> None:
    synth.write(tmp_path / "log.tsv", 100, 7)
    lines = (tmp_path / "log.tsv").read_text(encoding="utf-8").splitlines()
    assert {line.count("\t") for line in lines} == {4}
    assert any(line.endswith("\t\t") for line in lines)


@pytest.mark.parametrize("name", ["log.tsv", "log.tsv.gz", "log.tsv.zst"])
def test_equal_logs_are_equal_bytes(name: str, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for path in (tmp_path / name, tmp_path / "a" / name):
        synth.write(path, 100, 7)
    assert (tmp_path / name).read_bytes() == (tmp_path / "a" / name).read_bytes()
