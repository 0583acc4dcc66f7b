"""Single texts: what `spelling` and `language` do with columns, for one text and without tables.

A process that waits for one query after the other has neither threads nor memory of tables to spare.
"""

from __future__ import annotations

import re
import unicodedata

from coterie.text.language import Language

_BETWEEN_WORDS = re.compile("[\\s\ufdd0-\ufdef\ufffe\uffff]+")
# The blocks of scripts whose words follow each other without a space, as `words` names the scripts.
_JOINED = (
    "\u0e01-\u0e3a\u0e40-\u0e5b\u0e81-\u0edf\u1000-\u109f\u1100-\u11ff\u1780-\u17f9\u2e80-\u2fd5\u3005\u3007"
    "\u3021-\u3029\u302e\u302f\u3038-\u303b\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fd-\u30ff\u3131-\u318e\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c\uac00-\ud7a3\uf900-\ufad9\uff66-\uff6f\uff71-\uff9d\U00020000-\U000323af"
)
_JOINED_RUN = re.compile(f"[{_JOINED}\u30fc]+")
_HAS_JOINED = re.compile(f"[{_JOINED}]")


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
