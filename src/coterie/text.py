"""Text: words, their pieces and stems, stop words and function words."""

from __future__ import annotations

import polars as pl
import Stemmer

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


def words(text: pl.Expr) -> pl.Expr:
    """The words of a normalized text: split at spaces and nothing else (SPEC 1.2)."""
    return text.str.split(" ")


def pieces(text: pl.Expr) -> pl.Expr:
    """The runs of letters and digits in a text, as they are looked up in a taxonomy: lower case, no accents.

    An apostrophe joins (`mother's` is `mothers`); everything else that is no letter or digit separates.
    """
    folded = text.str.normalize("NFKD").str.to_lowercase().str.replace_all(r"['’\u{0300}-\u{036f}]", "")
    return folded.str.extract_all(r"[\p{L}\p{M}\p{N}]+")


def stems(words: pl.Series) -> pl.Series:
    """The stem of each word (English Snowball)."""
    return pl.Series(words.name, Stemmer.Stemmer("english").stemWords(words.to_list()), dtype=pl.String)
