"""The one spelling of a text: NFKC, lower case, trimmed, runs of white space to one space.

Codes that Unicode keeps free of any meaning (U+FDD0 and others) count as white space: nobody can see them.
"""

from __future__ import annotations

import polars as pl

# Printable ASCII without capitals, words separated by single spaces: nothing to do.
_BETWEEN_WORDS = r"[\s\u{fdd0}-\u{fdef}\u{fffe}\u{ffff}]+"
_NORMAL = r"^[!-@\[-~]+(?: [!-@\[-~]+)*$"


def is_normal(text: pl.Expr) -> pl.Expr:
    """Whether a text is plain enough to be in its one spelling for sure. Telling so is cheaper than spelling it."""
    return text.str.contains(_NORMAL)


def spell(text: pl.Expr) -> pl.Expr:
    """The one spelling of a text."""
    # NFKC once more after lower-casing: a few capitals fall apart into letter and accent.
    folded = text.str.normalize("NFKC").str.to_lowercase().str.normalize("NFKC")
    return folded.str.replace_all(_BETWEEN_WORDS, " ").str.strip_chars()
