"""Codes: short, checked, and good for once."""

import contextlib
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.apps.peer import invitations
from coterie.apps.peer.invitations import Code, any_open, invite, read_code, spell_code, take
from coterie.errors import InputError, ParameterError
from tests.helpers.peers import a_home

HOSTS = st.sampled_from(["192.168.1.20", "127.0.0.1", "fd00::2", "::1", "peer.example", "a-b.c"])
CODES = st.builds(Code, st.binary(min_size=16, max_size=16), st.binary(min_size=10, max_size=10), HOSTS,
                  st.integers(1, 65535))  # fmt: skip


@pytest.fixture
def home(tmp_path):
    return a_home(tmp_path / "peer", port=4000)


@given(CODES)
def test_a_code_can_be_read_back(code):
    text = spell_code(code)
    assert read_code(f" {text.upper()}\n") == code
    assert read_code(text.replace("-", " ")) == code


@given(CODES, st.data())
def test_typing_errors_are_noticed(code, data):
    letters = spell_code(code).replace("-", "")
    place = data.draw(st.integers(0, len(letters) - 2))  # some bits of the last letter say nothing
    other = data.draw(st.sampled_from([each for each in "abcdefghijklmnopqrstuvwxyz234567" if each != letters[place]]))
    with contextlib.suppress(InputError):  # 1 in 65,536 slips through
        assert read_code(letters[:place] + other + letters[place + 1 :]) != code


@pytest.mark.parametrize("text", ["", "-", "hello", "a" * 56, "ä" * 60, "1" * 60, "a" * 10_000])
def test_what_is_no_code(text):
    with pytest.raises(InputError, match="This is no invitation"):
        read_code(text)


def test_a_code_is_short_and_shows_nothing(home):
    code = invite(home, "anna", 24)
    assert len(spell_code(code)) <= 70
    assert "secret" not in repr(code)
    assert code.fits(home.certificate_der)
    assert code.address == "127.0.0.1:4000"
    stored = (home.path / "invitations.json").read_bytes()
    assert code.secret.hex().encode() not in stored
    assert code.secret not in stored


def test_it_works_once(home):
    code = invite(home, "anna", 24)
    assert any_open(home)
    assert take(home, b"0123456789") is None
    assert take(home, code.secret).name == "anna"
    assert take(home, code.secret) is None
    assert not any_open(home)


def test_it_ends_by_the_clock_of_who_made_it(home, monkeypatch):
    code, later = invite(home, "anna", 2), time.time() + 2 * 3600 + 1
    monkeypatch.setattr(invitations.time, "time", lambda: later)
    assert not any_open(home)
    assert take(home, code.secret) is None


def test_a_code_says_no_time(home, monkeypatch):
    """So that it can be read by somebody whose clock is off by a day, or by years."""
    text = spell_code(invite(home, "anna", 1))
    monkeypatch.setattr(invitations.time, "time", lambda: 10.0**11)
    assert read_code(text).address == "127.0.0.1:4000"


def test_of_many_at_the_same_time_one_wins(home):
    code, won = invite(home, "anna", 24), []

    def race():
        with home.locked():
            won.append(take(home, code.secret) is not None)

    threads = [threading.Thread(target=race) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 15 + [True]


def test_limits(home, tmp_path):
    for _ in range(invitations.MOST_OPEN):
        invite(home, "anna", 24)
    with pytest.raises(ParameterError, match="16 invitations are open"):
        invite(home, "anna", 24)
    with pytest.raises(ParameterError, match="--address HOST:PORT"):
        invite(a_home(tmp_path / "alone"), "anna", 24)
