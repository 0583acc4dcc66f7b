"""Measures of simulations, by hand where that can be done.

Covers: lab/simulate/measures/cost.py, lab/simulate/measures/distribution.py, lab/simulate/measures/personalization.py,
lab/simulate/measures/exposure.py, lab/simulate/measures/simattack.py, lab/simulate/measures/unmix.py
"""

import numpy as np
import pytest
from scipy import stats

from coterie.lab.simulate import protocol, simulate
from coterie.lab.simulate.case import Case
from coterie.lab.simulate.measures import cost, distribution, exposure, personalization, simattack, unmix
from tests.helpers.worlds import scores, synthetic_world, world_of


def _run(name, measures, seed=7, **params):
    return scores(simulate(synthetic_world(), protocol(name, **params), measures=measures, seed=seed))


def test_every_measure_names_its_figures():
    every = _run("friends", None, degree=6, colluding=0.1)
    for module in (cost, distribution, exposure, personalization, simattack, unmix):
        name = module.__name__.rpartition(".")[2]
        assert {key for measure, key in every if measure == name} >= set(module.figures) - {"refound"}


@pytest.mark.parametrize(("freedom", "square"), [(1, 4.0), (4, 3.0), (9, 20.0), (40, 70.0)])
def test_the_tail_of_chi_square(freedom, square):
    expected = stats.chi2.sf(square, freedom)
    assert distribution.chi_square_tail(square, freedom) == pytest.approx(expected, abs=0.01)


def test_how_even_counts_are():
    entropy, largest, p, gini = distribution.spread(np.array([25.0, 25, 25, 25]))
    assert (entropy, largest, gini) == pytest.approx((1, 0.25, 0))
    assert p > 0.99
    entropy, largest, p, gini = distribution.spread(np.array([100.0, 0, 0, 0]))
    assert (entropy, largest, gini) == pytest.approx((0, 1, 0.75))
    assert p < 1e-6


def test_g1_balanced_is_even_and_sticky_is_not():
    balanced = _run("friends", ["distribution"], topology="ring", degree=4)
    assert balanced["distribution", "entropy"] > 99.8
    assert balanced["distribution", "own"] == pytest.approx(20, abs=1)
    assert balanced["distribution", "chi_square"] == 0
    uniform = _run("friends", ["distribution"], topology="ring", degree=4, choice="uniform")
    assert 99 < uniform["distribution", "entropy"] < balanced["distribution", "entropy"]
    sticky = _run("friends", ["distribution"], topology="ring", degree=4, choice="sticky_query")
    assert sticky["distribution", "entropy"] == 0
    assert sticky["distribution", "largest"] == 100


def test_exposure_is_what_theory_says():
    """100 / (degree + 1), and a little more where friends searched for the same."""
    for degree in (2, 4):
        found = _run("friends", ["exposure"], topology="ring", degree=degree, choice="uniform")
        assert found["exposure", "exposed.mean"] == pytest.approx(100 / (degree + 1), abs=4)
        assert found["exposure", "channel.mean"] >= found["exposure", "exposed.mean"]
    assert _run("unprotected", ["exposure"])["exposure", "exposed.mean"] == 100
    assert _run("unlinkable", ["exposure"])["exposure", "exposed.mean"] == 0


def test_the_degrees_add_up():
    found = _run("friends", ["exposure"], degree=6)
    sizes = {key.split(".")[1]: value for (_, key), value in found.items() if key.endswith(".users") and "." in key}
    assert sum(sizes.values()) == found["exposure", "users"] == synthetic_world().n_users
    means = [found["exposure", f"degree.{name}.mean"] * n for name, n in sizes.items()]
    assert sum(means) / sum(sizes.values()) == pytest.approx(found["exposure", "exposed.mean"])


def test_personalization():
    own = _run("unprotected", ["personalization"])
    assert own["personalization", "kept"] == pytest.approx(100)
    assert own["personalization", "refound"] == own["personalization", "refound.unprotected"]
    hidden = _run("unlinkable", ["personalization"])
    assert hidden["personalization", "kept"] == pytest.approx(0)
    assert hidden["personalization", "refound"] == 0
    at_home = _run("unlinkable", ["personalization"], answer_repeats=True)
    assert at_home["personalization", "refound"] == own["personalization", "refound"]
    balanced, sticky = (
        _run("friends", ["personalization"], degree=6, choice=choice) for choice in ("balanced", "sticky_query")
    )
    assert 0 < balanced["personalization", "kept"] < 100
    assert sticky["personalization", "refound"] >= own["personalization", "refound"]
    assert balanced["personalization", "refound"] < own["personalization", "refound"]


def test_pages_found_again_by_hand():
    rows = [("a", i, "q", "http://p") for i in range(3)] + [("b", i, f"x{i}", "http://p") for i in range(3)]
    world = world_of(*rows)
    found = scores(simulate(world, protocol("unprotected"), measures=["personalization"], seed=1))
    assert found["personalization", "refound"] == 50  # the last third is one click each; only a's was there before


def test_costs():
    found = _run("unprotected", ["cost"])
    assert (found["cost", "messages"], found["cost", "requests"], found["cost", "at_home"]) == (0, 1, 0)
    assert 250 < found["cost", "milliseconds.p50"] < 350
    assert _run("goopir", ["cost"], n_fakes=4)["cost", "requests"] == 5
    assert 1 < _run("cyclosa", ["cost"], n_fakes=4)["cost", "requests"] < 5
    handed = _run("friends", ["cost"], topology="ring", degree=4)
    assert handed["cost", "messages"] == pytest.approx(2 * (100 - handed["cost", "own"]) / 100)
    assert handed["cost", "milliseconds.p50"] > found["cost", "milliseconds.p50"]
    refused = [_run("friends", ["cost"], degree=6, selfish=0.5, backoff=backoff) for backoff in (0, 5)]
    assert refused[0]["cost", "refusals"] > 2 * refused[1]["cost", "refusals"]


def test_how_well_two_samples_are_told_apart():
    assert simattack.area(np.array([3, 4]), np.array([1, 2])) == 1
    assert simattack.area(np.array([1, 2]), np.array([1, 2])) == 0.5
    assert simattack.area(np.array([0]), np.array([1, 0])) == 0.25


def test_rand_within_identities():
    identity = np.array([0, 0, 0, 0, 1, 1], dtype=np.int32)
    author = np.array([5, 5, 6, 6, 7, 8], dtype=np.int32)
    assert unmix.rand_within(identity, author, author) == 1
    assert unmix.rand_within(identity, np.zeros(6, dtype=np.int32), author) == 0


def _all_numbers(world, by):
    done = simulate(world, by, seed=7)
    assert not done.scores["value"].is_nan().any()
    return done


def test_who_hides_among_nobody_is_named(tmp_path):
    """c has no friends: no past is needed to know who searches under their name."""
    (tmp_path / "friends.txt").write_text("a b\n")
    rows = [(user, 3 * i + j, f"{user}{i} unheard{i}{user}", None) for j, user in enumerate("abc") for i in range(3)]
    world = world_of(*rows)
    by = protocol("friends", topology=str(tmp_path / "friends.txt"), nodes="users")
    seen = by.protect(world, 7)
    success, guesses, _ = simattack.named(Case(world=world, protocol=by, seen=seen, seed=7), world.true_past)
    assert success.tolist() == [0, 0, 1]
    assert guesses == 1


def test_engines_that_friends_tell():
    found = _run("friends", ["simattack"], topology="ring", degree=4, choice="best_fit", colluding=1.0)
    assert found["simattack", "true_past.told.recall"] == found["simattack", "mixed_past.told.recall"] == 100
    assert found["simattack", "true_past.recall"] < 100
    some = _run("friends", ["simattack"], topology="ring", degree=4, colluding=0.5)
    assert some["simattack", "true_past.recall"] < some["simattack", "true_past.told.recall"] < 100
    assert ("simattack", "true_past.told.recall") not in _run("friends", ["simattack"], degree=6)


def test_forwarded_queries_are_looked_for_among_one_circle():
    """The real query and the fake ones are compared among the same people: the better of both circles as a whole."""
    world = synthetic_world()
    by = protocol("friends", topology="ring", degree=4, forward=0.9, hops=3, fakes="others", n_fakes=2)
    case = Case(world=world, protocol=by, seen=by.protect(world, 7), seed=7)
    events = case.targets
    both = [
        simattack._pairs_among(case, events, world.true_past, candidates)
        for candidates in (case.candidates(events), simattack._friends_of_friends(case, events))
    ]
    success, guesses, _ = simattack.named(case, world.true_past)
    assert success.sum() == max(right.sum() for right, _ in both)
    assert guesses in {of for _, of in both}
    assert both[0][0].sum() != both[1][0].sum()


def test_fakes_that_depend_on_the_past_are_counted_where_there_is_one():
    """Nobody repeats a word, so no query points at its author, also not one that stands in the past itself."""
    world = world_of(*((user, i, f"{user}{i}", None) for user in "ab" for i in range(6)))
    assert scores(simulate(world, protocol("cyclosa"), measures=["cost"], seed=7))["cost", "requests"] == 1


@pytest.mark.parametrize("name", ["xsearch", "peas", "cyclosa"])
def test_a_log_without_a_past_has_no_fakes_from_it(name):
    world = world_of(*((f"u{i}", i, f"word{i}", None) for i in range(5)))
    assert "no words" in _all_numbers(world, protocol(name)).left_out["simattack"]


def test_a_log_without_a_past_among_friends():
    world = world_of(*((f"u{i}", i, f"word{i}", None) for i in range(5)))
    assert "in the past" in _all_numbers(world, protocol("friends", degree=2)).left_out["unmix"]


@pytest.mark.parametrize("choice", ["balanced", "similar", "sticky_topic", "best_fit"])
def test_a_log_without_keywords(choice):
    world = world_of(*((f"u{i}", minute, "the of", None) for i in range(5) for minute in range(3)))
    done = _all_numbers(world, protocol("friends", topology="ring", degree=2, choice=choice))
    assert scores(done)["simattack", "true_past.recall"] == 0
    assert scores(done)["personalization", "kept"] is None


def test_nobody_does_what_the_protocol_says():
    done = _all_numbers(synthetic_world(), protocol("friends", degree=6, selfish=1.0))
    assert set(done.left_out) == {"distribution", "friends"}
    assert scores(done)["exposure", "exposed.mean"] is None
