"""The circle: friends while the peer runs. Who submits a query, who may ask, and who is left alone for a while."""

from __future__ import annotations

import ssl
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from coterie.peer.home import Friend, Home
from coterie.peer.identity import client_side, fingerprint
from coterie.peer.pace import BackOff, Credit, Rate
from coterie.simulate.sticky import choose

AT_ONCE = 4
"""Queries of one friend that are submitted at the same time."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What friends may ask of each other."""

    rate: float = 60.0
    """Queries a minute that are submitted for one friend."""
    credit: float = 500.0
    """Queries that a friend may have had submitted beyond those that they submitted in return."""
    back_off: float = 5.0
    """Seconds for which a friend is left alone after a first failure; each further one doubles them."""
    longest: float = 900.0


class Tie:
    """What is known of one friend since the process began."""

    def __init__(self, friend: Friend, context: ssl.SSLContext, limits: Limits) -> None:
        self.friend, self.context = friend, context
        self.member = friend.fingerprint
        self.rate, self.credit = Rate(limits.rate), Credit(limits.credit)
        self.waiting = BackOff(limits.back_off, limits.longest)
        self.at_once = 0
        self.submitted = 0  # by the friend, for us
        self.lent = 0  # by us, for the friend
        self.failed = 0

    def numbers(self) -> dict[str, int | str | bool]:
        """What the owner may see."""
        return {
            "name": self.friend.name,
            "submitted_for_me": self.submitted,
            "submitted_for_them": self.lent,
            "failed": self.failed,
            "left_alone": not self.waiting.over(),
        }


class Circle:
    """All friends."""

    def __init__(self, home: Home, limits: Limits) -> None:
        self._home, self._limits = home, limits
        self._own = fingerprint(home.certificate_der).hex()
        self._key = bytes.fromhex(home.settings().choice_key)
        self._ties: dict[str, Tie] = {}

    def __len__(self) -> int:
        return len(self._ties)

    @property
    def ties(self) -> tuple[Tie, ...]:
        """All of them, by name."""
        return tuple(sorted(self._ties.values(), key=lambda tie: tie.friend.name))

    def update(self, friends: Iterable[Friend]) -> list[Friend]:
        """Take over who is a friend now; those that are new."""
        now = {friend.fingerprint: friend for friend in friends}
        new = [friend for member, friend in now.items() if member not in self._ties]
        self._ties = {member: tie for member, tie in self._ties.items() if member in now}
        for friend in new:
            context = client_side(self._home.certificate, self._home.key, friend.der)
            self._ties[friend.fingerprint] = Tie(friend, context, self._limits)
        return new

    def of(self, certificate: bytes | None) -> Tie | None:
        """The friend with exactly that certificate."""
        return None if certificate is None else self._ties.get(fingerprint(certificate).hex())

    def submitter(self, query: str, without: Collection[str] = ()) -> Tie | None:
        """Who submits a spelled query: a friend, or None for oneself.

        Friends who failed are left out for a while, which changes the way of their queries only.
        """
        asked = [m for m, tie in self._ties.items() if m not in without and tie.waiting.over()]
        members = [self._own, *asked]
        chosen = members[choose(self._key, query, members)]
        return None if chosen == self._own else self._ties[chosen]
