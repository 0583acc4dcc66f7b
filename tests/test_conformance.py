"""Everything that is registered passes the examination of its kind."""

from typing import Any

import pytest

from coterie.core import registry
from coterie.methods._template import Template
from coterie.testing import check_format, check_measure, check_method, check_promise

_NEEDED = {"private_counts": {"delta": 1e-6}}
"""Parameters that have no default."""
_ON_LARGER_LOGS = {
    "affinity": ["approximate", "max_degree", "v_max"],
    "generalize_users": ["paper_compat"],
    "interest_microaggregate": ["sensitive_share", "times"],
    "microaggregate": ["phrase_users"],
    "microaggregate_documents": ["centre"],
    "semantic_microaggregate": ["leftovers"],
}
"""Parameters whose effect thirty people do not show, or only beside two others; tests of these methods do."""


@pytest.mark.parametrize("name", registry.names("methods"))
def test_method(name: str) -> None:
    check_method(registry.method(name), _NEEDED.get(name), without_effect=_ON_LARGER_LOGS.get(name, ()))


@pytest.mark.parametrize("attrs", ["common", "keep", "drop"])
@pytest.mark.parametrize("users", ["drop", "session", "pseudonym"])
def test_suppress_rare_in_all_its_modes(users: str, attrs: str) -> None:
    check_method(registry.method("suppress_rare"), {"users": users, "attrs": attrs}, vary=False)


@pytest.mark.parametrize("params", [
    {"users": "mini", "link_queries": 2, "times": "hour", "k_details": 2},
    {"users": "day", "times": "drop", "window": "1d"},
])  # fmt: skip
def test_suppress_rare_by_other_rules(params: dict[str, Any]) -> None:
    check_method(registry.method("suppress_rare"), params, vary=False)


@pytest.mark.parametrize("params", [
    {"words": 1, "users": "mini", "times": "week", "k_details": 2},
    {"words": "all", "k": 2, "entities": "detect", "window": "1d", "users": "day", "times": "quarter"},
])  # fmt: skip
def test_allowlist_in_other_modes(params: dict[str, Any]) -> None:
    check_method(registry.method("allowlist"), params, vary=False)


@pytest.mark.parametrize("params", [
    {"max_words": 1, "users": "mini", "times": "hour"}, {"users": "day", "attrs": "drop"},
])  # fmt: skip
def test_unprotected_in_other_modes(params: dict[str, Any]) -> None:
    check_method(registry.method("unprotected"), params, vary=False)


def test_affinity_in_other_modes() -> None:
    check_method(
        registry.method("affinity"),
        {"k": 2, "theta": 0.5, "approximate": True, "v_max": 2, "users": "session"},
        vary=False,
    )
    check_method(
        registry.method("affinity"), {"k": 2, "strict": True, "min_term_users": 3, "attrs": "keep"}, vary=False
    )


def test_concept_microaggregate_with_labels_and_in_blocks() -> None:
    check_method(
        registry.method("concept_microaggregate"), {"k": 2, "synthetic": "label", "block_users": 4}, vary=False
    )


@pytest.mark.parametrize("params", [
    {"k": 2, "leftovers": "nearest", "normalize": "cosine", "categories": 1},
    {"k": 4, "leftovers": "suppress", "unit": "query", "attrs": "nearest"},
    {"k": 2, "block_users": 4, "attrs": "same_string"},
])  # fmt: skip
def test_semantic_microaggregate_in_other_modes(params: dict[str, Any]) -> None:
    check_method(registry.method("semantic_microaggregate"), params, vary=False)


@pytest.mark.parametrize("name", ["microaggregate", "semantic_microaggregate", "concept_microaggregate"])
def test_methods_with_phrases(name: str) -> None:
    attrs = {} if name == "concept_microaggregate" else {"attrs": "drop"}
    check_method(registry.method(name), {"k": 3, "publish": "phrases", "phrase_users": 2, **attrs}, vary=False)


def test_interest_microaggregate_with_queries() -> None:
    check_method(
        registry.method("interest_microaggregate"), {"k": 2, "publish": "queries", "attrs": "nearest"}, vary=False
    )


def test_generalize_in_other_modes() -> None:
    cls = registry.method("generalize")
    check_method(cls, {"size": "queries", "users": "session", "attrs": "keep"}, vary=False)
    check_method(cls, {"paper_compat": True, "users": "pseudonym", "attrs": "drop"}, vary=False)
    check_method(cls, {"users": "mini", "times": "month", "k_details": 2}, vary=False)
    check_method(registry.method("generalize_users"), {"k": 2, "paper_compat": True}, vary=False)


def test_the_template_is_a_method() -> None:
    check_method(Template)


@pytest.mark.parametrize("name", registry.names("promises"))
def test_promise(name: str) -> None:
    check_promise(registry.member("promises", name))


@pytest.mark.parametrize(("name", "numbers"), [
    ("user_k_anonymity", {"topics": "sha256:" + "0" * 64}),
    ("user_k_anonymity", {"labels": "sha256:" + "0" * 64}),
    ("user_k_anonymity", {"phrases": True}),
    ("word_k_anonymity", {"m": "all", "entities": "detect", "users": "mini", "window": "30d"}),
    ("none", {"users": "day", "attrs": "drop", "times": "drop"}),
    ("k_theta_affinity", {"function_words": "sha256:" + "0" * 64, "strict": True, "users": "pseudonym"}),
    ("concept_k_anonymity", {"taxonomy": "sha256:" + "0" * 64, "size": "queries", "users": "session"}),
])  # fmt: skip
def test_promise_with_other_numbers(name: str, numbers: dict[str, Any]) -> None:
    check_promise(registry.member("promises", name), numbers)


@pytest.mark.parametrize("name", registry.names("measures"))
def test_measure(name: str) -> None:
    check_measure(name)


@pytest.mark.parametrize("name", registry.names("formats"))
def test_format(name: str) -> None:
    check_format(name)
