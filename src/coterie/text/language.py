"""Language: what a word is, which words belong together, and which tell nothing. One value, English unless said.

    language("german"), language("de")

    stop_words        words that tell nothing about what somebody is interested in
    function_words    fewer: words without any meaning of their own (the, of)
    stems(words)      what words with other endings have in common, by Snowball; the words where there is no stemmer
    pieces(texts)     the words that texts are made of, in lower case, without accents
    keywords(text)    the distinct words between spaces that are no stop words

Chinese, Japanese, Korean, Thai and others write words without spaces, or endings without end: in every language, runs
of such letters are cut into pairs of letters, so that people can have parts of a text in common (`text/words.py`).

Function words are articles, prepositions, conjunctions, pronouns and auxiliary verbs. An n-gram made only of these is
no concept (paper 001). The lists are short on purpose, shorter than lists of stop words: what is on them is released
without having been compared. Promises name them, so a list never changes; a better one gets another name.

`spell_one` and `keywords_of` do for one text, without tables, what is done elsewhere with columns: a process that waits
for one query after the other has neither threads nor memory of tables to spare.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import polars as pl

from coterie.core.registry import table_at
from coterie.errors import InputError, MissingError, UnknownNameError, did_you_mean
from coterie.text.words import (
    cut_runs,
    digest_of,
    folded,
    folded_latin,
    has_letters_without_spaces,
    only_without_spaces,
    runs,
    words,
)

ENGLISH = "english"
NO_LANGUAGE = "none"
# Frequent everywhere, telling nothing.
_WEB_WORDS = frozenset({"http", "https", "www", "com", "net", "org"})
# Function words of English and the words of web addresses.
_ENGLISH_STOP_WORDS = """
a about after all also am an and any are as at be because been before being between both but by can could did do does
doing down during each few for from further had has have having he her here hers him his how i if in into is it its
itself just me more most my no nor not now of off on once only or other our ours out over own same she should so some
such than that the their theirs them then there these they this those through to too under until up very was we were
what when where which while who whom why will with would you your yours
"""
_STEMMED = """
arabic ar armenian hy basque eu catalan ca czech cs danish da dutch nl english en esperanto eo estonian et finnish fi
french fr german de greek el hindi hi hungarian hu indonesian id irish ga italian it lithuanian lt nepali ne
norwegian no persian fa polish pl portuguese pt romanian ro russian ru serbian sr sesotho st spanish es swedish sv
tamil ta turkish tr yiddish yi
"""
_UNSTEMMED = """
afrikaans af bengali bn breton br bulgarian bg chinese zh croatian hr galician gl gujarati gu hausa ha hebrew he
japanese ja korean ko kurdish ku latin la latvian lv malay ms marathi mr slovak sk slovenian sl somali so swahili sw
tagalog tl thai th ukrainian uk urdu ur vietnamese vi yoruba yo zulu zu
"""


def _codes(table: str) -> dict[str, str]:
    names = table.split()
    return dict(zip(names[::2], names[1::2], strict=True))


STEMMED = _codes(_STEMMED)
"""Languages that Snowball knows, and their codes (ISO 639-1)."""
UNSTEMMED = {**_codes(_UNSTEMMED), NO_LANGUAGE: ""}
"""Languages whose words are taken as they are; `none` has no stop words either."""
LANGUAGES = {**STEMMED, **UNSTEMMED}


_NAMES = {code: name for name, code in LANGUAGES.items() if code}
FUNCTION_WORDS = {name: frozenset(text.split()) for name, text in table_at("text", "data/function_words.toml").items()}
"""The lists that have a name; it is that of a language."""
FUNCTION_LISTS = {**FUNCTION_WORDS, "none": frozenset[str]()}
_BETWEEN_WORDS = re.compile("[\\s\ufdd0-\ufdef\ufffe\uffff]+")
# The blocks of scripts whose words follow each other without a space, as `words` names the scripts.
_JOINED = (
    "\u0e01-\u0e3a\u0e40-\u0e5b\u0e81-\u0edf\u1000-\u109f\u1100-\u11ff\u1780-\u17f9\u2e80-\u2fd5\u3005\u3007"
    "\u3021-\u3029\u302e\u302f\u3038-\u303b\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fd-\u30ff\u3131-\u318e\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c\uac00-\ud7a3\uf900-\ufad9\uff66-\uff6f\uff71-\uff9d\U00020000-\U000323af"
)
_JOINED_RUN = re.compile(f"[{_JOINED}\u30fc]+")
_HAS_JOINED = re.compile(f"[{_JOINED}]")


@dataclass(frozen=True)
class Language:
    """A language by its name; `language` makes one."""

    name: str

    @property
    def code(self) -> str:
        """Its code (ISO 639-1)."""
        return LANGUAGES[self.name]

    @cached_property
    def stop_words(self) -> frozenset[str]:
        """Words that tell nothing, as they are written and as `pieces` writes them."""
        if self.name == ENGLISH:
            return frozenset(_ENGLISH_STOP_WORDS.split()) | _WEB_WORDS
        if self.name == NO_LANGUAGE:
            return frozenset()
        import stopwordsiso  # which reads the lists of all languages

        written = pl.DataFrame({"word": sorted(stopwordsiso.stopwords(self.code))}, schema={"word": pl.String})
        spelled = written.select(pl.concat([pl.col("word"), self.folded(pl.col("word"))]))["word"]
        return frozenset(spelled) | _WEB_WORDS

    @property
    def function_words(self) -> frozenset[str]:
        """Words without a meaning of their own; none where there is no list of them."""
        return FUNCTION_WORDS.get(self.name, frozenset())

    def stems(self, words: pl.Series) -> pl.Series:
        """The stem of each word."""
        if self.name not in STEMMED:
            return words
        import Stemmer

        try:
            stemmer = Stemmer.Stemmer(self.name)
        except KeyError:
            raise MissingError(
                f"The PyStemmer that is installed has no stems of {self.name}. Install a newer one, or choose another "
                f"--language."
            ) from None
        return pl.Series(words.name, stemmer.stemWords(words.to_list()), dtype=pl.String)

    def folded(self, text: pl.Expr) -> pl.Expr:
        """A text in lower case, without apostrophes and accents; letters that are not Latin keep theirs.

        In English they do not: nothing is known there about the words of other scripts.
        """
        return folded(text) if self.name == ENGLISH else folded_latin(text)

    def runs(self, text: pl.Expr) -> pl.Expr:
        """The runs of letters and digits in a text, folded."""
        return runs(self.folded(text))

    def pieces(self, texts: pl.Series) -> pl.Series:
        """The same for many texts, with runs that are written without spaces cut into pairs of letters."""
        text, column = pl.col("text"), texts.to_frame("text")
        pieces = self.runs(text)
        if has_letters_without_spaces(texts):
            pieces = pl.coalesce(cut_runs(self.folded(only_without_spaces(text))), pieces)
        return column.select(pieces).to_series().rename(texts.name)

    def keywords(self, text: pl.Expr) -> pl.Expr:
        """The distinct words of a text that are no stop words, as a list; what has no spaces is cut as in `pieces`."""
        cut = cut_runs(only_without_spaces(text), others=r"[^ ]")
        return pl.coalesce(cut, words(text)).list.set_difference(pl.lit([*sorted(self.stop_words), ""]))


class LanguageName:
    """A parameter that is a language, by name or code."""

    def accepts(self, value: Any, kind: type) -> bool:  # noqa: ARG002 (same signature as Range)
        """Whether there is such a language."""
        return isinstance(value, str) and (value.lower() in LANGUAGES or value.lower() in _NAMES)

    def describe(self, kind: type) -> str:  # noqa: ARG002 (same signature as Range)
        """The allowed values in words."""
        return "a language by its name or code, such as 'german' or 'de' (docs/languages.md has them all)"


@cache
def language(name: str) -> Language:
    """The language of that name or code."""
    full = _NAMES.get(name.lower(), name.lower())
    if full in LANGUAGES:
        return Language(full)
    hint = did_you_mean(full, LANGUAGES)
    raise UnknownNameError(f"There is no language {name!r}.{hint} Known: {', '.join(sorted(LANGUAGES))}.")


def language_in(params: Mapping[str, Any]) -> Language:
    """The language that the parameters of a method name; English where they name none."""
    try:
        return language(str(params.get("language", ENGLISH)))
    except UnknownNameError:  # the parameters of a sidecar are not repeated
        raise InputError(
            "The release was made with a language that is not known here. Use its sidecar as it was written with it."
        ) from None


def function_words(choice: str) -> frozenset[str]:
    """The function words of a list with a name, or of a UTF-8 file: words separated by spaces and line ends.

    Words of a file are spelled as `normalize` spells queries.
    """
    if choice in FUNCTION_LISTS:
        return FUNCTION_LISTS[choice]
    try:
        text = Path(choice).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{Path(choice).name}, a file of function words, is not UTF-8 text.") from None
    listed = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower()).split()
    if not listed:
        raise InputError(f"{Path(choice).name} has no function word in it. For no function words say 'none'.")
    return frozenset(listed)


def name_of_words(words: Iterable[str]) -> str:
    """The name of a list of function words, or a digest of one that has none: what everybody may know of it."""
    listed = frozenset(words)
    return next((name for name, named in FUNCTION_LISTS.items() if listed == named), digest_of(listed))


def spell_one(text: str) -> str:
    """The one spelling of a text: NFKC, lower case, trimmed, runs of white space to one space."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower())
    return _BETWEEN_WORDS.sub(" ", folded).strip()


def keywords_of(spelled: str, language: Language) -> frozenset[str]:
    """The distinct words of a spelled text that are no stop words; runs without spaces are cut into pairs."""
    return frozenset(_pieces(spelled)) - language.stop_words - {""}


def _pieces(spelled: str) -> list[str]:
    if not _HAS_JOINED.search(spelled):
        return spelled.split(" ")
    held = unicodedata.normalize("NFC", spelled)
    pieces = _JOINED_RUN.sub(" ", held).split(" ")
    for run in _JOINED_RUN.findall(held):
        pieces += [run] if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]
    return pieces
