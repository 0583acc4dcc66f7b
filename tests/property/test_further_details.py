"""Further details of queries: released exactly as far as enough users share the whole tuple, in every kind of file."""

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie import api
from coterie.methods.affinity import Affinity
from coterie.methods.allowlist import Allowlist
from coterie.methods.generalize import Generalize
from coterie.methods.suppress_rare import SuppressRare
from coterie.methods.unprotected import Unprotected
from coterie.testing.strategies import logs
from tests.helpers import reference, word_sets_reference
from tests.helpers.examples import examples

DEVICES, COUNTRIES = [None, "phone", "desk", 'a "b", c'], ["de", "fr", None]
TIMES = st.sampled_from(["drop", "quarter", "month", "week", "day", "hour"])


@st.composite
def detailed_logs(draw, names=("device", "country")):
    """Random logs with two columns more."""
    log = draw(logs(min_users=4))
    rows = log.frame.collect()
    values = {
        name: draw(st.lists(st.sampled_from(known), min_size=rows.height, max_size=rows.height))
        for name, known in zip(names, (DEVICES, COUNTRIES), strict=True)
    }
    wide = rows.with_columns(pl.Series(name, column, dtype=pl.String) for name, column in values.items())
    return replace(log, frame=wide.lazy(), shape=log.shape.with_details(names))


def when_of(release):
    """Columns of times; a release without any does not say how exact they are."""
    level = pl.col("time_level") if release.log.shape.level else pl.lit(None, pl.String).alias("time_level")
    return [pl.col("time"), level]


def _order(row):
    return tuple((value is not None, value) for value in row)


def _plain(rows, k_details, times):
    """(query, url, rank, device, country, time, time_level) of each row that is kept."""
    told = [(user, query, (url, rank, *further), time) for user, time, query, rank, url, *further in rows]
    rows = ((q, *d, t, level) for q, d, t, level in reference.common_details(told, k_details, times))
    return sorted(rows, key=_order)


@given(detailed_logs(), st.integers(2, 3), TIMES, st.sampled_from(["k", 2, 3, 4]))
def test_rows_say_what_the_plain_version_lets_them(log, k, times, k_details):
    rows = log.frame.drop("row").collect().rows()
    asked = reference.degrees((row[0], row[2]) for row in rows)
    release = api.anonymize_prepared(log, SuppressRare(k=k, times=times, k_details=k_details), seed=1)
    found = release.log.frame.select("query", "url", "rank", "device", "country", *when_of(release)).collect().rows()
    kept = [row for row in rows if asked.get(row[2], 0) >= k]
    assert sorted(found, key=_order) == _plain(kept, k if k_details == "k" else k_details, times)


@given(detailed_logs(), TIMES, st.sampled_from([1, 2, "all"]))
def test_the_same_for_queries_of_common_words(log, times, words):
    rows = log.frame.drop("row").collect().rows()
    release = api.anonymize_prepared(log, Allowlist(k=3, k_details=2, times=times, words=words), seed=1)
    found = release.log.frame.select("query", "url", "rank", "device", "country", *when_of(release)).collect().rows()
    allowed = word_sets_reference.allowed([(row[0], row[2]) for row in rows], 3, words, 10)
    assert sorted(found, key=_order) == _plain([row for row in rows if row[2] in allowed], 2, times)


METHODS = st.sampled_from([
    SuppressRare(k=2), SuppressRare(k=2, users="day", k_details=3), SuppressRare(k=2, attrs="keep"),
    SuppressRare(k=2, attrs="drop", users="pseudonym"), Allowlist(k=2, users="mini", times="month"), Affinity(k=2),
    Generalize(k=2, users="session"), Unprotected(users="day"), Unprotected(attrs="drop"),
])  # fmt: skip


@settings(max_examples=examples(25))
@given(detailed_logs(), METHODS, st.integers(2, 5))
def test_method_and_judge_agree_whatever_the_blocks(log, method, blocks):
    release = api.anonymize_prepared(log, method, seed=1)
    assert coterie.verify(release, log).exit_code == (3 if isinstance(method, Unprotected) else 0)
    again = api.anonymize_prepared(log, method, seed=1, blocks=blocks)
    assert again.to_polars().equals(release.to_polars())


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl", "parquet", "csv.gz"])
@pytest.mark.parametrize("method", [SuppressRare(k=2), Allowlist(k=2, users="day")])
def test_files_hold_what_was_released(kind, method, tmp_path):
    @settings(max_examples=examples(3))
    @given(detailed_logs())
    def check(log):
        release = api.anonymize_prepared(log, method, seed=1)
        coterie.write(release, tmp_path / f"safe.{kind}", force=True, record=tmp_path / "record")
        back = coterie.load_release(tmp_path / f"safe.{kind}")
        assert back.to_polars().equals(release.to_polars())
        assert coterie.verify(tmp_path / f"safe.{kind}", log, record=tmp_path / "record").exit_code == 0

    check()
