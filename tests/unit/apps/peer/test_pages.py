"""Pages say what happened, in plain words."""

import re

import polars as pl
import pytest

import coterie
from coterie.apps.peer import pages
from coterie.apps.peer.memory import SAID, Answer, Counts
from coterie.apps.peer.meter import POINTS_AT_AUTHOR
from coterie.apps.peer.results import Result
from coterie.lab.simulate import World, protocol, simulate
from coterie.lab.simulate.measures.simattack import SELF

RESULT = Result("https://a.example/x", "A", "text")


def _page(score=0.0, remembered=False, through_friend=False, results=(RESULT,), opened=None):
    answer = Answer(results=results, through_friend=through_friend, opened=opened)
    hrefs = {result.url: "/s/go?x" for result in results}
    return pages.results_page("/s", "tea", answer, hrefs, score, remembered=remembered, again="q=tea&ask=again")


def test_where_an_answer_comes_from():
    assert "Your own address asked." in _page()
    assert "A friend’s address asked." in _page(through_friend=True)
    assert "less than a minute old: this search did not leave your machine" in _page(remembered=True)
    assert "Nothing was found." in _page(results=())


def test_the_meter_in_words():
    assert "it points at you" in _page(score=0.5)
    assert "it points at you" not in _page(score=0.49)


def _meter(page):
    """What a page says beside the meter."""
    return re.search(r"</meter>([^<]*)</p>", page)[1]


def test_a_figure_is_that_of_the_way_that_was_taken():
    """None where the engine need not guess, because it has the address, and none where nothing was sent."""
    for score in (0.1, 0.9):
        own, friend, remembered = (
            _meter(_page(score=score, **way)) for way in ({}, {"through_friend": True}, {"remembered": True})
        )
        assert "%" not in own + remembered
        assert "your own address, so the engine need not guess who asked" in own
        assert "own address" not in friend + remembered
        assert friend.count("%") == 1
        assert all(f"({score:.2f})" in said for said in (own, friend, remembered))


def test_figures_are_those_of_the_simulator(real_data):
    """Friends as the peer chooses them: a hash of the query picks one. The engine knows what people asked before."""
    world = World.of(coterie.prepare(coterie.read(real_data / "aol_clicks_users.tsv.gz")))
    friends = protocol("friends", choice="sticky_query")
    scores = simulate(world, friends, measures=["simattack"], seed=7).scores
    found = dict(scores.filter(pl.col("name") == "simattack").select("key", "value").iter_rows())
    for score, key in ((0.5, "pointing"), (0.49, "others")):
        users, percent = re.search(
            r"past of (\d+) real users named the author of (\d+) %", _meter(_page(score=score, through_friend=True))
        ).groups()
        assert int(percent) == round(found[f"true_past.recall.{key}"])
        assert int(users) == world.n_users
    assert friends.degree == 10, "the page says ten friends"
    assert SELF == POINTS_AT_AUTHOR


def test_the_page_opened_last():
    assert "You last opened" in _page(remembered=True, opened=RESULT.url)
    assert "You last opened" not in _page(remembered=True, opened="https://gone.example/")


@pytest.mark.parametrize(("seconds", "words"), [
    (10, "less than a minute"), (60, "1 minute"), (600, "10 minutes"), (3600, "1 hour"), (90_000, "25 hours"),
])  # fmt: skip
def test_how_long_ago(seconds, words):
    assert pages._ago(seconds) == words


def test_every_number_has_its_words():
    assert set(SAID) == set(Counts().numbers())
    friend = {"name": "<b>", "submitted_for_me": 3, "submitted_for_them": 4, "failed": 5, "left_alone": True}
    page = pages.status_page("/s", Counts(searches=77).numbers(), [friend])
    assert "<td>77</td>" in page
    assert "&lt;b&gt;" in page
    assert "left alone for a while" in page


def test_the_forbidden_page_says_nothing():
    assert "href" not in pages.forbidden_page()
