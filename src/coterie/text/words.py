"""Text: words, their pieces and stems, stop words and function words."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import polars as pl
import Stemmer

from coterie.errors import InputError

# Function words of English and the words of web addresses: frequent everywhere, telling nothing.
_STOP_TEXT = """
a about after all also am an and any are as at be because been before being between both but by can could did do does
doing down during each few for from further had has have having he her here hers him his how i if in into is it its
itself just me more most my no nor not now of off on once only or other our ours out over own same she should so some
such than that the their theirs them then there these they this those through to too under until up very was we were
what when where which while who whom why will with would you your yours http https www com net org
"""
STOP_WORDS = frozenset(_STOP_TEXT.split())

# SPEC 6.2: an n-gram made only of these is no concept. The list above is longer and holds words that tell something.
_FUNCTION_TEXT = """
a an the and or but nor so yet if of in on at to from by for with about as into over under after before between through
during without within against upon off out up down is are was were be been being am do does did doing have has had
having can could may might must shall should will would i you he she it we they me him her us them my your his its our
their mine yours ours theirs this that these those who whom whose which what not no than then
"""
FUNCTION_WORDS = frozenset(_FUNCTION_TEXT.split())
FUNCTION_LISTS = {"english": FUNCTION_WORDS, "none": frozenset[str]()}
"""The lists of function words that have a name."""


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
    found = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower()).split()
    if not found:
        raise InputError(f"{Path(choice).name} has no function word in it. For no function words say 'none'.")
    return frozenset(found)


def name_of_words(words: Iterable[str]) -> str:
    """The name of a list of function words, or a digest of one that has none: what everybody may know of it."""
    found = frozenset(words)
    for name, known in FUNCTION_LISTS.items():
        if found == known:
            return name
    return digest_of(found)


def digest_of(words: Iterable[str]) -> str:
    """A digest of a set of words, whatever their order."""
    return "sha256:" + hashlib.sha256("\n".join(sorted(set(words))).encode()).hexdigest()


def name_of_topics(topics: pl.DataFrame) -> str:
    """What promises call topics (topic, word): their digest."""
    return digest_of(f"{topic} {word}" for topic, word in topics.select("topic", "word").iter_rows())


def words(text: pl.Expr) -> pl.Expr:
    """The words of a normalized text: split at spaces and nothing else (SPEC 1.2)."""
    return text.str.split(" ")


def folded(text: pl.Expr) -> pl.Expr:
    """A text in lower case, without accents and apostrophes."""
    return text.str.normalize("NFKD").str.to_lowercase().str.replace_all(r"['’\u{0300}-\u{036f}]", "")


def pieces(text: pl.Expr) -> pl.Expr:
    """The runs of letters and digits in a text, as they are looked up in a taxonomy: lower case, no accents.

    An apostrophe joins (`mother's` is `mothers`); everything else that is no letter or digit separates.
    """
    return folded(text).str.extract_all(r"[\p{L}\p{M}\p{N}]+")


def without_spaces(word: pl.Expr) -> pl.Expr:
    """Whether a word is of a script whose words follow each other without a space, or carry endings with them."""
    return word.str.contains(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")


def stems(words: pl.Series) -> pl.Series:
    """The stem of each word (English Snowball)."""
    return pl.Series(words.name, Stemmer.Stemmer("english").stemWords(words.to_list()), dtype=pl.String)
