"""Worked examples of the measures, small enough to check by hand.

Covers: measures/privacy/uniqueness.py, measures/utility/frequency.py, measures/utility/information_loss.py,
measures/utility/mass.py, measures/utility/release_share.py
"""

import polars as pl
import pytest

import coterie
from coterie import api
from coterie.measures.utility.information_loss import _of_users, loss
from coterie.methods.private_counts import PrivateCounts
from coterie.methods.suppress_rare import SuppressRare


@pytest.fixture(scope="module")
def pair():
    """Three users: 'tea the' by all of them (4 rows), 'pot N' by one each, 'maps' by two."""
    rows = [("a", "tea the"), ("a", "tea the"), ("b", "tea the"), ("c", "tea the"),
            ("a", "pot one"), ("b", "pot two"), ("c", "maps"), ("b", "maps"), ("d", "alone")]  # fmt: skip
    log = coterie.log(pl.DataFrame(rows, schema=["user", "query"], orient="row"))
    return log, coterie.anonymize(log, SuppressRare(k=3), seed=1)


def _scores(pair, name):
    return {key: value for _, key, value, _ in coterie.measure(pair[1], [name], pair[0], seed=1).iter_rows()}


def test_release_share(pair):
    scores = _scores(pair, "release_share")
    assert scores["rows"] == pytest.approx(100 * 4 / 9)
    assert scores["queries"] == pytest.approx(100 * 1 / 5)
    assert scores["users"] == pytest.approx(100 * 3 / 4)  # d has nothing left
    # a issued 'tea the' twice at the same (missing) time: one event of seven others
    assert scores["events"] == pytest.approx(100 * 3 / 8)


def test_mass(pair):
    scores = _scores(pair, "mass")
    assert scores["queries"] == pytest.approx(100 * 1 / 5)
    assert scores["rows"] == pytest.approx(100 * 4 / 9)
    assert scores["pairs"] == pytest.approx(100 * 3 / 8)  # a typed 'tea the' twice
    assert scores["missing"] == pytest.approx(100 * 5 / 8)


def test_mass_of_counts_looks_at_what_is_named_not_at_the_counts():
    rows = [(f"u{n}", "tea") for n in range(300)] + [("u1", "pot")] * 3
    log = coterie.log(pl.DataFrame(rows, schema=["user", "query"], orient="row"))
    for counts in (0.0, 0.2):
        release = api.anonymize_prepared(log, PrivateCounts(epsilon=4.0, delta=1e-6, counts=counts))
        scores = _scores((log, release), "mass")
        assert scores["queries"] == pytest.approx(50)
        assert scores["rows"] == pytest.approx(100 * 300 / 303)
        assert scores["missing"] == pytest.approx(100 * 1 / 301)


def test_frequency(pair):
    scores = _scores(pair, "frequency")
    assert scores["query.1.original"] == pytest.approx(100 * 4 / 9)
    assert scores["query.1"] == 100
    assert scores["query.2"] == 0
    # Words without 'the': tea 4, maps 2, pot 2, alone 1, one 1, two 1 of 11
    assert scores["word.1.original"] == pytest.approx(100 * 4 / 11)
    assert scores["word.1"] == 100
    assert scores["query.overlap"] == 1
    assert scores["word.overlap"] == 1


def test_overlap_is_between_the_top_tens():
    """Eleven queries; the least frequent of the original's ten falls out of the release's ten."""
    rows = [(f"u{n}", f"q{q:02}") for q in range(11) for n in range(40 - 2 * q)]
    log = coterie.log(pl.DataFrame(rows, schema=["user", "query"], orient="row"))
    # Of q09, the last of the ten, the release keeps three rows, fewer than of q10.
    release = coterie.anonymize(log, SuppressRare(k=3), seed=1)
    frame = release.log.frame.filter((pl.col("query") != "q09") | (pl.int_range(pl.len()).over("query") < 3))
    from dataclasses import replace

    changed = replace(release, log=replace(release.log, frame=frame))
    scores = {k: v for _, k, v, _ in coterie.measure(changed, ["frequency"], original=log, seed=1).iter_rows()}
    assert scores["query.overlap"] == 9


def test_uniqueness(pair):
    scores = _scores(pair, "uniqueness")
    assert scores["before.subjects"] == 4
    assert scores["before.one_query"] == 75  # a, b and d have a query of their own
    assert scores["before.two_queries"] == 75 + 0  # c shares (tea the, maps) with b
    assert scores["before.profile"] == 100
    assert scores["after.subjects"] == 0


def test_information_loss_without_entropy():
    assert loss(0, 0) == 0
    assert loss(0, 1.5) == 100
    assert loss(2, 1) == 50
    assert loss(1, 3) == 200


def test_information_loss_is_capped_on_request():
    before = [("u", "a", 1, 2), ("u", "b", 1, 2), ("u", "c", 0, 2), ("u", "d", 0, 2),
              ("u", "e", 0, 2), ("u", "f", 0, 2), ("u", "g", 0, 2), ("u", "h", 0, 2)]  # fmt: skip
    profiles = pl.DataFrame(before, schema=["subject", "item", "before", "after"], orient="row")
    assert _of_users(profiles)["loss"].to_list() == [pytest.approx(200)]  # 1 bit became 3
    from types import SimpleNamespace

    from coterie.measures.utility.information_loss import measure

    items = pl.DataFrame({"item": ["a"], "before": [1], "after": [1]})
    comparison = SimpleNamespace(profiles=profiles, items=items)
    scores = {score.key: score.value for score in measure(comparison)}
    assert scores["per_user.mean"] == pytest.approx(200)
    assert scores["per_user_capped.mean"] == 100
