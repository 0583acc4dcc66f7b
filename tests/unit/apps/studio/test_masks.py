"""A mask tells the form of a value, and nothing of what it says."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from coterie.apps.studio.tasks import HIDDEN, LONGEST, masked


def test_forms():
    assert masked("Anna.Smith@mail.example") == "aaaa.aaaaa@aaaa.aaaaaaa"
    assert masked("2006-03-01 07:17:12") == "0000-00-00 00:00:00"
    assert masked(None) == ""
    assert masked("日本 ٣") == "aa 0"
    assert masked("<b>") == f"{HIDDEN}a{HIDDEN}"
    assert masked("x" * 100) == "a" * LONGEST + "…"


@given(st.text())
def test_nothing_but_signs_that_say_nothing(text):
    allowed = set("a0 -:/.,@_?&=+%…" + HIDDEN)
    assert set(masked(text)) <= allowed


@given(st.text(max_size=LONGEST))
def test_values_of_one_form_have_one_mask(text):
    other = "".join("z" if letter.isalpha() else letter for letter in text)
    assert masked(other) == masked(text)
    assert all(unicodedata.category(each) != "Cc" for each in masked(text))
