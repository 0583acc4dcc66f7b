"""Columns as text, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.reading.reading import columns_as_text, columns_in

_NAMES = st.text(st.characters(blacklist_categories=["Cs", "Cc", "Z"]), min_size=1)


def test_as_people_write_it():
    assert columns_in("user=cookie, query = q,") == {"user": "cookie", "query": "q"}
    assert columns_in("") == {}
    assert columns_in('"user=name, first",query=a"b') == {"user": "name, first", "query": 'a"b'}
    for wrong in ("user", "=q", "user=", "user=a\nb"):
        with pytest.raises(ValueError, match=r"user|q"):
            columns_in(wrong)


@given(st.dictionaries(st.sampled_from(["user", "time", "query"]), _NAMES, min_size=1))
def test_there_and_back(columns):
    assert columns_in(columns_as_text(columns)) == columns
