"""Laws of simulations: rows in any order, the same seed, the same numbers; nothing is lost on the way."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coterie.core import registry
from coterie.lab.simulate import protocol, simulate
from tests.helpers.worlds import world_of

rows = st.lists(
    st.tuples(
        st.sampled_from(["ann", "bob", "cy", "di"]),
        st.integers(0, 30),
        st.sampled_from(["red car", "blue car", "cat", "cat food", "the", "dogs"]),
        st.sampled_from([None, "http://one", "http://two"]),
    ),
    min_size=8,
    max_size=30,
).filter(lambda each: len({user for user, *_ in each}) == 4)
protocols = st.sampled_from(
    [
        *((name, {}) for name in registry.names("protocols") if name != "friends"),
        *(("friends", {"degree": 2, "choice": c}) for c in ("uniform", "balanced", "similar", "sticky_query")),
        ("friends", {"degree": 2, "choice": "best_fit", "answer_repeats": True, "fakes": "walk"}),
        ("friends", {"degree": 3, "selfish": 0.25, "colluding": 0.25, "forward": 0.5, "hops": 2, "credit": 3}),
        ("unlinkable", {"answer_repeats": True, "fakes": "dictionary"}),
    ]
)
_QUICK = ["exposure", "friends", "cost", "simattack", "personalization", "unmix"]


@given(rows, protocols, st.randoms(), st.integers(0, 2**64))
def test_the_order_of_rows_has_no_influence(given_rows, which, random, seed):
    name, params = which
    mixed = random.sample(given_rows, len(given_rows))
    one, other = (simulate(world_of(*each), protocol(name, **params), measures=_QUICK, seed=seed)
                  for each in (given_rows, mixed))  # fmt: skip
    assert one.scores.equals(other.scores)


@given(rows, protocols, st.integers(0, 1000))
def test_every_query_is_submitted_by_somebody_or_answered_at_home(given_rows, which, seed):
    name, params = which
    world = world_of(*given_rows)
    done = simulate(world, protocol(name, **params), measures=_QUICK, seed=seed)
    identity = done.seen.identity
    assert identity.size == world.n_events
    assert np.array_equal(identity == -2, world.repeats & params.get("answer_repeats", False))
    assert identity.max() < world.n_users
    shares = done.scores.filter(unit="%")["value"].drop_nulls()
    assert shares.is_between(-1e-6, 100 + 1e-6).all()
