"""Laws of names for parts of a person, of times and of crowds for details, with every method for single queries."""

from dataclasses import replace
from datetime import timedelta

import polars as pl
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
from tests.helpers import reference
from tests.helpers.examples import examples

LINKS = {
    "users": st.sampled_from(["mini", "day", "session", "pseudonym", "drop"]),
    "link_queries": st.integers(1, 3),
    "link_minutes": st.sampled_from([1, 60, 1440]),
    "times": st.sampled_from(["drop", "quarter", "month", "week", "day", "hour"]),
}
RULES = {**LINKS, "k": st.integers(2, 3), "k_details": st.sampled_from(["k", 2, 4])}
METHODS = st.one_of(
    st.builds(SuppressRare, **RULES, window=st.sampled_from(["all", "1d"])),
    st.builds(Allowlist, **RULES, words=st.sampled_from([1, 2, "all"]), entities=st.sampled_from(["words", "detect"])),
    st.builds(Affinity, **RULES, window=st.sampled_from(["all", "1d"])),
    st.builds(Generalize, **RULES, window=st.sampled_from(["all", "1d"])),
    st.builds(Unprotected, **LINKS),
)
LOGS = logs(min_users=4).map(
    # A log of which every row has a time, or else one in which nobody could be counted within a window.
    lambda log: replace(log, frame=log.frame.with_columns(pl.col("time").fill_null(pl.datetime(2020, 2, 3))))
)


@settings(max_examples=examples(25))
@given(st.one_of(LOGS, logs(min_users=4)), METHODS, st.integers(2, 5), st.randoms())
def test_method_and_judge_agree_whatever_the_order_and_the_blocks(log, method, blocks, random):
    if getattr(method, "window", "all") != "all" and log.to_polars()["time"].null_count() == log.to_polars().height:
        return
    expected = api.anonymize_prepared(log, method, seed=1)
    code = 3 if isinstance(method, Unprotected) else 0
    assert coterie.verify(expected, log).exit_code == code
    rows = log.frame.collect()
    order = random.sample(range(rows.height), rows.height)
    shuffled = rows[order].with_columns(pl.int_range(pl.len(), dtype=pl.UInt64).alias("row"))
    for other, parts in ((log, blocks), (replace(log, frame=shuffled.lazy()), 1)):
        assert api.anonymize_prepared(other, method, seed=1, blocks=parts).to_polars().equals(expected.to_polars())


@given(LOGS, st.integers(2, 3), LINKS["times"], st.sampled_from([2, 3, 4]))
def test_what_accompanies_a_query_has_a_crowd_of_its_own(log, k, times, k_details):
    rows = log.frame.drop("row").collect().rows()
    asked = reference.degrees((user, query) for user, _, query, _, _ in rows)
    kept = [row for row in rows if asked.get(row[2], 0) >= k]
    told = [(user, query, (url, rank), time) for user, time, query, rank, url in kept]
    expected = reference.common_details(told, k_details, times)
    method = SuppressRare(k=k, times=times, k_details=k_details)
    release = api.anonymize_prepared(log, method, seed=1)

    def order(row):
        return tuple((value is not None, value) for value in row)

    level = ["time_level"] if times != "drop" else []
    assert release.log.shape.level == "".join(level)
    found = release.to_polars().select("query", "rank", "url", "time", *level).rows()
    plain = ((q, rank, url, *when[: 1 + len(level)]) for q, (url, rank), *when in expected)
    assert sorted(found, key=order) == sorted(plain, key=order)


@given(LOGS, st.integers(1, 3), st.sampled_from([1, 60, 1440]))
def test_names_stand_for_the_plain_units(log, queries, minutes):
    method = SuppressRare(k=2, users="mini", link_queries=queries, link_minutes=minutes)
    release = api.anonymize_prepared(log, method, seed=1)
    became = release.record.rows.collect().join(log.frame.collect(), on="row").sort("released_row")
    units = reference.few_queries(became.select("user", "time", "query").rows(), queries, minutes)
    names = release.to_polars()["user"].to_list()
    pairs = {(unit, name) for unit, name in zip(units, names, strict=True) if unit is not None}
    assert len({unit for unit, _ in pairs}) == len({name for _, name in pairs}) == len(pairs)
    assert all(name is None for unit, name in zip(units, names, strict=True) if unit is None)


@given(LOGS, st.integers(2, 3), st.sampled_from(["1d", "2d"]))
def test_a_window_counts_people_as_if_older_rows_were_nobodys(log, k, window):
    """Which queries and concepts are released is what it would be if nobody had typed the older rows."""
    rows = log.frame.collect()
    oldest = rows["time"].max() - timedelta(days=int(window[:-1]))
    nobody = pl.when(pl.col("time") > oldest).then("user").alias("user")
    forgotten = replace(log, frame=rows.with_columns(nobody).lazy())
    if forgotten.frame.select(pl.col("user").n_unique()).collect().item() <= k:
        return
    for method in (Affinity(k=k, theta=0.7), Generalize(k=k), Allowlist(k=k), SuppressRare(k=k)):
        released = api.anonymize_prepared(log, replace(method, window=window), seed=1).to_polars()["query"]
        expected = api.anonymize_prepared(forgotten, method, seed=1).to_polars()["query"]
        assert released.sort().equals(expected.sort())
