"""Forms have every parameter of every method, and what is typed becomes the method that the command line would make."""

import pytest

from coterie.core import registry
from coterie.core.params import params_of
from coterie.core.shapes import SHAPES
from coterie.errors import ParameterError
from coterie.studio.fields import groups_for, method_of, offers, values_of

EVERY = offers()


def test_every_method_and_parameter_is_there():
    assert [offer.name for offer in EVERY] == registry.names("methods")
    for offer in EVERY:
        names = [param.name for param in params_of(registry.method(offer.name))]
        assert [field.name for field in offer.fields] == names
        assert all(field.doc and field.allowed for field in offer.fields)


@pytest.mark.parametrize("shape", sorted({shape for offer in EVERY for shape in offer.accepts}))
def test_every_method_that_works_on_a_log_is_offered_once(shape):
    offered = [offer.name for _, _, some in groups_for(shape, EVERY) for offer in some]
    assert sorted(offered) == [
        name
        for name in registry.names("methods")
        if SHAPES[shape] in registry.method(name).accepts and name != "unprotected"  # which promises nothing
    ]


@pytest.mark.parametrize("offer", [each for each in EVERY if not each.spends], ids=lambda offer: offer.name)
def test_a_form_that_is_sent_as_it_is_gives_the_defaults(offer):
    typed = {field.name: field.default for field in offer.fields}
    assert method_of(offer.name, typed) == registry.method(offer.name)()


def test_sliders_and_menus():
    of = {offer.name: {field.name: field for field in offer.fields} for offer in EVERY}
    k, theta = of["affinity"]["k"], of["affinity"]["theta"]
    assert (k.widget, k.low, k.step, k.first) == ("slider", 2, 1, True)
    assert (theta.widget, theta.high, theta.step) == ("slider", 1, 0.05)
    assert of["suppress_rare"]["users"].widget == "choice"
    assert "drop" in of["suppress_rare"]["users"].options
    assert of["affinity"]["strict"].widget == "flag"
    assert of["private_counts"]["epsilon"].widget in ("slider", "number")


def test_spending_is_known():
    assert [offer.name for offer in EVERY if offer.spends] == ["private_counts"]


@pytest.mark.parametrize("text", ["five", "5.5", "", "1", "-3", "1e99", "9" * 40, "٥x", "<script>"])
def test_what_cannot_be_is_refused_in_a_sentence(text):
    if text == "":
        assert values_of("suppress_rare", {"k": text}) == {}, "nothing typed: the default"
        return
    if text == "9" * 40:
        assert method_of("suppress_rare", {"k": text}).k == int(text)
        return
    with pytest.raises(ParameterError, match=r"'k' parameter of \w+ must be a whole number of at least 2"):
        method_of("suppress_rare", {"k": text})
