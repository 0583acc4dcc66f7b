"""Function words: articles, prepositions, conjunctions, pronouns and auxiliary verbs, which mean nothing by themselves.

An n-gram made only of these is no concept (paper 001). The lists are short on purpose, shorter than lists of stop
words: what is on them is released without having been compared. Promises name them, so a list never changes; a better
one gets another name.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from pathlib import Path

from coterie.core.registry import table_at
from coterie.errors import InputError
from coterie.text.words import digest_of

FUNCTION_WORDS = {name: frozenset(text.split()) for name, text in table_at("text", "data/function_words.toml").items()}
"""The lists that have a name; it is that of a language."""
FUNCTION_LISTS = {**FUNCTION_WORDS, "none": frozenset[str]()}


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
