"""Further columns that are the user again, where everything that was logged is kept."""

import hashlib
from dataclasses import replace

import polars as pl
import pytest

import coterie
from coterie.errors import BrokenPromiseError
from coterie.methods.suppress_rare import SuppressRare
from coterie.methods.unprotected import Unprotected
from coterie.testing.scattered import Scattered
from tests.helpers.hand_made import check_of

USERS = [f"Person {n}" for n in range(30)]
KEEP = SuppressRare(k=3, attrs="keep")


def _hash(text):
    return hashlib.sha256(text.encode()).hexdigest()[:12]


COPIES = {
    "a copy": lambda user: user,
    "written otherwise": lambda user: f" {user.upper()} ",
    "one row alone": lambda user: user if user == USERS[7] else "phone",
    "a hash": lambda user: _hash(user),
}
OTHERS = {
    "two kinds": lambda user: ["phone", "desk"][USERS.index(user) % 2],
    "nothing": lambda _: None,
    "the neighbour's": lambda user: f"group {USERS.index(user) // 2}",
}


def _log(column):
    rows = [(user, "tea", column(user)) for user in USERS for _ in range(2)]
    return coterie.log(pl.DataFrame(rows, schema={"user": pl.String, "query": pl.String, "account": pl.String},
                                    orient="row"), details=("account",))  # fmt: skip


@pytest.mark.parametrize("name", COPIES)
def test_a_planted_column_of_users_is_caught(name):
    for method in (KEEP, Unprotected()):
        with pytest.raises(BrokenPromiseError, match=r"telling.*leave them out of details"):
            coterie.anonymize(_log(COPIES[name]), method, seed=1)


# (user, which of their two rows) -> value; how many users
ODD = {
    "one person has two": (lambda user, row: _hash(user + str(row if user == USERS[0] else "")), 30),
    "one couple shares": (lambda user, _: _hash(USERS[0] if user == USERS[1] else user), 30),
    "one user has none": (lambda user, _: None if user == USERS[0] else _hash(user), 30),
    "a session each": (lambda user, row: _hash(user) + f"-{row}", 30),
    "guests": (lambda user, _: "guest" if USERS.index(user) % 2 else _hash(user), 30),
    "every second row": (lambda user, row: "guest" if row else _hash(user), 30),
    "few users": (lambda user, _: _hash(user), 5),
    "name and device": (lambda user, row: f"{user} / {['phone', 'desk'][row]}", 3),
    "user:NAME": (lambda user, _: f"user:{user}", 3),
    "NAME@mail": (lambda user, _: f"{user.lower()}@example.org", 19),
    "within a word": (lambda user, _: f"xx{user.lower()}xx", 3),
    "one name alone": (lambda user, _: f"{user}'s phone" if user == USERS[7] else "phone", 30),
    "a name that others use": (lambda user, row: f"{USERS[3] if (user, row) == (USERS[4], 1) else user}!", 4),
}


def _odd_log(column, users, name=str):
    rows = [(name(user), "tea", column(user, row)) for user in USERS[:users] for row in range(2)]
    return coterie.log(pl.DataFrame(rows, schema={"user": pl.String, "query": pl.String, "account": pl.String},
                                    orient="row"), details=("account",))  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_an_odd_row_does_not_hide_it(name):
    log = _odd_log(*ODD[name])
    with pytest.raises(BrokenPromiseError, match=r"telling.*tell who a row came from"):
        coterie.anonymize(log, KEEP, seed=1)
    engine = Scattered(1)
    with pytest.raises(BrokenPromiseError, match="telling"):
        coterie.anonymize(replace(log, frame=engine.keep(log.frame), engine=engine, resources=()), KEEP, seed=1)


def test_one_busy_row_of_many_does_not_hide_it():
    """Most rows are of two people who share a value, and most people have one of their own."""
    rows = [(user, "tea", _hash(user)) for user in USERS] + [(user, "tea", "both") for user in USERS[:2]] * 200
    log = coterie.log(pl.DataFrame(rows, schema=["user", "query", "account"], orient="row"), details=("account",))
    with pytest.raises(BrokenPromiseError, match="telling"):
        coterie.anonymize(log, KEEP, seed=1)


CHANCE = {
    "a user called as a browser": (lambda _, row: ["Chrome/142 Safari", "Opera"][row], lambda user: user, 30),
    "numbers in versions": (lambda user, row: f"v{row}.{len(user)}", lambda user: str(100 + USERS.index(user)), 30),
    "short names": (lambda _, row: f"x{row} y", lambda user: f"x{USERS.index(user)}", 30),
    "a few devices of one user each": (lambda user, _: f"device {min(USERS.index(user), 6)}", lambda user: user, 30),
    "four users with a town each": (lambda user, _: f"town {_hash(user)}", lambda user: user, 4),
}


@pytest.mark.parametrize("name", CHANCE)
def test_what_is_chance_in_a_small_log(name):
    column, called, users = CHANCE[name]
    browser = {USERS[0]: "chrome", USERS[1]: "Safari"}
    log = _odd_log(column, users, lambda user: browser.get(user, called(user)))
    check = check_of(coterie.anonymize(log, KEEP, seed=1).verdict, "telling")
    assert check.status == "passed"
    assert "has that name in it, and values that one user alone has" in check.detail


@pytest.mark.parametrize("name", COPIES)
def test_it_does_no_harm_where_enough_people_share_what_accompanies_a_query(name):
    release = coterie.anonymize(_log(COPIES[name]), SuppressRare(k=3), seed=1)
    found = set(release.to_polars()["account"])
    assert found <= {None, "phone"}


@pytest.mark.parametrize("name", OTHERS)
def test_other_columns_are_kept(name):
    release = coterie.anonymize(_log(OTHERS[name]), KEEP, seed=1)
    check = check_of(release.verdict, "telling")
    assert (check.status, check.looked_at) == ("passed", 1)
    assert check_of(coterie.verify(release), "telling").status == "not checked"


@pytest.mark.parametrize("name", [*COPIES, *OTHERS])
def test_the_same_wherever_rows_are(name):
    log = _log({**COPIES, **OTHERS}[name])
    engine = Scattered(1)
    elsewhere = replace(log, frame=engine.keep(log.frame), engine=engine, resources=())
    if name in COPIES:
        with pytest.raises(BrokenPromiseError, match="telling"):
            coterie.anonymize(elsewhere, KEEP, seed=1)
    else:
        assert check_of(coterie.anonymize(elsewhere, KEEP, seed=1).verdict, "telling").status == "passed"
