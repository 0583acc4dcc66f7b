"""Pages say what happened, in plain words.

Covers: peer/counts.py
"""

import pytest

from coterie.peer import pages
from coterie.peer.counts import SAID, Counts
from coterie.peer.memory import Answer
from coterie.peer.results import Result

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
