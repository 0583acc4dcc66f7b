"""Forms have every parameter of every method, and what is typed becomes the method that the command line would make."""

import pytest

import coterie
from coterie.apps.studio.fields import groups_for, method_of, offers, values_of
from coterie.core import registry
from coterie.core.params import Range, params_of
from coterie.core.shapes import SHAPES
from coterie.errors import ParameterError
from coterie.testing._logs import larger_log

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


@pytest.mark.parametrize("shape", ["QUERIES", "VISITS"])
def test_the_first_method_is_one_that_is_stable(shape):
    (first, *_), *_ = (some for _, _, some in groups_for(shape, EVERY))
    assert (first.name, first.status) == ("suppress_rare", "stable")


def test_what_does_nothing_is_hidden_until_it_does():
    of = {offer.name: {field.name: field for field in offer.fields} for offer in EVERY}
    link, share = of["suppress_rare"]["link_queries"], of["interest_microaggregate"]["max_share"]
    assert link.doc.startswith("with users = mini: ")
    assert not link.first, "it stands beside what it depends on"
    assert (link.matters({}), link.matters({"users": "mini"}), link.matters({"users": "day"})) == (False, True, False)
    assert (share.matters({}), share.matters({"publish": "queries"})) == (False, True)
    assert of["microaggregate"]["max_share"].matters({})
    topics = of["interest_microaggregate"]["sensitive_share"]
    assert (topics.matters({}), topics.matters({"sensitive": "topics.txt"})) == (False, True)
    assert of["suppress_rare"]["k"].matters({"users": "mini"})


IDLE = [
    (name, param)
    for name in registry.names("methods")
    for param in params_of(registry.method(name))
    if param.only is not None and isinstance(param.rule, Range)
]


def _said(release):
    """The sentence and all rows, but for random names, which differ whenever a setting does."""
    shape = release.log.shape
    columns = [name for name in shape.released if name != shape.subject]
    return release.verdict.sentence, release.to_polars().select(columns).sort(columns).rows()


@pytest.mark.parametrize(("name", "param"), IDLE, ids=lambda each: getattr(each, "name", each))
def test_what_is_hidden_does_nothing(name, param):
    method, only = registry.method(name), param.only
    others = {each.name: each for each in params_of(method)}
    options = [others[only.name].default, *getattr(others[only.name].rule, "options", ())]
    given = {only.name: next(each for each in options if not only.matters(each))}
    given |= {"k": 2} if "k" in others else {}
    given |= {"attrs": "drop"} if given.get("publish") == "phrases" else {}
    log, numbers = larger_log(method.accepts[0]), (param.rule.low, param.rule.high or 10 * param.default)
    one, other = (coterie.anonymize(log, method(**given, **{param.name: number}), seed=7) for number in numbers)
    assert _said(one) == _said(other)


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
