"""A log as arrays."""

import numpy as np
import pytest

import coterie
from coterie.errors import InputError
from coterie.lab.simulate.world import World
from coterie.synth import synthesize
from coterie.testing import visits_log
from tests.helpers.hand_made_logs import log_of
from tests.helpers.worlds import synthetic_world, world_of


def test_clicks_of_one_search_are_one_event():
    world = world_of(
        ("b", 2, "red cars", "http://one"),
        ("b", 2, "red cars", "http://two"),
        ("a", 1, "cats", None),
        ("a", 3, "cats", "http://one"),
        (None, 1, "nobody", None),
    )
    assert world.users.to_list() == ["a", "b"]
    assert world.queries.to_list() == ["cats", "red cars"]
    assert world.author.tolist() == [0, 1, 0]
    assert world.query.tolist() == [0, 1, 0]
    assert world.repeats.tolist() == [False, False, True]
    assert world.late.tolist() == [False, True, True]  # two thirds of one event are none
    assert world.click_event.tolist() == [1, 1, 2]
    assert world.click_page.tolist() == [0, 1, 0]
    assert world.without_user == 1
    assert "cats" not in repr(world)


def test_the_last_third_is_late():
    world = world_of(*(("a", minute, f"q{minute}", None) for minute in range(9)))
    assert world.late.tolist() == [False] * 6 + [True] * 3


def test_without_times_everybody_searches_from_beginning_to_end():
    world = world_of(*((user, None, f"{user} {i}", None) for user, n in (("a", 2), ("b", 4)) for i in range(n)))
    assert world.author.tolist() == [1, 0, 1, 1, 0, 1]


def test_the_order_of_rows_has_no_influence():
    rows = [(f"u{i % 5}", i % 7, f"query {i % 4}", f"http://{i % 3}") for i in range(50)]
    one, other = world_of(*rows), world_of(*rows[::-1])
    for name in ("author", "query", "late", "click_event", "click_page"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


def test_keywords_and_the_past():
    world = world_of(
        ("a", 1, "the red car", None), ("a", 2, "red", None), ("a", 3, "blue", None), ("b", 4, "car", None)
    )
    sizes = dict(zip(world.queries.to_list(), np.diff(world.words.start).tolist(), strict=True))
    assert sizes == {"the red car": 2, "red": 1, "blue": 1, "car": 1}
    past = world.true_past
    assert past.owner.tolist() == [0, 0]
    assert past.total.tolist() == [2, 0]
    assert past.entry.size == 3


def test_interests_are_unit_vectors():
    world = synthetic_world()
    lengths = np.linalg.norm(world.interests, axis=1)
    assert np.isclose(lengths[lengths > 0], 1, atol=1e-4).all()
    assert world.topics(8).max() < 8
    again = World(**{name: getattr(world, name) for name in world.__dataclass_fields__})
    assert np.array_equal(again.vectors, world.vectors)
    assert np.array_equal(again.topics(8), world.topics(8))


def test_own_late_queries_fit_ones_own_past():
    world = synthetic_world()
    late = np.flatnonzero(world.late & world.vectors.any(axis=1)[world.query])
    own = (world.vectors[world.query[late]] * world.interests[world.author[late]]).sum(axis=1).mean()
    others = (world.vectors[world.query[late]] * world.interests[(world.author[late] + 7) % world.n_users]).sum(axis=1)
    assert own > others.mean() + 0.1


def test_everybody_with_one_query_of_their_own():
    world = synthetic_world()
    equal = world.repeating(10, 7)
    assert np.bincount(equal.author).tolist() == [10] * world.n_users
    assert np.array_equal(equal.author, equal.query)
    assert equal.interests is world.interests
    assert equal.vectors.shape[0] == world.n_users


def test_some_users():
    world = synthetic_world()
    log = coterie.log(synthesize(60, 7, "people"))
    some = World.of(log, users=10, seed=1)
    assert some.n_users == 10
    assert set(some.users) <= set(world.users)
    assert some.users.to_list() != World.of(log, users=10, seed=2).users.to_list()


def test_rows_without_a_user_are_counted_also_where_users_are_drawn():
    rows = [("a", "x"), ("b", "y"), ("c", "z"), (None, "w")]
    assert World.of(log_of(("user", "query"), *rows), users=2, seed=1).without_user == 1


def test_logs_that_cannot_be_replayed():
    with pytest.raises(InputError, match="replays a search log"):
        World.of(visits_log())
    with pytest.raises(InputError, match="no rows with a user and a query"):
        World.of(log_of(("user", "query"), (None, "a")))
