"""Laws of the method allowlist: it is its reference, whatever the order, the blocks and m."""

from dataclasses import replace

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import coterie
from coterie import api
from coterie.core.log import Log
from coterie.core.shapes import QUERIES
from coterie.methods.allowlist import Allowlist
from coterie.methods.allowlist import model as word_sets
from coterie.methods.suppress_rare import SuppressRare
from coterie.promises.word_k_anonymity import proved
from coterie.testing.strategies import logs
from tests.helpers import word_sets_reference as plain
from tests.helpers.runs import a_run

QUERY = st.lists(st.sampled_from("abcde"), min_size=1, max_size=5).map(" ".join)
ROWS = st.lists(st.tuples(st.sampled_from([None, *"stuvwx"]), QUERY), min_size=1, max_size=40)
PEOPLE = [(user, "z") for user in "stuv"]
M = st.sampled_from([1, 2, "all"])


def _log(rows):
    table = pl.DataFrame(rows, schema={"user": pl.String, "query": pl.String}, orient="row")
    empty = [pl.lit(None, QUERIES.schema[name]).alias(name) for name in ("time", "rank", "url")]
    frame = table.with_row_index("row").cast({"row": pl.UInt64}).with_columns(empty)
    return Log(frame=frame.select("row", *QUERIES.released).lazy(), shape=QUERIES)


@given(ROWS, st.integers(2, 4), M, st.integers(1, 5))
def test_it_is_the_plain_reference(rows, k, m, max_words):
    rows = rows + PEOPLE
    release = api.anonymize_prepared(_log(rows), Allowlist(k=k, words=m, max_words=max_words), seed=1)
    assert set(release.to_polars()["query"]) == plain.allowed(rows, k, m, max_words)
    (promise,) = release.promises
    assert (promise.k, promise.m, promise.max_words) == (k, m, max_words)


@given(logs(min_users=4), st.integers(2, 4), M)
def test_odd_text_and_details(log, k, m):
    rows = log.frame.select("user", "query").collect().rows()
    release = api.anonymize_prepared(log, Allowlist(k=k, words=m), seed=1)
    assert set(release.to_polars()["query"]) == plain.allowed(rows, k, m, 10)


@given(ROWS, st.integers(2, 4), M)
def test_the_judge_finds_what_the_plain_reference_finds(rows, k, m):
    """For every query of the log, released or not: whether enough users are behind its words."""
    rows = rows + PEOPLE
    log = _log(rows)
    users = log.frame.group_by(pl.col("query").alias("item")).agg(pl.col("user").drop_nulls().n_unique().alias("crowd"))
    found = dict(proved(log, users.collect(), k, m).iter_rows())
    assert set(found) == {query for _, query in rows}
    assert {query for query, number in found.items() if number >= k} == plain.allowed(rows, k, m, 10)


@given(ROWS, st.integers(2, 4), M, st.integers(2, 9), st.randoms())
def test_order_and_blocks_do_not_matter(rows, k, m, blocks, random):
    rows, method = rows + PEOPLE, Allowlist(k=k, words=m)
    expected = api.anonymize_prepared(_log(rows), method, seed=1)
    for log, parts in ((_log(rows), blocks), (_log(random.sample(rows, len(rows))), 1)):
        again = api.anonymize_prepared(log, method, seed=1, blocks=parts)
        assert again.to_polars().equals(expected.to_polars())
        assert again.warnings == expected.warnings


@given(ROWS, st.integers(2, 4))
def test_more_words_and_a_larger_k_release_a_part(rows, k):
    log = _log(rows + PEOPLE)

    def released(method):
        return set(api.anonymize_prepared(log, method, seed=1).to_polars()["query"])

    each, pairs, whole = (released(Allowlist(k=k, words=m)) for m in (1, 2, "all"))
    assert released(SuppressRare(k=k)) <= whole <= pairs <= each
    if k > 2:
        assert pairs <= released(Allowlist(k=k - 1))


@given(ROWS, M)
def test_what_is_gathered_serves_every_k(rows, m):
    typed = word_sets.gather(_log(rows), a_run())
    for k in (2, 3):
        kept = typed.names.filter(pl.Series(word_sets.allowed(typed, k, m, 4)))
        assert set(kept) == plain.allowed(rows, k, m, 4)


def test_how_many_were_typed_by_one_person_is_said():
    rows = [(user, query) for user in "ab" for query in ("red tea", "red cup", "tea cup")] + [("a", "red tea cup")]
    release = api.anonymize_prepared(_log(rows), Allowlist(k=2), seed=1)
    assert release.warnings[0] == (
        "Of 4 released queries 1 (25.0%) were typed by one person alone, word for word, and 1 by fewer than 2: others "
        "typed their words, not these queries."
    )
    common = api.anonymize_prepared(_log(rows[:-1]), Allowlist(k=2), seed=1)
    assert not [text for text in common.warnings if "one person" in text]


def test_a_stored_release_is_verified_again(tmp_path):
    log = _log(
        [(user, query) for user in "abc" for query in ("red tea", "red cup", "tea cup")] + [("a", "red tea cup")]
    )
    for m in (1, 2, "all"):
        release = api.anonymize_prepared(replace(log), Allowlist(k=3, words=m), seed=1)
        coterie.write(release, tmp_path / f"{m}.tsv")
        verdict = coterie.verify(tmp_path / f"{m}.tsv", log)
        assert (verdict.exit_code, verdict.largest_k) == (0, 3)
        assert coterie.verify(tmp_path / f"{m}.tsv").exit_code == 3
        assert coterie.verify(tmp_path / f"{m}.tsv", log, k=4).exit_code == 1
