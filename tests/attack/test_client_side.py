"""What an engine and friends find when people protect themselves: the adversary wins where nothing protects."""

import pytest

from coterie.lab.simulate import protocol, simulate
from tests.helpers.worlds import scores, synthetic_world

ATTACKS = ["simattack", "unmix", "exposure"]


@pytest.fixture(scope="module")
def found():
    cells = {
        "raw": ("unprotected", {}),
        "hidden": ("unlinkable", {}),
        "hidden at home": ("unlinkable", {"answer_repeats": True}),
        "goopir": ("goopir", {"n_fakes": 3}),
        "trackmenot": ("trackmenot", {}),
        "past": ("xsearch", {"n_fakes": 3}),
        "cyclosa": ("cyclosa", {}),
        "uup": ("uup", {}),
        **{choice: ("friends", {"degree": 6, "choice": choice}) for choice in ("balanced", "sticky_topic")},
        "forwarded": ("friends", {"degree": 6, "forward": 0.9, "hops": 6}),
        "fakes of friends": ("friends", {"degree": 6, "fakes": "past"}),
    }
    world = synthetic_world()
    return {
        name: scores(simulate(world, protocol(which, **params), measures=ATTACKS, seed=7))
        for name, (which, params) in cells.items()
    }


def test_without_protection_everybody_is_named(found):
    assert found["raw"]["simattack", "true_past.recall"] == 100
    assert found["raw"]["simattack", "mixed_past.recall"] == 100
    assert found["raw"]["simattack", "naive.recall"] == 100


def test_without_names_words_still_point_at_people(found):
    """One of 60 users: chance is 1.7 %."""
    recall = found["hidden"]["simattack", "true_past.recall"]
    assert 15 < recall < 100
    assert found["hidden"]["simattack", "true_past.recall.pointing"] > 2 * recall - 20
    assert ("simattack", "mixed_past.recall") not in found["hidden"], "there are no profiles to compare with"


def test_repeats_answered_at_home_are_never_named(found):
    before, after = (found[name]["simattack", "true_past.recall"] for name in ("hidden", "hidden at home"))
    assert after < before
    assert found["hidden at home"]["simattack", "true_past.recall.repeats"] == 0


def test_exposure_alone_misleads(found):
    """Little of a profile stands under one's name, and most authors are named all the same."""
    for name in ("balanced", "sticky_topic"):
        assert found[name]["exposure", "exposed.mean"] < 25
        assert found[name]["simattack", "true_past.recall"] > 40
    assert found["balanced"]["simattack", "true_past.recall"] > found["hidden"]["simattack", "true_past.recall"]


def test_who_un_mixes_finds_more_than_who_believes_the_mixture(found):
    balanced, sticky = found["balanced"], found["sticky_topic"]
    assert balanced["unmix", "recall"] > balanced["simattack", "mixed_past.recall"] + 10
    assert balanced["unmix", "recall"] > sticky["unmix", "recall"]
    assert balanced["unmix", "rand"] > 10


def test_forwarding_hides_more(found):
    assert found["forwarded"]["simattack", "true_past.recall"] < found["balanced"]["simattack", "true_past.recall"]


def test_fakes_under_ones_own_name_hardly_help(found):
    assert found["goopir"]["simattack", "true_past.recall"] > 50  # chance is 25
    assert found["trackmenot"]["simattack", "true_past.auc"] > 65  # chance is 50
    assert found["goopir"]["exposure", "exposed.mean"] == 100


def test_fakes_help_on_top_of_a_channel(found):
    hidden = found["hidden"]["simattack", "true_past.recall"]
    assert found["past"]["simattack", "true_past.recall"] < hidden
    assert found["cyclosa"]["simattack", "true_past.recall"] == hidden
    assert found["cyclosa"]["simattack", "true_past.precision"] < found["hidden"]["simattack", "true_past.precision"]
    friends = found["balanced"]["simattack", "true_past.recall"]
    assert found["fakes of friends"]["simattack", "true_past.recall"] < friends


def test_groups_of_three_leave_three_candidates(found):
    assert found["uup"]["exposure", "exposed.mean"] == pytest.approx(100 / 3, abs=5)
    assert found["uup"]["simattack", "true_past.recall"] > found["hidden"]["simattack", "true_past.recall"]
