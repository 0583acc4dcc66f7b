"""Counts: all that a peer knows of what it did. Numbers only."""

from __future__ import annotations

from dataclasses import asdict, dataclass


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
