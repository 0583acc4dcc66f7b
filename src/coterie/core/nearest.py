"""The nearest known name to one that is not known: a mistyped name, option or key."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is most like `word`; None where none is."""
    return next(iter(difflib.get_close_matches(word, list(known), n=1)), None)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence to put after one that ends; empty where no known word is near."""
    close = nearest(word, known)
    return "" if close is None else f" Did you mean {close!r}?"
