"""Further columns that are the user again, where everything that was logged is kept.

Covers: promises/_telling.py
"""

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
COPIES = {
    "a copy": lambda user: user,
    "written otherwise": lambda user: f" {user.upper()} ",
    "one row alone": lambda user: user if user == USERS[7] else "phone",
    "a hash": lambda user: str(hash(("salt", user))),
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
        with pytest.raises(BrokenPromiseError, match=r"telling.*leave them out of --details"):
            coterie.anonymize(_log(COPIES[name]), method, seed=1)


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
