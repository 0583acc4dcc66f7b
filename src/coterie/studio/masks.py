"""Masks: what a value looks like, without what it says. Letters become a, digits 0; what separates them stays."""

from __future__ import annotations

LONGEST = 28
_STAYS = frozenset(" -:/.,@_?&=+%")
HIDDEN = "·"


def masked(value: object) -> str:
    """The form of a value, cut to a bearable length."""
    if value is None:
        return ""
    text = str(value)
    form = "".join(_mask(letter) for letter in text[:LONGEST])
    return form + ("…" if len(text) > LONGEST else "")


def _mask(letter: str) -> str:
    if letter.isdigit() or letter.isdecimal():
        return "0"
    if letter.isalpha():
        return "a"
    if letter in _STAYS:
        return letter
    return " " if letter.isspace() else HIDDEN
