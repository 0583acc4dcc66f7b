"""Laws of suppress_rare: it is its reference, whatever the order, the blocks and the spelling of k."""

from dataclasses import replace

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from coterie import api
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing.strategies import logs
from tests.helpers import reference


def _key(row):
    return tuple((value is not None, value) for value in (row[0], row[2], row[1], row[3], row[4]))


@given(logs(min_users=4), st.integers(2, 4))
def test_it_is_the_plain_reference(log, k):
    rows = log.frame.drop("row").collect().rows()
    expected = sorted(reference.suppress_rare(rows, k), key=_key)
    assert api.anonymize_prepared(log, SuppressRare(k=k), seed=1).to_polars().rows() == expected


@given(logs(min_users=4), st.sampled_from(["drop", "session", "pseudonym"]), st.integers(2, 9), st.randoms())
def test_order_and_blocks_do_not_matter(log, users, blocks, random):
    method = SuppressRare(k=2, users=users, attrs="keep")
    expected = api.anonymize_prepared(log, method, seed=1).to_polars()
    assert api.anonymize_prepared(log, method, seed=1, blocks=blocks).to_polars().equals(expected)
    rows = log.frame.collect()
    order = random.sample(range(rows.height), rows.height)
    shuffled = rows[order].with_columns(pl.int_range(pl.len(), dtype=pl.UInt64).alias("row"))
    again = api.anonymize_prepared(replace(log, frame=shuffled.lazy()), method, seed=1)
    assert again.to_polars().equals(expected)


@given(logs(min_users=5))
def test_a_larger_k_releases_a_part(log):
    shares = [set(api.anonymize_prepared(log, SuppressRare(k=k), seed=1).to_polars()["query"]) for k in (2, 3, 5)]
    assert shares[2] <= shares[1] <= shares[0]


@given(logs(min_users=4), st.integers(2, 4))
def test_the_record_says_which_row_became_which(log, k):
    release = api.anonymize_prepared(log, SuppressRare(k=k, attrs="keep"), seed=1)
    mapped = release.record.rows.collect()
    original, released = log.frame.collect(), release.to_polars()
    assert mapped.height == released.height
    before = original[mapped["row"].to_list()].select("time", "query", "rank", "url")
    assert before.equals(released[mapped["released_row"].to_list()].select(before.columns))


@given(logs(min_users=4), st.integers(2, 4))
def test_pseudonyms_link_exactly_the_rows_of_a_person(log, k):
    release = api.anonymize_prepared(log, SuppressRare(k=k, users="pseudonym"), seed=1)
    became = release.record.rows.collect().join(log.frame.collect().select("row", "user"), on="row")
    names = release.to_polars()["user"]
    pairs = {(user, names[at]) for at, user in became.select("released_row", "user").iter_rows()}
    people = [user for user, _ in pairs if user is not None]
    assert len(people) == len(set(people))
    assert len({name for user, name in pairs if user is not None}) == len(people)
