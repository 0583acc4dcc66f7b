"""Protections without friends.

Covers: lab/simulate/protocols/unprotected.py, lab/simulate/protocols/unlinkable.py, lab/simulate/protocols/goopir.py,
lab/simulate/protocols/trackmenot.py, lab/simulate/protocols/peas.py, lab/simulate/protocols/xsearch.py,
lab/simulate/protocols/cyclosa.py, lab/simulate/protection.py, lab/simulate/protection.py
"""

import numpy as np
import pytest

from coterie.core import registry
from coterie.core.params import params_of
from coterie.errors import ParameterError, UnknownNameError
from coterie.lab.simulate import protection, protocol
from tests.helpers.worlds import synthetic_world

OWN = ("unprotected", "goopir", "trackmenot")
HIDDEN = ("unlinkable", "peas", "xsearch", "cyclosa")


def test_all_are_known():
    assert set(registry.names("protocols")) == {*OWN, *HIDDEN, "friends", "uup"}
    for name in registry.names("protocols"):
        assert all(param.doc for param in params_of(registry.member("protocols", name)))
        assert isinstance(protocol(name), protection.Protection)


@pytest.mark.parametrize("name", [*OWN, *HIDDEN])
@pytest.mark.parametrize("at_home", [False, True])
def test_identities(name, at_home):
    world = synthetic_world()
    found = protocol(name, answer_repeats=at_home).protect(world, 7)
    left = ~world.repeats if at_home else np.ones(world.n_events, dtype=bool)
    assert np.array_equal(found.left, left)
    expected = world.author if name in OWN else np.full(world.n_events, protection.NOBODY)
    assert np.array_equal(found.identity[left], expected[left])
    assert (found.identity[~left] == protection.LOCAL).all()
    assert found.honest.all()
    assert (found.messages[left] > 0).all() == (name in HIDDEN)


def test_fakes():
    kinds = {name: protocol(name).protect(synthetic_world(), 7).fakes for name in (*OWN, *HIDDEN)}
    assert {name: fakes.kind for name, fakes in kinds.items()} == {
        "unprotected": "none",
        "goopir": "dictionary",
        "trackmenot": "others",
        "unlinkable": "none",
        "peas": "walk",
        "xsearch": "past",
        "cyclosa": "past",
    }
    assert [name for name, fakes in kinds.items() if not fakes.together] == ["trackmenot", "cyclosa"]
    both = protocol("unlinkable", fakes="walk", n_fakes=2).protect(synthetic_world(), 7).fakes
    assert (both.kind, both.n, both.together) == ("walk", 2, True)


def test_bad_names_and_values():
    with pytest.raises(UnknownNameError, match=r"No protocol is called 'freinds'. Did you mean 'friends'"):
        protocol("freinds")
    with pytest.raises(ParameterError, match="'n_fakes' parameter of goopir"):
        protocol("goopir", n_fakes=0)
