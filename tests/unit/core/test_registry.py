import pytest

from coterie.core import registry
from coterie.errors import InputError, UnknownNameError


@pytest.mark.parametrize(("kind", "name"), [("formats", "aol"), ("measures", "exposure")])
def test_a_member_may_be_given_by_its_name_or_as_its_module(kind, name):
    assert registry.name_in(kind, name) == name
    assert registry.name_in(kind, registry.module(kind, name)) == name
    with pytest.raises(InputError, match=r"is the module pytest\. Give its name"):
        registry.name_in(kind, pytest)


def test_a_name_is_a_file_name():
    assert "suppress_rare" in registry.names("methods")
    assert registry.method("suppress_rare").__name__ == "SuppressRare"
    assert set(registry.names("measures")) >= {
        "exposure",
        "information_loss",
        "frequency",
        "release_share",
        "uniqueness",
    }
    assert set(registry.names("formats")) == {
        "aol",
        "w3c",
        "solr",
        "matomo",
        "elastic",
        "caddy",
        "algolia",
        "clf",
        "documents",
        "excite",
        "sogou",
        "table",
        "term_vectors",
        "ubi",
    }
    assert {"drop_empty", "events", "normalize", "scrub", "sessions"} < set(registry.names("steps"))


def test_files_that_start_with_an_underscore_are_not_members():
    assert not [name for kind in ("methods", "formats") for name in registry.names(kind) if name[0] == "_"]


def test_an_unknown_name_gets_a_hint():
    with pytest.raises(UnknownNameError, match="Did you mean 'suppress_rare'"):
        registry.method("supress_rare")


def test_third_parties_register_by_entry_point(monkeypatch):
    class Point:
        name, module = "theirs", "coterie.methods.suppress_rare"

    monkeypatch.setattr(registry, "_entry_points", lambda kind: [Point] if kind == "methods" else [])
    assert "theirs" in registry.names("methods")
    assert registry.module("methods", "theirs").__name__ == "coterie.methods.suppress_rare"
