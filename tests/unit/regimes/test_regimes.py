"""Regimes are files that are complete: settings that a method takes, sources, and what is unknown."""

from dataclasses import asdict

import pytest

from coterie import regimes
from coterie.core import registry
from coterie.errors import UnknownNameError
from coterie.steps import spelled, steps_of

NAMES = ("commission_2026", "duckduckgo_2026", "google_2024", "mozilla", "orcas")


def test_all_are_there():
    assert tuple(regimes.names()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_regime_is_complete(name):
    regime = regimes.load(name)
    assert regime.method in registry.names("methods")
    assert all(source.url.startswith("https://") for source in regime.sources)
    assert regime.sources
    assert regime.ours
    assert regime.unknown
    assert tuple(map(spelled, steps_of(regime.prepare))) == regime.prepare
    made = asdict(regime.make())
    assert {key: made[key] for key in regime.parameters} == regime.parameters
    assert regime.settings == made
    assert regime.changed(made, regime.prepare) == ()


def test_what_is_changed():
    regime = regimes.load("google_2024")
    assert regime.changed(asdict(regime.make(k=5)), ("normalize",)) == ("k", "prepare")


def test_further_columns_are_a_change_where_a_regime_has_no_crowd_for_them():
    for name, changed in (("mozilla", ("details",)), ("google_2024", ())):
        regime = regimes.load(name)
        assert regime.changed(asdict(regime.make()), regime.prepare, ("email",)) == changed


def test_one_that_is_not_there():
    with pytest.raises(UnknownNameError, match=r"Did you mean 'mozilla'\?"):
        regimes.load("mozila")
