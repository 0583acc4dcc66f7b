"""Single texts are spelled and cut as columns are."""

import polars as pl
from hypothesis import example, given
from hypothesis import strategies as st

from coterie.text.language import keywords_of, language, spell_one
from coterie.text.words import spell

_LETTERS = "abcXYZ äÉßİ\u00a0\t\u3000\ufdd0 ½ﬁ 0129 東京新聞カタカナーひらがな 한국어 ไทย ລາວ ខ្មែរ မြန်မာ a's the of www"
TEXTS = st.lists(st.sampled_from([*_LETTERS, "the ", "www ", "of ", "東京"]), max_size=20).map("".join)


@given(TEXTS)
@example("Cafe\u0301  NOIR ")
def test_one_spelling(text):
    assert spell_one(text) == pl.select(spell(pl.lit(text))).item()


@given(TEXTS)
@example("東京")
@example("東")
@example("new york 東京タワー")
def test_keywords(text):
    spelled, english = spell_one(text), language("english")
    column = pl.select(english.keywords(pl.lit(spelled))).to_series()
    assert keywords_of(spelled, english) == frozenset(column.item().to_list())


def test_stop_words_of_a_language():
    assert keywords_of("der hund und the katze", language("german")) == {"hund", "the", "katze"}
