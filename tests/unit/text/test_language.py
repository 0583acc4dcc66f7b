"""Language is one value: stems, stop words, function words and what a word is."""

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import Stemmer
import stopwordsiso
from hypothesis import given
from hypothesis import strategies as st

from coterie.errors import InputError, MissingError, ParameterError, UnknownNameError
from coterie.methods.affinity import Affinity
from coterie.methods.interest_microaggregate import InterestMicroaggregate
from coterie.text.language import (
    FUNCTION_LISTS,
    FUNCTION_WORDS,
    LANGUAGES,
    NO_LANGUAGE,
    STEMMED,
    Language,
    function_words,
    language,
    language_in,
    name_of_words,
)
from coterie.text.words import digest_of, pieces

DIGESTS = {
    "english": "f72aadc5",
    "german": "6b1ca1eb",
    "french": "6ecac65c",
    "spanish": "01751f4d",
    "italian": "a4cadc24",
    "portuguese": "4933c472",
    "dutch": "f15fef84",
    "swedish": "76dd6751",
    "danish": "ec18e76e",
    "norwegian": "a64a67cc",
    "polish": "131e99eb",
    "russian": "11cf1fbb",
    "none": "e3b0c442",
}
DOCS = Path(__file__).parents[3] / "docs" / "languages.md"


def _of(expression):
    """The only value of an expression."""
    return pl.select(expression).item().to_list()


def test_by_name_and_by_code():
    assert language("de") is language("de")
    assert language("de") == language("german") == language("DE") == Language("german")
    assert (language("german").name, language("german").code) == ("german", "de")
    with pytest.raises(UnknownNameError, match="Did you mean 'german'"):
        language("germann")
    assert language_in({"language": "fr"}) == language("french")
    assert language_in({"k": 5}) == language("english")


def test_all_languages_of_the_stemmer_are_there():
    missing = set(Stemmer.algorithms()) - set(STEMMED) - {"porter", "dutch_porter"}
    assert not missing
    codes = [code for code in LANGUAGES.values() if code]
    assert len(codes) == len(set(codes))
    assert set(stopwordsiso.langs()) <= set(codes)
    assert set(FUNCTION_WORDS) <= set(LANGUAGES)


def test_the_page_has_them_all():
    text = DOCS.read_text()
    assert not [name for name, code in LANGUAGES.items() if code and f"{name} ({code})" not in text]
    assert ", ".join(sorted(FUNCTION_WORDS)) in text


@pytest.mark.parametrize("name", sorted(LANGUAGES))
def test_every_language_can_be_used(name):
    spoken = language(name)
    if name in STEMMED and name not in Stemmer.algorithms():
        with pytest.raises(MissingError, match="Install a newer one"):
            spoken.stems(pl.Series(["word"]))
        return
    assert spoken.stems(pl.Series("w", ["word", "x1", ""])).len() == 3
    assert spoken.stems(pl.Series("w", [], dtype=pl.String)).dtype == pl.String
    assert ("www" in spoken.stop_words) is (name != NO_LANGUAGE)


def test_stems_and_stop_words():
    german = language("german")
    assert german.stems(pl.Series(["gärten", "garten", "versicherungen", "versicherung"])).n_unique() == 2
    assert {"und", "für", "fur", "uber"} <= german.stop_words, "as they are typed and as pieces are spelled"
    assert language("english").stems(pl.Series(["gardens", "gardening"])).to_list() == ["garden", "garden"]
    assert language("chinese").stems(pl.Series(["gardens"])).to_list() == ["gardens"]
    assert language("none").stop_words == language("none").function_words == frozenset()


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("english", "Mother's café, 2nd-hand", ["mothers", "cafe", "2nd", "hand"]),
        ("english", "Российский", ["россиискии"]),  # what English always did
        ("russian", "Российский Café", ["российский", "cafe"]),
        ("german", "Gärten & Häuser", ["garten", "hauser"]),
        ("english", "蓝茶壶", ["蓝茶", "茶壶"]),
        ("chinese", "蓝 茶壶", ["蓝", "茶壶"]),
        ("english", "iphone手机壳 red", ["iphone", "red", "手机", "机壳"]),
        ("english", "ラーメン", ["ラー", "ーメ", "メン"]),
        ("english", "ガガ", ["ガガ"]),  # a letter with its accent is one letter
        ("english", "한국어", ["한국", "국어"]),  # and so is one of several parts
        ("english", "", []),
    ],
)
def test_pieces(name, text, expected):
    others = ["", "tea", None]
    pieces = language(name).pieces(pl.Series("q", [text, *others])).to_list()
    assert sorted(pieces[0]) == sorted(expected)
    assert pieces[1:] == [[], ["tea"], None]


@given(st.text("ab'é -й1Ü", max_size=12))
def test_in_english_nothing_changes_for_text_with_spaces(text):
    assert language("english").pieces(pl.Series([text])).to_list() == [_of(pieces(pl.lit(text)))]


@given(st.text("茶天気한a b", max_size=10))
def test_text_without_spaces_is_cut_into_all_pairs_of_neighbours(text):
    [found] = language("english").pieces(pl.Series([text])).to_list()
    assert sorted(found) == sorted(_plain(text))


def _plain(text):
    """Runs of letters of one kind, those without spaces in pairs."""
    found = []
    for word in text.split(" "):
        run = ""
        for letter in word:
            if run and (letter in "茶天気한") is not (run[-1] in "茶天気한"):
                found.append(run)
                run = ""
            run += letter
        found += [run] if run else []
    return [
        piece
        for run in found
        for piece in ([run[i : i + 2] for i in range(len(run) - 1)] or [run] if run[0] in "茶天気한" else [run])
    ]


def test_keywords():
    english = language("english")
    assert sorted(_of(english.keywords(pl.lit("the café is at café's  door")))) == ["café", "café's", "door"]
    assert sorted(_of(english.keywords(pl.lit("red.com 蓝茶壶")))) == ["red.com", "茶壶", "蓝茶"]
    assert sorted(_of(language("de").keywords(pl.lit("hotel für zwei und hund")))) == ["hotel", "hund"]


def test_lists_of_function_words_never_change():
    """Promises name them: a better list gets another name."""
    digests = {name: digest_of(words)[7:15] for name, words in FUNCTION_LISTS.items()}
    assert digests == DIGESTS


def test_function_words_are_spelled_as_queries_are():
    words = pl.Series(sorted(set().union(*FUNCTION_WORDS.values())))
    assert words.str.normalize("NFKC").str.to_lowercase().equals(words)


def test_function_words_of_a_file_and_their_name(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("\ufeffDer die\nＤＡＳ\n", encoding="utf-8")
    assert function_words(str(path)) == {"der", "die", "das"}
    assert name_of_words(function_words(str(path))).startswith("sha256:")
    assert name_of_words(function_words("german")) == "german"
    assert name_of_words([]) == "none"
    path.write_text(" \n")
    with pytest.raises(InputError, match="has no function word"):
        function_words(str(path))
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        function_words(str(path))


@pytest.mark.parametrize("method", [Affinity, InterestMicroaggregate])
def test_a_wrong_language_is_refused(method):
    assert method(language="de").language == "de"
    with pytest.raises(ParameterError, match="a language by its name or code, such as 'german' or 'de'"):
        method(language="klingon")


def test_function_words_go_by_the_language():
    from coterie.core.plan import Facts

    facts = Facts(subjects=9, rows=9)
    promised = {
        "english": Affinity(),
        "german": Affinity(language="de"),
        "none": Affinity(language="de", function_words="none"),
    }
    for name, method in promised.items():
        assert method.promises(facts)[0].function_words == name
    assert Affinity(language="japanese").promises(facts)[0].function_words == "none", "no list of ours"
    assert Affinity(language="de", function_words="english").settings.function_words == FUNCTION_WORDS["english"]


def test_nothing_is_loaded_before_it_is_needed():
    code = "import sys, coterie.api, coterie.methods.affinity; print({'Stemmer', 'stopwordsiso'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
