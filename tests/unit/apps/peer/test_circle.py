"""Who submits a query."""

from collections import Counter

import pytest

from coterie.algorithms.sticky import choose
from coterie.apps.peer.circle import Circle, Limits
from coterie.apps.peer.identity import fingerprint
from tests.helpers.peers import a_home, as_friend

QUERIES = [f"tea {n}" for n in range(400)]


@pytest.fixture(scope="module")
def homes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("homes")
    return [a_home(folder / str(n), port=4000 + n) for n in range(4)]


@pytest.fixture
def circle(homes):
    circle = Circle(homes[0], Limits(back_off=1000))
    circle.update(as_friend(home, str(n)) for n, home in enumerate(homes[1:], start=1))
    return circle


def _who(circle, without=()):
    return [tie.member if (tie := circle.submitter(query, without)) else "me" for query in QUERIES]


def test_the_choice_is_the_one_of_the_simulator(circle, homes):
    members = [fingerprint(home.certificate_der).hex() for home in homes]
    key = bytes.fromhex(homes[0].settings().choice_key)
    expected = [members[choose(key, query, members)] for query in QUERIES]
    assert [who if who != "me" else members[0] for who in _who(circle)] == expected
    assert min(Counter(expected).values()) > 60  # of 100 for each


def test_whoever_failed_is_left_out_and_nothing_else_changes(circle):
    before = _who(circle)
    tie = circle.ties[0]
    tie.waiting.failed()
    after = _who(circle)
    assert tie.member not in after
    assert all(new == old for new, old in zip(after, before, strict=True) if old != tie.member)
    assert after == _who(circle, without={tie.member})


def test_friends_come_and_go(circle, homes):
    first = circle.ties[0]
    first.submitted = 7
    new = circle.update([first.friend])
    assert new == []
    assert circle.ties == (first,), "what is known of a friend stays"
    assert circle.of(homes[1].certificate_der) is first
    assert circle.of(homes[2].certificate_der) is None
    assert circle.of(None) is None
    circle.update([])
    assert set(_who(circle)) == {"me"}


def test_numbers_only(circle):
    assert circle.ties[0].numbers() == {
        "name": "1", "submitted_for_me": 0, "submitted_for_them": 0, "failed": 0, "left_alone": False,
    }  # fmt: skip
