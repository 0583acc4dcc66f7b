"""Clicked hosts are foretold as the plain version says; half-typed queries are completed so."""

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coterie
from coterie.errors import NotApplicableError
from coterie.measures.utility.clicks import foretold, popular
from coterie.measures.utility.completion import half_typed
from coterie.methods.suppress_rare import SuppressRare
from coterie.text.language import language
from tests.helpers import units_reference as plain
from tests.helpers.own_words import scores_of

ENGLISH = language("english")
_TEXT = st.lists(st.sampled_from(["tide", "table", "bread", "yeast", "the"]), min_size=1, max_size=3).map(" ".join)
_HOST = st.sampled_from(["sky.example", "oven.example", "moon.example"])
_CLICKS = st.lists(st.tuples(_TEXT, _HOST), min_size=1, max_size=8)


def _table(rows):
    return pl.DataFrame(rows, schema={"item": pl.String, "host": pl.String}, orient="row")


@given(_CLICKS, _CLICKS)
def test_it_is_the_plain_ranking(asked, clicked):
    counts = _table(clicked).group_by("item", "host").len("n")
    found = foretold(_table(asked), counts, ENGLISH)
    assert found.tolist() == pytest.approx([plain.clicks(query, host, clicked) for query, host in asked])
    times = {host: sum(h == host for _, h in clicked) for _, host in clicked}
    expected = [plain.reciprocal_rank(times, host) for _, host in asked]
    assert popular(_table(asked), counts).tolist() == pytest.approx(expected)


@given(st.lists(st.tuples(st.text("ab", min_size=1, max_size=5), st.integers(1, 3)), unique_by=lambda pair: pair[0]))
def test_half_of_the_letters(strings):
    items = pl.DataFrame(strings, schema={"item": pl.String, "n": pl.Int64}, orient="row")
    typed = ["a", "ab", "abb", "bab", "bbab"]
    expected = [
        plain.reciprocal_rank({s: n for s, n in strings if s.startswith(query[: (len(query) + 1) // 2])}, query)
        for query in typed
    ]
    assert half_typed(items, pl.Series(typed)) == pytest.approx(expected)


@pytest.fixture(scope="module")
def logs():
    """Three people click on the tide, one on bread; a stranger later on both."""
    rows = [(user, "tide table", "http://moon.example/a") for user in "abc"]
    rows += [("a", "bread yeast", "http://oven.example/"), ("a", "maps", None)]
    later = [("x", "tide today", "http://moon.example/b"), ("x", "bread", "http://oven.example/c"), ("a", "maps", None)]
    schema = ["user", "query", "url"]
    return tuple(coterie.log(pl.DataFrame(each, schema=schema, orient="row")) for each in (rows, later))


def test_what_a_release_is_worth_to_others(logs):
    log, later = logs
    found = scores_of(log, coterie.anonymize(log, SuppressRare(k=3), seed=1), "clicks", later=later)
    assert (found["people"], found["queries"]) == (1, 2)
    assert (found["before.mrr"], found["before.popular"]) == (100, 75)
    assert (found["mrr"], found["popular"]) == (0, 50)  # one query is released, and its words tell nothing apart
    found = scores_of(log, coterie.anonymize(log, SuppressRare(k=3), seed=1), "completion", later=later)
    assert found["others.users"] == 1
    assert found["others"] == found["before.others"] == 0


def test_nobody_else(logs):
    log, _ = logs
    with pytest.raises(NotApplicableError, match="not in the original"):
        scores_of(log, coterie.anonymize(log, SuppressRare(k=3), seed=1), "clicks", later=replace(log))
