"""Personal data: what the prepare step `scrub` finds, and the questions that wait for an answer."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass

from coterie.steps.scrub import RECOGNIZERS, TOO_LONG, kinds
from coterie.text.single import spell_one

SECONDS = 600.0
"""How long a question waits for its answer."""
_MOST = 50
_SAID = {recognizer.name: recognizer.doc for recognizer in RECOGNIZERS} | {TOO_LONG: "a very long text"}


def looks_like(query: str) -> tuple[str, ...]:
    """What in a query looks like personal data, in words; names, health and other meaning are not looked at."""
    found = dict.fromkeys((*kinds(query), *kinds(spell_one(query))))  # digits come in many widths
    return tuple(_SAID[kind] for kind in found)


@dataclass(frozen=True, repr=False)
class Question:
    """A query that waits for a yes."""

    query: str
    until: float


class Questions:
    """Queries that wait, each under a token that works once."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, Question] = OrderedDict()

    def __len__(self) -> int:
        return len(self._waiting)

    def ask(self, query: str) -> str:
        """A token for a query."""
        token = secrets.token_urlsafe(16)
        self._waiting[token] = Question(query, time.monotonic() + SECONDS)
        while len(self._waiting) > _MOST:
            self._waiting.popitem(last=False)
        return token

    def answered(self, token: str) -> str | None:
        """The query that a token stands for, once; None where it was used, is too old, or never was."""
        question = self._waiting.pop(token, None)
        return question.query if question is not None and question.until > time.monotonic() else None
