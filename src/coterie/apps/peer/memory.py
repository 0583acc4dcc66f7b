"""Memory: answers to repeats, and the page that was opened last for each. Gone with the process.

Of the queries that people repeat most are recognized as theirs, so a repeat that never leaves the machine is the
cheapest protection.

Counts: all that a peer knows of what it did. Numbers only.
"""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from dataclasses import asdict, dataclass, field

from coterie.apps.peer.results import Result

MOST, MOST_LETTERS = 1_000, 8_000_000
"""Answers that are kept, and letters of all of them together, because a friend may answer at length."""


@dataclass(repr=False)
class Answer:
    """The answer to a query."""

    results: tuple[Result, ...]
    through_friend: bool
    since: float = field(default_factory=time.monotonic)
    opened: str | None = None
    """The page that was opened last."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(9))
    """What links call it by."""

    @property
    def letters(self) -> int:
        """How long it is."""
        return sum(len(result.url) + len(result.title) + len(result.text) for result in self.results)

    @property
    def age(self) -> float:
        """Seconds since it was given."""
        return time.monotonic() - self.since


class Memory:
    """The last answers, by spelled query."""

    def __init__(self, most: int = MOST, most_letters: int = MOST_LETTERS) -> None:
        self._most, self._most_letters = most, most_letters
        self._letters = 0
        self._answers: OrderedDict[str, Answer] = OrderedDict()
        self._by_token: dict[str, Answer] = {}

    def __len__(self) -> int:
        return len(self._answers)

    def recall(self, query: str) -> Answer | None:
        """The answer to a query, if it is known."""
        answer = self._answers.get(query)
        if answer is not None:
            self._answers.move_to_end(query)
        return answer

    def keep(self, query: str, answer: Answer) -> None:
        """Keep an answer; the page that was opened last for the query stays known, and so do links to the former."""
        former = self._answers.pop(query, None)
        if former is not None:
            self._forget(former)
            answer.opened, answer.token = answer.opened or former.opened, former.token
        self._answers[query] = self._by_token[answer.token] = answer
        self._letters += answer.letters
        while len(self._answers) > self._most or self._letters > self._most_letters:
            self._forget(self._answers.popitem(last=False)[1])

    def _forget(self, answer: Answer) -> None:
        del self._by_token[answer.token]
        self._letters -= answer.letters

    def opened(self, token: str, url: str) -> None:
        """Remember which page was opened; nothing happens for answers that are not kept any more."""
        answer = self._by_token.get(token)
        if answer is not None:
            answer.opened = url


# --- counts -----------------------------------------------------------------------------------------


@dataclass
class Counts:
    """What happened since the process began."""

    searches: int = 0
    from_memory: int = 0
    asked_before_sending: int = 0
    sent_anyway: int = 0
    not_sent: int = 0
    sent_myself: int = 0
    sent_through_friends: int = 0
    unanswered: int = 0
    friends_refused: int = 0
    friends_silent: int = 0
    sent_for_friends: int = 0
    refused_to_friends: int = 0
    strangers_cut_off: int = 0
    foreign_pages_refused: int = 0

    def numbers(self) -> dict[str, int]:
        """All of them by name."""
        return asdict(self)


SAID = {
    "searches": "Searches",
    "from_memory": "answered from memory, without leaving this machine",
    "asked_before_sending": "asked about before sending",
    "sent_anyway": "sent all the same",
    "not_sent": "not sent",
    "sent_myself": "sent from your own address",
    "sent_through_friends": "sent by friends",
    "unanswered": "refused, because the back end did not answer",
    "friends_refused": "times a friend refused",
    "friends_silent": "times a friend did not answer",
    "sent_for_friends": "sent from your address for friends",
    "refused_to_friends": "refused to friends",
    "strangers_cut_off": "strangers cut off",
    "foreign_pages_refused": "requests of other pages refused",
}
"""What each number is, in words."""
