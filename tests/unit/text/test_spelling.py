"""One spelling for what people type alike; laws of it are in tests/unit/steps/test_steps.py."""

import polars as pl
import pytest

from coterie.text.words import is_normal, spell


@pytest.mark.parametrize(("text", "spelled"), [
    ("New  York", "new york"),
    (" a\t\nb\u00a0c ", "a b c"),
    ("ＦＵＬＬ width", "full width"),
    ("ﬁne ½", "fine 1⁄2"),
    ("İstanbul", "i̇stanbul"),
    ("cafe\u0301", "café"),
    ("\u3000", ""),
    ("", ""),
])  # fmt: skip
def test_the_one_spelling(text, spelled):
    assert pl.select(spell(pl.lit(text))).item() == spelled


@pytest.mark.parametrize(("text", "normal"), [
    ("new york 10001!", True),
    ("a", True),
    ("A", False),
    ("a  b", False),
    (" a", False),
    ("a ", False),
    ("a\tb", False),
    ("é", False),
    ("", False),
])  # fmt: skip
def test_what_is_normal_needs_no_spelling(text, normal):
    assert pl.select(is_normal(pl.lit(text))).item() is normal
    assert not normal or pl.select(spell(pl.lit(text))).item() == text
