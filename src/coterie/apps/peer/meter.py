"""The meter: how much a query points at its author, as SimAttack would see it.

Queries are sets of keywords. For a query q and the author's earlier ones q_1 .. q_n:

    s_i = |q ∩ q_i| / √(|q| |q_i|), in ascending order
    S = s_1, then S ← α s_i + (1 - α) S for i = 2 .. n, α = 0.6

How often an engine that knows the past names the author depends on the way of a query. From one's own address it need
not guess. Through friends, it named the author of 97 % of queries with S of 0.5 and more, and of 35 % of the others:

    coterie simulate aol_clicks_users.tsv.gz --protocol friends --choice sticky_query --measure simattack --seed 7

Earlier queries are those that left this machine since the process began, at most the
last 5,000; they are kept in memory, as words, unless the user names a file for them.

Personal data: what the prepare step `scrub` finds, and the questions that wait for an answer.
"""

from __future__ import annotations

import heapq
import math
import os
import secrets
import stat
import time
from collections import Counter, OrderedDict, defaultdict, deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from coterie.errors import InputError
from coterie.steps.scrub import RECOGNIZERS, TOO_LONG, kinds
from coterie.text.language import Language, keywords_of, spell_one

ALPHA = 0.6
POINTS_AT_AUTHOR = 0.5
NAMED_POINTING, NAMED_OTHERS = 97, 35
"""Percent of searches through friends whose author was named, of 432 users of AOL's log with ten friends each."""
MOST = 5_000
_COUNTED = 40  # 0.4 to the power of 40 is nothing


class Meter:
    """Compares queries with the author's earlier ones."""

    def __init__(self, language: Language, most: int = MOST, file: Path | None = None) -> None:
        self._language, self._most, self._file = language, most, file
        self._past: deque[frozenset[str]] = deque()
        self._first = 0  # the number of the oldest query that is kept
        self._with: dict[str, deque[int]] = defaultdict(deque)
        if file is not None:
            for line in _lines(file):
                self._keep(frozenset(line.split()))

    def __len__(self) -> int:
        return len(self._past)

    def of(self, query: str) -> float:
        """S of a spelled query: 0 for one like no earlier one, 1 for one like all of them."""
        words = keywords_of(query, self._language)
        shared = Counter(number for word in words for number in self._with.get(word, ()))
        if not shared:
            return 0.0
        sizes = ((n / math.sqrt(len(words) * len(self._past[at - self._first]))) for at, n in shared.items())
        best = heapq.nlargest(_COUNTED, sizes)
        # In descending order the j-th has the weight α (1 - α)^(j - 1), and s_1, the last of all, (1 - α)^(n - 1).
        value = sum(ALPHA * (1 - ALPHA) ** place * each for place, each in enumerate(best))
        if len(best) == len(self._past):
            value += (1 - ALPHA) ** len(best) * best[-1]
        return min(1.0, value)

    def add(self, query: str) -> None:
        """Count a spelled query as an earlier one."""
        words = keywords_of(query, self._language)
        if not words:
            return
        self._keep(words)
        if self._file is not None:
            with suppress(OSError), self._file.open("a", encoding="utf-8") as stream:  # a full disk ends no search
                stream.write(" ".join(sorted(words)) + "\n")

    def _keep(self, words: frozenset[str]) -> None:
        if len(self._past) == self._most:
            for word in self._past.popleft():
                held = self._with[word]
                held.popleft()  # the oldest of all is the first for each of its words
                if not held:
                    del self._with[word]
            self._first += 1
        for word in words:
            self._with[word].append(self._first + len(self._past))
        self._past.append(words)


def _lines(file: Path) -> list[str]:
    """What the file has of earlier runs; made private where it is new."""
    try:
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0), 0o600)
        with os.fdopen(handle, encoding="utf-8") as stream:
            if os.name != "nt" and os.fstat(stream.fileno()).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise InputError(f"Others may read {file}, which holds words of your searches: chmod 600 {file}")
            return [line for line in stream.read().splitlines() if line.strip()]
    except UnicodeDecodeError:
        raise InputError(f"{file} is not what --past writes: it is no text.") from None
    except OSError as error:
        raise InputError(f"{file} cannot be used for --past: {error.strerror}.") from None


# --- personal data ----------------------------------------------------------------------------------


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
