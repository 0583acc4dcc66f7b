"""Two words of a search: what they lead to is what the plain attack finds."""

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coterie
from coterie.errors import NotApplicableError
from coterie.measures.attacks.two_words import attack, known, words_of
from coterie.methods.suppress_rare import SuppressRare
from coterie.text.language import language
from tests.helpers import units_reference as plain
from tests.helpers.own_words import scores_of

ENGLISH = language("english")
_TEXT = st.lists(st.sampled_from(["tide", "table", "bread", "yeast", "the"]), min_size=1, max_size=4).map(" ".join)
_ROWS = st.lists(st.tuples(st.sampled_from(["ann", "bob", "cyd"]), _TEXT), min_size=1, max_size=8)


def _table(rows, who):
    return pl.DataFrame(rows, schema={who: pl.String, "item": pl.String}, orient="row").unique()


@given(_ROWS, _ROWS)
def test_it_is_the_plain_attack(typed, released):
    clues = known(_table(typed, "subject"), ENGLISH, 1)
    rows = _table(released, "person")
    hits = attack(clues, rows, words_of(rows, ENGLISH))
    assert hits.height == len({(who, text) for who, text in typed if len(plain.words(text)) >= 3})
    for subject, item, one, two, people, person, further, own in hits.iter_rows():
        assert (subject, item) in typed
        assert {one, two} <= set(plain.words(item))
        assert one != two
        behind, more = plain.two_words(one, two, released)
        assert people == len(behind)
        assert own == (subject in behind)
        if people == 1:
            assert ({person}, further) == (behind, len(more))


@pytest.fixture(scope="module")
def log():
    """Six people type something of their own with three words, and two share a search."""
    rows = [(f"p{n}", f"{chr(97 + n)}lpha {chr(97 + n)}eta common") for n in range(6)]
    rows += [(f"p{n}", "green tea shop") for n in range(2)]
    return coterie.log(pl.DataFrame(rows, schema=["user", "query"], orient="row"))


def test_numbers(log):
    release = coterie.anonymize(log, SuppressRare(k=2), seed=1)
    strangers = pl.DataFrame({"user": ["s", "t"], "query": ["alpha aeta common", "nothing of this"]})
    found = scores_of(log, release, "two_words", outsiders=coterie.log(strangers))
    assert (found["users"], found["queries"]) == (6, 8)
    # Four people find their own search alone; of two who also share one, that one is half found.
    assert found["before.found"] == pytest.approx(100 * (4 + 2 * 0.75) / 6)
    assert found["before.found.control"] == pytest.approx(100 / 6)
    assert (found["before.words"], found["before.wrong"]) == (1, 0)
    assert found["before.alone"] == pytest.approx(100 * (4 + 2 * 0.5) / 6)
    assert found["before.outsiders"] == 100  # of the two, one has three words: somebody in the log fits
    # Two of six people have one of two searches in the release, and each is found among two.
    assert found["after.found"] == pytest.approx(100 * 2 * 0.25 / 6)
    assert (found["released.found"], found["released.found.people"]) == (50, 2)
    assert found["released.found.risk"] == pytest.approx(100 * (0.5 - 1 / 6) / (1 - 1 / 6))
    assert (found["after.outsiders"], found["after.people"]) == (0, 2)
    assert found["after.words"] is None


def test_the_one_who_is_left_may_be_somebody_else(log):
    """A release that leaves one of two people out, as a rule about words may."""
    release = coterie.anonymize(log, SuppressRare(k=2), seed=1)
    whole = release.log.frame.collect()
    record = release.record
    rows = record.rows.filter(pl.col("released_row") == 0)
    release = replace(release, log=replace(release.log, frame=whole.head(1).lazy()), record=replace(record, rows=rows))
    found = scores_of(log, release, "two_words")
    assert found["after.found"] == pytest.approx(100 * 0.5 / 6)
    assert (found["released.found"], found["released.found.people"]) == (100, 1)
    assert found["after.wrong"] == 50


def test_short_queries():
    short = coterie.log(pl.DataFrame({"user": ["a", "b"], "query": ["maps", "maps"]}))
    with pytest.raises(NotApplicableError, match="3 words"):
        scores_of(short, coterie.anonymize(short, SuppressRare(k=2), seed=1), "two_words")
