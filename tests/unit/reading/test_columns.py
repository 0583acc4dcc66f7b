"""Columns as text, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.errors import ParameterError
from coterie.reading.reading import columns_as_text, columns_of

_NAMES = st.text(st.characters(blacklist_categories=["Cs", "Cc", "Z"]), min_size=1)


def test_as_people_write_it():
    assert columns_of("user=cookie, query = q,") == {"user": "cookie", "query": "q"}
    assert columns_of("") == {}
    assert columns_of('"user=name, first",query=a"b') == {"user": "name, first", "query": 'a"b'}
    for wrong in ("user", "=q", "user=", "user=a\nb"):
        with pytest.raises(ParameterError, match="our name first"):
            columns_of(wrong)
    for wrong in (5, ["user"], {"user": 5}, {1: "user"}):
        with pytest.raises(ParameterError, match="our name first"):
            columns_of(wrong)


@given(st.dictionaries(st.sampled_from(["user", "time", "query"]), _NAMES, min_size=1))
def test_there_and_back(columns):
    assert columns_of(columns_as_text(columns)) == columns
