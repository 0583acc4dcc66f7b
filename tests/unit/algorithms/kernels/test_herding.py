"""Herding: profiles that stand for all rows of a group, with quotas, in whole numbers.

That whole profiles are those of the plain version is in test_microaggregation.py.
"""

import numpy as np
import polars as pl
import pytest

from coterie.algorithms.kernels import choosing, mdav
from coterie.algorithms.profiles import QueryRule, _row_vectors
from tests.helpers.microaggregation import encoded, frame_of


def chosen_of(rows, max_share=1.0):
    """How often each user's each query is chosen for the profile of all users."""
    frame = frame_of(rows)
    arrays = encoded(frame)
    members = np.arange(len(arrays.users))
    chosen = QueryRule(herding=True, max_share=max_share).chooser(frame)(
        members, arrays.events.user_start, arrays.strings
    )
    assert (np.diff(chosen) > 0).all()  # sorted, and no row twice
    return frame[chosen.tolist()].group_by("user", "query").len()


def test_rows_stand_for_what_all_typed():
    """Both users have each topic half of the time, in other words each time; so has the profile."""
    rows = [
        (user, None, f"{topic} {topic}{n}{user}", None, None)
        for user in ("a", "b")
        for topic in ("garden", "tires")
        for n in range(10)
    ]
    chosen = chosen_of(rows)
    topics = chosen.group_by(pl.col("query").str.split(" ").list.first()).agg(pl.col("len").sum())
    assert dict(topics.rows()) == {"garden": 10, "tires": 10}
    assert dict(chosen.group_by("user").agg(pl.col("len").sum()).rows()) == {"a": 10, "b": 10}


def test_what_several_users_have_is_there_as_often_as_they_have_it():
    rows = [(user, None, query, None, None) for user in "abcd" for query in ("maps", f"only {user}")]
    chosen = chosen_of(rows)
    assert chosen["len"].sum() == 2
    assert chosen.filter(pl.col("query") == "maps")["len"].sum() == 1  # as half of all rows are


def test_hosts_count_where_rows_have_them():
    frame = frame_of([("a", None, "x", None, "http://www.m.org/1"), ("a", None, "y", None, "m.org"),
                      ("b", None, "z", None, None), ("b", None, "z", None, "http://")])  # fmt: skip
    vectors = _row_vectors(frame, "english")
    dense = np.zeros((vectors.start.size - 1, vectors.width), dtype=np.int64)
    for kind in range(vectors.start.size - 1):
        at = slice(vectors.start[kind], vectors.start[kind + 1])
        dense[kind, vectors.column[at]] = vectors.value[at]
    of_rows = dense[vectors.kind]
    x, y, z, same = of_rows[:, :]
    assert x @ y == round(choosing.UNIT / 3**0.5) ** 2  # a host in common; their stems and strings differ
    assert (z == same).all()  # no host is no host
    assert x @ z == 0
    assert np.sqrt((of_rows**2).sum(axis=1)) == pytest.approx(choosing.UNIT, abs=2)


def test_groups_with_too_many_pairs_keep_the_shares(monkeypatch):
    frame = frame_of([(user, None, f"q {n % 3} {user}", None, None) for user in "abc" for n in range(9)])
    arrays = encoded(frame)
    group = np.arange(3), arrays.events.user_start, arrays.strings
    shares = mdav.choose_by_shares(*group)
    monkeypatch.setattr(choosing, "PAIRS", shares.size * 27 - 1)
    assert QueryRule(herding=True).chooser(frame)(*group).tolist() == shares.tolist()


def test_quotas_are_those_of_the_shares():
    draw = np.random.default_rng(3)
    rows = [(f"u{u}", None, f"w{draw.integers(9)} w{draw.integers(9)}", None, None)
            for u in range(5) for _ in range(3 + 11 * u)]  # fmt: skip
    frame = frame_of(rows)
    arrays = encoded(frame)
    owner = np.repeat(np.arange(5), np.diff(arrays.events.user_start[:6]))
    group = np.arange(5), arrays.events.user_start, arrays.strings
    for max_share in (1.0, 0.3):
        expected = np.bincount(owner[mdav.choose(*group, max_share)], minlength=5)
        herded = QueryRule(herding=True, max_share=max_share).chooser(frame)(*group)
        assert np.bincount(owner[herded], minlength=5).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("sizes", "max_share", "expected"),
    [
        ([140, 15, 15, 15, 15], 1.0, [28, 3, 3, 3, 3]),
        ([140, 15, 15, 15, 15], 0.2, [8, 8, 8, 8, 8]),
        ([140, 15, 15, 15, 15], 0.0, [8, 8, 8, 8, 8]),
        ([140, 15, 15, 15, 15], 0.3, [12, 7, 7, 7, 7]),
        ([140, 40, 10, 5, 5], 0.3, [12, 12, 8, 4, 4]),
        ([400, 1, 1, 1, 1], 0.3, [2, 1, 1, 1, 1]),  # the others have no more; of six rows two are an equal part
        ([400, 1, 1, 1, 1], 0.5, [4, 1, 1, 1, 1]),
        ([9, 1], 0.1, [2, 1]),
        ([7], 0.1, [7]),
    ],
)
def test_a_largest_share(sizes, max_share, expected):
    sizes = np.array(sizes)
    seats = int((2 * sizes.sum() + sizes.size) // (2 * sizes.size))
    assert mdav.capped(mdav.apportion(seats, sizes), sizes, max_share).tolist() == expected
