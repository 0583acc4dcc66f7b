"""Lists that come along as data files."""

from importlib.resources import files

import pytest

from coterie.core.registry import table_at, text_at

_FILES = [
    (package, f"{folder}{entry.name}")
    for package, folder in (("core", "data/"), ("reading", ""), ("synth", "data/"), ("text", "data/"))
    for entry in (files("coterie") / package / folder).iterdir()
    if entry.name.endswith(".toml")
]


def test_a_text_is_read_as_it_is():
    first = text_at("text", "data/census_first_names.txt").split()
    assert len(first) == len(set(first)) == 1_500


@pytest.mark.parametrize(("package", "name"), _FILES)
def test_a_table_is_read_once_and_says_what_it_is(package, name):
    assert table_at(package, name) is table_at(package, name)
    assert text_at(package, name).startswith("# ")


def test_no_other_file_is_found():
    with pytest.raises(FileNotFoundError):
        text_at("text", "data/nothing.toml")
